//! Situations that must come out alike, whatever the discipline: a queue emptied by a change and one that was served, one queue under a
//! scheduler and its algorithm alone, room made for a packet that does not fit.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::bench::Bench;
use crate::common::catalogue::{defaults, options};
use crate::common::driver::with_limit;
use crate::common::page::plain;
use crate::common::{Event, Log, Pkt, cx, link, spec};
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use serde_json::json;

fn change(b: &mut Bench, spec: &Spec) {
    let after = spec.effective(&link()).unwrap();
    b.queue.reconfigure(&after, &link(), &mut cx(b.now, &mut b.rng, &mut b.log)).unwrap();
}

/// Every gauge.
fn gauges(b: &Bench) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    b.queue.probe(&mut |name, value| all.push((name.to_owned(), value)));
    all
}

/// The catalogue's entries whose limit counts bytes, and that take one of a byte.
fn in_bytes() -> Vec<Spec> {
    let bytes = |spec: &Spec| {
        let limit = plain(spec).get("limit").cloned();
        let counts_bytes = limit.is_some_and(|limit| limit.as_str().is_some_and(|text| text.ends_with('b')));
        counts_bytes && with_limit(spec, "1b").effective(&link()).is_ok()
    };
    // Where the limit follows from something else, it is filled in.
    let filled = |spec: Spec| if plain(&spec).contains_key("limit") { spec } else { spec.effective(&link()).unwrap() };
    [defaults(), options()].concat().into_iter().map(filled).filter(bytes).collect()
}

/// An average of the queue's length goes down while the link is idle: from the moment on at which the queue became empty, whether its last
/// packets were sent or a lower limit dropped them.
#[test]
fn a_queue_emptied_by_a_lower_limit_is_idle_from_then_on() {
    let mut tried = Vec::new();
    for spec in in_bytes() {
        let averages = |served: bool| {
            let mut b = Bench::new(&spec);
            (0..9_u8).for_each(|i| _ = b.offer(Pkt { class: i % 3, ..Pkt::new(0, u64::from(i % 3)) }));
            b.now += Duration::from_millis(20);
            if served {
                b.take_all();
            }
            for limit in ["1b", ""] {
                change(&mut b, &if limit.is_empty() { spec.clone() } else { with_limit(&spec, limit) });
            }
            assert_eq!(b.queue.backlog().packets, 0, "{spec:?}");
            b.now += Duration::from_millis(3);
            (0..3_u8).for_each(|class| _ = b.offer(Pkt { class, ..Pkt::new(0, u64::from(class)) }));
            gauges(&b).into_iter().filter(|(name, _)| name == "avg" || name.starts_with("avg.")).collect::<Vec<_>>()
        };
        let (dropped, served) = (averages(false), averages(true));
        assert_eq!(dropped, served, "{spec:?}");
        if dropped.iter().any(|(_, avg)| *avg > 0.0) {
            tried.push(spec.name());
        }
    }
    tried.dedup();
    assert!(tried.len() >= 5, "{tried:?}");
}

/// A packet that would not fit if all others went is dropped alone.
#[test]
fn a_packet_larger_than_the_limit_makes_no_room() {
    let mut tried = Vec::new();
    for spec in in_bytes() {
        let small = with_limit(&spec, "900b");
        let mut b = Bench::new(&small);
        (0..3).for_each(|_| _ = b.offer(Pkt { len: 60, ..Pkt::new(0, 1) }));
        let (waiting, seen) = (b.queue.backlog().packets, b.log.0.len());
        b.flow(2);
        let number = b.offered();
        assert!(
            matches!(b.log.0[seen..], [Event::Dropped(packet, _)] if packet.id == number),
            "{small:?}: {:?}",
            b.log
        );
        assert_eq!(b.queue.backlog().packets, waiting, "{small:?}");
        tried.push(spec.name());
    }
    tried.dedup();
    assert!(tried.len() >= 20, "{tried:?}");
}

