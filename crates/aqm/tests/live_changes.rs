//! What a queue forgets when its parameters change while packets wait, worked by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use aqmkit_base::{Duration, Instant};
use common::bench::Bench;
use common::{cx, link, spec};

/// Changes the parameters of a queue.
fn change(b: &mut Bench, name: &str, json: &str) {
    let after = spec(name, json).effective(&link()).unwrap();
    b.queue.reconfigure(&after, &link(), &mut cx(b.now, &mut b.rng, &mut b.log)).unwrap();
}

/// An average of packets says nothing about bytes, nor one of a virtual queue about a sum. Other changes keep it.
#[test]
fn averages_of_gred_end_with_their_unit() {
    let params = |unit: &str, more: &str| {
        let class = |name: &str, prio: u32| {
            let (min, max) = (amount(unit, 20), amount(unit, 40));
            format!(r#"{{"class": "{name}", "prio": {prio}, "weight": 0.5, "min": {min}, "max": {max}}}"#)
        };
        format!(r#"{{"limit": {}{more}, "classes": [{}, {}]}}"#, amount(unit, 90), class("tcp", 1), class("*", 2))
    };
    for (after, kept) in [
        (params("", r#", "harddrop": true"#), true),
        (params("b", ""), false),
        (params("", r#", "grio": true"#), false),
    ] {
        let mut b = Bench::new(&spec("gred", &params("", "")));
        (0..4).for_each(|_| _ = b.flow(1));
        let before = 0.5 * (3.0 + 0.5 * (2.0 + 0.5 * 1.0));
        assert_eq!(b.gauge("avg.tcp"), before);
        change(&mut b, "gred", &after);
        assert_eq!(b.gauge("avg.tcp"), if kept { before } else { 0.0 }, "{after}");
    }
}

/// A length of queue: packets, or thousands of bytes.
fn amount(unit: &str, n: u32) -> String {
    if unit == "b" { format!(r#""{n}000b""#) } else { n.to_string() }
}

/// With lists of another kind RED-PD counts anew: of four packets that come after the change one is dropped, whatever was before.
#[test]
fn red_pd_counts_anew_with_other_lists() {
    let params = |m: u32| format!(r#"{{"limit": 3, "min": 1000, "max": 2000, "rtt": "100ms", "m": {m}}}"#);
    let mut b = Bench::new(&spec("red-pd", &params(5)));
    (0..13).for_each(|_| _ = b.flow(1));
    change(&mut b, "red-pd", &params(4));
    b.take_all();
    (0..4).for_each(|_| _ = b.flow(1));
    // The first interval takes ten round trips.
    b.now = Instant::ZERO + Duration::from_secs(1);
    b.flow(1);
    assert_eq!(b.gauge("drop_rate"), 0.25);
}
