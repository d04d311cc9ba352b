//! One direction of a link: a queue, a transmitter and a wire.
//!
//! Timers of the queue are not events: a discipline makes up for them at its next call, with the same
//! results.

use aqmkit_aqm::custom::Customs;
use aqmkit_aqm::registry::{self, Parameters, Spec};
use aqmkit_aqm::{Cx, Dequeued, ParamError, Qdisc, Sink, Why};
use aqmkit_base::{BitRate, FlowKind, Framing, Instant, Rng};

use crate::packet::Queued;
use crate::scenario::{self, Scenario};
use crate::wire::Propagation;
use aqmkit_base::trace::Opportunities;

/// A packet that the queue dropped, or one that it marked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    Dropped(Queued, Why),
    Marked(Queued, Why),
}

/// Collects drops and marks of the queue; the world processes them after the call.
#[derive(Debug, Default)]
struct Fates(Vec<Fate>);

impl Sink<Queued> for Fates {
    fn dropped(&mut self, packet: Queued, why: Why, _now: Instant) {
        self.0.push(Fate::Dropped(packet, why));
    }

    fn marked(&mut self, packet: &Queued, why: Why, _now: Instant) {
        self.0.push(Fate::Marked(*packet, why));
    }
}

/// A packet in transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) packet: Queued,
    /// When its last bit arrives.
    pub(crate) arrives: Instant,
    /// When the transmitter is free again.
    pub(crate) free: Instant,
}

/// The next step of the transmitter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// It sends this.
    Sends(Departure),
    /// Nothing is waiting.
    Idle,
    /// The queue holds its packets back until then.
    Waits(Instant),
}

/// A link with its queue.
pub(crate) struct Link {
    rate: BitRate,
    /// Replaces the rate if it varies.
    trace: Option<Opportunities>,
    framing: Framing,
    wire: Propagation,
    qdisc: Box<dyn Qdisc<Queued>>,
    /// The definition of a flow for this queue.
    pub(crate) flow: FlowKind,
    rng: Rng,
    carry: u64,
    fates: Fates,
    /// When the current transmission ends.
    pub(crate) busy_until: Option<Instant>,
}

impl Link {
    pub(crate) fn new(link: &scenario::Link, run: &Scenario, customs: &Customs) -> Result<Self, ParamError> {
        let (classes, seed) = (run.classes.clone(), run.seed);
        let at = registry::Link { rate: link.rate, mean_packet: link.mean_packet, classes };
        Ok(Link {
            rate: link.rate,
            trace: link.trace.clone().map(Opportunities::new),
            framing: link.framing,
            wire: Propagation::new(link, seed),
            qdisc: build(&link.aqm, &at, customs)?,
            flow: link.aqm.flow(),
            rng: Rng::stream(seed, &format!("link.{}", link.name)),
            carry: 0,
            fates: Fates::default(),
            busy_until: None,
        })
    }

    /// Offers a packet to the queue. [`Link::fates`] then lists drops and marks.
    pub(crate) fn enqueue(&mut self, packet: Queued, now: Instant) {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.enqueue(packet, &mut cx);
    }

    /// Dequeues the next packet and starts its transmission.
    pub(crate) fn transmit(&mut self, now: Instant) -> Next {
        let resumed = self.busy_until.take().is_some();
        if let Some(at) = self.trace.as_mut().and_then(|trace| trace.wait(now, !resumed)) {
            self.busy_until = Some(at);
            return Next::Waits(at);
        }
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        match self.qdisc.dequeue(&mut cx) {
            Dequeued::Packet(packet) => {
                let size = self.framing.sent(packet.len);
                let free = match &mut self.trace {
                    None => now + self.rate.transmit(size, &mut self.carry),
                    Some(trace) => trace.send(size.0, now),
                };
                self.busy_until = Some(free);
                Next::Sends(Departure { packet, arrives: self.wire.arrival(free), free })
            }
            Dequeued::Empty => Next::Idle,
            Dequeued::NotBefore(at) => Next::Waits(at),
        }
    }

    /// Whether the wire loses the packet in transmission.
    pub(crate) fn loses(&mut self) -> bool {
        self.wire.loses()
    }

    /// Whether the wire marks the packet in transmission, which is ECN-capable.
    pub(crate) fn marks(&mut self) -> bool {
        self.wire.marks()
    }

    /// The next packet that was dropped or marked since the last call.
    pub(crate) fn next_fate(&mut self) -> Option<Fate> {
        self.fates.0.pop()
    }

    /// Packets waiting.
    pub(crate) fn waiting(&self) -> u64 {
        self.qdisc.backlog().packets
    }

    /// The queue's gauges.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.probe(out);
    }
}

fn build(aqm: &Spec, at: &registry::Link, customs: &Customs) -> Result<Box<dyn Qdisc<Queued>>, ParamError> {
    match aqm.parameters() {
        Parameters::Custom(params) => customs.build(params, at, Instant::ZERO),
        _ => aqm.build(at, Instant::ZERO),
    }
}