/// An empty queue takes a packet, however low its limit is.
#[test]
fn an_empty_queue_takes_a_packet_of_the_limit() {
    let mut refused = Vec::new();
    for spec in [defaults(), options()].concat() {
        for limit in ["1p", "1000b"] {
            let low = with_limit(&spec, limit);
            let Ok(mut queue) = low.build::<Pkt>(&link(), Instant::ZERO) else { continue };
            let (mut rng, mut log) = (Rng::stream(1, "alike"), Log::default());
            queue.enqueue(Pkt::new(0, 1), &mut cx(Instant::ZERO, &mut rng, &mut log));
            if !log.0.is_empty() || queue.backlog().packets != 1 {
                refused.push(format!("{low:?}: {:?}", log.0));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The same where there is a second limit, of memory; a packet of just that size fits, alone.
#[test]
fn a_packet_larger_than_the_memory_makes_no_room() {
    for (name, field) in
        [("fq-codel", "memory_limit"), ("fq-pie", "memory_limit"), ("cake", "memlimit"), ("dualpi2", "memlimit")]
    {
        let mut b = Bench::new(&Spec::read(name, json!({ field: "1000b" })).unwrap());
        (0..3).for_each(|_| _ = b.offer(Pkt { len: 60, ..Pkt::new(0, 1) }));
        assert_eq!(b.offer(Pkt { len: 1001, ..Pkt::new(0, 2) }).len(), 1, "{name}");
        assert_eq!(b.queue.backlog().packets, 3, "{name}");
        b.take_all();
        assert_eq!((b.flow(2).len(), b.queue.backlog().bytes), (0, 1000), "{name}");
    }
}

/// With one queue the scheduler of FQ-CoDel and FQ-PIE has nothing to choose: what comes out and what is dropped is as without it, also when
/// parameters change between two packets.
#[test]
fn one_queue_is_the_algorithm_alone() {
    let pie = |target: &str, alpha: f64, tupdate: &str| json!({ "limit": 5000, "target": target, "alpha": alpha, "tupdate": tupdate, "max_burst": "0s", "ecn": true });
    let codel =
        |target: &str, interval: &str| json!({ "limit": 5000, "target": target, "interval": interval, "ecn": true });
    for (name, alone, before, after) in [
        ("fq-codel", "codel", codel("2ms", "20ms"), codel("1ms", "5ms")),
        ("fq-pie", "pie", pie("2ms", 0.5, "15ms"), pie("6ms", 0.0, "9ms")),
        ("fq-pie", "pie", pie("6ms", 0.0, "9ms"), pie("2ms", 0.5, "15ms")),
    ] {
        let [first, second] = [&before, &after].map(|table| {
            let mut queued = table.clone();
            queued["flows"] = json!(1);
            [Spec::read(name, queued).unwrap(), Spec::read(alone, table.clone()).unwrap()]
        });
        for seed in 0..20 {
            let [mut a, mut b] = first.each_ref().map(Bench::new);
            let mut draw = Rng::stream(seed, "one queue");
            for step in 0..3000 {
                let (wait, arrives) = (Duration::from_micros(draw.below(1600)), draw.chance(0.55));
                let packet = Pkt {
                    len: 40 + draw.below(1461) as u32,
                    ecn: Ecn::from_bits(draw.below(4) as u8),
                    ..Pkt::new(0, draw.below(5))
                };
                for (bench, other) in [(&mut a, &second[0]), (&mut b, &second[1])] {
                    if step == 1500 {
                        // Several updates are due by now.
                        bench.now += Duration::from_millis(70);
                        change(bench, other);
                    }
                    bench.now += wait;
                    if arrives {
                        bench.offer(packet);
                    } else if let Some(id) = bench.take() {
                        bench.log.0.push(Event::Out(Pkt::new(id, 0)));
                    }
                }
            }
            assert!(a.queue.stats().marks() + a.queue.stats().drops() > 20, "{:?}", a.queue.stats());
            let place = (0..a.log.0.len().max(b.log.0.len())).find(|&i| a.log.0.get(i) != b.log.0.get(i));
            assert_eq!(place.map(|i| (a.log.0.get(i), b.log.0.get(i))), None, "{name}, seed {seed}");
        }
    }
}

/// Where nothing is dropped early, as much waits as the limit says, to the packet and to the byte.
#[test]
fn a_queue_holds_just_its_limit() {
    for (name, limit) in [
        ("fifo", "7p"),
        ("fifo", "7000b"),
        ("wfq", "7p"),
        ("wfq", "7000b"),
        ("drr", "7p"),
        ("sfq", "7p"),
        ("sfq", "7000b"),
    ] {
        let mut b = Bench::new(&spec(name, &format!(r#"{{"limit": "{limit}"}}"#)));
        (0..20).for_each(|_| _ = b.flow(1));
        assert_eq!((b.queue.backlog().packets, b.queue.backlog().bytes), (7, 7000), "{name} {limit}");
    }
}

/// Where the parts of a queue have gauges, they add up to what waits.
#[test]
fn the_gauges_of_the_parts_add_up_to_the_queue() {
    let mut tried = Vec::new();
    for spec in [defaults(), options()].concat() {
        let mut b = Bench::new(&spec);
        let mut draw = Rng::stream(1, "parts");
        let is_part = |name: &str| name.starts_with("queue.") || name.ends_with(".packets");
        let parts = gauges(&b).iter().filter(|(name, _)| is_part(name)).count();
        // RIO reports only one part.
        if parts < 2 {
            continue;
        }
        for _ in 0..300 {
            b.now += Duration::from_micros(draw.below(2000));
            if draw.chance(0.6) {
                let flow = draw.below(6);
                // Classes that all the catalogue's entries name.
                b.offer(Pkt {
                    class: [0, 2][flow as usize % 2],
                    ecn: Ecn::from_bits(draw.below(4) as u8),
                    ..Pkt::new(0, flow)
                });
            } else {
                b.take();
            }
            let shown = gauges(&b).iter().filter(|(name, _)| is_part(name)).map(|(_, packets)| packets).sum::<f64>();
            assert_eq!(shown, b.queue.backlog().packets as f64, "{spec:?}");
        }
        tried.push(spec.name());
    }
    tried.dedup();
    assert!(tried.len() >= 5, "{tried:?}");
}
