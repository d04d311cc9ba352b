//! The disciplines that Linux and cable modems ship, worked by hand: what their sources say about single packets, and runs beside a queue
//! without the law.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::{Bench, PASS};
use crate::common::{Pkt, cx, spec};
use aqmkit_aqm::{InnerQueue, Why};
use aqmkit_base::{Duration, Instant};

/// The instant `ms` milliseconds after the start.
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

/// Drops of `docsis-pie` in a blast: the third of the buffer passes, then comes one random drop, and then none for 142 ms.
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
    // A burst that is gone before the next update is quiet, for a second of its own.
    (0..101).for_each(|_| assert_eq!(b.flow(1), PASS));
    b.take_all();
    for (later, state) in [(0, QUIESCENT), (980, QUIESCENT), (1040, INACTIVE)] {
        wait(&mut b, ms(at + 1600 + later));
        assert_eq!(b.gauge("state"), state, "{later} ms after the burst");
    }
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

/// The average of a virtual queue with 0, 1, 2, 3 packets and a weight of a half. The second class is dropped only where the first one's
/// average counts, and that only while the first one has packets.
#[test]
fn gred_adds_the_averages_of_more_important_classes() {
    let params = |grio: bool| {
        format!(
            r#"{{"grio": {grio}, "classes": [{{"class": "tcp", "prio": 1, "min": 50, "max": 90, "weight": 0.5}},
                {{"class": "*", "prio": 2, "min": 1, "max": 2, "weight": 0.5}}]}}"#
        )
    };
    let less_important = Pkt { class: 1, ..Pkt::new(0, 2) };
    for (grio, dropped) in [(false, PASS), (true, vec![Why::Forced])] {
        let mut b = Bench::new(&spec("gred", &params(grio)));
        (0..4).for_each(|_| assert_eq!(b.flow(1), PASS));
        assert_eq!(b.gauge("avg.tcp"), 0.5 * (3.0 + 0.5 * (2.0 + 0.5 * 1.0)));
        assert_eq!(b.offer(less_important), dropped, "grio {grio}");
        b.take_all();
        assert_eq!(b.offer(less_important), PASS, "the first class is idle");
    }
}

/// Equal `prio` under `grio` is one average of the whole queue.
#[test]
fn gred_shares_one_average_among_equals() {
    let equal = r#"{"grio": true, "classes": [{"class": "tcp", "weight": 0.5}, {"class": "*", "weight": 0.5}]}"#;
    let mut b = Bench::new(&spec("gred", equal));
    assert_eq!([b.flow(1), b.offer(Pkt { class: 1, ..Pkt::new(0, 2) }), b.flow(1)], [PASS; 3]);
    let mut shown = Vec::new();
    b.queue.probe(&mut |name, value| shown.push((name.to_owned(), value)));
    // Nobody has an average of its own.
    let expected = [("avg", 0.5 * (2.0 + 0.5)), ("queue.tcp", 2.0), ("queue.*", 1.0)];
    assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value)));
}

