//! Traffic through an installed discipline, as a classifier in front of `tbf` and as a qdisc.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use aqmkit_base::BitRate;
use aqmkit_kernel::CLASSIFIERS;
use aqmkit_live::kernel::{Place, Statistics, Wanted, examine, install, installed, remove};
use serde_json::json;

use super::{cannot, pair, traced, wanted};

/// The kinds of installation that work here; prints those that do not.
pub(super) fn places() -> Vec<Place> {
    if cannot().is_some() {
        return Vec::new();
    }
    let queue = examine::lacks_queues();
    if let Some(why) = &queue {
        eprintln!("skipped: queue disciplines: {why}");
    }
    std::iter::once(Place::Classifier).chain(queue.is_none().then_some(Place::Queue)).collect()
}

/// Sends TCP between namespaces through the discipline for a while; returns its statistics.
fn carry(wanted: &Wanted) -> Statistics {
    let pair = pair::Pair::new().unwrap();
    pair.receiver
        .inside(|| {
            let listener = TcpListener::bind(("10.9.7.2", 5001))?;
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    std::thread::spawn(move || std::io::copy(&mut { stream }, &mut std::io::sink()));
                }
            });
            Ok(())
        })
        .unwrap();
    pair.sender
        .inside(|| {
            install("veth0", wanted).map_err(std::io::Error::other)?;
            let again = install("veth0", wanted).unwrap_err().to_string();
            assert!(again.contains("already has a discipline"), "{again}");
            let flows: Vec<_> = (0..6).map(|_| TcpStream::connect(("10.9.7.2", 5001)).unwrap()).collect();
            let until = std::thread::spawn(|| std::thread::sleep(Duration::from_millis(1500)));
            let stop = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                for mut flow in flows {
                    let stop = &stop;
                    scope.spawn(move || {
                        while !stop.load(std::sync::atomic::Ordering::Relaxed) && flow.write_all(&[0; 16_384]).is_ok() {
                        }
                        let _ = flow.shutdown(std::net::Shutdown::Write);
                        let _ = flow.read(&mut [0]);
                    });
                }
                until.join().unwrap();
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            let counted = installed("veth0").and_then(|i| i.statistics()).map_err(std::io::Error::other)?;
            let wait = counted.mean_wait().unwrap().as_millis_f64();
            assert!((0.1..150.0).contains(&wait), "{wait} ms");
            let slower = Wanted { rate: BitRate::from_mbps(5), ..wanted.clone() };
            let mut found = installed("veth0").map_err(std::io::Error::other)?;
            found.change(&slower).map_err(std::io::Error::other)?;
            assert_eq!(installed("veth0").and_then(|i| i.wanted()).unwrap().rate, slower.rate);
            remove("veth0").map_err(std::io::Error::other)?;
            let gone = installed("veth0").unwrap_err().to_string();
            assert!(gone.contains("has no discipline"), "{gone}");
            Ok(counted)
        })
        .unwrap()
}

#[test]
fn dcn_keeps_a_queue_short_in_the_kernel() {
    for place in places() {
        let counted = carry(&wanted("dcn", &json!({ "limit": 100, "q_ref": 10, "flows": 6 }), place));
        let unfair = counted.drops.get("unfair").copied().unwrap_or(0);
        assert!(unfair > 10, "{place:?} {counted:?}");
        assert!(counted.packets > 1500 && counted.gauges["p_ref"] > 0.0, "{place:?} {counted:?}");
    }
}

#[test]
fn red_marks_in_the_kernel() {
    for place in places() {
        let table = json!({ "limit": 100, "min": 5, "max": 20, "ecn": true, "weight": 0.02 });
        let counted = carry(&wanted("red", &table, place));
        let marked: u64 = counted.marks.values().sum();
        assert!(marked > 10 && counted.gauges["avg"] > 1.0, "{place:?} {counted:?}");
    }
}

#[test]
fn every_discipline_is_installed_and_removed() {
    let pair = pair::Pair::new().unwrap();
    for place in places() {
        let all = pair.sender.inside(|| {
            for classifier in CLASSIFIERS {
                let installed = install("veth0", &wanted(classifier.name, &json!({}), place));
                let shown = pair::output("tc qdisc show dev veth0")?;
                let kind = if place == Place::Queue { format!("aqmkit_{}", classifier.name) } else { "tbf".to_owned() };
                assert!(
                    installed.is_ok() && shown.contains(&kind),
                    "{place:?} {}: {installed:?} {shown}",
                    classifier.name
                );
                remove("veth0").map_err(std::io::Error::other)?;
            }
            pair::output("tc qdisc show dev veth0")
        });
        let left = all.unwrap();
        assert!(!left.contains("aqmkit") && !left.contains("tbf") && !left.contains("clsact"), "{left}");
    }
}

