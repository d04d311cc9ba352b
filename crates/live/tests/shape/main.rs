//! Shaping an interface of one namespace, with another host behind it. Tests are skipped, with a message, where
//! namespaces or Linux 6.6 are missing.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may fail, and say why it was skipped")]
#![allow(clippy::disallowed_methods, reason = "real time passes in these tests")]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aqmkit_aqm::registry::Spec;
use aqmkit_base::BitRate;
use aqmkit_live::LiveError;
use aqmkit_live::netns::Netns;
use aqmkit_live::running::{Running, Threads};
use aqmkit_live::shape::{End, ShapeSetup, open};
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;

/// Two threads in `shape_two_threads.rs`, which includes the same tests.
fn threads() -> Threads {
    if env!("CARGO_CRATE_NAME").ends_with("two_threads") { Threads::Two } else { Threads::One }
}

/// One test at a time: they would compete for the CPU.
static ALONE: Mutex<()> = Mutex::new(());

/// The machine with the interface `wan`, and a host behind it.
struct Place {
    machine: Netns,
    host: Netns,
    _alone: MutexGuard<'static, ()>,
}

/// Runs `ip` in a namespace.
fn ip(place: &Netns, line: &str) -> io::Result<String> {
    place.inside(|| {
        let out = Command::new("ip").args(line.split_whitespace()).output()?;
        match out.status.success() {
            true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
            false => Err(io::Error::other(format!("ip {line}: {}", String::from_utf8_lossy(&out.stderr)))),
        }
    })
}

impl Place {
    fn new() -> Option<Place> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || -> io::Result<Place> {
            let place = Place { machine: Netns::create()?, host: Netns::create()?, _alone: alone };
            place.attach()?;
            Ok(place)
        };
        let made = make();
        if let Err(e) = &made {
            eprintln!("skipped: namespaces with veth interfaces cannot be made here ({e})");
        }
        made.ok()
    }

    /// Creates the veth pair.
    fn attach(&self) -> io::Result<()> {
        ip(&self.machine, "link add wan type veth peer name far")?;
        ip(&self.machine, &format!("link set far netns {}", self.host.path()))?;
        for (side, name, host) in [(&self.machine, "wan", 1), (&self.host, "far", 2)] {
            ip(side, &format!("link set {name} up"))?;
            ip(side, &format!("addr add 10.9.0.{host}/24 dev {name}"))?;
            ip(side, &format!("addr add fd09::{host}/64 dev {name} nodad"))?;
        }
        Ok(())
    }

    /// Adds a VLAN interface on both sides, if the kernel supports it.
    fn add_vlan(&self) -> io::Result<()> {
        for (side, name, host) in [(&self.machine, "wan", 1), (&self.host, "far", 2)] {
            ip(side, &format!("link add link {name} name {name}.7 type vlan id 7"))?;
            ip(side, &format!("link set {name}.7 up"))?;
            ip(side, &format!("addr add 10.9.7.{host}/24 dev {name}.7"))?;
        }
        Ok(())
    }

    /// Shapes an interface; egress and ingress rate in Mbit/s.
    fn try_shape(&self, interface: &str, egress: u64, ingress: Option<u64>) -> Result<Running<End>, LiveError> {
        let spec = Spec::read("fifo", serde_json::json!({ "limit": "500p" })).unwrap();
        let queue = |name, rate| Setup::new(name, BitRate::from_mbps(rate), aqmkit_base::Duration::ZERO, spec.clone());
        let setup = ShapeSetup {
            interface: interface.to_owned(),
            egress: queue("egress", egress),
            ingress: ingress.map(|rate| queue("ingress", rate)),
            threads: threads(),
            classes: Classes::default(),
            salt: 1,
        };
        self.machine.inside(|| Ok(open(&setup, "test"))).unwrap()
    }

    /// As [`Place::try_shape`] on `wan`; skips the test if this machine cannot.
    fn shape(&self, egress: u64, ingress: Option<u64>) -> Option<Running<End>> {
        match self.try_shape("wan", egress, ingress) {
            Ok(running) => Some(running),
            Err(LiveError::Lacks { what, .. }) => {
                eprintln!("skipped: {what}");
                None
            }
            Err(e) => panic!("{e}"),
        }
    }

    /// The rate in Mbit/s of a transfer of `bytes` bytes; checks that every byte arrives in place.
    fn rate(from: &Netns, to: &Netns, at: &str, bytes: usize) -> f64 {
        let listener = to.inside(|| TcpListener::bind((at, 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = from.inside(|| TcpStream::connect_timeout(&address, Duration::from_secs(30))).unwrap();
        let mut server = listener.accept().unwrap().0;
        server.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let sent: Vec<u8> =
            (0..bytes as u64 / 8).flat_map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
        let (start, mut received) = (Instant::now(), Vec::new());
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                let done = client.write_all(&sent);
                done.and_then(|()| client.shutdown(std::net::Shutdown::Write))
            });
            server.read_to_end(&mut received).unwrap();
            sender.join().unwrap().unwrap();
        });
        assert!(received == sent, "{} of {} bytes came, or others", received.len(), sent.len());
        received.len() as f64 * 8.0 / start.elapsed().as_secs_f64() / 1e6
    }

    fn upload(&self, bytes: usize) -> f64 {
        Place::rate(&self.machine, &self.host, "10.9.0.2", bytes)
    }

    fn download(&self, bytes: usize) -> f64 {
        Place::rate(&self.host, &self.machine, "10.9.0.1", bytes)
    }
}

