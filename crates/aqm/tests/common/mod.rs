//! Shared by the tests: a packet, the catalogue with its options on, and the driver that plays random
//! operations against a queue and holds it to the contract. The fuzz target includes this file too.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod bench;
pub mod catalogue;
pub mod driver;
pub mod page;
pub mod slow;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_aqm::{Ack, Cx, Dscp, Ends, Packet, Qdisc, Sink, Why};
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
    /// A few hosts at either end, with several flows each.
    fn ends(&self) -> Ends {
        Ends { source: (self.flow / 2) as u32, destination: (self.flow % 2) as u32 }
    }
    fn dscp(&self) -> Dscp {
        Dscp::new([0, 8, 46, 26, 1, 34][self.flow as usize % 6])
    }
    /// Short packets are acknowledgements.
    fn ack(&self) -> Option<Ack> {
        let number = self.id as u32;
        let (connection, pure) = (self.flow as u32, self.len < 80);
        (self.len < 100).then_some(Ack { connection, number, sack_end: number, pure, marks: u8::from(self.len < 50) })
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "a packet that is not ECN-capable was marked: {self:?}");
        self.ecn = Ecn::Ce;
    }
}

/// The fate of a packet, or of a request for one.
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

/// Which packets a discipline keeps in order: those of a flow, and of one codepoint where that chooses
/// between queues.
pub fn lane(spec: &Spec, packet: &Pkt) -> u64 {
    if spec.name() == "hhf" {
        // A flow that becomes a heavy hitter, or ceases to be one, continues in the other queue.
        return packet.id;
    }
    let by_codepoint = matches!(spec.name(), "dualq" | "dualpi2");
    4 * packet.flow + if by_codepoint { packet.ecn as u64 } else { 0 }
}

/// The value of a gauge.
pub fn gauge(queue: &dyn Qdisc<Pkt>, name: &str) -> f64 {
    let mut found = None;
    queue.probe(&mut |n, value| {
        if n == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("no gauge {name}"))
}
