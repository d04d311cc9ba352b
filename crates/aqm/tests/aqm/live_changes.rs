//! State that a queue drops when its parameters change while packets wait, worked by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::{Bench, PASS};
use crate::common::{Event, Pkt, cx, link, spec};
use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};

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

/// So does RIO's, of the packets inside of their profile and of all.
#[test]
fn averages_of_rio_end_with_their_unit() {
    let params = |unit: &str, max: u32| {
        let [limit, min, max] = [90, 20, max].map(|n| amount(unit, n));
        let ends = format!(r#""in_min": {min}, "in_max": {max}, "out_min": {min}, "out_max": {max}"#);
        format!(r#"{{"limit": {limit}, "weight": 0.5, "in": ["tcp"], {ends}}}"#)
    };
    for (after, kept) in [(params("", 50), true), (params("b", 40), false)] {
        let mut b = Bench::new(&spec("rio", &params("", 40)));
        (0..4).for_each(|_| _ = b.flow(1));
        let before = [b.gauge("avg.in"), b.gauge("avg.out")];
        assert!(before.iter().all(|avg| *avg > 1.0), "{before:?}");
        change(&mut b, "rio", &after);
        let now = [b.gauge("avg.in"), b.gauge("avg.out")];
        assert_eq!(now, if kept { before } else { [0.0; 2] }, "{after}");
    }
}

/// So does WRED's, which is of all that waits.
#[test]
fn averages_of_wred_end_with_their_unit() {
    let params = |unit: &str, max: u32| {
        let [limit, min, max] = [90, 20, max].map(|n| amount(unit, n));
        format!(r#"{{"limit": {limit}, "weight": 0.5, "classes": [{{"min": {min}, "max": {max}}}]}}"#)
    };
    for (after, kept) in [(params("", 50), true), (params("b", 40), false)] {
        let mut b = Bench::new(&spec("wred", &params("", 40)));
        (0..4).for_each(|_| _ = b.flow(1));
        let before = 0.5 * (3.0 + 0.5 * (2.0 + 0.5 * 1.0));
        assert_eq!(b.gauge("avg"), before);
        change(&mut b, "wred", &after);
        assert_eq!(b.gauge("avg"), if kept { before } else { 0.0 }, "{after}");
    }
}

/// Where one class of CBQ has a priority, the others have the last one; where none has, there are none.
#[test]
fn classes_of_cbq_have_the_last_priority() {
    let priorities = |first: &str| {
        let classes = format!(r#"{{"class": "tcp", "share": 0.5{first}}}, {{"class": "*", "share": 0.5}}"#);
        let full = spec("cbq", &format!(r#"{{"classes": [{classes}]}}"#)).effective(&link()).unwrap();
        let table = serde_json::to_value(&full).unwrap();
        [0, 1].map(|i| table["classes"][i]["priority"].as_u64())
    };
    assert_eq!(priorities(""), [None, None]);
    assert_eq!(priorities(r#", "priority": 2"#), [Some(2), Some(8)]);
}

/// With two packets of one flow in SRED's list of one, the second is the first hit, and every later one a repeated hit.
#[test]
fn sred_counts_repeated_hits() {
    let mut b = Bench::new(&spec("sred", r#"{"zombies": 1, "weight": 0.5, "limit": 100}"#));
    let mut seen = Vec::new();
    for _ in 0..4 {
        b.flow(1);
        seen.push(b.gauge("repeated_hits"));
    }
    assert_eq!(seen, [0.0, 0.0, 0.5, 0.75]);
}

/// Which queue is the longest depends on the unit of the limit: flow 1 has most bytes, flow 2 most packets.
#[test]
fn the_longest_queue_of_drr_is_the_longest_in_the_unit_of_the_limit() {
    for (before, after, lost) in [("5p", "1900b", 1), ("9000b", "3p", 2)] {
        let mut b = Bench::new(&spec("drr", &format!(r#"{{"limit": "{before}"}}"#)));
        for (flow, len) in [(1, 1500), (2, 200), (2, 200), (2, 200)] {
            b.offer(Pkt { len, ..Pkt::new(0, flow) });
        }
        change(&mut b, "drr", &format!(r#"{{"limit": "{after}"}}"#));
        let dropped = b.log.0.iter().filter_map(|e| if let Event::Dropped(p, _) = e { Some(p.flow) } else { None });
        assert_eq!(dropped.collect::<Vec<_>>(), [lost], "{before} to {after}");
    }
}

/// With another `q_ref` DCN takes the queue for empty before, as at its start: 20 packets of 1000 bytes below the target. Before the change
/// the empty queue was 10 below; the next step is `a * -20 - b * -20`, with `a = 0.1` and `b = 0.2`.
#[test]
fn dcn_compares_with_an_empty_queue_after_another_target() {
    let params = |q_ref: u32| {
        format!(
            r#"{{"limit": "100kb", "avpkt": "1000b", "q_ref": "{q_ref}b", "a": 0.1, "b": 0.2, "p_init": 50.0, "t_update": "10ms"}}"#
        )
    };
    let mut b = Bench::new(&spec("dcn", &params(10_000)));
    change(&mut b, "dcn", &params(20_000));
    b.now = Instant::ZERO + Duration::from_millis(10);
    b.queue.on_wakeup(&mut cx(b.now, &mut b.rng, &mut b.log));
    let share = b.gauge("p_ref");
    assert!((share - 52.0).abs() < 1e-9, "{share}");
}

/// A flow must be in three of five lists. A change that makes lists of another kind drops the old ones; another change keeps them.
#[test]
fn red_pd_identifies_anew_with_other_lists() {
    let params = |more: &str| {
        let fixed = r#""drop_rate": 1.0, "rtt": "10ms", "interval_min": "100ms", "interval_max": "100ms""#;
        format!("{{{fixed}{more}}}")
    };
    for (more, identified) in [
        ("", 1.0),
        (r#", "alpha": 0.3"#, 1.0),
        (r#", "m": 6"#, 0.0),
        (r#", "max_flows": 49"#, 0.0),
        (r#", "byte_mode": true"#, 0.0),
    ] {
        let mut b = Bench::new(&spec("red-pd", &params("")));
        let lose = |bench: &mut Bench, ms: u64| {
            bench.now = Instant::ZERO + Duration::from_millis(ms);
            assert_eq!(bench.flow(1).len(), 1, "every packet is dropped");
        };
        lose(&mut b, 50);
        lose(&mut b, 150);
        change(&mut b, "red-pd", &params(more));
        lose(&mut b, 250);
        lose(&mut b, 350);
        assert_eq!(b.gauge("identified"), identified, "{more}");
    }
}

/// The RED of SFQ's queues is remembered through other changes, and begins afresh where it is switched off and on again, though packets wait
/// all the time. With 5000 bytes waiting its average has come to 4031, above `max`, and begins at half of 5000.
#[test]
fn sfqs_red_begins_afresh_where_it_is_switched_on() {
    let on = |depth: u32| {
        format!(
            r#"{{"divisor": 1, "depth": {depth}, "redflowlimit": "100000b", "min": "2000b", "max": "4000b", "weight": 0.5, "probability": 0}}"#
        )
    };
    let off = r#"{"divisor": 1, "depth": 60}"#;
    for (changes, first) in [(vec![on(50)], vec![Why::Forced]), (vec![off.to_owned(), on(60)], PASS)] {
        let mut b = Bench::new(&spec("sfq", &on(60)));
        let offers: Vec<Vec<Why>> = (0..6).map(|_| b.flow(1)).collect();
        assert_eq!(offers, [PASS, PASS, PASS, PASS, PASS, vec![Why::Forced]]);
        changes.iter().for_each(|params| change(&mut b, "sfq", params));
        assert_eq!(b.flow(1), first, "{changes:?}");
    }
}

/// A flow that DCN watches since 30 ms has a count of 4 and a share of 2. With a period of 50 ms from 40 ms on it is 2 at 90 ms, 0 at 140 ms and gone at 190 ms;
/// with the period of 800 ms that it came with it would be 2 at 830 ms.
#[test]
fn dcn_follows_a_shorter_period_at_once() {
    let params =
        |more: &str| format!(r#"{{"q_ref": 100, "p_init": 2.0, "p_max": 2.0, "p_min": 2.0, "t_update": "5ms"{more}}}"#);
    for (more, left) in [("", 1.0), (r#", "t_dec": "50ms""#, 0.0)] {
        let mut b = Bench::new(&spec("dcn", &params("")));
        for ms in [0, 10, 20, 30] {
            b.now = Instant::ZERO + Duration::from_millis(ms);
            assert_eq!(b.flow(1), PASS);
        }
        assert_eq!(b.gauge("flows"), 1.0);
        b.now += Duration::from_millis(10);
        change(&mut b, "dcn", &params(more));
        b.now += Duration::from_millis(160);
        b.queue.on_wakeup(&mut cx(b.now, &mut b.rng, &mut b.log));
        assert_eq!(b.gauge("flows"), left, "{more}");
    }
}
