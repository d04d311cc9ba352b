//! Small examples worked by hand from the pseudo-code, and what a wrong parameter is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use aqmkit_aqm::Why;
use aqmkit_aqm::registry::Link;
use aqmkit_base::{Duration, Ecn, Instant};

use crate::common::bench::{Bench, PASS};
use crate::common::{Pkt, cx, link, spec};

#[test]
fn fifo_drops_at_the_tail_the_front_or_anywhere() {
    let after_five = |drop: &str| {
        let mut b = Bench::new(&spec("fifo", &format!(r#"{{"limit": 3, "drop": "{drop}"}}"#)));
        let drops: Vec<_> = (0..5).flat_map(|_| b.flow(1)).collect();
        (drops, b.take_all())
    };
    assert_eq!(after_five("tail"), (vec![Why::Overflow; 2], vec![1, 2, 3]));
    assert_eq!(after_five("front"), (vec![Why::Evicted; 2], vec![3, 4, 5]));
    let (drops, left) = after_five("random");
    assert_eq!((drops.len(), left.len()), (2, 3));
}

/// A limit in bytes: as many packets as it takes make room for a large one.
#[test]
fn drop_front_makes_room_in_bytes() {
    let mut b = Bench::new(&spec("fifo", r#"{"limit": "1500b", "drop": "front"}"#));
    for _ in 0..3 {
        assert_eq!(b.offer(Pkt { len: 500, ..Pkt::new(0, 1) }), PASS);
    }
    assert_eq!(b.flow(1), [Why::Evicted; 2]);
    assert_eq!(b.offer(Pkt { len: 1600, ..Pkt::new(0, 1) }), [Why::Overflow], "it would never fit");
    assert_eq!(b.take_all(), [3, 4]);
}

#[test]
fn erd_looks_at_the_queue_of_the_instant() {
    let mut b = Bench::new(&spec("erd", r#"{"threshold": 2, "probability": 1.0, "limit": 4, "ecn": true}"#));
    assert_eq!([b.flow(1), b.flow(1), b.flow(1)], [PASS; 3], "0, 1 and 2 are not above 2");
    assert_eq!(b.flow(1), [Why::Early]);
    assert_eq!(b.offer(Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) }), [Why::Early], "marked");
    assert_eq!((b.queue.stats().marks(), b.queue.backlog().packets), (1, 4));
    assert_eq!(b.flow(1), [Why::Overflow]);
}

/// `w = 1/2, Th_min = 1, Th_max = 2.5, max_p = 1`.
#[test]
fn red_step_by_step() {
    let mut b = Bench::new(&spec("red", r#"{"weight": 0.5, "min": 1, "max": 2.5, "max_p": 1.0}"#));
    assert_eq!((b.flow(1), b.gauge("avg")), (PASS, 0.0));
    assert_eq!((b.flow(1), b.gauge("avg")), (PASS, 0.5));
    assert_eq!((b.flow(1), b.gauge("avg")), (PASS, 1.25), "the first above min only starts the count");
    // p_b = 1.125 / 1.5 = 0.75, count = 2: the drop is overdue.
    assert_eq!((b.flow(1), b.gauge("avg")), (vec![Why::Early], 2.125));
    assert_eq!((b.flow(1), b.gauge("avg")), (vec![Why::Forced], 2.5625));
    assert_eq!(b.take_all(), [1, 2, 3]);
    // 8 ms are ten packets of 1000 bytes at 10 Mbit/s, so nine samples of zero.
    b.now += Duration::from_millis(8);
    assert_eq!((b.flow(1), b.gauge("avg")), (PASS, 2.5625 / 512.0));
}

#[test]
fn red_marks_where_it_may() {
    let ect = Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) };
    for (harddrop, marks) in [(true, 1), (false, 2)] {
        let params =
            format!(r#"{{"weight": 0.5, "min": 1, "max": 2.5, "max_p": 1.0, "ecn": true, "harddrop": {harddrop}}}"#);
        let mut b = Bench::new(&spec("red", &params));
        let whys: Vec<_> = (0..5).flat_map(|_| b.offer(ect)).collect();
        assert_eq!(whys, [Why::Early, Why::Forced]);
        assert_eq!(b.queue.stats().marks(), marks, "above max it drops unless told otherwise");
    }
}

/// Above max the gentle ramp decides by chance, until the spreading makes every drop certain.
#[test]
fn gentle_red_does_not_jump_at_max() {
    let drops_at = |standing: u64| {
        let mut b = Bench::new(&spec(
            "red",
            r#"{"weight": 1.0, "min": 2, "max": 10, "gentle": true, "max_p": 0.0, "limit": 60}"#,
        ));
        // With max_p = 0 nothing is dropped up to max; above it, half of the ramp is a half.
        while b.queue.backlog().packets < standing {
            b.flow(1);
        }
        (0..1000)
            .flat_map(|_| {
                let why = b.flow(1);
                if why.is_empty() {
                    b.take();
                }
                why
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(drops_at(10), PASS);
    assert!((1..1000).contains(&drops_at(13).len()));
    assert_eq!(drops_at(15).len(), 1000, "p_b is a half, so p_a is one at count one");
}

/// `w = 1, Th_min = 2`, which is also the most a flow may have.
#[test]
fn fred_step_by_step() {
    let mut b = Bench::new(&spec("fred", r#"{"weight": 1.0, "min": 2, "max": 4, "limit": 10}"#));
    assert_eq!([b.flow(1), b.flow(1)], [PASS; 2]);
    assert_eq!((b.flow(1), b.flow(1)), (vec![Why::Unfair], vec![Why::Unfair]), "two strikes");
    assert_eq!((b.take(), b.gauge("avg"), b.gauge("flows")), (Some(1), 1.0, 1.0));
    assert_eq!(b.flow(1), [Why::Unfair], "now held to its share of one");
    assert_eq!((b.take(), b.take(), b.gauge("flows")), (Some(2), None, 0.0));
    assert_eq!([b.flow(1), b.flow(1)], [PASS; 2], "forgotten with its last packet");
}

/// `w = 1`: the average is what waited when the last packet came. At `Th_max` everything is dropped.
#[test]
fn fred_drops_all_from_max_on() {
    let params = r#"{"weight": 1.0, "min": 1, "max": 4, "max_p": 0, "limit": 10, "many_flows": false}"#;
    let mut b = Bench::new(&spec("fred", params));
    assert_eq!([1, 2, 3, 4, 5].map(|flow| b.flow(flow)), [PASS; 5]);
    assert_eq!((b.gauge("avg"), b.flow(6)), (4.0, vec![Why::Forced]));
}

/// A flow's share is the average by the flows with packets waiting, of which an arrival makes its own one, and never below a packet.
#[test]
fn freds_share_is_the_average_by_the_flows() {
    let mut b = Bench::new(&spec("fred", r#"{"weight": 0.5, "min": 9, "max": 9, "limit": 50}"#));
    let mut shown = Vec::new();
    for flow in [1, 1, 1, 1, 2, 3] {
        assert_eq!(b.flow(flow), PASS);
        shown.push((b.gauge("avg"), b.gauge("avgcq")));
    }
    let avg = [0.0, 0.5, 1.25, 2.125, 3.0625, 4.03125];
    assert_eq!(shown, [0, 1, 2, 3, 4, 5].map(|i| (avg[i], [1.0, 1.0, 1.25, 2.125, avg[4] / 2.0, avg[5] / 3.0][i])));
}

/// Above max all are dropped, also what finds the queue empty; the link would have sent nothing meanwhile. The share is then the average.
#[test]
fn freds_share_with_nobody_waiting_is_the_average() {
    let mut b =
        Bench::new(&spec("fred", r#"{"weight": 0.0625, "min": 1, "max": 1, "many_flows": false, "limit": 50}"#));
    (1..40).for_each(|flow| _ = b.flow(flow));
    b.take_all();
    assert_eq!((b.flow(1), b.gauge("flows")), (vec![Why::Forced], 0.0));
    assert!(b.gauge("avg") > 1.0);
    assert_eq!(b.gauge("avgcq"), b.gauge("avg"));
}

#[test]
fn fred_never_marks_instead_of_a_fair_share_drop() {
    let mut b = Bench::new(&spec("fred", r#"{"min": 1, "ecn": true}"#));
    let ect = Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) };
    assert_eq!((b.offer(ect), b.offer(ect)), (PASS, vec![Why::Unfair]));
    assert_eq!(b.queue.stats().drops(), 1);
}

/// w = 1: the average of a class is what it has waiting.
#[test]
fn cbt_step_by_step() {
    let classes = r#"[{"class": "tcp", "max": 2, "weight": 1.0}, {"class": "*", "max": 1, "weight": 1.0}]"#;
    let mut b = Bench::new(&spec("cbt", &format!(r#"{{"limit": 5, "classes": {classes}}}"#)));
    let (tcp, other) = (Pkt::new(0, 1), Pkt { class: 2, ..Pkt::new(0, 2) });
    assert_eq!([b.offer(other), b.offer(other)], [PASS; 2]);
    assert_eq!(b.offer(other), [Why::Forced], "average 2 is above 1");
    assert_eq!([b.offer(tcp), b.offer(tcp), b.offer(tcp)], [PASS; 3], "average 2 is not above 2");
    assert_eq!(b.offer(tcp), [Why::Overflow]);
    assert_eq!((b.gauge("avg.0"), b.gauge("avg.1")), (3.0, 2.0), "only a class's own arrivals move its average");
}

/// Where no class is described, RED's 40 packets (and 5, if that is less) are shared by the classes of the link.
#[test]
fn cbt_shares_reds_thresholds_among_the_classes() {
    for (classes, min, max) in
        [(&["a"; 1][..], "5p", "40p"), (&["a", "b", "c", "d"], "5p", "10p"), (&["x"; 10], "4p", "4p")]
    {
        let names = (0..classes.len()).map(|i| format!("{}{i}", classes[i])).collect();
        let full = spec("cbt", "{}").effective(&Link { classes: names, ..link() }).unwrap();
        let shown = serde_json::to_value(full).unwrap();
        for class in shown["classes"].as_array().unwrap() {
            assert_eq!((&class["min"], &class["max"]), (&min.into(), &max.into()), "{} classes", classes.len());
        }
        assert_eq!(shown["classes"].as_array().unwrap().len(), classes.len());
    }
}

/// One packet of a class may always wait, whatever its average.
#[test]
fn cbt_never_starves_a_class() {
    let mut b = Bench::new(&spec("cbt", r#"{"classes": [{"max": 0, "weight": 1.0}]}"#));
    assert_eq!([b.flow(1), b.flow(1)], [PASS; 2]);
    assert_eq!(b.flow(1), [Why::Forced]);
}

/// Shares 1/2, 1/4, 1/4 and equal packets: next service times in units of a packet over the whole link are
/// a 0 2 4 …, b 0 4 8 …, c 0 4 8 …; at equal times the first in the list.
#[test]
fn cbq_step_by_step() {
    let classes = r#"[{"class": "tcp", "share": 0.5}, {"class": "multimedia", "share": 0.25}, {"class": "other", "share": 0.25}]"#;
    let mut b = Bench::new(&spec("cbq", &format!(r#"{{"classes": {classes}}}"#)));
    for class in [0, 1, 2].repeat(4) {
        b.offer(Pkt { class, ..Pkt::new(0, class.into()) });
    }
    // Packets 1, 4, 7, 10 are a's; 2, 5, 8, 11 are b's; 3, 6, 9, 12 are c's.
    assert_eq!(b.take_all(), [1, 2, 3, 4, 7, 5, 6, 10, 8, 9, 11, 12]);
}

/// The error of building the discipline.
fn refusal(name: &str, json: &str) -> String {
    spec(name, json).build::<Pkt>(&link(), Instant::ZERO).err().expect("it must be refused").to_string()
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = refusal(name, json);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("fifo", r#"{"limit": 0}"#, &["limit = 0", "at least 1"]);
    says("erd", r#"{"probability": 1.5}"#, &["probability = 1.5", "from 0 to 1"]);
    says("red", r#"{"min": 50, "max": 15}"#, &["min = 50", "max = 15", "Floyd"]);
    says("red", r#"{"min": "5kb"}"#, &["min = 5120b", "number of packets"]);
    says("red", r#"{"weight": 0}"#, &["weight = 0"]);
    says("fred", r#"{"limit": "90kb"}"#, &["limit = 92160b", "number of packets"]);
    says("fred", r#"{"min": 0}"#, &["min = 0", "at least 1"]);
    says("cbt", r#"{"classes": [{"class": "*"}]}"#, &["classes[0].max = nothing", "bandwidth", "equation 4.1"]);
    says("cbt", r#"{"classes": [{"bandwidth": "1mbit"}]}"#, &["classes[0].latency = nothing"]);
    says("cbt", r#"{"counting": "bytes", "classes": [{"max": 5}]}"#, &["classes[0].max = 5p", "number of bytes"]);
    says(
        "cbt",
        r#"{"classes": [{"class": "video", "max": 5}]}"#,
        &["classes[0].class = video", "tcp, multimedia, other"],
    );
    says("cbq", r#"{"classes": [{"class": "tcp", "share": 0.9}, {"class": "*", "share": 0.2}]}"#, &["a sum of 1.1"]);
    // More than rounding adds to a sum, and less than anybody would notice.
    let above = r#"{"classes": [{"class": "tcp", "share": 0.5}, {"class": "*", "share": 0.5000000015}]}"#;
    says("cbq", above, &["a sum of 1.0000000015"]);
    says("cbq", r#"{"classes": [{"share": 0}]}"#, &["classes[0].share = 0", "at most 1"]);
    says("cbq", r#"{"classes": [{"share": 1.5}]}"#, &["classes[0].share = 1.5", "at most 1"]);
    says("cbq", r#"{"classes": [{"rate": "20mbit"}]}"#, &["classes[0].share = 2", "at most 1"]);
    says("cbq", r#"{"classes": [{"share": 1, "priority": 9}]}"#, &["classes[0].priority = 9", "from 1 to 8"]);
    says("cbq", r#"{"classes": [{"class": "*"}]}"#, &["classes[0].share = nothing", "share or rate"]);
    says("cbq", r#"{"classes": [{"share": 0.5, "rate": "1mbit"}]}"#, &["classes[0].rate = 1mbit", "either"]);
    says("cbq", r#"{"classes": [{"class": "tcp", "share": 0.5}]}"#, &["classes = [tcp]", "missing: multimedia, other"]);
}

const fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

impl Bench {
    /// Takes the next packet at this time.
    fn take_at(&mut self, millis: u64) -> Option<u64> {
        self.now = ms(millis);
        self.take()
    }
}

/// A hundred packets at time zero. Above the target from 10 ms on, so drops are due from 110 ms: at 110, 210,
/// 210 + 100 / sqrt 2 = 280.7 and 280.7 + 100 / sqrt 3 = 338.4.
#[test]
fn codel_on_a_time_line() {
    let mut b = Bench::new(&spec("codel", "{}"));
    (0..100).for_each(|_| assert_eq!(b.flow(1), PASS));
    let sent = [4, 10, 109, 110, 209, 210, 280, 281, 338, 339].map(|at| b.take_at(at).unwrap());
    assert_eq!(sent, [1, 2, 3, 5, 6, 8, 9, 11, 12, 14], "4, 7, 10 and 13 were dropped");
    assert_eq!(b.gauge("count"), 4.0);
    // New arrivals have waited for nothing: the dropping state is left.
    b.take_all();
    b.flow(1);
    assert_eq!((b.take_at(339).is_some(), b.gauge("dropping")), (true, 0.0));
}

/// The same, but no other packet is taken in place of a marked one, and `ce_threshold` marks the rest.
#[test]
fn codel_marks_where_it_may() {
    let ect = Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, 1) };
    let mut b = Bench::new(&spec("codel", r#"{"ecn": true, "ce_threshold": "105ms"}"#));
    (0..100).for_each(|_| assert_eq!(b.offer(ect), PASS));
    let sent = [4, 10, 105, 106, 110, 209, 210].map(|at| b.take_at(at).unwrap());
    assert_eq!(sent, [1, 2, 3, 4, 5, 6, 7]);
    let marked = b.queue.stats().marked;
    assert_eq!((marked[Why::Sojourn as usize], marked[Why::Step as usize]), (2, 2), "110, 210; 106, 209");
}

/// Two full packets behind each other: with one MTU left, nothing is dropped however long it waited.
#[test]
fn codel_leaves_the_last_packets_alone() {
    let mut b = Bench::new(&spec("codel", "{}"));
    (0..2).for_each(|_| assert_eq!(b.flow(1), PASS));
    assert_eq!([b.take_at(1000), b.take_at(2000), b.take_at(3000)], [Some(1), Some(2), None]);
}

/// After a long stop the RFC would drop 40 packets before it sends one; `max_drops` spreads them.
#[test]
fn codel_drops_a_few_at_a_time() {
    for (max_drops, first, then) in [(3, 3, 3), (64, 40, 1)] {
        let mut b = Bench::new(&spec("codel", &format!(r#"{{"max_drops": {max_drops}, "limit": 2000}}"#)));
        (0..2000).for_each(|_| assert_eq!(b.flow(1), PASS));
        assert_eq!((b.take_at(10), b.take_at(110)), (Some(1), Some(3)));
        let drops = |bench: &Bench| bench.queue.stats().drops();
        let (before, _, after) = (drops(&b), b.take_at(1250), drops(&b));
        b.take_at(1280);
        assert_eq!((before, after - before), (1, first), "max_drops = {max_drops}");
        assert!(drops(&b) - after >= then);
    }
}

/// q is 0, 1, 2 for the first three.
#[test]
fn step_marks_above_the_threshold() {
    let ect = Pkt { ecn: Ecn::Ect1, ..Pkt::new(0, 1) };
    let mut b = Bench::new(&spec("step", r#"{"threshold": 2}"#));
    assert_eq!([b.offer(ect), b.offer(ect), b.offer(ect)], [PASS; 3], "2 is not above 2");
    assert_eq!((b.offer(ect), b.queue.stats().marks()), (vec![Why::Step], 1));
    assert_eq!((b.flow(1), b.queue.stats().drops()), (vec![Why::Step], 1));
}

#[test]
fn step_marks_what_has_waited() {
    let ect = Pkt { ecn: Ecn::Ect1, ..Pkt::new(0, 1) };
    let mut b = Bench::new(&spec("step", r#"{"sojourn": "1ms"}"#));
    assert_eq!([b.offer(ect), b.offer(ect)], [PASS; 2]);
    assert_eq!((b.take_at(1), b.queue.stats().marks()), (Some(1), 0), "1 ms is not above 1 ms");
    assert_eq!((b.take_at(2), b.queue.stats().marks()), (Some(2), 1));
}

/// Delays of 10, 29 and 44 ms at three updates, with the scales 2048, 512 and 128.
#[test]
fn pie_by_three_updates() {
    let mut b = Bench::new(&spec("pie", "{}"));
    (0..100).for_each(|_| assert_eq!(b.flow(1), PASS));
    let mut p = 0.0;
    for (take, update, step) in [
        (10, 15, (0.125 * -0.005 + 1.25 * 0.010) / 2048.0),
        (29, 30, (0.125 * 0.014 + 1.25 * 0.019) / 512.0),
        (44, 45, (0.125 * 0.029 + 1.25 * 0.015) / 128.0),
    ] {
        b.take_at(take);
        b.now = ms(update);
        b.queue.on_wakeup(&mut cx(b.now, &mut b.rng, &mut b.log));
        p += step;
        assert!((b.gauge("p") / p - 1.0).abs() < 1e-12, "{} at {update} ms: {p}", b.gauge("p"));
    }
    assert!((b.gauge("burst_allowance") - 0.105).abs() < 1e-12, "three times 15 of 150 ms are gone");
}

/// Flow 1 keeps a queue; flow 2 begins, and is served first, but once only.
#[test]
fn fq_serves_new_flows_first() {
    let mut b = Bench::new(&spec("fq-codel", r#"{"quantum": "1000b"}"#));
    (0..4).for_each(|_| assert_eq!(b.flow(1), PASS));
    assert_eq!((b.take(), b.gauge("new_flows"), b.gauge("old_flows")), (Some(1), 1.0, 0.0));
    // Flow 1 has used up its quantum: it is found so at the next request, and goes to the old ones.
    assert_eq!([b.flow(2), b.flow(2)], [PASS; 2]);
    assert_eq!(b.take_all(), [5, 2, 6, 3, 4]);
}

/// The queue with the most bytes loses half of them from its head, and no other a packet.
#[test]
fn fq_drops_from_the_fattest() {
    let mut b = Bench::new(&spec("fq_codel", r#"{"limit": 10}"#));
    let small = Pkt { len: 100, ..Pkt::new(0, 1) };
    (0..6).for_each(|_| assert_eq!(b.offer(small), PASS));
    (0..4).for_each(|_| assert_eq!(b.flow(2), PASS));
    // Packets 7 to 10 are 4000 bytes; the next one of flow 1 is one too many.
    assert_eq!(b.offer(small), [Why::Evicted; 2]);
    assert_eq!((b.gauge("fattest"), b.queue.backlog().packets), (2000.0, 9));
    assert_eq!(b.take_all().iter().filter(|&&id| [7, 8].contains(&id)).count(), 0);
}

/// With equal packets in the fattest queue, those of half its bytes are dropped, and `drop_batch` at most.
#[test]
fn fq_drops_half_of_the_fattest() {
    for (packets, drop_batch, gone) in
        [(4, 64, 2), (5, 64, 3), (10, 64, 5), (11, 64, 6), (200, 64, 64), (200, 10, 10), (200, 1, 1)]
    {
        let mut b = Bench::new(&spec("fq-codel", &format!(r#"{{"limit": {packets}, "drop_batch": {drop_batch}}}"#)));
        (0..packets).for_each(|_| assert_eq!(b.flow(2), PASS));
        let dropped = b.offer(Pkt { len: 100, ..Pkt::new(0, 1) });
        assert_eq!(dropped, vec![Why::Evicted; gone], "{packets} packets, {drop_batch} at most");
    }
}

#[test]
fn wrong_delays_and_gains_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = refusal(name, json);
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("codel", r#"{"target": "0ms"}"#, &["target = 0", "above zero"]);
    says("codel", r#"{"interval": "1ms"}"#, &["interval = 1ms", "target, 5ms", "RFC 8289"]);
    says("codel", r#"{"max_drops": 0}"#, &["max_drops = 0"]);
    says("fq-codel", r#"{"quantum": "64b"}"#, &["quantum = 64", "256", "RFC 8290"]);
    says("fq-codel", r#"{"flows": 0}"#, &["flows = 0", "65536"]);
    says("fq-pie", r#"{"beta": 20}"#, &["beta = 20", "from 0 to 2", "16 times"]);
    says("pie", r#"{"alpha": 20}"#, &["alpha = 20", "from 0 to 2", "16 times"]);
    says("pie", r#"{"ecn_prob": 10}"#, &["ecn_prob = 10", "percent"]);
    says("pie", r#"{"active_from": "9kb"}"#, &["active_from = 9216b", "number of packets"]);
    says("pi2", r#"{"k": 0}"#, &["k = 0"]);
    says("pi2", r#"{"max_p": 0}"#, &["max_p = 0"]);
    says("step", r#"{"threshold": 5, "sojourn": "1ms"}"#, &["sojourn = 1ms", "either"]);
}
