//! Tests between two ends on one host. Those behind a bottleneck are in the tests of the command.

#![allow(clippy::unwrap_used, reason = "a test may panic, and so may what helps it")]
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use aqmkit_active::{MOST_DATA, Phase, Server, Settings, measure};
use aqmkit_estimate::measurement::Direction;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server at a free port.
fn server() -> SocketAddr {
    let server = Server::bind(Some(HERE), 0).unwrap();
    let address = server.address().unwrap();
    thread::spawn(move || server.serve());
    address
}

fn settings(server: SocketAddr) -> Settings {
    Settings {
        host: server.ip().to_string(),
        port: server.port(),
        flows: 2,
        time: Duration::from_millis(600),
        data: MOST_DATA,
        idle: Duration::from_millis(300),
    }
}

fn bounded(server: SocketAddr) -> Settings {
    Settings { data: 1_000_000, ..settings(server) }
}

/// Says a line to a server, and returns its answer.
fn answer(stream: &TcpStream, line: &str) -> String {
    let mut to = stream;
    writeln!(to, "{line}").unwrap();
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    reply
}

#[test]
fn both_directions_are_measured_within_the_bounds() {
    let mut phases = Vec::new();
    let seen = measure(&bounded(server()), &mut |phase| phases.push(phase)).unwrap();
    assert_eq!(phases, [Phase::Idle, Phase::Up, Phase::Pause, Phase::Down, Phase::End]);
    for (one, direction) in [(&seen.up, Direction::Up), (&seen.down, Direction::Down)] {
        assert_eq!(one.flows.len(), 2);
        for flow in &one.flows {
            assert_eq!(flow.direction, direction);
            let bytes: f64 = flow.bins.iter().map(|bin| bin.bytes).sum();
            // The reset at the end may overtake what the receiver has not read.
            assert!(bytes > 0.0 && bytes <= 500_000.0, "{bytes}");
            assert!(flow.knows_losses && flow.rtts.iter().all(|(_, rtt)| (0.0..1.0).contains(rtt)), "{flow:?}");
            assert!(!flow.rtts.is_empty());
        }
        let probe = &one.probes[0];
        assert_eq!(probe.packet, Some(44.0), "20 bytes of IPv4, 8 of UDP, 16 of payload");
        assert!(probe.rtts().count() > 20 && probe.rtts().all(|(_, rtt)| (0.0..1.0).contains(&rtt)));
    }
    // The sparse packets of a direction are those without load, and those beside its own load.
    let begin = |one: &aqmkit_estimate::measurement::Measurement| one.flows[0].span().unwrap().0;
    assert!(seen.up.probes[0].samples.iter().all(|sample| sample.at < begin(&seen.down)));
    assert!(
        seen.down.probes[0]
            .samples
            .iter()
            .all(|s| s.at < begin(&seen.up) || s.at > seen.up.flows[0].span().unwrap().1 - 0.1)
    );
}

#[test]
fn time_is_a_bound_too() {
    let seen = measure(&settings(server()), &mut |_| {}).unwrap();
    for one in [seen.up, seen.down] {
        let (from, to) = one.flows[0].span().unwrap();
        assert!((0.4..5.0).contains(&(to - from)), "{from} to {to}");
    }
}

#[test]
fn a_server_is_in_one_test_at_a_time() {
    let server = server();
    let other = TcpStream::connect(server).unwrap();
    assert!(answer(&other, "{\"request\": \"begin\", \"version\": 1}").contains("begun"));
    let error = measure(&bounded(server), &mut |_| {}).unwrap_err();
    assert_eq!(error.what, "the server is in a test of 127.0.0.1");
    drop(other);
    // The server notices the end a moment later.
    let again = (0..50).any(|_| {
        thread::sleep(Duration::from_millis(20));
        measure(&bounded(server), &mut |_| {}).is_ok()
    });
    assert!(again);
}

#[test]
fn a_server_survives_what_is_no_request() {
    let server = server();
    for nonsense in ["GET / HTTP/1.1", "{}", "\u{7f}\u{0}", "{\"request\": \"report\"}"] {
        assert_eq!(answer(&TcpStream::connect(server).unwrap(), nonsense), "");
    }
    // A connection with another number carries nothing.
    let carry = "{\"request\": \"carry\", \"token\": 1, \"direction\": \"down\", \"seconds\": 1, \"bytes\": 9}";
    assert_eq!(answer(&TcpStream::connect(server).unwrap(), carry), "");
    let refused = answer(&TcpStream::connect(server).unwrap(), "{\"request\": \"begin\", \"version\": 2}");
    assert!(refused.contains("refused") && refused.contains("version 1"), "{refused}");
    assert!(measure(&bounded(server), &mut |_| {}).is_ok());
}

#[test]
fn errors_say_what_would_be_right() {
    // A port that nobody listens at: that of a listener that is gone.
    let gone = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap();
    let error = measure(&settings(gone), &mut |_| {}).unwrap_err();
    assert!(error.what.contains("refused") && error.right.contains("measure --serve"), "{error:?}");
    let right = settings(gone);
    let wrong = [
        (Settings { flows: 0, ..right.clone() }, "between 1 and 64"),
        (Settings { time: Duration::from_secs(61), ..right.clone() }, "no more than 60 s"),
        (Settings { time: Duration::ZERO, ..right.clone() }, "more than zero"),
        (Settings { data: 0, ..right.clone() }, "more than zero"),
        (Settings { host: "no.such.host.invalid".into(), ..right }, "measure --serve"),
    ];
    for (settings, advice) in wrong {
        let told = measure(&settings, &mut |_| {}).unwrap_err();
        assert!(told.right.contains(advice), "{told:?}");
    }
}
