//! While packets wait, the classes of a queue, and what else decides where a packet lies, cannot change; the rest of the same table can.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::{Event, Log, Pkt, cx, link};
use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Instant, Rng};
use serde_json::{Value, json};

/// cake's parameters that cannot change, as its message names them.
const CAKE: &str = "diffserv, isolation, classes or salt";

/// Two packets wait in a queue with one table; another is asked for. What is refused, and how many packets wait then.
fn change(name: &str, before: &Value, after: &Value) -> (Result<(), String>, u64) {
    let read = |table: &Value| Spec::read(name, table.clone()).unwrap().effective(&link()).unwrap();
    let mut queue = read(before).build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "live"), Log::default());
    (0..2).for_each(|id| queue.enqueue(Pkt::new(id, id), &mut cx(Instant::ZERO, &mut rng, &mut log)));
    let changed = queue.reconfigure(&read(after), &link(), &mut cx(Instant::ZERO, &mut rng, &mut log));
    (changed.map_err(|error| error.field), queue.backlog().packets)
}

/// The output of such a queue for ten more packets, with or without a change requested between them.
fn outcome(name: &str, before: &Value, asked: Option<&Value>) -> Vec<Event> {
    let read = |table: &Value| Spec::read(name, table.clone()).unwrap().effective(&link()).unwrap();
    let mut queue = read(before).build::<Pkt>(&link(), Instant::ZERO).unwrap();
    let (mut rng, mut log) = (Rng::stream(1, "live"), Log::default());
    for id in 0..12 {
        if let Some(after) = asked.filter(|_| id == 2) {
            let changed = queue.reconfigure(&read(after), &link(), &mut cx(Instant::ZERO, &mut rng, &mut log));
            assert!(changed.is_err());
        }
        queue.enqueue(Pkt { class: (id % 3) as u8, ..Pkt::new(id, id) }, &mut cx(Instant::ZERO, &mut rng, &mut log));
    }
    while let Some(packet) = queue.dequeue(&mut cx(Instant::ZERO, &mut rng, &mut log)).packet() {
        log.0.push(Event::Out(packet));
    }
    log.0
}

