//! The kernel's TCP over a link, at its rate and delay.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant as Wall;

use aqmkit_base::wire::Loss;

use super::*;

/// Sends `bytes` from server to client; returns the seconds taken.
pub(super) fn transfer(link: &Link, family: usize, bytes: usize) -> f64 {
    let (mut server, mut client) = connect(link, family);
    let start = Wall::now();
    let sent = data(bytes);
    let mut got = Vec::new();
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let done = server.write_all(&sent);
            drop(server);
            done.map(|()| sent)
        });
        client.read_to_end(&mut got).unwrap();
        // The data has no repetition, so misplaced bytes are detected.
        assert!(got == sender.join().unwrap().unwrap(), "{} of {bytes} bytes came, or others", got.len());
    });
    start.elapsed().as_secs_f64()
}

#[test]
fn tcp_crosses_at_the_rate_in_both_families() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    for family in [0, 1] {
        let link = Link::open(&setup(BitRate::from_mbps(20), Duration::from_millis(5), "codel")).unwrap();
        let seconds = transfer(&link, family, 3_000_000);
        // 3 MB take 1.2 s at 20 Mbit/s, plus headers, slow start, handshake and the delays of a busy machine.
        assert!((1.2..40.0).contains(&seconds), "{seconds}");
        let (measured, _) = link.close().unwrap();
        let down = &measured.directions[0].1[0];
        assert!(down.total.sent_bytes > 3_000_000, "{:?}", down.total);
        let rate = down.total.sent_bytes as f64 * 8.0 / seconds;
        assert!(rate < 20.0e6 * 1.02, "{rate} is more than the link carries");
        // The kernel adds IPv6 multicast listener reports at odd times.
        let tcp = down.classes[0].total.sent_packets;
        assert!(tcp > 2000 && tcp * 20 > down.total.sent_packets * 19, "{tcp} of {:?}", down.total);
        assert!(measured.late.count() > 2000);
    }
}

/// A delayed program must not forward packets too early to catch up.
#[test]
fn no_round_trip_is_shorter_than_the_path() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let link = Link::open(&setup(BitRate::from_mbps(100), Duration::from_millis(10), "fifo")).unwrap();
    let at = SocketAddr::new(link.addresses.server[0], 0);
    let server = link.server.namespace.inside(|| UdpSocket::bind(at)).unwrap();
    let client = link.client.namespace.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    }
    let mut buffer = [0; 100];
    for _ in 0..50 {
        let start = Wall::now();
        client.send(&[1; 100]).unwrap();
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(&[2; 100], from).unwrap();
        client.recv(&mut buffer).unwrap();
        let took = start.elapsed();
        assert!(took >= std::time::Duration::from_millis(20), "{took:?}");
    }
}

#[test]
fn the_wire_loses_every_fifth_packet_and_marks_none() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let mut lossy = setup(BitRate::from_mbps(100), Duration::from_millis(2), "fifo");
    lossy.up.wire.loss = Loss::Every { n: 5, burst: 1 };
    let link = Link::open(&lossy).unwrap();
    let at = SocketAddr::new(link.addresses.server[0], 0);
    let server = link.server.namespace.inside(|| UdpSocket::bind(at)).unwrap();
    let client = link.client.namespace.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    client.connect(server.local_addr().unwrap()).unwrap();
    server.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    for n in 0..100 {
        client.send(&[n; 100]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut buffer = [0; 200];
    let mut came = 0;
    while server.recv(&mut buffer).is_ok() {
        came += 1;
    }
    let (measured, _) = link.close().unwrap();
    let sent = measured.directions[1].1[0].total.sent_packets;
    assert_eq!((measured.lost[0], measured.lost[1]), (0, sent / 5));
    // The kernel sends a few packets of its own.
    assert!(sent >= 100 && (78..=82).contains(&came), "{came} of 100, {sent} in all");
}

#[test]
fn marks_reach_the_sender_and_slow_it_down() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let plain = setup(BitRate::from_mbps(10), Duration::from_millis(5), "step");
    // Reno responds to marks; the kernel's default control may not.
    let ecn = LinkSetup { ecn: Some(true), cc: Some("reno".into()), ..plain };
    let link = Link::open(&ecn).unwrap();
    transfer(&link, 0, 3_000_000);
    let (measured, _) = link.close().unwrap();
    // The TCP class only: the kernel's own multicast reports are Not-ECT and get dropped.
    let tcp = &measured.directions[0].1[0].classes[0].total;
    assert!(tcp.marks() > 0, "{tcp:?}");
    // ECN-capable packets are only marked. A few TCP packets, such as retransmissions, are Not-ECT; many drops would
    // mean that ECN was not negotiated.
    assert!(tcp.drops() < tcp.marks(), "{tcp:?}");
}

