//! Disciplines with queues of other disciplines inside, worked by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::{Bench, PASS};
use crate::common::{Event, Pkt, cx, link, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_aqm::{Dequeued, InnerQueue, Why};
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use serde_json::json;

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn offer(b: &mut Bench, class: u8, packets: u64) -> Vec<Why> {
    (0..packets).flat_map(|_| b.offer(Pkt { class, ..Pkt::new(0, u64::from(class)) })).collect()
}

/// The answer at this time: the number of a packet, or when to come again.
fn ask(b: &mut Bench, us: u64) -> Result<u64, Option<Instant>> {
    b.now = at(us);
    match b.queue.dequeue(&mut cx(b.now, &mut b.rng, &mut b.log)) {
        Dequeued::Packet(packet) => Ok(packet.id),
        Dequeued::NotBefore(again) => Err(Some(again)),
        Dequeued::Empty => Err(None),
    }
}

/// 8 Mbit/s send a byte in a microsecond. The bucket has 3000 bytes: three packets of 1000 at once, and then one each millisecond.
#[test]
fn tbf_sends_a_burst_and_then_at_its_rate() {
    let mut b = Bench::new(&spec("tbf", r#"{"rate": "8mbit", "burst": "3000b", "limit": "6000b"}"#));
    assert_eq!(offer(&mut b, 0, 7), [Why::Overflow], "six fit");
    assert_eq!([0, 0, 0].map(|us| ask(&mut b, us)), [Ok(1), Ok(2), Ok(3)]);
    assert_eq!([0, 999].map(|us| ask(&mut b, us)), [Err(Some(at(1000))); 2]);
    assert_eq!([1000, 1000, 2500].map(|us| ask(&mut b, us)), [Ok(4), Err(Some(at(2000))), Ok(5)]);
    // Half of the next is there already.
    assert_eq!([2500, 3000, 9000].map(|us| ask(&mut b, us)), [Err(Some(at(3000))), Ok(6), Err(None)]);
    assert_eq!(b.offer(Pkt { len: 3001, ..Pkt::new(0, 1) }), [Why::Overflow], "longer than the bucket");
}

/// With a peak rate of 16 Mbit/s and a bucket of one packet, the burst leaves with 500 us between packets.
#[test]
fn a_burst_of_tbf_leaves_at_the_peak_rate() {
    let table = r#"{"rate": "8mbit", "burst": "3000b", "peakrate": "16mbit", "minburst": "1000b"}"#;
    let mut b = Bench::new(&spec("tbf", table));
    offer(&mut b, 0, 8);
    let sent: Vec<u64> = (0..=5000).step_by(100).filter(|us| ask(&mut b, *us).is_ok()).collect();
    // The bucket of the rate has 3000 + 500 n bytes after n packets of the burst, less 1000 n: five packets.
    assert_eq!(sent, [0, 500, 1000, 1500, 2000, 3000, 4000, 5000]);
}

/// `latency` is the wait of the last packet that fits, after the burst: (limit - burst) / rate.
#[test]
fn latency_of_tbf_is_a_limit() {
    let full = |json| serde_json::to_value(spec("tbf", json).effective(&link()).unwrap()).unwrap();
    assert_eq!(full(r#"{"rate": "8mbit", "burst": "3000b", "latency": "10ms"}"#)["limit"], json!("13000b"));
    let peak = r#"{"rate": "8mbit", "burst": "9000b", "latency": "10ms", "peakrate": "10mbit", "minburst": "1500b"}"#;
    assert_eq!(full(peak)["limit"], json!("14000b"));
}

/// Never more than the burst and what the rate brings, between any two packets.
#[test]
fn tbf_keeps_its_bound_in_every_interval() {
    let table = r#"{"rate": "8mbit", "burst": "4000b", "aqm": {"name": "fq-codel", "limit": 50}}"#;
    for seed in 0..20 {
        let mut draw = Rng::stream(seed, "bound");
        let mut b = Bench::new(&spec("tbf", table));
        let mut sent: Vec<(Instant, u64)> = Vec::new();
        for _ in 0..2000 {
            b.now += Duration::from_micros(draw.below(1200));
            let len = 40 + draw.below(1461) as u32;
            b.offer(Pkt { len, ..Pkt::new(0, draw.below(5)) });
            for _ in 0..draw.below(4) {
                if let Dequeued::Packet(p) = b.queue.dequeue(&mut cx(b.now, &mut b.rng, &mut b.log)) {
                    sent.push((b.now, p.len.into()));
                }
            }
        }
        assert!(sent.len() > 1000);
        for (i, (from, _)) in sent.iter().enumerate() {
            let mut bytes = 0;
            for (to, len) in &sent[i..] {
                bytes += len;
                let bound = 4000.0 + to.since(*from).as_secs_f64() * 1e6;
                assert!(bytes as f64 <= bound + 0.01, "{bytes} bytes in {:?}", to.since(*from));
            }
        }
    }
}

#[test]
fn prio_serves_bands_in_order() {
    let table =
        r#"{"class": [{"name": "voice", "match": "multimedia"}, {"name": "tcp"}, {"name": "rest", "match": "*"}]}"#;
    let mut b = Bench::new(&spec("prio", table));
    for class in [2, 0, 1, 2, 1, 0] {
        assert_eq!(offer(&mut b, class, 1), PASS);
    }
    assert_eq!(b.gauge("queue.voice"), 2.0);
    let mut seen = Vec::new();
    b.queue.waiting(&mut |queue, p| seen.push((format!("{queue:?}"), p.id)));
    let named = |name: &str| format!("{:?}", InnerQueue::Named(name));
    assert_eq!(seen[..3], [(named("voice"), 3), (named("voice"), 5), (named("tcp"), 2)]);
    assert_eq!(b.take_all(), [3, 5, 2, 6, 1, 4]);
}

/// The first band holds its second packet back, so the next band is served; nobody is asked too early.
#[test]
fn a_shaper_inside_lets_other_bands_go() {
    let table = r#"{"class": [{"name": "multimedia", "aqm": {"name": "tbf", "rate": "8mbit", "burst": "1000b"}}, {"match": "*"}]}"#;
    let mut b = Bench::new(&spec("prio", table));
    offer(&mut b, 1, 3);
    offer(&mut b, 0, 2);
    assert_eq!([0, 0, 1000, 1000].map(|us| ask(&mut b, us)), [Ok(1), Ok(4), Ok(2), Ok(5)]);
    assert_eq!([1000, 2000, 2000].map(|us| ask(&mut b, us)), [Err(Some(at(2000))), Ok(3), Err(None)]);
}

/// One strict band, and two that share three to one.
#[test]
fn ets_shares_by_quanta_what_the_strict_bands_leave() {
    let table = r#"{"strict": 1, "quanta": ["3000b", "1000b"], "class": [{"name": "multimedia"}, {"name": "tcp"}, {"name": "other"}]}"#;
    let mut b = Bench::new(&spec("ets", table));
    offer(&mut b, 2, 4);
    offer(&mut b, 0, 12);
    assert_eq!(b.take(), Some(1), "the first to come has the first turn");
    offer(&mut b, 1, 2);
    assert_eq!(b.take_all(), [17, 18, 5, 6, 7, 2, 8, 9, 10, 3, 11, 12, 13, 4, 14, 15, 16]);
}

/// Codepoints: best effort, `cs1`, `ef`, `af31`, 1 and `af41`, by the number of the flow.
#[test]
fn pfifo_fast_has_three_bands_of_its_own_length() {
    let mut b = Bench::new(&spec("pfifo-fast", r#"{"limit": 2}"#));
    let drops: Vec<Vec<Why>> = (0..6).map(|flow| b.flow(flow)).collect();
    // Flows 0, 1, 2 and 4 are in band 1, 3 and 5 in band 2.
    assert_eq!(drops, [PASS, PASS, vec![Why::Overflow], PASS, vec![Why::Overflow], PASS]);
    assert_eq!(["queue.0", "queue.1", "queue.2"].map(|name| b.gauge(name)), [0.0, 2.0, 2.0]);
    assert_eq!(b.take_all(), [1, 2, 4, 6]);
}

/// Work conservation: with only FIFOs and AQMs inside, a packet leaves whenever one waits, or the AQM drops the last.
#[test]
fn prio_and_ets_never_idle_while_packets_wait() {
    let classes = r#""class": [{"name": "tcp", "aqm": "codel"}, {"name": "multimedia", "aqm": {"name": "red", "limit": 30}}, {"name": "other"}]"#;
    for table in [format!(r#"{{{classes}}}"#), format!(r#"{{"strict": 1, "quanta": ["100b"], {classes}}}"#)] {
        let name = if table.contains("strict") { "ets" } else { "prio" };
        let mut b = Bench::new(&spec(name, &table));
        let mut draw = Rng::stream(1, "work");
        for _ in 0..20_000 {
            b.now += Duration::from_micros(draw.below(2000));
            if draw.chance(0.55) {
                offer(&mut b, draw.below(3) as u8, 1);
            } else {
                let sent = b.take();
                assert!(sent.is_some() || b.queue.backlog().packets == 0, "{name} idles");
            }
        }
        let stats = *b.queue.stats();
        assert!(stats.drops() > 10 && stats.dequeued > 5000, "{stats:?}");
    }
}

/// Drops and marks of an inner queue, on arrival and at departure, are counted once, with their reason, and reported once.
#[test]
fn drops_of_an_inner_queue_are_counted_once() {
    let codel = r#"{"name": "codel", "limit": 5, "target": "1ms", "interval": "10ms", "ecn": true}"#;
    for spec in [
        spec("tbf", &format!(r#"{{"rate": "1mbit", "burst": "2000b", "aqm": {codel}}}"#)),
        spec("prio", &format!(r#"{{"class": [{{"name": "tcp", "aqm": {codel}}}]}}"#)),
        spec(
            "ets",
            &format!(r#"{{"class": [{{"match": "*", "aqm": {{"name": "tbf", "burst": "2000b", "aqm": {codel}}}}}]}}"#),
        ),
    ] {
        let mut b = Bench::new(&spec);
        for i in 0..4000_u64 {
            b.now += Duration::from_millis(2);
            let ecn = if i % 4 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            b.offer(Pkt { ecn, ..Pkt::new(0, 0) });
            if i % 3 == 0 {
                b.take();
            }
        }
        let stats = *b.queue.stats();
        let count = |f: fn(&Event) -> Option<Why>, why| b.log.0.iter().filter(|e| f(e) == Some(why)).count() as u64;
        let dropped = |e: &Event| if let Event::Dropped(_, why) = e { Some(*why) } else { None };
        let marked = |e: &Event| if let Event::Marked(_, why) = e { Some(*why) } else { None };
        for why in Why::ALL {
            assert_eq!(stats.dropped[why as usize], count(dropped, why), "{why:?}");
            assert_eq!(stats.marked[why as usize], count(marked, why), "{why:?}");
        }
        for why in [Why::Overflow, Why::Sojourn] {
            assert!(stats.dropped[why as usize] > 10, "{spec:?}: {why:?}: {stats:?}");
        }
        assert!(stats.marked[Why::Sojourn as usize] > 10, "{stats:?}");
        assert_eq!(stats.enqueued, stats.dequeued + stats.drops() + b.queue.backlog().packets);
    }
}

/// A change that one queue of a tree refuses leaves all others as they were.
#[test]
fn a_change_of_a_tree_is_made_in_full_or_not_at_all() {
    let tree = |limit: u32, flows: u32| {
        let table = json!({"class": [{"name": "tcp", "aqm": {"name": "fifo", "limit": limit}},
            {"name": "other", "aqm": {"name": "fq-codel", "flows": flows}}]});
        Spec::read("prio", table).unwrap()
    };
    let mut b = Bench::new(&tree(10, 4));
    offer(&mut b, 0, 8);
    let change = |on: &mut Bench, to: &Spec| {
        on.queue.reconfigure(to, &link(), &mut cx(on.now, &mut on.rng, &mut on.log)).map_err(|e| e.field)
    };
    assert_eq!(change(&mut b, &tree(3, 5)), Err("classes[1].aqm.flows".to_owned()));
    assert_eq!((b.queue.backlog().packets, b.queue.stats().drops()), (8, 0));
    assert_eq!(change(&mut b, &tree(3, 4)), Ok(()));
    assert_eq!(b.queue.stats().dropped[Why::Reconfigured as usize], 5);
    let other = Spec::read("prio", json!({"class": [{"name": "tcp", "aqm": "codel"}, {"name": "other"}]})).unwrap();
    assert!(change(&mut b, &other).is_err(), "another discipline inside");
}

#[test]
fn a_tree_says_what_is_wrong_with_it() {
    let wrong = |name: &str, json: &str| {
        let mut reader = serde_json::Deserializer::from_str(json);
        let read = Spec::read(name, &mut reader).map_err(|e| e.to_string());
        read.and_then(|spec| spec.effective(&link()).map_err(|e| e.to_string())).unwrap_err()
    };
    for (name, json, part) in [
        ("tbf", r#"{"limit": 5, "aqm": "codel"}"#, "limit = 5p is not valid: with aqm"),
        ("tbf", r#"{"limit": 5, "latency": "3ms"}"#, "either limit or latency"),
        ("tbf", r#"{"rate": "9mbit", "peakrate": "9mbit"}"#, "it must be above rate, 9mbit"),
        ("tbf", r#"{"aqm": "cdoel"}"#, "did you mean codel"),
        ("tbf", r#"{"aqm": {"name": "red", "mxa": 4}}"#, "mxa is not a parameter of red"),
        ("tbf", r#"{"aqm": {"limit": 4}}"#, "no name"),
        ("tbf", r#"{"aqm": {"name": "fq-codel", "flow": "hosts"}}"#, "outermost"),
        ("prio", r#"{"bands": 17}"#, "bands = 17"),
        ("prio", r#"{"bands": 2, "class": [{}, {}, {}]}"#, "there are 2 bands"),
        ("prio", r#"{"priomap": [3]}"#, "the bands are 0 to 2"),
        ("prio", r#"{"class": [{"match": "vioce"}]}"#, "a class of the link (tcp, multimedia, other)"),
        ("prio", r#"{"class": [{"aqm": {"name": "red", "max_p": 2}}]}"#, "classes[0].aqm.max_p"),
        ("ets", r#"{"bands": 2, "strict": 3}"#, "strict = 3"),
        ("ets", r#"{"bands": 2, "strict": 1, "quanta": ["1b", "1b"]}"#, "1 of the 2 bands share"),
        ("ets", r#"{"quanta": ["0b"]}"#, "quanta[0]"),
    ] {
        let text = wrong(name, json);
        assert!(text.contains(part), "{json}: {text}");
    }
}

#[test]
fn a_tree_names_what_is_in_it_and_doubts_what_is_no_use() {
    let table = r#"{"quanta": ["100b"], "class": [{"aqm": {"name": "tbf", "rate": "20mbit", "aqm": "codel"}}]}"#;
    let spec = spec("ets", table);
    let inner: Vec<(String, &str)> = spec.inner(&link()).iter().map(|i| (i.path.clone(), i.spec.name())).collect();
    assert_eq!(inner, [("classes[0].aqm".to_owned(), "tbf"), ("classes[0].aqm.aqm".to_owned(), "codel")]);
    let doubts = spec.doubts(&link());
    assert_eq!(doubts.len(), 2, "{doubts:?}");
    assert!(doubts[0].contains("less than a full packet") && doubts[1].contains("above the 10mbit of the link"));
    assert!(spec.marks() && !crate::common::spec("tbf", "{}").marks());
}
