//! One direction of a link: a queue, possibly a driver's ring, a transmitter and a wire.
//!
//! Timers of the queue are not events: a discipline catches up with them at its next call, with the same results.

use aqmkit_aqm::custom::Customs;
use aqmkit_aqm::discipline::Circuit;
use aqmkit_aqm::registry::{self, Parameters, Spec};
use aqmkit_aqm::{Backlog, Cx, Dequeued, InnerQueue, ParamError, Qdisc, Sink, Stats, Why};
use aqmkit_base::transmitter::{Resent, Settings, Transmitter};
use aqmkit_base::{FlowKind, Instant, Rng};

use crate::driver::Driver;
use crate::packet::Queued;
use crate::scenario::{self, Scenario};

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

/// A link with its queue.
pub(crate) struct Link {
    qdisc: Box<dyn Qdisc<Queued>>,
    /// The transmitter, which sends what leaves the queue.
    pub(crate) transmitter: Transmitter,
    /// The driver that takes packets out of the queue ahead of the wire.
    pub(crate) driver: Option<Box<Driver>>,
    /// The definition of a flow for this queue.
    pub(crate) flow: FlowKind,
    /// Whether this queue needs the hosts and the acknowledgements of packets.
    pub(crate) hosts: bool,
    /// The world's record of its customers, if its tree has some.
    pub(crate) circuits: Option<u16>,
    /// Whether anybody looks at each packet that leaves: its circuits, or an observer.
    pub(crate) observed: bool,
    rng: Rng,
    fates: Fates,
    /// The packet sent last, and when it arrives at the next link or at its receiver; `None` if the wire loses it.
    pub(crate) sent_last: Option<(u32, Instant)>,
}

impl Link {
    pub(crate) fn new(link: &scenario::Link, run: &Scenario, customs: &Customs) -> Result<Self, ParamError> {
        let seed = run.seed;
        let at = seen_by_discipline(link, &run.classes);
        Ok(Link {
            transmitter: Transmitter::new(&link.name, settings(link), seed),
            qdisc: build(&link.aqm, &at, customs)?,
            driver: link.driver.map(|driver| Box::new(Driver::new(driver))),
            flow: link.aqm.flow(),
            hosts: link.aqm.tells_hosts(),
            circuits: None,
            observed: false,
            rng: Rng::stream(seed, &format!("link.{}", link.name)),
            fates: Fates::default(),
            sent_last: None,
        })
    }

    /// Checks whether a queue with the parameters of `from` could change to those of `to`.
    pub(crate) fn check_change(
        from: &scenario::Link,
        to: &scenario::Link,
        classes: &[String],
    ) -> Result<(), ParamError> {
        let (old, new) = (seen_by_discipline(from, classes), seen_by_discipline(to, classes));
        let mut queue: Box<dyn Qdisc<Queued>> = match from.aqm.parameters() {
            // Only the running queue knows what it accepts.
            Parameters::Custom(_) => return Ok(()),
            _ => from.aqm.build(&old, Instant::ZERO)?,
        };
        let mut fates = Fates::default();
        let mut rng = Rng::stream(0, "check");
        queue.reconfigure(&to.aqm, &new, &mut Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut fates })
    }

    /// Applies new settings at `now`; returns when the packet in transmission is sent, if that changes.
    pub(crate) fn change(
        &mut self,
        to: &scenario::Link,
        classes: &[String],
        now: Instant,
    ) -> Result<Option<Resent>, ParamError> {
        let at = seen_by_discipline(to, classes);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.reconfigure(&to.aqm, &at, &mut cx)?;
        Ok(self.transmitter.change(&settings(to), now))
    }

    /// The backlog of the queue.
    pub(crate) fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    /// The counters of the queue.
    pub(crate) fn stats(&self) -> &Stats {
        self.qdisc.stats()
    }

    /// Shows the queued packets.
    pub(crate) fn waiting_packets(&self, see: &mut dyn FnMut(InnerQueue<'_>, &Queued)) {
        self.qdisc.waiting(see);
    }

    /// Offers a packet to the queue. [`Link::fates`] then lists drops and marks.
    pub(crate) fn enqueue(&mut self, packet: Queued, now: Instant) {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.enqueue(packet, &mut cx);
    }

    /// Dequeues the next packet to transmit.
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant) -> Dequeued<Queued> {
        match self.transmitter.wait(now) {
            Some(at) => Dequeued::NotBefore(at),
            None => self.leave_queue(now),
        }
    }

    /// Takes the next packet out of the queue.
    #[inline]
    pub(crate) fn leave_queue(&mut self, now: Instant) -> Dequeued<Queued> {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.dequeue(&mut cx)
    }

    /// Whether a packet was dropped or marked since the last call of [`Link::next_fate`].
    #[inline]
    pub(crate) fn has_fates(&self) -> bool {
        !self.fates.0.is_empty()
    }

    /// The next packet that was dropped or marked since the last call.
    pub(crate) fn next_fate(&mut self) -> Option<Fate> {
        self.fates.0.pop()
    }

    /// Packets waiting.
    pub(crate) fn waiting(&self) -> u64 {
        self.qdisc.backlog().packets
    }

    /// The gauges of the queue and of the driver.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.probe(out);
        if let Some(driver) = &self.driver {
            driver.probe(out);
        }
    }
}

fn settings(link: &scenario::Link) -> Settings {
    let scenario::Link { rate, framing, delay, wire, .. } = *link;
    Settings { rate, trace: link.trace.clone(), framing, delay, wire }
}

/// The customers of a link's tree.
pub(crate) fn circuits(link: &scenario::Link, classes: &[String]) -> Vec<Circuit> {
    link.aqm.circuits(&seen_by_discipline(link, classes))
}

/// The link as a discipline sees it.
fn seen_by_discipline(link: &scenario::Link, classes: &[String]) -> registry::Link {
    registry::Link { rate: link.rate, mean_packet: link.mean_packet, classes: classes.to_vec() }
}

/// Whether a link can have this discipline: a parameter may contradict its rate or its classes. A user-defined
/// discipline is assumed to be valid.
///
/// # Errors
/// The error of [`Spec::build`].
pub fn check_queue(aqm: &Spec, at: &registry::Link) -> Result<(), ParamError> {
    match aqm.parameters() {
        Parameters::Custom(_) => aqm.effective(at).map(|_| ()),
        _ => aqm.build::<Queued>(at, Instant::ZERO).map(|_| ()),
    }
}

fn build(aqm: &Spec, at: &registry::Link, customs: &Customs) -> Result<Box<dyn Qdisc<Queued>>, ParamError> {
    match aqm.parameters() {
        Parameters::Custom(params) => customs.build(params, at, Instant::ZERO),
        _ => aqm.build(at, Instant::ZERO),
    }
}