/// Each refusal names its parameter, loses nothing and leaves the queue as it was; a change of weights, shares or limits beside it is taken.
#[test]
fn classes_stay_while_packets_wait() {
    let weights = |first: &str, weight: f64| json!({"classes": [{"class": first, "weight": weight}, {"class": "*", "weight": 1}]});
    let shares = |first: &str, share: f64| json!({"classes": [{"class": first, "share": share}, {"class": "*", "share": 1.0 - share}]});
    let thresholds = |first: &str, max: f64| json!({"classes": [{"class": first, "min": 1, "max": max}, {"class": "*", "min": 1, "max": 9}]});
    let prios =
        |first: &str, prio: u32| json!({"classes": [{"class": first, "prio": prio}, {"class": "*", "prio": 2}]});
    let codepoint = |class: &str, dscp: &str| json!({"classes": [{"class": class, "dscp": dscp}]});
    for (name, before, refused, field, taken) in [
        ("wfq", weights("tcp", 2.0), weights("multimedia", 2.0), "classes", weights("tcp", 3.0)),
        ("drr", weights("tcp", 2.0), weights("multimedia", 2.0), "classes", weights("tcp", 3.0)),
        ("csfq", weights("tcp", 2.0), weights("multimedia", 2.0), "classes", weights("tcp", 3.0)),
        ("cbq", shares("tcp", 0.5), shares("multimedia", 0.5), "classes", shares("tcp", 0.25)),
        ("cbt", thresholds("tcp", 4.0), thresholds("multimedia", 4.0), "classes", thresholds("tcp", 5.0)),
        ("rio", json!({"in": ["tcp"]}), json!({"in": ["multimedia"]}), "in", json!({"in": ["tcp"], "limit": 50})),
        ("wfq", json!({"clock": "rounds"}), json!({"clock": "self"}), "clock", json!({"clock": "rounds", "limit": 50})),
        (
            "csfq",
            json!({"role": "edge", "flows": 10}),
            json!({"role": "edge", "flows": 17}),
            "role",
            json!({"role": "edge", "flows": 10, "limit": 50}),
        ),
        ("csfq", json!({"role": "edge"}), json!({"role": "core"}), "role", json!({"role": "edge", "limit": 50})),
        (
            "fq",
            json!({"orphan_mask": 3}),
            json!({"orphan_mask": 7}),
            "orphan_mask",
            json!({"orphan_mask": 3, "limit": 50}),
        ),
        ("fq", json!({"salt": 4}), json!({"salt": 5}), "salt", json!({"salt": 4, "limit": 50})),
        ("drr", json!({"buckets": 4}), json!({"buckets": 5}), "buckets", json!({"buckets": 4, "limit": 50})),
        ("sfq", json!({"divisor": 128}), json!({"divisor": 256}), "divisor", json!({"divisor": 128, "limit": 50})),
        ("gred", prios("tcp", 1), prios("multimedia", 1), "classes", prios("tcp", 3)),
        ("fq-codel", json!({"flows": 4}), json!({"flows": 5}), "flows", json!({"flows": 4, "limit": 50})),
        ("fq-codel", json!({"salt": 4}), json!({"salt": 5}), "flows", json!({"salt": 4, "limit": 50})),
        ("fq-pie", json!({"flows": 4}), json!({"flows": 5}), "flows", json!({"flows": 4, "limit": 50})),
        ("fq-pie", json!({"salt": 4}), json!({"salt": 5}), "flows", json!({"salt": 4, "limit": 50})),
        ("hhf", json!({"salt": 4}), json!({"salt": 5}), "salt", json!({"salt": 4, "limit": 50})),
        ("sfb", json!({"bins": 4}), json!({"bins": 5}), "bins", json!({"bins": 4, "limit": 50})),
        ("sfb", json!({"levels": 4}), json!({"levels": 5}), "bins", json!({"levels": 4, "limit": 50})),
        (
            "cake",
            json!({"diffserv": "diffserv4"}),
            json!({"diffserv": "besteffort"}),
            CAKE,
            json!({"diffserv": "diffserv4", "limit": 50}),
        ),
        (
            "cake",
            json!({"isolation": "hosts"}),
            json!({"isolation": "flows"}),
            CAKE,
            json!({"isolation": "hosts", "limit": 50}),
        ),
        ("cake", json!({"salt": 4}), json!({"salt": 5}), CAKE, json!({"salt": 4, "limit": 50})),
        (
            "cake",
            codepoint("tcp", "cs1"),
            codepoint("multimedia", "cs1"),
            CAKE,
            json!({"classes": [{"class": "tcp", "dscp": "cs1"}], "limit": 50}),
        ),
        (
            "cake",
            codepoint("tcp", "cs1"),
            codepoint("tcp", "ef"),
            CAKE,
            json!({"classes": [{"class": "tcp", "dscp": "cs1"}], "limit": 50}),
        ),
    ] {
        assert_eq!(change(name, &before, &refused), (Err(field.to_owned()), 2), "{name} {refused}");
        assert_eq!(outcome(name, &before, Some(&refused)), outcome(name, &before, None), "{name} {refused}");
        assert_eq!(change(name, &before, &taken), (Ok(()), 2), "{name} {taken}");
    }
}

/// Where no class is described, thresholds in bytes are those in packets of the mean size; equation 4.1 gives bytes to the nearest one.
#[test]
fn cbt_counts_in_bytes_what_it_counts_in_packets() {
    let classes = |table: Value| {
        let spec = Spec::read("cbt", table).unwrap().effective(&link()).unwrap();
        serde_json::to_value(&spec).unwrap()["classes"].as_array().unwrap().clone()
    };
    let amount = |value: &Value| -> f64 {
        let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        text.trim_end_matches(['b', 'p']).parse().unwrap()
    };
    let (packets, bytes) = (classes(json!({"counting": "packets"})), classes(json!({"counting": "bytes"})));
    assert!(!packets.is_empty() && packets.len() == bytes.len());
    for (one, other) in packets.iter().zip(&bytes) {
        for field in ["min", "max"] {
            let exact = amount(&one[field]) * link().mean_packet.as_f64();
            assert!(exact > 1000.0 && (amount(&other[field]) - exact).abs() <= 1.0, "{field}: {one} and {other}");
        }
    }
    // 1 Mbit/s for 1.0125 ms are 126.5625 bytes, and for 1.01 ms 126.25.
    for (latency, wanted) in [("1.0125ms", 127.0), ("1.01ms", 126.0)] {
        let class = json!([{"class": "*", "bandwidth": "1mbit"}]);
        let table = json!({"counting": "bytes", "latency": latency, "classes": class});
        assert_eq!(amount(&classes(table)[0]["max"]), wanted, "{latency}");
    }
}