/// Packets sent by a direction so far.
fn sent(running: &Running<End>, direction: usize) -> u64 {
    // Reports are up to 100 ms old.
    std::thread::sleep(Duration::from_millis(250));
    running.control.report().directions[direction].total.sent_packets
}

#[test]
fn what_leaves_passes_the_queue_and_what_arrives_does_not() {
    let Some(place) = Place::new() else { return };
    let Some(running) = place.shape(20, None) else { return };
    let up = place.upload(4_000_000);
    assert!((15.0..20.0).contains(&up), "{up} Mbit/s through a queue of 20");
    // Each segment is a packet: 4 MB make 2,763 segments of 1448 bytes.
    assert!(sent(&running, 0) >= 2763, "{}", sent(&running, 0));
    let down = place.download(20_000_000);
    assert!(down > 60.0, "{down} Mbit/s past the queue");
    assert_eq!(running.control.report().directions.len(), 1, "the other direction is not shown");
    running.close().unwrap();
}

#[test]
fn both_directions_have_their_own_queue() {
    let Some(place) = Place::new() else { return };
    let Some(running) = place.shape(50, Some(20)) else { return };
    let (up, down) = (place.upload(6_000_000), place.download(4_000_000));
    assert!((35.0..50.0).contains(&up), "{up} Mbit/s through a queue of 50");
    assert!((15.0..20.0).contains(&down), "{down} Mbit/s through a queue of 20");
    assert!(sent(&running, 1) >= 2763, "{}", sent(&running, 1));
    let measured = running.close().unwrap();
    assert_eq!((measured.trouble.refused, measured.devices[0].too_long, measured.devices[1].too_long), (0, 0, 0));
}

