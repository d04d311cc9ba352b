//! Calls with NADA: their rates against the equilibrium of RFC 8698, `x = priority 10 ms max_rate / rate`.

use aqmkit_base::{Duration, Ecn};

use crate::harness::{Host, population};

/// A call of two minutes over a path with 20 ms in each direction. `lost` and `marks` decide by packet number.
fn call(json: &str, lost: fn(usize) -> Option<Duration>, marks: fn(usize) -> bool) -> Host {
    let mut host = Host::new(&*population("call", json), 0, 1);
    (host.network, host.marks) = (Some(lost), Some(marks));
    host.network_back = Some(|_| Some(Duration::from_millis(20)));
    host.run(Duration::from_secs(120));
    host
}

fn whole(_: usize) -> Option<Duration> {
    Some(Duration::from_millis(20))
}

/// Sending rate in the second minute, in bits per second.
fn rate(host: &Host) -> f64 {
    host.bytes_between(60.0, 120.0) * 8.0 / 60.0
}

fn near(is: f64, wanted: f64) {
    assert!((is / wanted - 1.0).abs() < 0.15, "{is} in place of {wanted}");
}

#[test]
fn on_an_idle_path_it_ramps_up_within_seconds() {
    let host = call(r#"{"control": "nada"}"#, whole, |_| false);
    let first = host.bytes_between(0.0, 0.5) * 8.0 / 0.5;
    assert!(first < 200e3, "it starts with min_rate: {first}");
    let soon = host.bytes_between(9.0, 10.0) * 8.0;
    assert!(soon > 1.35e6, "{soon}");
    near(rate(&host), 1.5e6);
    assert_eq!([host.counter("frames_lost"), host.counter("stalls"), host.counter("packets_repaired")], [0.0; 3]);
    assert!(host.sent.iter().all(|packet| packet.ecn == Ecn::NotEct));
}

#[test]
fn packets_leave_evenly() {
    let host = call(r#"{"control": "nada", "start_rate": "1mbit", "max_rate": "1mbit"}"#, whole, |_| false);
    let mut last: Option<(f64, f64)> = None;
    for packet in host.sent.iter().filter(|packet| packet.at.as_secs_f64() > 60.0) {
        let now = packet.at.as_secs_f64();
        if let Some((before, bits)) = last {
            // The pacer sends at most at the current rate, which is the maximum.
            assert!(now - before >= bits / 1.0e6 - 1e-6, "{before} {now} {bits}");
        }
        last = Some((now, 8.0 * f64::from(packet.len)));
    }
    let late = host.done.iter().filter(|(at, frame)| at.since(frame.started) > Duration::from_millis(150)).count();
    assert!(late < host.done.len() / 20, "the buffer is kept short: {late} of {}", host.done.len());
}

#[test]
fn even_marks_lead_to_the_rate_of_the_equilibrium() {
    // One mark in 20 packets: 5 %, x = 2 ms * 25 = 50 ms, so 10 ms / 50 ms of 1.5 Mbit/s.
    let of = |json| rate(&call(json, whole, |n| n % 20 == 7));
    near(of(r#"{"control": "nada", "ecn": "ect0"}"#), 300e3);
    near(of(r#"{"control": "nada", "ecn": "ect1"}"#), 300e3);
    near(of(r#"{"control": "nada", "ecn": "ect0", "priority": 2.0}"#), 600e3);
    near(of(r#"{"control": "nada", "ecn": "ect0", "max_rate": "3mbit"}"#), 600e3);
    // One in 33: 3 %, 18.4 ms.
    near(rate(&call(r#"{"control": "nada", "ecn": "ect0"}"#, whole, |n| n % 33 == 7)), 817e3);
    // Packets that are not ECN-capable are not marked.
    near(of(r#"{"control": "nada"}"#), 1.5e6);
}

#[test]
fn even_losses_lead_to_the_rate_of_the_equilibrium() {
    // One loss in 50 packets: 2 %, x = 10 ms * 4, so a quarter of 6 Mbit/s. Each half second has a loss.
    let losing = |n: usize| (n % 50 != 7).then(|| Duration::from_millis(20));
    let host = call(r#"{"control": "nada", "max_rate": "6mbit"}"#, losing, |_| false);
    near(rate(&host), 1.5e6);
    assert!(host.counter("packets_repaired") > 50.0);
    // For a maximum of 1.5 Mbit/s the equilibrium would be 375 kbit/s, with one loss per second: between losses the
    // rate ramps up.
    let rare = rate(&call(r#"{"control": "nada"}"#, losing, |_| false));
    assert!((500e3..1.2e6).contains(&rare), "{rare}");
    // With one loss in 200 packets the signal is too low to limit the rate below `max_rate`.
    let few = call(r#"{"control": "nada"}"#, |n| (n % 200 != 7).then(|| Duration::from_millis(20)), |_| false);
    near(rate(&few), 1.5e6);
}

#[test]
fn a_standing_queue_leads_to_the_rate_of_the_equilibrium() {
    // The first packets have no queueing delay, later ones 30 ms at any rate: 10 ms / 30 ms of 1.5 Mbit/s.
    let queue = |n: usize| Some(Duration::from_millis(if n < 20 { 20 } else { 50 }));
    near(rate(&call(r#"{"control": "nada"}"#, queue, |_| false)), 500e3);
}

#[test]
fn without_reports_the_rate_falls_to_the_lowest() {
    let mut host = Host::new(&*population("call", r#"{"control": "nada", "start_rate": "1mbit"}"#), 0, 1);
    host.network = Some(whole);
    host.network_back = Some(|_| None);
    host.run(Duration::from_secs(30));
    let rate = host.bytes_between(20.0, 30.0) * 8.0 / 10.0;
    assert!((rate / 153e3 - 1.0).abs() < 0.06, "{rate}");
}

/// The round trip includes both directions of the path (RFC 8698 section 4.3: gamma falls with it): the rate rises
/// equally fast if the sum of both is equal, and more slowly on a longer path.
#[test]
fn a_long_path_back_ramps_up_as_a_long_path_there() {
    fn short(_: usize) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
    fn long(_: usize) -> Option<Duration> {
        Some(Duration::from_millis(290))
    }
    let of = |there: fn(usize) -> Option<Duration>, back: fn(usize) -> Option<Duration>| {
        let mut host = Host::new(&*population("call", r#"{"control": "nada"}"#), 0, 1);
        (host.network, host.network_back) = (Some(there), Some(back));
        host.run(Duration::from_secs(4));
        host.bytes_between(0.0, 4.0)
    };
    let (there, back, neither) = (of(long, short), of(short, long), of(short, short));
    assert!((there / back - 1.0).abs() < 0.05 && neither > 1.1 * there, "{there} and {back}, without {neither}");
}