/// At a queue of 20 between 10 and 30 a tenth is dropped by the base probability of 0.1: each gap from 1 to 10 as often, 5.5 in the mean. The same
/// queue without thresholds in its way drops nothing.
#[test]
fn greds_gaps_are_uniform() {
    let gaps_with = |min: u32, max: u32| {
        let classes = format!(r#"[{{"min": {min}, "max": {max}, "max_p": 0.2, "weight": 1}}]"#);
        let mut b = Bench::new(&spec("gred", &format!(r#"{{"classes": {classes}}}"#)));
        while b.queue.backlog().packets < 20 {
            b.flow(1);
        }
        let (mut gaps, mut gap) = ([0; 20], 0);
        for _ in 0..55_000 {
            gap += 1;
            if b.flow(1) == PASS {
                b.take();
            } else {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        gaps
    };
    let gaps = gaps_with(10, 30);
    assert!(gaps[1..11].iter().all(|n| (900..1100).contains(n)) && gaps[11..].iter().all(|n| *n == 0), "{gaps:?}");
    assert_eq!(gaps_with(100, 300), [0; 20]);
}

/// With packets of 1000 bytes, the fourth is the first one above 3000. It stays a heavy hitter while it sends.
#[test]
fn hhf_admits_evicts_and_weighs() {
    let params = r#"{"admit_bytes": "3000b", "quantum": "1000b", "hh_limit": 1}"#;
    let mut b = Bench::new(&spec("hhf", params));
    for (heavy, light) in [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (1.0, 3.0)] {
        assert_eq!(b.flow(1), PASS);
        assert_eq!((b.gauge("queue.heavy"), b.gauge("queue.light")), (heavy, light));
        let mut shown = [0.0; 2];
        b.queue.waiting(&mut |queue, _| match queue {
            InnerQueue::Named("heavy") => shown[0] += 1.0,
            InnerQueue::Named("light") => shown[1] += 1.0,
            _ => unreachable!("hhf has two queues: {queue:?}"),
        });
        assert_eq!(shown, [heavy, light]);
    }
    (0..20).for_each(|_| assert_eq!(b.flow(1), PASS));
    assert_eq!((b.gauge("heavy_hitters"), b.gauge("queue.heavy")), (1.0, 21.0));
    // There is no room for a second one.
    (0..39).for_each(|_| assert_eq!(b.flow(2), PASS));
    assert_eq!((b.gauge("heavy_hitters"), b.gauge("queue.light")), (1.0, 42.0));
    // Two light packets for one heavy.
    (0..30).for_each(|_| assert!(b.take().is_some()));
    assert_eq!((b.gauge("queue.heavy"), b.gauge("queue.light")), (11.0, 22.0));
    b.take_all();
    b.now = ms(900);
    assert_eq!((b.flow(1), b.gauge("queue.heavy")), (PASS, 1.0), "heard of within a second");
    b.now = ms(1901);
    assert_eq!((b.flow(1), b.gauge("queue.light")), (PASS, 1.0), "forgotten");
}

/// Where it is over the limit the heavy queue loses its head, whoever came.
#[test]
fn hhf_drops_from_heavy_hitters_first() {
    let mut b = Bench::new(&spec("hhf", r#"{"limit": 6, "admit_bytes": "3000b"}"#));
    (0..6).for_each(|_| assert_eq!(b.flow(1), PASS));
    assert_eq!(b.flow(2), [Why::Evicted]);
    assert_eq!((b.gauge("queue.heavy"), b.gauge("queue.light")), (2.0, 4.0));
    assert_eq!([b.flow(2), b.flow(2)], [[Why::Evicted]; 2]);
    assert_eq!((b.flow(2), b.gauge("queue.light")), (vec![Why::Evicted], 6.0), "only the light queue is left");
}

/// A blast of twice the link's rate for four seconds and a packet of another flow every 20 ms: the most that packet waits, in ms, on a link that
/// sends a packet each 0.8 ms.
fn sparse_wait(name: &str, params: &str) -> f64 {
    let mut b = Bench::new(&spec(name, params));
    let (mut longest, mut came) = (0.0_f64, std::collections::BTreeMap::new());
    for at in 0..10_000_u64 {
        b.now = Instant::ZERO + Duration::from_micros(400 * at);
        b.flow(1);
        if at % 50 == 0 {
            b.flow(2);
            came.insert(b.offered(), b.now);
        }
        if at % 2 == 0
            && let Some(since) = b.take().and_then(|id| came.remove(&id))
        {
            longest = longest.max(b.now.since(since).as_millis_f64());
        }
    }
    longest
}

#[test]
fn hhf_keeps_the_blast_away_from_others() {
    let with = sparse_wait("hhf", r#"{"limit": 200, "admit_bytes": "20kb"}"#);
    let without = sparse_wait("hhf", r#"{"limit": 200, "admit_bytes": "20kb", "hh_limit": 0}"#);
    assert!(with < 10.0 && without > 60.0, "{with} ms with the filter, {without} ms where nobody is heavy");
}

/// The packets that wait on average in the last ten of twenty seconds of a blast at twice the link's rate.
fn standing_queue(name: &str) -> f64 {
    let mut b = Bench::new(&spec(name, r#"{"limit": 1000}"#));
    let mut waiting = 0.0;
    for at in 0..50_000_u64 {
        b.now = Instant::ZERO + Duration::from_micros(400 * at);
        b.flow(1);
        if at % 2 == 0 {
            b.take();
        }
        if at >= 25_000 {
            waiting += b.queue.backlog().packets as f64 / 25_000.0;
        }
    }
    waiting
}

/// CoDel's drops rise too slowly for a flow that does not listen; BLUE's probability comes to one half.
#[test]
fn cobalt_bounds_a_blast_that_codel_does_not() {
    let (codel, cobalt) = (standing_queue("codel"), standing_queue("cobalt"));
    assert!(cobalt < 0.5 * codel, "{cobalt} packets wait, with CoDel alone {codel}");
}

/// Overflow takes the oldest packet, and not the arriving one.
#[test]
fn cobalt_drops_from_the_head() {
    let mut b = Bench::new(&spec("cobalt", r#"{"limit": 3}"#));
    (0..3).for_each(|_| assert_eq!(b.flow(1), PASS));
    assert_eq!((b.flow(1), b.gauge("p"), b.gauge("count")), (vec![Why::Evicted], 1.0 / 256.0, 1.0));
    assert_eq!(b.take(), Some(2));
}

/// The error of building the discipline.
fn refusal(name: &str, json: &str) -> String {
    spec(name, json).build::<Pkt>(&crate::common::link(), Instant::ZERO).err().expect("it must be refused").to_string()
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
    says("gred", r#"{"classes": [{"min": 30, "max": 20}]}"#, &["classes[0].min = 30", "max = 20"]);
    let names: Vec<String> = (0..17).map(|n| format!(r#"{{"class": "c{n}"}}"#)).collect();
    let many = format!(r#"{{"classes": [{}]}}"#, names.join(", "));
    says("gred", &many, &["classes = 17", "MAX_DPs is 16"]);
    says("gred", r#"{"classes": [{"prio": 0}]}"#, &["classes[0].prio = 0", "from 1 to 255"]);
    says("gred", r#"{"classes": [{"limit": "9kb"}]}"#, &["classes[0].limit = 9216b", "number of packets"]);
    says("hhf", r#"{"quantum": "64b"}"#, &["quantum = 64", "256"]);
    says("hhf", r#"{"hh_limit": 4096}"#, &["hh_limit = 4096", "2048"]);
    says("cobalt", r#"{"target": "0ms"}"#, &["target = 0", "above zero"]);
    says("cobalt", r#"{"p_inc": 2}"#, &["p_inc = 2"]);
}
