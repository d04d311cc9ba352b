//! What the tests share: a packet, the catalogue with its options on, and the driver that plays random
//! operations against a queue and holds it to the contract. The fuzz target includes this file too.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod driver;

use aqmkit_aqm::registry::{self, Link, Spec};
use aqmkit_aqm::{Cx, Packet, Sink, Why};
use aqmkit_base::{BitRate, ClassId, Ecn, FlowKey, Instant, Rng};

/// A packet with a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pkt {
    pub id: u64,
    pub len: u32,
    pub flow: u64,
    pub class: u8,
    pub ecn: Ecn,
}

impl Pkt {
    pub fn new(id: u64, flow: u64) -> Self {
        Pkt { id, len: 1000, flow, class: 0, ecn: Ecn::NotEct }
    }
}

impl Packet for Pkt {
    fn len(&self) -> u32 {
        self.len
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn class(&self) -> ClassId {
        ClassId(self.class)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "a packet that is not ECN-capable was marked: {self:?}");
        self.ecn = Ecn::Ce;
    }
}

/// What became of a packet, or of a request for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Out(Pkt),
    Dropped(Pkt, Why),
    Marked(Pkt, Why),
    Empty,
    Held,
}

/// A sink that remembers, in order, with everything else that happens.
#[derive(Debug, Default)]
pub struct Log(pub Vec<Event>);

impl Sink<Pkt> for Log {
    fn dropped(&mut self, packet: Pkt, why: Why, _now: Instant) {
        self.0.push(Event::Dropped(packet, why));
    }
    fn marked(&mut self, packet: &Pkt, why: Why, _now: Instant) {
        self.0.push(Event::Marked(*packet, why));
    }
}

/// The context of a call.
pub fn cx<'a>(now: Instant, rng: &'a mut Rng, log: &'a mut Log) -> Cx<'a, Pkt> {
    Cx { now, rng, sink: log }
}

/// A link of 10 Mbit/s with the dissertation's three classes.
pub fn link() -> Link {
    let classes = ["tcp", "multimedia", "other"].map(str::to_owned).to_vec();
    Link { classes, ..Link::new(BitRate::from_mbps(10)) }
}

/// Parameters from JSON, as an experiment file would give them.
pub fn spec(name: &str, json: &str) -> Spec {
    let mut reader = serde_json::Deserializer::from_str(json);
    Spec::read(name, &mut reader).unwrap_or_else(|e| panic!("{name} {json}: {e}"))
}

/// The catalogue with default parameters.
pub fn defaults() -> Vec<Spec> {
    registry::ALL.iter().map(|e| Spec::named(e.name).expect("it is in the list")).collect()
}

/// The catalogue with options on that the defaults leave off.
pub fn options() -> Vec<Spec> {
    let three = r#"{"class": "tcp", "min": 5, "max": 20}, {"class": "multimedia", "max": 7.5, "weight": 0.0625},
                   {"class": "*", "max": 4.28, "weight": 0.25}"#;
    let bytes = r#"{"class": "tcp", "min": "5kb", "max": "20kb"}, {"class": "*", "max": "7kb", "weight": 0.25}"#;
    let shares = r#"{"class": "tcp", "share": 0.72, "parent": "elastic", "limit": 20},
                    {"class": "multimedia", "share": 0.16, "parent": "elastic", "limit": "9kb"},
                    {"class": "other", "share": 0.12, "limit": 20}"#;
    let weights = r#"{"class": "tcp", "weight": 2}, {"class": "*", "weight": 0.7}"#;
    vec![
        spec("fifo", r#"{"limit": 20, "drop": "front"}"#),
        spec("fifo", r#"{"limit": "20kb", "drop": "random"}"#),
        spec("erd", r#"{"limit": "20kb", "threshold": "10kb", "probability": 0.3, "ecn": true}"#),
        spec("red", r#"{"limit": 60, "gentle": true, "byte_mode": true, "ecn": true, "weight": 0.05}"#),
        spec(
            "red",
            r#"{"limit": "60kb", "min": "5kb", "max": "15kb", "ecn": true, "harddrop": false, "weight": 0.05}"#,
        ),
        spec("fred", r#"{"limit": 60, "max": 20, "ecn": true, "weight": 0.05}"#),
        spec("fred", r#"{"limit": 60, "max": 20, "many_flows": false, "weight": 0.05}"#),
        spec("cbt", &format!(r#"{{"limit": 60, "ecn": true, "classes": [{three}]}}"#)),
        spec("cbt", &format!(r#"{{"limit": "60kb", "counting": "bytes", "classes": [{bytes}]}}"#)),
        spec("cbq", &format!(r#"{{"classes": [{shares}]}}"#)),
        spec("drr", &format!(r#"{{"limit": 60, "quantum": "300b", "flow_limit": "20kb", "classes": [{weights}]}}"#)),
        spec("drr", &format!(r#"{{"limit": "60kb", "buckets": 3, "headdrop": true, "classes": [{weights}]}}"#)),
        spec("sfq", r#"{"limit": 60, "divisor": 4, "depth": 30, "flows": 3, "perturb": "3ms", "quantum": "500b"}"#),
        spec("sfq", r#"{"limit": "60kb", "divisor": 7, "depth": 20, "headdrop": true, "perturb": "700us"}"#),
        spec("fq", &format!(r#"{{"limit": 60, "delta": "3000b", "flows": 5, "classes": [{weights}]}}"#)),
        spec("fq", &format!(r#"{{"limit": "60kb", "clock": "self", "flows": 3, "classes": [{weights}]}}"#)),
        spec(
            "csfq",
            &format!(
                r#"{{"limit": 60, "k": "2ms", "k_alpha": "5ms", "k_c": "5ms", "flows": 4, "ecn": true, "classes": [{weights}]}}"#
            ),
        ),
        spec(
            "csfq",
            r#"{"role": "core", "limit": "60kb", "threshold": "0b", "k": "2ms", "k_alpha": "5ms", "k_c": "5ms"}"#,
        ),
        spec("csfq", r#"{"role": "edge", "limit": 60}"#),
    ]
}
