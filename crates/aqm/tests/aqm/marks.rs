//! Which disciplines mark packets of ECN-capable senders: all that say that they can, once their parameter `ecn` is on, and no other.

use crate::common::bench::Bench;
use crate::common::{Event, Pkt};
use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{Duration, Ecn};
use serde_json::json;

/// The discipline with its defaults, and with `ecn` if it has that parameter; in SFQ it is one of RED for each flow, which has to be enabled.
fn marking(name: &str) -> Spec {
    let spec = Spec::named(name).expect("it is in the list");
    let enabled = match name {
        "sfq" => json!({ "ecn": true, "redflowlimit": "30000b", "min": "1000b", "max": "9000b", "weight": 0.5 }),
        "fq" => json!({ "ce_threshold": "1ms" }),
        // Otherwise it drops once its probability is above a tenth.
        "fq-pie" => json!({ "ecn": true, "ecn_prob": 1 }),
        _ => json!({ "ecn": true }),
    };
    Spec::read(name, enabled).unwrap_or(spec)
}

/// The packets marked in ten seconds in which twenty flows in turn send a tenth more than the link carries, so that no queue is full at once.
fn marked(spec: &Spec) -> usize {
    let mut bench = Bench::new(spec);
    for slot in 0..12_500 {
        for _ in 0..=u64::from(slot % 10 == 0) {
            let flow = bench.offered() % 20;
            bench.offer(Pkt { ecn: Ecn::Ect0, ..Pkt::new(0, flow) });
        }
        bench.take();
        // A packet of 1000 bytes takes 0.8 ms on the link of 10 Mbit/s.
        bench.now += Duration::from_micros(800);
    }
    bench.log.0.iter().filter(|event| matches!(event, Event::Marked(..))).count()
}

#[test]
fn a_discipline_marks_if_it_says_so() {
    for entry in registry::ALL {
        let spec = marking(entry.name);
        assert_eq!(marked(&spec) > 0, spec.marks(), "{}", entry.name);
    }
}
