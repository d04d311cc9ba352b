use aqmkit_base::{BitRate, Duration};
use aqmkit_traffic::ramp::{Line, Params};

use crate::harness::{Host, population, spec};

fn run(kind: &str, json: &str, secs: u64) -> Host {
    let p = population(kind, json);
    let mut host = Host::new(&*p, 0, 1);
    host.run(Duration::from_secs(secs));
    host
}

#[test]
fn the_blast_is_1270_packets_of_1047_bytes_in_a_second() {
    let host = run("cbr", "{}", 100);
    assert_eq!(host.sent.len(), 127_000);
    assert!(host.sent.iter().all(|s| s.len == 1047));
    let wire = (host.bytes_between(10.0, 20.0) + 28.0 * 12_700.0) / 10.0;
    assert!((wire / 1.365e6 - 1.0).abs() < 0.001, "{wire}");
    assert_eq!(host.app.counter(0), 127_000.0);
}

#[test]
fn an_awkward_rate_does_not_drift() {
    // 3 Mb/s and 1075 bytes: a gap of 2866666.67 ns, 1 255 813.95 packets per hour.
    let host = run("cbr", r#"{"rate": "3mbit"}"#, 3600);
    assert!((1_255_813..=1_255_814).contains(&host.sent.len()), "{}", host.sent.len());
}

#[test]
fn intervals_are_kept_and_jitter_has_bounds() {
    let gaps = |json: &str| -> Vec<f64> {
        let host = run("cbr", json, 100);
        host.sent.windows(2).map(|w| w[1].at.since(w[0].at).as_millis_f64()).collect()
    };
    assert!(gaps(r#"{"interval": "20ms", "packet": "200b"}"#).iter().all(|&g| g == 20.0));
    let jittered = gaps(r#"{"interval": "20ms", "jitter": 0.5}"#);
    let (low, high) = jittered.iter().fold((f64::MAX, 0.0_f64), |(l, h), &g| (l.min(g), h.max(g)));
    assert!((10.0..10.1).contains(&low) && (29.9..=30.0).contains(&high), "{low} {high}");
    let mean = jittered.iter().sum::<f64>() / jittered.len() as f64;
    assert!((mean - 20.0).abs() < 0.3, "{mean}");
}

#[test]
fn values_that_cannot_be_are_refused() {
    let check = |kind: &str, json: &str| spec(kind, json).check().unwrap_err().to_string();
    assert_eq!(check("cbr", r#"{"packet": "28b"}"#), "packet = 28b is not valid: it must be from 29b to 65535b");
    assert!(check("cbr", r#"{"rate": "1mbit", "interval": "1ms"}"#).contains("either rate or interval"));
    assert!(check("cbr", r#"{"rate": "0bit"}"#).contains("above zero"));
    assert!(check("cbr", r#"{"interval": "0s"}"#).contains("interval"));
    assert!(check("cbr", r#"{"jitter": 1.5}"#).starts_with("jitter = 1.5"));
    assert!(check("ramp", r#"{"points": []}"#).starts_with("points"));
    let back = check("ramp", r#"{"points": [["9s", "1mbit"], ["8s", "1mbit"]]}"#);
    assert_eq!(back, "points[1] = 8s is not valid: it must not be before the previous point, 9s");
}

#[test]
fn the_ramp_sends_what_the_line_integrates_to() {
    let host = run("ramp", "{}", 450);
    // In KB: a triangle up to 500, a trapezium up to 800, and the same down.
    let up = 86.0 * 500.0 / 2.0;
    let top = 64.0 * (500.0 + 800.0) / 2.0;
    for (at, kib) in [(90.0, 0.0), (176.0, up), (240.0, up + top), (304.0, up + 2.0 * top), (450.0, 2.0 * (up + top))] {
        let packets = host.sent.iter().filter(|s| s.at.as_secs_f64() <= at).count() as f64;
        let expected: f64 = kib * 1024.0 / 1075.0;
        assert!((packets - expected).abs() <= 1.0, "{packets} until {at}, not {expected}");
    }
    // The rate ten seconds into the first slope.
    let second = host.bytes_between(99.5, 100.5) / 1047.0 * 1075.0 / 1024.0;
    assert!((second - 58.14).abs() < 1.1, "{second}");
}

#[test]
fn times_on_the_ramp_invert_the_integral() {
    let line = Line::new(&Params::default().points);
    let mut from = 0;
    for n in 1..500 {
        let bits = f64::from(n) * 1e6;
        match line.time_of(bits, &mut from) {
            Some(at) => assert!((line.bits_at(at) - bits).abs() < 1e-3, "{n}"),
            None => assert!(bits > line.bits_at(1e6)),
        }
    }
}

#[test]
fn a_step_and_a_rate_that_stays() {
    let mbit = |at, n| (Duration::from_secs(at), BitRate::from_mbps(n));
    let line = Line::new(&[mbit(0, 1), mbit(10, 1), mbit(10, 3)]);
    assert_eq!(line.time_of(5e6, &mut 0), Some(5.0));
    assert_eq!(line.time_of(13e6, &mut 0), Some(11.0));
    assert_eq!(Line::new(&[mbit(0, 0)]).time_of(1.0, &mut 0), None);
    // Before the first point the rate is that of the first point; without points it is zero.
    let late = Line::new(&[mbit(10, 2), mbit(20, 0)]);
    assert_eq!((late.time_of(8e6, &mut 0), late.bits_at(10.0), late.bits_at(1e3)), (Some(4.0), 20e6, 30e6));
    assert_eq!(late.time_of(30.1e6, &mut 0), None);
    let none = Line::new(&[]);
    assert_eq!((none.time_of(1.0, &mut 0), none.bits_at(1e9), late.bits_at(-1.0)), (None, 0.0, 0.0));
}

/// The time of the last bit before a silence is when the silence begins, not when it ends.
#[test]
fn a_silence_keeps_nothing_back() {
    let mbit = |at, n| (Duration::from_secs(at), BitRate::from_mbps(n));
    let line = Line::new(&[mbit(1, 1), mbit(1, 0), mbit(2, 0), mbit(2, 1)]);
    assert_eq!([0.5e6, 1e6, 1.5e6].map(|bits| line.time_of(bits, &mut 0)), [Some(0.5), Some(1.0), Some(2.5)]);
}