#[test]
fn every_family_and_vlan_passes_and_large_transfers_are_intact() {
    let Some(place) = Place::new() else { return };
    let Some(running) = place.shape(2000, Some(2000)) else { return };
    let mut addresses = vec![("10.9.0.1", "10.9.0.2"), ("fd09::1", "fd09::2")];
    match place.add_vlan() {
        Ok(()) => addresses.push(("10.9.7.1", "10.9.7.2")),
        Err(e) => eprintln!("skipped: VLANs ({e})"),
    }
    for (machine, host) in addresses {
        let before = [sent(&running, 0), sent(&running, 1)];
        Place::rate(&place.machine, &place.host, host, 4_000_000);
        Place::rate(&place.host, &place.machine, machine, 4_000_000);
        let after = [sent(&running, 0), sent(&running, 1)];
        assert!(after[0] >= before[0] + 2763 && after[1] >= before[1] + 2763, "{host}: {before:?} {after:?}");
    }
    // Datagrams are not duplicated.
    let server = place.machine.inside(|| UdpSocket::bind("10.9.0.1:0")).unwrap();
    let client = place.host.inside(|| UdpSocket::bind("10.9.0.2:0")).unwrap();
    for _ in 0..100 {
        client.send_to(b"there", server.local_addr().unwrap()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    server.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert_eq!(std::iter::from_fn(|| server.recv(&mut [0; 10]).ok()).count(), 100);
    running.close().unwrap();
}

#[test]
fn at_the_end_the_interface_is_as_before() {
    let Some(place) = Place::new() else { return };
    let devices = || ip(&place.machine, "-o link show").unwrap().lines().count();
    let before = devices();
    let Some(running) = place.shape(10, Some(10)) else { return };
    assert_eq!(devices(), before + 2);
    assert!(place.upload(1_000_000) < 10.0);
    drop(running);
    assert_eq!(devices(), before);
    let (up, down) = (place.upload(20_000_000), place.download(20_000_000));
    assert!(up > 60.0 && down > 60.0, "{up} and {down} Mbit/s without a queue");
}

#[test]
fn an_interface_that_vanishes_and_returns_is_taken_again() {
    let Some(place) = Place::new() else { return };
    let Some(running) = place.shape(20, Some(20)) else { return };
    ip(&place.machine, "link del wan").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    place.attach().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    // The programs are attached again once the first transfer has passed the queue.
    while sent(&running, 0) < 100 {
        assert!(Instant::now() < end, "it is not taken again");
        place.upload(200_000);
    }
    let (up, down) = (place.upload(2_000_000), place.download(2_000_000));
    assert!(up < 20.0 && down < 20.0, "{up} and {down} Mbit/s");
    assert_eq!(running.control.report().directions[0].device.vanished, 1);
    running.close().unwrap();
}

#[test]
fn what_cannot_be_shaped_is_said() {
    let Some(place) = Place::new() else { return };
    if place.shape(10, None).is_none() {
        return;
    }
    let told = |name: &str| place.try_shape(name, 10, None).err().map(|e| e.to_string()).unwrap();
    assert!(told("lo").contains("lo is not an Ethernet interface"), "{}", told("lo"));
    assert!(told("nosuch").contains("there is no interface nosuch"), "{}", told("nosuch"));
    ip(&place.machine, "link set wan down").unwrap();
    assert!(told("wan").contains("wan is down"), "{}", told("wan"));
}

/// Egress blocks ingress only if they share a thread, and vice versa.
#[test]
fn a_direction_holds_up_the_other_only_in_the_same_thread() {
    let Some(place) = Place::new() else { return };
    let Some(running) = place.shape(100, Some(100)) else { return };
    let bind = |side: &Netns, at: &str| {
        let socket = side.inside(|| UdpSocket::bind(at)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        socket
    };
    let (machine, host) = (bind(&place.machine, "10.9.0.1:7001"), bind(&place.host, "10.9.0.2:7001"));
    let takes = |from: &UdpSocket, to: &UdpSocket| {
        let start = Instant::now();
        from.send_to(b"there", to.local_addr().unwrap()).unwrap();
        to.recv(&mut [0; 10]).unwrap();
        start.elapsed()
    };
    // From here on both have resolved each other.
    takes(&machine, &host);
    takes(&host, &machine);
    for (direction, [from, to]) in [(0, [&host, &machine]), (1, [&machine, &host])] {
        let control = running.control.clone();
        let holder =
            std::thread::spawn(move || control.ask(direction, |_, _| std::thread::sleep(Duration::from_secs(1))));
        std::thread::sleep(Duration::from_millis(200));
        let took = takes(from, to);
        let waited = took > Duration::from_millis(500);
        assert_eq!(waited, threads() == Threads::One, "while {direction} stands still: {took:?}");
        assert!(holder.join().unwrap().is_some());
    }
}
