//! The disciplines that Linux and cable modems ship, worked by hand: what their sources say about single packets, and runs beside a queue
//! without the law.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use aqmkit_base::{Duration, Instant};
use common::bench::{Bench, PASS};
use common::{Pkt, cx, spec};

/// An instant, so many milliseconds after the start.
fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Waits until then.
fn wait(b: &mut Bench, until: Instant) {
    b.now = until;
    b.queue.on_wakeup(&mut cx(b.now, &mut b.rng, &mut b.log));
}

/// 30 000 bytes at a sustained rate of 10 Mbit/s wait 24 ms; where the first 10 000 go at 40 Mbit/s, 16 + 2 ms.
#[test]
fn docsis_pie_computes_the_delay_from_the_rates_of_its_shaper() {
    for (more, delay) in [("", 0.024), (r#", "peak_rate": "40mbit", "traffic_burst": "10000b""#, 0.018)] {
        let mut b = Bench::new(&spec("docsis-pie", &format!(r#"{{"limit": 1000{more}}}"#)));
        (0..30).for_each(|_| assert_eq!(b.flow(1), PASS));
        wait(&mut b, ms(16));
        assert!((b.gauge("qdelay") - delay).abs() < 1e-9, "{}", b.gauge("qdelay"));
        let p = (0.25 * (delay - 0.010) + 2.5 * delay) / 2048.0;
        assert!((b.gauge("p") / p - 1.0).abs() < 1e-6, "{}, by hand {p}", b.gauge("p"));
    }
}

/// The bucket was emptied by the first ten packets, and 20 ms at 10 Mbit/s fill it again.
#[test]
fn docsis_pies_tokens_run_out_and_come_back() {
    let mut b = Bench::new(&spec("docsis-pie", r#"{"limit": 1000, "peak_rate": "40mbit", "traffic_burst": "10000b"}"#));
    (0..40).for_each(|_| assert_eq!(b.flow(1), PASS));
    b.now = ms(16);
    (0..10).for_each(|_| assert!(b.take().is_some()));
    // The update of 16 ms was before the departures; that of 32 ms finds 30 kB and all tokens but those of 4 ms.
    wait(&mut b, ms(16));
    b.now = ms(28);
    (0..10).for_each(|_| assert!(b.take().is_some()));
    wait(&mut b, ms(32));
    let by_hand = 15_000.0 / 1.25e6 + 5_000.0 / 5e6;
    assert!((b.gauge("qdelay") - by_hand).abs() < 1e-9, "{}, by hand {by_hand}", b.gauge("qdelay"));
}

/// What `docsis-pie` drops of a blast: the third of the buffer passes, then comes one drop by chance, and then nothing for 142 ms.
#[test]
fn docsis_pie_pauses_after_its_first_drop() {
    const INACTIVE: f64 = 0.0;
    const QUIESCENT: f64 = 1.0;
    const ACTIVE: f64 = 2.0;
    let mut b = Bench::new(&spec("docsis-pie", r#"{"limit": 300, "alpha": 2, "beta": 5}"#));
    for _ in 0..100 {
        assert_eq!(b.flow(1), PASS, "below a third");
    }
    assert_eq!(b.gauge("state"), INACTIVE);
    assert_eq!((b.flow(1), b.gauge("state")), (PASS, QUIESCENT));
    // The link is faster than the source by nothing: the queue stays where it is.
    let mut at = 0;
    while b.gauge("state") == QUIESCENT {
        at += 1;
        assert!(at < 10_000, "no drop in ten seconds");
        wait(&mut b, ms(at));
        if b.flow(1) == PASS {
            b.take();
        }
    }
    assert_eq!((b.gauge("state"), b.queue.stats().drops()), (ACTIVE, 1));
    assert!((b.gauge("burst_allowance") - 0.142).abs() < 1e-9);
    for _ in 0..127 {
        at += 1;
        wait(&mut b, ms(at));
        assert_eq!(b.flow(1), PASS, "{at} ms, within 142 ms of the first drop");
        b.take();
    }
    // An empty queue is quiet, and after more than a second inactive.
    b.take_all();
    wait(&mut b, ms(at + 400));
    assert_eq!((b.gauge("state"), b.gauge("p")), (QUIESCENT, 0.0));
    wait(&mut b, ms(at + 1600));
    assert_eq!(b.gauge("state"), INACTIVE);
}

/// Long delays at a queue that does not move take the probability above one, up to that at which a packet of 64 bytes is dropped with 0.85. The
/// same load without a target ever reached loses nothing before the buffer is full.
#[test]
fn docsis_pies_probability_goes_above_one() {
    let stalled = |params: &str| {
        let mut b = Bench::new(&spec("docsis-pie", params));
        (0..400).for_each(|_| assert_eq!(b.flow(1), PASS));
        wait(&mut b, ms(20_000));
        b
    };
    let b = stalled(r#"{"limit": 2000}"#);
    assert!((b.gauge("p") - 0.85 * 1024.0 / 64.0).abs() < 1e-12, "{}", b.gauge("p"));
    let mut without = stalled(r#"{"limit": 2000, "target": "10s", "latency_high": "10s"}"#);
    assert_eq!((without.gauge("p"), without.flow(1)), (0.0, PASS));
}

/// The error of building the discipline.
fn refusal(name: &str, json: &str) -> String {
    spec(name, json).build::<Pkt>(&common::link(), Instant::ZERO).err().expect("it must be refused").to_string()
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = refusal(name, json);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("docsis-pie", r#"{"peak_rate": "1mbit"}"#, &["peak_rate", "at least msr", "RFC 8034"]);
    says("docsis-pie", r#"{"min_pktsize": "2000b"}"#, &["min_pktsize", "mean"]);
    says("docsis-pie", r#"{"latency_high": "1ms"}"#, &["latency_high", "latency_low, 5ms"]);
    says("docsis-pie", r#"{"alpha": 20}"#, &["alpha = 20", "RFC 8034"]);
}
