//! Fair queueing worked by hand, and what a wrong parameter is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::collections::BTreeSet;

use crate::common::bench::Bench;
use crate::common::{Event, Pkt, cx, link, spec};
use aqmkit_aqm::registry::Link;
use aqmkit_aqm::{InnerQueue, Why};
use aqmkit_base::{BitRate, Duration, Instant};

impl Bench {
    /// Offers packets of these lengths; the numbers of the packets dropped, with reasons.
    fn offer_lengths(&mut self, flow: u64, lengths: &[u32]) -> Vec<(u64, Why)> {
        let offer = |b: &mut Bench| lengths.iter().for_each(|&len| b.enqueue(Pkt { len, ..Pkt::new(0, flow) }));
        self.signals(offer).0
    }
}

const NONE: Vec<(u64, Why)> = Vec::new();

/// Figures 1 and 2 of Shreedhar and Varghese: quantum 500.
#[test]
fn drr_is_the_example_of_its_paper() {
    let mut b = Bench::of("drr", r#"{"quantum": "500b"}"#);
    b.offer_lengths(1, &[200, 750, 20]);
    b.offer_lengths(2, &[500, 500]);
    b.offer_lengths(3, &[100, 600, 200]);
    b.offer_lengths(4, &[180, 700, 50]);
    assert_eq!([b.take(), b.take()], [Some(1), Some(4)], "flow 1 keeps 300 for its next turn");
    assert_eq!(b.gauge("deficit"), 300.0);
    assert_eq!([b.take(), b.take(), b.take()], [Some(6), Some(9), Some(2)]);
    assert_eq!(b.gauge("deficit"), 400.0, "flow 3 could not send 600");
    assert_eq!(b.take_all(), [3, 5, 7, 8, 10, 11]);
    assert_eq!(b.gauge("deficit"), 0.0);
}

/// Two packets of 1000 bytes at 10 Mbit/s: after 1 ms bit by bit service has sent 1250 bytes, 625 of each. It is brought up to date with the
/// next packet, whose time is not to be rounded in two parts by a change that changes nothing, so that ties stay ties.
#[test]
fn fq_serves_until_a_change_only_where_the_rate_changes() {
    let rounds_after = |rate: u64| {
        let mut b = Bench::of("wfq", "{}");
        b.offer_lengths(1, &[1000]);
        b.offer_lengths(2, &[1000]);
        b.now += Duration::from_millis(1);
        let changed = Link { rate: BitRate::from_mbps(rate), ..link() };
        let cx = &mut cx(b.now, &mut b.rng, &mut b.log);
        b.queue.reconfigure(&spec("wfq", "{}"), &changed, cx).unwrap();
        let at_the_change = b.gauge("round");
        b.now += Duration::from_micros(200);
        b.offer_lengths(3, &[1000]);
        [at_the_change, b.gauge("round")].map(|round| (round * 1e6).round() / 1e6)
    };
    assert_eq!(rounds_after(10), [0.0, 750.0], "1500 bytes in 1.2 ms");
    assert_eq!(rounds_after(20), [625.0, 875.0], "500 bytes more in 0.2 ms");
}

/// An uncongested link of CSFQ sets alpha to the largest label of the last `K_c`; after one without a packet that is zero, and nothing is
/// dropped.
#[test]
fn csfq_knows_no_share_after_silence() {
    let mut b = Bench::of("csfq", r#"{"k_c": "200ms", "limit": 100, "threshold": 0}"#);
    let mut alphas = Vec::new();
    for at in [0, 100, 300, 600] {
        b.now = Instant::ZERO + Duration::from_millis(at);
        assert_eq!(b.offer_lengths(1, &[1000]), NONE);
        alphas.push(b.gauge("alpha"));
    }
    assert_eq!((alphas[0], alphas[1], alphas[3]), (10e6, 10e6, 0.0), "the capacity at first");
    assert!((1e3..1e6).contains(&alphas[2]), "the estimate of 1000 bytes in 100 ms: {}", alphas[2]);
    assert_eq!(b.offer_lengths(1, &[1000; 4]), NONE);
}

/// With buckets each class has as many queues of its own: no queue holds packets of two.
#[test]
fn drr_has_its_buckets_for_each_class() {
    let classes = r#"[{"class": "tcp"}, {"class": "multimedia", "weight": 2}, {"class": "other", "weight": 3}]"#;
    let mut b = Bench::of("drr", &format!(r#"{{"buckets": 4, "classes": {classes}}}"#));
    for flow in 0..60 {
        let packet = Pkt { class: (flow % 3) as u8, ..Pkt::new(flow, flow) };
        b.queue.enqueue(packet, &mut cx(b.now, &mut b.rng, &mut b.log));
    }
    let mut used = [(); 3].map(|()| BTreeSet::new());
    b.queue.waiting(&mut |queue, packet| match queue {
        InnerQueue::Number(number) => _ = used[usize::from(packet.class)].insert(number),
        _ => unreachable!("queues have numbers: {queue:?}"),
    });
    assert_eq!(used.each_ref().map(BTreeSet::len), [4; 3], "{used:?}");
    assert_eq!(used.iter().flatten().collect::<BTreeSet<_>>().len(), 12, "{used:?}");
}

#[test]
fn drr_takes_buffers_from_the_longest_queue() {
    let steal = |options: &str| {
        let mut b = Bench::of("drr", &format!(r#"{{"limit": 3{options}}}"#));
        assert_eq!(b.offer_lengths(1, &[1000; 3]), NONE);
        let stolen = b.offer_lengths(2, &[1000]);
        (stolen, b.take_all())
    };
    assert_eq!(steal(""), (vec![(3, Why::Evicted)], vec![1, 4, 2]));
    assert_eq!(steal(r#", "headdrop": true"#), (vec![(1, Why::Evicted)], vec![2, 4, 3]));
    assert_eq!(steal(r#", "flow_limit": 3, "buckets": 1"#), (vec![(4, Why::Unfair)], vec![1, 2, 3]));
}

/// As many as the arriving packet needs, and none for one that would never fit.
#[test]
fn drr_makes_room_in_bytes() {
    let mut b = Bench::of("drr", r#"{"limit": "3000b"}"#);
    assert_eq!(b.offer_lengths(1, &[1000; 3]), NONE);
    assert_eq!(b.offer_lengths(2, &[1500]), [(3, Why::Evicted), (2, Why::Evicted)]);
    assert_eq!(b.offer_lengths(3, &[3001]), [(5, Why::Overflow)]);
    assert_eq!(b.take_all(), [1, 4]);
}

/// A tenth of the link, 1 Mbit/s; for 16 s the link serves half of that, and is then as fast as it should be.
#[test]
fn cbq_holds_a_class_after_a_slow_link_too() {
    let class = r#"{"class": "*", "share": 0.1, "borrow": false, "limit": 2000}"#;
    let mut b = Bench::of("cbq", &format!(r#"{{"classes": [{class}]}}"#));
    b.offer_lengths(1, &[1000; 2000]);
    for _ in 0..1000 {
        assert!(b.take().is_some());
        b.now += Duration::from_millis(16);
    }
    assert_eq!(b.take_all(), [1001, 1002, 1003, 1004], "3000 bytes of credit, and the packet that is due");
    b.now += Duration::from_millis(8);
    assert_eq!(b.take_all(), [1005]);
}

#[test]
fn sfq_step_by_step() {
    let mut b = Bench::of("sfq", r#"{"limit": 4}"#);
    assert_eq!((b.offer_lengths(1, &[1000; 3]), b.offer_lengths(2, &[100])), (NONE, NONE));
    assert_eq!(b.offer_lengths(1, &[1000]), [(5, Why::Overflow)], "its own queue is the longest");
    assert_eq!(b.offer_lengths(2, &[100]), [(3, Why::Evicted)]);
    assert_eq!(b.take_all(), [1, 4, 2, 6], "a packet each");
}

/// When the hash changes, packets that wait move to where those of their flow go from now on, or, in `McKenney`'s scheme, stay. Of two queues the flow
/// has the other one after some change, and a packet that comes then is the first there.
#[test]
fn sfq_keeps_the_order_of_a_flow_only_where_packets_move() {
    for rehash in [true, false] {
        let mut b = Bench::of("sfq", &format!(r#"{{"divisor": 2, "perturb": "10ms", "rehash": {rehash}}}"#));
        assert_eq!(b.offer_lengths(1, &[1000; 10]), NONE);
        for _ in 0..8 {
            b.now += Duration::from_millis(10);
            assert_eq!(b.offer_lengths(1, &[1000]), NONE);
        }
        let out = b.take_all();
        assert_eq!((out.len(), out.is_sorted()), (18, rehash), "{out:?}");
    }
}

/// The share of a class is that of its rate.
#[test]
fn cbq_takes_a_rate_for_a_share() {
    let order = |first: &str, second: &str| {
        let classes = format!(r#"{{"class": "tcp", {first}}}, {{"class": "*", {second}}}"#);
        let spec = spec("cbq", &format!(r#"{{"classes": [{classes}]}}"#));
        let shown = serde_json::to_value(spec.effective(&link()).unwrap()).unwrap();
        let shares = [0, 1].map(|i| (shown["classes"][i]["share"].as_f64(), shown["classes"][i]["rate"].clone()));
        assert_eq!(shares, [(Some(0.75), "7.5mbit".into()), (Some(0.25), "2.5mbit".into())]);
        let mut b = Bench::of("cbq", &format!(r#"{{"classes": [{classes}]}}"#));
        (0..40).for_each(|n| _ = b.offer_lengths(n % 3, &[1000]));
        b.take_all()
    };
    assert_eq!(order(r#""rate": "7500kbit""#, r#""rate": "2500kbit""#), order(r#""share": 0.75"#, r#""share": 0.25"#));
}

/// RED itself stays out of it: its average hardly moves.
const REDFLOWLIMIT: &str = r#"{"redflowlimit": "3000b", "min": "2000b", "max": "3000b", "weight": 0.00001"#;

#[test]
fn sfq_makes_room_under_redflowlimit_at_the_head() {
    let mut b = Bench::of("sfq", &format!(r#"{REDFLOWLIMIT}, "headdrop": true}}"#));
    assert_eq!(b.offer_lengths(1, &[100; 30]), NONE);
    let first: Vec<_> = (1..=15).map(|id| (id, Why::Unfair)).collect();
    assert_eq!(b.offer_lengths(1, &[1500]), first);
    assert_eq!(b.offer_lengths(1, &[3001]), [(32, Why::Unfair)], "none makes room for what cannot fit");
    assert_eq!(b.offer_lengths(2, &[3001]), [(33, Why::Unfair)], "nor is an empty queue large enough");
    assert_eq!(b.offer_lengths(1, &[3000]).len(), 16);
    assert_eq!(b.take_all(), [34]);
    let mut tail = Bench::of("sfq", &format!("{REDFLOWLIMIT}}}"));
    assert_eq!(tail.offer_lengths(1, &[3000, 100]), [(2, Why::Unfair)]);
    assert_eq!(tail.offer_lengths(2, &[3001]), [(3, Why::Unfair)]);
}

/// A queue continues while any of its quantum is left, and pays back the excess.
#[test]
fn sfq_has_the_turns_of_linux() {
    let mut b = Bench::of("sfq", r#"{"quantum": "1000b"}"#);
    b.offer_lengths(1, &[900, 900, 900]);
    b.offer_lengths(2, &[100; 12]);
    // Flow 1: 1000 - 900 - 900 = -800. Flow 2: ten packets, then 0, so it is given 1000. Flow 1: 200, sends.
    assert_eq!(b.take_all(), [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 3, 14, 15]);
}

/// The packets that a lower limit of each queue drops, of three packets of flow 1 and one of flow 2: their numbers.
fn trimmed(name: &str, json: [&str; 2]) -> (Vec<u64>, Vec<u64>) {
    let mut b = Bench::of(name, json[0]);
    assert_eq!((b.offer_lengths(1, &[1000; 3]), b.offer_lengths(2, &[1000])), (NONE, NONE));
    b.queue.reconfigure(&spec(name, json[1]), &link(), &mut cx(b.now, &mut b.rng, &mut b.log)).unwrap();
    let drop = |e: &Event| match e {
        Event::Dropped(p, Why::Reconfigured) => p.id,
        _ => unreachable!("{e:?}"),
    };
    (b.log.0.iter().map(drop).collect(), b.take_all())
}

#[test]
fn a_lower_limit_of_each_queue_is_applied() {
    let two = (vec![3, 2], vec![1, 4]);
    assert_eq!(trimmed("drr", [r#"{"flow_limit": 3}"#, r#"{"flow_limit": 1}"#]), two);
    assert_eq!(trimmed("drr", ["{}", r#"{"flow_limit": "1999b"}"#]), two);
    assert_eq!(trimmed("drr", ["{}", r#"{"flow_limit": 1, "headdrop": true}"#]), (vec![1, 2], vec![3, 4]));
    let small = r#"{"buckets": 9, "flow_limit": "999b"}"#;
    assert!(trimmed("drr", [r#"{"buckets": 9}"#, small]).1.is_empty(), "a queue may lose all");
    assert_eq!(trimmed("sfq", ["{}", r#"{"depth": 1}"#]), two);
    assert_eq!(trimmed("sfq", ["{}", r#"{"depth": 1, "headdrop": true}"#]), (vec![1, 2], vec![3, 4]));
    let red = REDFLOWLIMIT.replace("3000b", "2500b") + "}";
    assert_eq!(trimmed("sfq", ["{}", &red]), (vec![3], vec![1, 4, 2]));
}

/// 10 Mbit/s are 1250 bytes in a millisecond.
#[test]
fn fq_step_by_step() {
    let mut b = Bench::of("wfq", "{}");
    b.offer_lengths(1, &[1000]);
    b.offer_lengths(2, &[500]);
    b.offer_lengths(1, &[1000]);
    b.now += Duration::from_micros(400);
    // 500 bytes for two conversations: R = 250, F = 250 + 100.
    b.offer_lengths(3, &[100]);
    assert_eq!((b.gauge("round"), b.gauge("active")), (250.0, 3.0));
    assert_eq!(b.take_all(), [4, 2, 1, 3], "F = 350, 500, 1000, 2000");
}

/// R = 500 when 650 bytes come: F = 1150, after the second packet of flow 1; with delta = 100 the bid is 1050.
#[test]
fn fq_puts_a_new_conversation_ahead_by_delta() {
    for (delta, order) in [(0, [1, 2, 3]), (100, [1, 3, 2])] {
        let mut b = Bench::of("wfq", &format!(r#"{{"delta": "{delta}b"}}"#));
        b.offer_lengths(1, &[1000, 100]);
        b.now += Duration::from_micros(400);
        b.offer_lengths(3, &[650]);
        assert_eq!((b.gauge("round"), b.take_all()), (500.0, order.to_vec()));
    }
}

#[test]
fn fq_does_not_forgive_who_overran_its_buffer() {
    let mut b = Bench::of("wfq", r#"{"limit": 2}"#);
    assert_eq!(b.offer_lengths(1, &[1000; 3]), [(3, Why::Overflow)]);
    assert_eq!(b.offer_lengths(2, &[1000]), [(2, Why::Evicted)]);
    assert_eq!(b.take_all(), [1, 4], "both have F = 1000");
    b.offer_lengths(1, &[1000]);
    b.offer_lengths(2, &[1000]);
    assert_eq!(b.take_all(), [6, 5], "F = 4000 and F = 2000");
}

/// With its own clock everything starts afresh when nothing is left to send.
#[test]
fn self_clocked_fq_starts_afresh_on_an_idle_link() {
    let mut b = Bench::of("wfq", r#"{"clock": "self"}"#);
    b.offer_lengths(1, &[1000; 2]);
    b.offer_lengths(2, &[500]);
    assert_eq!((b.take(), b.take(), b.gauge("flows")), (Some(3), Some(1), 2.0), "F = 500, 1000, 2000");
    assert_eq!((b.take_all(), b.gauge("flows"), b.gauge("round")), (vec![2], 0.0, 0.0));
}

#[test]
fn fq_remembers_so_many_conversations() {
    let mut b = Bench::of("wfq", r#"{"flows": 2}"#);
    assert_eq!((b.offer_lengths(1, &[1000; 2]), b.offer_lengths(2, &[500])), (NONE, NONE));
    assert_eq!(b.offer_lengths(3, &[500]), [(4, Why::Overflow)], "nobody can be forgotten");
    assert_eq!(b.take(), Some(3));
    assert_eq!((b.offer_lengths(3, &[500]), b.gauge("flows")), (NONE, 2.0), "in place of 2");
}

#[test]
fn wrong_parameters_are_told_what_would_be_right() {
    let says = |name, json, parts: &[&str]| {
        let text = spec(name, json).build::<Pkt>(&link(), Instant::ZERO).err().expect("it must be refused").to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{name} {json}: {text}");
    };
    says("drr", r#"{"quantum": "10b"}"#, &["quantum = 10", "64", "Shreedhar"]);
    says("drr", r#"{"buckets": 0}"#, &["buckets = 0"]);
    says("drr", r#"{"flow_limit": "0b"}"#, &["flow_limit = 0"]);
    says("drr", r#"{"classes": [{"weight": 0}]}"#, &["classes[0].weight = 0", "0.001"]);
    says("drr", r#"{"classes": [{"class": "tcp"}]}"#, &["missing: multimedia, other"]);
    says("drr", r#"{"latency_critical": ["tcp"]}"#, &["period = nothing", "needs a period"]);
    says("drr", r#"{"latency_critical": ["gold"], "period": "1ms"}"#, &["latency_critical[0] = gold"]);
    says("sfq", r#"{"divisor": 0}"#, &["divisor = 0"]);
    says("sfq", r#"{"flows": 1025}"#, &["flows = 1025", "from 1 to 1024"]);
    says("wfq", r#"{"flows": 0}"#, &["flows = 0"]);
    says("csfq", r#"{"k": "0ms"}"#, &["k = 0", "Stoica"]);
    says("csfq", r#"{"threshold": 5}"#, &["threshold = 5p", "number of bytes"]);
}