#[test]
fn the_congestion_control_that_is_named_is_used() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    for cc in ["reno", "cubic"] {
        if !aqmkit_live::congestion::controls().iter().any(|k| k == cc) {
            eprintln!("skipped: this kernel has no {cc}");
            continue;
        }
        let named = LinkSetup { cc: Some(cc.into()), ..setup(BitRate::from_mbps(10), Duration::ZERO, "fifo") };
        let link = Link::open(&named).unwrap();
        let (server, client) = connect(&link, 0);
        for end in [server, client] {
            assert_eq!(rustix::net::sockopt::tcp_congestion(&end).unwrap(), cc);
        }
    }
    let unknown = LinkSetup { cc: Some("nosuch".into()), ..setup(BitRate::from_mbps(10), Duration::ZERO, "fifo") };
    let error = Link::open(&unknown).unwrap_err().to_string();
    assert!(error.contains("no congestion control nosuch") && error.contains("reno"), "{error}");
}

/// DCTCP, the kernel's or aqmkit's, responds to the fraction of marks: a few per RTT are its normal state, while Reno
/// halves cwnd at the first.
#[test]
fn dctcp_lives_with_many_marks() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let marked = |cc: &str| {
        let plain = setup(BitRate::from_mbps(10), Duration::from_millis(5), "step");
        let link = Link::open(&LinkSetup { ecn: Some(true), cc: Some(cc.into()), ..plain })?;
        let (server, _client) = connect(&link, 0);
        assert_eq!(rustix::net::sockopt::tcp_congestion(&server).unwrap(), cc);
        transfer(&link, 0, 5_000_000);
        let tcp = link.close()?.0.directions[0].1[0].classes[0].total;
        assert!(tcp.drops() < tcp.marks(), "{cc}: {tcp:?}");
        Ok::<_, aqmkit_live::LiveError>(tcp.marks() as f64 / tcp.sent_packets as f64)
    };
    match marked("dctcp") {
        Err(error @ aqmkit_live::LiveError::Lacks { .. }) => eprintln!("skipped: {error}"),
        dctcp => {
            let (dctcp, reno) = (dctcp.unwrap(), marked("reno").unwrap());
            assert!(dctcp > 2.0 * reno && reno > 0.0, "marked: {dctcp} of DCTCP, {reno} of Reno");
        }
    }
}

#[test]
fn a_wrong_parameter_is_told_with_its_direction() {
    let _alone = ALONE.lock();
    if !ready() {
        return;
    }
    let mut wrong = setup(BitRate::from_mbps(10), Duration::ZERO, "fifo");
    wrong.up.rate = BitRate::default();
    let error = Link::open(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("up: rate"), "{error}");
    wrong = setup(BitRate::from_mbps(100_000), Duration::from_secs(60), "fifo");
    assert!(Link::open(&wrong).unwrap_err().to_string().contains("below 1 GiB"));
}

/// An idle thread runs requests with some delay, which must not be part of the measurement.
#[test]
fn the_measurement_begins_when_begin_returns() {
    if !ready() {
        return;
    }
    let _alone = ALONE.lock();
    for _ in 0..3 {
        let on_demand = LinkSetup { on_demand: true, ..setup(BitRate::from_mbps(10), Duration::ZERO, "fifo") };
        let link = Link::open(&on_demand).unwrap();
        link.begin().unwrap();
        let begun = Wall::now();
        std::thread::sleep(std::time::Duration::from_millis(50));
        link.finish().unwrap();
        let most = begun.elapsed().as_secs_f64() * 1000.0 + 20.0;
        let (measured, _) = link.close().unwrap();
        let window = &measured.directions[0].1[0];
        let took = window.to.since(window.from).as_millis_f64();
        assert!((50.0..most).contains(&took), "{took} ms were measured, of at most {most}");
    }
}

/// A direction blocks the other only if they share a thread.
#[test]
fn a_direction_holds_up_the_other_only_in_the_same_thread() {
    if !ready() {
        return;
    }
    let _alone = ALONE.lock();
    let link = Link::open(&setup(BitRate::from_mbps(100), Duration::ZERO, "fifo")).unwrap();
    let bind = |side: &Netns, address: IpAddr| {
        let socket = side.inside(|| UdpSocket::bind((address, 7001))).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
        socket
    };
    let server = bind(&link.server.namespace, link.addresses.server[0]);
    let client = bind(&link.client.namespace, link.addresses.client[0]);
    for (direction, [from, to]) in [(0, [&client, &server]), (1, [&server, &client])] {
        let control = link.control.clone();
        let second = std::time::Duration::from_secs(1);
        let holder = std::thread::spawn(move || control.ask(direction, move |_, _| std::thread::sleep(second)));
        std::thread::sleep(second / 5);
        let start = Wall::now();
        from.send_to(b"there", to.local_addr().unwrap()).unwrap();
        to.recv(&mut [0; 10]).unwrap();
        let took = start.elapsed();
        assert_eq!(took > second / 2, threads() == Threads::One, "while {direction} stands still: {took:?}");
        assert!(holder.join().unwrap().is_some());
    }
}
