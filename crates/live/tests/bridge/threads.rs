//! Forwarding threads: one for both directions, or one per direction.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use aqmkit_base::BitRate;
use aqmkit_live::bridge::Io;
use aqmkit_live::running::Threads;

use super::{Place, threads};

/// The latency of a datagram from a resolved neighbour to `to`.
fn takes(from: &UdpSocket, to: &UdpSocket) -> Duration {
    let start = Instant::now();
    from.send_to(b"there", to.local_addr().unwrap()).unwrap();
    to.recv(&mut [0; 10]).unwrap();
    start.elapsed()
}

/// A stalled direction, as with a slow discipline, delays the other only if they share a thread.
fn held_up(io: Io) {
    let Some(place) = Place::new() else { return };
    let bridge = match place.bridge_by(io, "fifo", "{}", BitRate::from_mbps(100)) {
        Ok(bridge) => bridge,
        Err(e) if io == Io::Xdp => return eprintln!("skipped: {e}"),
        Err(e) => panic!("{e}"),
    };
    // From here on the hosts have resolved each other.
    assert!(place.reaches("10.9.0.2:7000", "10.9.0.1:7000"));
    let a = place.a.inside(|| UdpSocket::bind("10.9.0.1:7001")).unwrap();
    let b = place.b.inside(|| UdpSocket::bind("10.9.0.2:7001")).unwrap();
    for socket in [&a, &b] {
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    }
    for (direction, other) in [(0, [&b, &a]), (1, [&a, &b])] {
        let control = bridge.control();
        let holder =
            std::thread::spawn(move || control.ask(direction, |_, _| std::thread::sleep(Duration::from_secs(1))));
        std::thread::sleep(Duration::from_millis(200));
        let took = takes(other[0], other[1]);
        let waited = took > Duration::from_millis(500);
        assert_eq!(waited, threads() == Threads::One, "{io:?}, while {direction} stands still: {took:?}");
        assert!(holder.join().unwrap().is_some());
        assert!(takes(other[1], other[0]) < Duration::from_millis(500), "it goes on");
    }
}

#[test]
fn a_direction_holds_up_the_other_only_in_the_same_thread() {
    held_up(Io::Packet);
}

#[test]
fn so_it_is_with_af_xdp() {
    held_up(Io::Xdp);
}

/// Scheduling policies of the forwarding threads (`proc_pid_stat(5)`).
fn policies() -> Vec<u32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let stat = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let moves = stat.filter(|text| text.contains("(bottleneck)"));
    // Field 41; field 2 is the name in parentheses.
    moves.map(|text| text.rsplit_once(") ").unwrap().1.split(' ').nth(38).unwrap().parse().unwrap()).collect()
}

/// Both threads get real-time properties, and the CPU time of both is counted.
#[test]
fn every_thread_has_real_time_properties_and_its_time_counts() {
    const SCHED_FIFO: u32 = 1;
    const WORK: Duration = Duration::from_millis(200);
    let Some(place) = Place::new() else { return };
    let bridge = place.bridge("fifo", "{}", BitRate::from_mbps(100)).unwrap();
    let found = policies();
    for direction in [0, 1] {
        let work = |_: &mut _, _| {
            let start = aqmkit_live::timing::cpu_time();
            while aqmkit_live::timing::cpu_time().saturating_sub(start).as_nanos() < WORK.as_nanos() as u64 {}
        };
        bridge.control().ask(direction, work).unwrap();
    }
    let measured = bridge.close().unwrap();
    assert_eq!(found.len(), if threads() == Threads::One { 1 } else { 2 });
    assert!(found.iter().all(|policy| (*policy == SCHED_FIFO) == measured.granted.realtime), "{found:?}");
    assert!(measured.cpu.as_nanos() >= 2 * WORK.as_nanos() as u64, "{}", measured.cpu);
    assert_eq!(measured.directions.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["forth", "back"]);
}
