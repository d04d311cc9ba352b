//! RED-PD: what its paper says that a flow gets, and the rules of its authors' code, worked by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::{Bench, PASS};
use crate::common::{Pkt, spec};
use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant, Rng};

/// A queue that drops every packet with the same probability, with intervals of a second; `from` is the second that has begun.
struct Seconds {
    bench: Bench,
    from: Instant,
}

impl Seconds {
    fn new(params: &str) -> Self {
        let all = format!(r#"{{"interval_min": "1s", "interval_max": "1s", "limit": 50, {params}}}"#);
        Seconds { bench: Bench::new(&spec("red-pd", &all)), from: Instant::ZERO }
    }

    /// Sends this many packets of flow 1, evenly over the next second; returns how many the filter dropped.
    fn second(&mut self, packets: u32) -> usize {
        let mut filtered = 0;
        for at in 0..packets {
            self.bench.now = self.from + Duration::from_secs_f64(f64::from(at) / f64::from(packets));
            let why = self.bench.flow(1);
            filtered += usize::from(why == [Why::Unfair] || why == [Why::Penalty]);
            self.bench.take();
        }
        self.from += Duration::from_secs(1);
        filtered
    }
}

/// Section 5 and Figure 13: a flow that sends two or four times `f(R, p)` gets about `f(R, p)`, and no more for sending more.
/// With the filter off it gets all but the queue's drops, 1.9 and 3.9 `f(R, p)`.
#[test]
fn a_flow_above_f_gets_about_f() {
    let received = |gamma: f64, p: f64| {
        let f = 1.5_f64.sqrt() / (0.04 * p.sqrt());
        let mut bench = Bench::new(&spec(
            "red-pd",
            &format!(r#"{{"rtt": "40ms", "drop_rate": {p}, "limit": 50, "unresponsive_test": false}}"#),
        ));
        let (mut got, end) = (0, Instant::ZERO + Duration::from_secs(1000));
        while bench.now < end {
            bench.now += Duration::from_secs_f64(1.0 / (gamma * f));
            let came = bench.flow(1) == PASS;
            got += i32::from(came && bench.now.since(Instant::ZERO) > Duration::from_secs(200));
            bench.take();
        }
        f64::from(got) / 800.0 / f
    };
    for p in [0.01, 0.02, 0.05] {
        let (twice, four) = (received(2.0, p), received(4.0, p));
        assert!((0.5..1.2).contains(&twice) && (0.5..1.2).contains(&four), "p {p}: {twice}, {four}");
        assert!(four < 1.2 * twice, "p {p}: {twice}, {four}");
    }
}

/// A flow that keeps its rate is found not to respond. `unresponsive_penalty` is a factor on the probability with which the filter drops
/// its packets, and on nobody else's.
#[test]
fn a_flow_that_does_not_respond_is_dropped_as_often_as_its_penalty_says() {
    let filtered = |test: bool, penalty: f64| {
        let tested = format!(r#""unresponsive_test": {test}, "unresponsive_penalty": {penalty}"#);
        let mut at = Seconds::new(&format!(r#""k": 1, "m": 1, "drop_rate": 0.05, {tested}"#));
        (0..5).map(|_| at.second(20_000) as f64 / 20_000.0).collect::<Vec<_>>()
    };
    // P rises by 5 % in a second, and by 10 % in the fourth, for a flow that has not responded by then.
    for (penalty, want) in [(1.0, 0.25), (2.0, 0.5), (0.5, 0.125)] {
        let rates = filtered(true, penalty);
        assert!((rates[3] - 0.15).abs() < 0.01 && (rates[4] - want).abs() < 0.015, "{penalty}: {rates:?}");
    }
    assert!((filtered(false, 2.0)[4] - 0.2).abs() < 0.01, "without the test nobody is found");
}

/// The gap from one drop to the next is uniform on 1 to 1/P packets, `(1 + 1/P) / 2` in the mean; drawn for each packet
/// by itself it is 1/P. A flow that is identified for the first time has P = p, here 5 %.
#[test]
fn spaced_drops_are_nearly_twice_as_many_and_never_far_apart() {
    let filtered = |spacing: bool| {
        let mut at = Seconds::new(&format!(r#""k": 1, "m": 1, "drop_rate": 0.05, "ns2_spacing": {spacing}"#));
        assert_eq!(at.second(1000), 0, "not monitored yet");
        at.second(20_000) as f64 / 20_000.0
    };
    let (spaced, drawn) = (filtered(true), filtered(false));
    assert!((spaced - 2.0 * 0.05 / 1.05).abs() < 0.004, "{spaced}");
    assert!((drawn - 0.05).abs() < 0.006, "{drawn}");
}

/// The gauge of a queue at a moment, and after its parameters were changed there.
fn interval_after_a_change(at_ms: u64, before: &str, after: &str) -> (f64, f64) {
    let mut bench = Bench::new(&spec("red-pd", before));
    bench.now += Duration::from_millis(at_ms);
    let was = bench.gauge("interval");
    let after = spec("red-pd", after).effective(&crate::common::link()).unwrap();
    let mut cx = crate::common::cx(bench.now, &mut bench.rng, &mut bench.log);
    bench.queue.reconfigure(&after, &crate::common::link(), &mut cx).unwrap();
    (was, bench.gauge("interval"))
}

/// Before the first drop an interval lasts ten times `rtt`. A change of `rtt` changes the interval that has begun; one that would have
/// ended already ends at the change, with the arrivals so far.
#[test]
fn an_interval_that_has_begun_follows_a_change_of_rtt() {
    let (short, long) = (r#"{"rtt": "40ms"}"#, r#"{"rtt": "100ms"}"#);
    for (at_ms, before, after, intervals) in [
        (0, short, long, (0.4, 1.0)),
        (0, long, short, (1.0, 0.4)),
        (300, long, short, (1.0, 0.4)),
        (900, long, short, (1.0, 0.9)),
        (300, short, short, (0.4, 0.4)),
    ] {
        assert_eq!(interval_after_a_change(at_ms, before, after), intervals, "{before} {after} at {at_ms} ms");
    }
}

/// A queue of which RED sees what waits, without an average; flow 1 has just been identified.
fn identified(min: u32, more: &str) -> Bench {
    let params =
        format!(r#"{{"limit": 60, "min": {min}, "max": 15, "weight": 1.0, "max_p": 0.5, "k": 1, "m": 1, {more}}}"#);
    let mut bench = Bench::new(&spec("red-pd", &params));
    for _ in 0..18 {
        bench.flow(1);
    }
    bench.now += Duration::from_secs(1);
    while bench.gauge("monitored") == 0.0 {
        bench.take_all();
        bench.flow(1);
    }
    bench
}

/// Fills the queue with a packet each of other flows, and empties it down to `packets`.
fn with_waiting(bench: &mut Bench, packets: usize) {
    bench.take_all();
    let mut waiting = 0;
    for flow in 100.. {
        if waiting == packets {
            break;
        }
        waiting += usize::from(bench.flow(flow) == PASS);
    }
}

/// Below `min` nothing is dropped but counted: as soon as the filter works again the drop is overdue. Without the count it
/// comes with P, as for any packet.
#[test]
fn a_spaced_drop_that_is_overdue_falls_at_once() {
    let at_once = |spacing: bool, seed: u64| {
        let mut bench = identified(5, &format!(r#""ns2_spacing": {spacing}"#));
        let p = bench.gauge("filter.max");
        assert!((0.05..0.5).contains(&p), "{p}");
        with_waiting(&mut bench, 2);
        for _ in 0..20 {
            assert_eq!(bench.flow(1), PASS, "below min the filter rests");
            bench.take();
        }
        with_waiting(&mut bench, 6);
        bench.rng = Rng::stream(seed, "draw");
        bench.flow(1) == [Why::Unfair]
    };
    assert!((0..20).all(|seed| at_once(true, seed)));
    assert!((0..20).filter(|seed| at_once(false, *seed)).count() < 15);
}

/// Flow 1 sends twice what leaves until it is unresponsive; then the queue is kept at `waiting` packets, and flow 1 continues.
fn penalties(waiting: usize, more: &str) -> usize {
    let params = format!(r#"{{"limit": 60, "min": 5, "max": 15, "weight": 1.0, "rtt": "40ms", {more}}}"#);
    let mut bench = Bench::new(&spec("red-pd", &params));
    while bench.gauge("unresponsive") == 0.0 {
        bench.now += Duration::from_micros(400);
        bench.flow(1);
        bench.now += Duration::from_micros(400);
        bench.flow(1);
        bench.take();
        assert!(bench.now < Instant::ZERO + Duration::from_secs(100), "not found");
    }
    with_waiting(&mut bench, waiting);
    let mut filtered = 0;
    for _ in 0..300 {
        match bench.flow(1)[..] {
            [] => drop(bench.take()),
            [why] => filtered += usize::from(why == Why::Penalty),
            _ => unreachable!("one packet, one reason"),
        }
    }
    filtered
}

#[test]
fn unresponsive_flows_are_filtered_below_min_too() {
    assert_eq!(penalties(3, r#""ns2_below_min": false"#), 0, "the text: below min the filter rests");
    assert!(penalties(3, r#""ns2_below_min": true"#) > 10);
    assert_eq!(penalties(1, r#""ns2_below_min": true"#), 0, "the last packet waiting is spared");
    assert!(penalties(0, r#""ns2_below_min": true, "noidle": false"#) > 10, "unless the link may idle");
}

/// `noidle` is about unresponsive flows there: the others are not filtered from a queue of fewer than two in any case.
#[test]
fn responsive_flows_keep_the_link_busy_in_the_authors_code() {
    let filtered = |below_min: bool| {
        let mut bench = identified(0, &format!(r#""noidle": false, "ns2_below_min": {below_min}"#));
        let drops = (0..200).filter(|_| {
            bench.take_all();
            bench.flow(1) == [Why::Unfair]
        });
        drops.count()
    };
    assert_eq!(filtered(true), 0);
    assert!(filtered(false) > 5);
}

/// With M = 3 a probability rises after every second interval. Of each two the flow sends `first` packets in one and `last`
/// in the other; its drop rate keeps rising, as P does: 0.1, 0.2, 0.3 ...
fn is_unresponsive(rounds: [(u32, u32); 5], last_interval: bool) -> bool {
    let mut at = Seconds::new(&format!(r#""k": 1, "m": 3, "drop_rate": 0.1, "ns2_last_interval": {last_interval}"#));
    at.second(1000);
    for (first, last) in rounds {
        at.second(first);
        at.second(last);
    }
    at.bench.now = at.from;
    at.bench.flow(1);
    at.bench.gauge("unresponsive") > 0.0
}

#[test]
fn the_test_for_unresponsive_flows_may_look_at_the_last_interval_alone() {
    // Over the whole time it slows down by half each time, in the last interval never.
    let slows_down = [(32_000, 2000), (16_000, 2000), (8000, 2000), (4000, 2000), (2000, 2000)];
    assert!(!is_unresponsive(slows_down, false));
    assert!(is_unresponsive(slows_down, true));
    // The other way about.
    let slows_at_the_end = [(20_000, 16_000), (28_000, 8000), (32_000, 4000), (34_000, 2000), (35_000, 1000)];
    assert!(is_unresponsive(slows_at_the_end, false));
    assert!(!is_unresponsive(slows_at_the_end, true));
}

/// One of two packets is dropped, and none after that: the drop rate, a half, is halved with each interval, and taken for zero when it is below
/// 1e-9, which 2^-29 is not and 2^-30 is.
#[test]
fn a_drop_rate_below_one_in_a_thousand_million_is_none() {
    let mut b = Bench::new(&spec("red-pd", r#"{"limit": 1, "interval_min": "1s", "interval_max": "1s"}"#));
    let rate_after = |bench: &mut Bench, intervals: u64| {
        bench.now = Instant::ZERO + Duration::from_secs(intervals);
        bench.flow(2);
        bench.take();
        bench.gauge("drop_rate")
    };
    assert_eq!([b.flow(1), b.flow(1)], [PASS, vec![Why::Overflow]]);
    b.take();
    for n in 1..=29 {
        assert_eq!(rate_after(&mut b, n as u64), 0.5_f64.powi(n), "after {n} intervals");
    }
    assert_eq!(rate_after(&mut b, 30), 0.0);
}

/// One byte of a thousand million is just that.
#[test]
fn a_drop_rate_of_one_in_a_thousand_million_counts() {
    let params = r#"{"limit": 1, "byte_mode": true, "interval_min": "1s", "interval_max": "1s"}"#;
    let mut b = Bench::new(&spec("red-pd", params));
    let of = |len| Pkt { len, ..Pkt::new(0, 1) };
    assert_eq!([b.offer(of(999_999_999)), b.offer(of(1))], [PASS, vec![Why::Overflow]]);
    b.now += Duration::from_secs(1);
    b.flow(1);
    assert_eq!(b.gauge("drop_rate"), 1e-9);
}
