//! An unresponsive load: queue length and drop rate then follow from the law and the rate alone, so a wrong constant in
//! the program, its settings or its shaper shows.

#![allow(clippy::disallowed_methods, reason = "packets are sent in real time")]

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use aqmkit_live::kernel::{Place, Statistics, install, installed, remove};
use serde_json::{Value, json};

use super::installed::places;
use super::{pair, wanted};

/// Link rate of [`wanted`], in bit/s.
const RATE: f64 = 20e6;
/// UDP payload in bytes, and packet length including UDP, IP and Ethernet headers.
const DATAGRAM: usize = 958;
const PACKET: f64 = 1000.0;
/// Packets per second: 1.25 times the link's capacity.
const ARRIVALS: f64 = 1.25 * RATE / 8.0 / PACKET;
/// Flows, which send round robin.
const FLOWS: usize = 8;
/// Time for the queue to settle, and measurement time.
const SETTLING: Duration = Duration::from_secs(3);
const WATCHED: Duration = Duration::from_secs(3);
/// Maximum pause of the sender: these queues drain in 12 to 24 ms.
const STILL: Duration = Duration::from_millis(10);
/// Attempts on a machine that pauses the sender for longer.
const TRIES: usize = 5;

/// Measurements of one attempt.
#[derive(Debug)]
struct Seen {
    /// Fraction of packets dropped.
    dropped: f64,
    /// Packets passed per second.
    passed: f64,
    /// Mean of a gauge.
    gauge: f64,
    /// Mean sojourn time of admitted packets, in packet transmission times.
    wait: f64,
    /// Longest pause of the sender.
    still: Duration,
}

/// Sum of the sojourn times of admitted packets in seconds, and their number.
fn waits(counted: &Statistics) -> (f64, f64) {
    let admitted = (counted.packets - counted.dropped()) as f64;
    (counted.mean_wait_s.unwrap_or(0.0) * admitted, admitted)
}

/// Sends through a discipline; retries if the machine paused the sender, which the program under test cannot cause.
fn send(name: &str, table: &Value, place: Place, gauge: &str) -> Seen {
    let mut best = send_once(name, table, place, gauge);
    for _ in 1..TRIES {
        if best.still < STILL {
            break;
        }
        eprintln!("the sender stood still for {:?}: again", best.still);
        let again = send_once(name, table, place, gauge);
        best = if again.still < best.still { again } else { best };
    }
    best
}

/// Sends through a discipline and samples one of its gauges a thousand times a second.
fn send_once(name: &str, table: &Value, place: Place, gauge: &str) -> Seen {
    let pair = pair::Pair::new().unwrap();
    let _receiver = pair.receiver.inside(|| UdpSocket::bind(("10.9.7.2", 5004))).unwrap();
    pair.sender
        .inside(|| {
            let sockets: Vec<_> = (0..FLOWS).map(|_| UdpSocket::bind(("10.9.7.1", 0)).unwrap()).collect();
            // Resolve the neighbour first.
            sockets[0].send_to(&[0; 100], ("10.9.7.2", 5004))?;
            std::thread::sleep(Duration::from_millis(100));
            let found = install("veth0", &wanted(name, table, place)).map_err(std::io::Error::other)?;
            let (start, mut sent) = (Instant::now(), 0);
            let (mut gauges, mut before) = (Vec::new(), None);
            let (mut last, mut still) = (start, Duration::ZERO);
            while start.elapsed() < SETTLING + WATCHED {
                while (sent as f64) < start.elapsed().as_secs_f64() * ARRIVALS {
                    // A drop is reported to a local sender as an error.
                    let _ = sockets[sent % FLOWS].send_to(&[0; DATAGRAM], ("10.9.7.2", 5004));
                    sent += 1;
                }
                if start.elapsed() > SETTLING {
                    let counted = found.statistics().map_err(std::io::Error::other)?;
                    gauges.push(counted.gauges[gauge]);
                    before.get_or_insert((Instant::now(), counted));
                }
                std::thread::sleep(Duration::from_micros(800));
                still = still.max(last.elapsed());
                last = Instant::now();
            }
            let after = installed("veth0").and_then(|i| i.statistics()).map_err(std::io::Error::other)?;
            let (since, before) = before.unwrap();
            remove("veth0").map_err(std::io::Error::other)?;
            let packets = (after.packets - before.packets) as f64;
            let dropped = (after.dropped() - before.dropped()) as f64;
            let ((waited, left), (waited_before, left_before)) = (waits(&after), waits(&before));
            let wait = (waited - waited_before) / (left - left_before);
            Ok(Seen {
                dropped: dropped / packets,
                passed: (packets - dropped) / since.elapsed().as_secs_f64(),
                gauge: gauges.iter().sum::<f64>() / gauges.len() as f64,
                wait: wait * RATE / 8.0 / PACKET,
                still,
            })
        })
        .unwrap()
}

fn near(found: f64, wanted: f64, share: f64) -> bool {
    (found / wanted - 1.0).abs() < share
}

/// RED with these thresholds: drops are spread evenly, so a drop rate s corresponds to p = s / (2 - s) on the ramp,
/// that is, s = 2 p / (1 + p).
fn red_agrees(seen: &Seen, max_p: f64) -> bool {
    let p = seen.dropped / (2.0 - seen.dropped);
    let average = 10.0 + 100.0 * p / max_p;
    near(seen.gauge, average, 0.15) && near(seen.wait, average, 0.2) && near(seen.passed, RATE / 8.0 / PACKET, 0.03)
}

#[test]
fn red_holds_the_queue_where_its_ramp_is() {
    let table = |max_p: f64| json!({ "min": 10, "max": 110, "max_p": max_p, "limit": 500, "weight": 0.005 });
    for place in places() {
        let seen = send("red", &table(0.4), place, "avg");
        eprintln!("{place:?}: {seen:?}");
        assert!(red_agrees(&seen, 0.4), "{place:?} {seen:?}");
        // The tolerance would catch a ramp twice as steep.
        let wrong = send("red", &table(0.8), place, "avg");
        assert!(!red_agrees(&wrong, 0.4) && red_agrees(&wrong, 0.8), "{place:?} {wrong:?}");
    }
}

/// DCN holds the queue near its target, the closer the higher its gains; twice the target is far outside the tolerance.
fn dcn_agrees(seen: &Seen, q_ref: f64) -> bool {
    near(seen.wait, q_ref, 0.4) && near(seen.passed, RATE / 8.0 / PACKET, 0.03)
}

#[test]
fn dcn_holds_the_queue_at_its_target() {
    let table = |q_ref: u32| json!({ "q_ref": q_ref, "t_dec": "100ms", "limit": 500, "flows": FLOWS });
    for place in places() {
        let seen = send("dcn", &table(30), place, "p_ref");
        eprintln!("{place:?}: {seen:?}");
        assert!(dcn_agrees(&seen, 30.0), "{place:?} {seen:?}");
        let wrong = send("dcn", &table(60), place, "p_ref");
        assert!(!dcn_agrees(&wrong, 30.0) && dcn_agrees(&wrong, 60.0), "{place:?} {wrong:?}");
    }
}