/// Sixty datagrams queue up at a low rate, and all arrive after the rate is raised.
#[test]
fn a_change_of_the_rate_loses_nothing() {
    for place in places() {
        let pair = pair::Pair::new().unwrap();
        let receiver = pair.receiver.inside(|| UdpSocket::bind(("10.9.7.2", 5002))).unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let slow = Wanted {
            rate: BitRate::from_bps(400_000),
            ..wanted("step", &json!({ "limit": 500, "threshold": 400 }), place)
        };
        let waiting = pair.sender.inside(|| {
            let sender = UdpSocket::bind(("10.9.7.1", 0))?;
            // Resolve the neighbour first.
            sender.send_to(&[0; 1000], ("10.9.7.2", 5002))?;
            receiver.recv(&mut [0; 2000])?;
            let mut found = install("veth0", &slow).map_err(std::io::Error::other)?;
            for _ in 0..60 {
                sender.send_to(&[0; 1000], ("10.9.7.2", 5002))?;
            }
            let waiting = found.statistics().map_err(std::io::Error::other)?.waiting_packets;
            found.change(&Wanted { rate: BitRate::from_mbps(50), ..slow.clone() }).map_err(std::io::Error::other)?;
            Ok(waiting)
        });
        let arrived = (0..60).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count();
        assert!(waiting.unwrap() > 40 && arrived == 60, "{place:?}: {arrived}");
    }
}

/// Setting a device down frees the queued packets, and the queue works again when it is up.
#[test]
fn a_queue_discipline_survives_its_device_being_down() {
    if !places().contains(&Place::Queue) {
        return;
    }
    let pair = pair::Pair::new().unwrap();
    let slow = Wanted { rate: BitRate::from_bps(80_000), ..wanted("red", &json!({}), Place::Queue) };
    let receiver = pair.receiver.inside(|| UdpSocket::bind(("10.9.7.2", 5002))).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let waited = pair.sender.inside(|| {
        let sender = UdpSocket::bind(("10.9.7.1", 0))?;
        let send = || sender.send_to(&[0; 1000], ("10.9.7.2", 5002));
        send()?;
        receiver.recv(&mut [0; 2000])?;
        let found = install("veth0", &slow).map_err(std::io::Error::other)?;
        let waiting = || Ok::<_, std::io::Error>(found.statistics().map_err(std::io::Error::other)?.waiting_packets);
        for _ in 0..5 {
            send()?;
        }
        let before = waiting()?;
        pair::ip("link set veth0 down")?;
        let down = waiting()?;
        pair::ip("link set veth0 up")?;
        while receiver.recv(&mut [0; 2000]).is_ok() {}
        send()?;
        Ok((before, down, receiver.recv(&mut [0; 2000]).is_ok()))
    });
    let (before, down, arrived) = waited.unwrap();
    assert!(before >= 3 && down == 0 && arrived, "{before} {down} {arrived}");
}

#[test]
fn a_killed_installation_leaves_nothing_behind() {
    killed("installed::a_killed_installation_leaves_nothing_behind", Place::Classifier, "tbf");
}

#[test]
fn a_killed_installation_of_a_queue_leaves_nothing_behind() {
    killed("installed::a_killed_installation_of_a_queue_leaves_nothing_behind", Place::Queue, "aqmkit_red");
}

/// An installation killed after any of its messages to the kernel leaves either everything or nothing. `name` is the
/// test's own name.
fn killed(name: &str, place: Place, kind: &str) {
    let wanted = wanted("red", &json!({}), place);
    if std::env::var_os(traced::CHILD).is_some() {
        // This is the process to be killed.
        assert!(install("veth0", &wanted).is_ok());
        return;
    }
    if !places().contains(&place) {
        return;
    }
    let pair = pair::Pair::new().unwrap();
    let there = || {
        pair.sender.inside(|| {
            let shown = pair::output("tc qdisc show dev veth0")?;
            let parts = [installed("veth0").is_ok(), shown.contains(kind), shown.contains("clsact")];
            if parts[0] {
                remove("veth0").map_err(std::io::Error::other)?;
            }
            Ok(parts)
        })
    };
    let mut seen = Vec::new();
    for messages in 1..100 {
        let ended = traced::run_until(name, &pair.sender, messages).unwrap();
        seen.push(there().unwrap());
        if ended {
            break;
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
    assert_eq!((seen.first(), seen.last()), (Some(&[false; 3]), Some(&[true; 3])), "{seen:?}");
    assert!(seen.iter().all(|parts| *parts == [false; 3] || *parts == [true; 3]), "{seen:?}");
}
