//! One direction of a link: a queue, possibly a driver's ring, a transmitter and a wire.
//!
//! Timers of the queue are not events: a discipline makes up for them at its next call, with the same
//! results.

use aqmkit_aqm::custom::Customs;
use aqmkit_aqm::registry::{self, Parameters, Spec};
use aqmkit_aqm::{Backlog, Cx, Dequeued, InnerQueue, ParamError, Qdisc, Sink, Stats, Why};
use aqmkit_base::{BitRate, Duration, FlowKind, Framing, Instant, Rng};

use crate::driver::Driver;
use crate::packet::Queued;
use crate::scenario::{self, Scenario};
use aqmkit_base::trace::Opportunities;
use aqmkit_base::wire::Propagation;
use aqmkit_measure::Transmission;

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
    rate: BitRate,
    /// Replaces the rate if it varies.
    trace: Option<Opportunities>,
    framing: Framing,
    wire: Propagation,
    qdisc: Box<dyn Qdisc<Queued>>,
    /// What takes packets out of the queue ahead of the wire.
    pub(crate) driver: Option<Box<Driver>>,
    /// The definition of a flow for this queue.
    pub(crate) flow: FlowKind,
    /// Whether this queue needs the hosts and the acknowledgements of packets.
    pub(crate) hosts: bool,
    rng: Rng,
    carry: u64,
    fates: Fates,
    /// When the current transmission ends.
    pub(crate) busy_until: Option<Instant>,
    /// The packet in transmission; the last one where none is.
    sending: Option<Sending>,
}

/// A packet in transmission and the events that its end will cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    /// The packet; nothing if the wire loses it.
    pub(crate) packet: Option<u32>,
    /// When its last bit is sent.
    pub(crate) free: Instant,
    /// When it arrives at the next link or at its receiver.
    pub(crate) arrives: Instant,
}

impl Link {
    pub(crate) fn new(link: &scenario::Link, run: &Scenario, customs: &Customs) -> Result<Self, ParamError> {
        let seed = run.seed;
        let at = seen_by_discipline(link, &run.classes);
        Ok(Link {
            rate: link.rate,
            trace: link.trace.clone().map(Opportunities::new),
            framing: link.framing,
            wire: Propagation::new(&link.name, link.delay, link.wire, seed),
            qdisc: build(&link.aqm, &at, customs)?,
            driver: link.driver.map(|driver| Box::new(Driver::new(driver))),
            flow: link.aqm.flow(),
            hosts: link.aqm.tells_hosts(),
            rng: Rng::stream(seed, &format!("link.{}", link.name)),
            carry: 0,
            fates: Fates::default(),
            busy_until: None,
            sending: None,
        })
    }

    /// Remembers the packet whose transmission has begun.
    #[inline]
    pub(crate) fn sends(&mut self, sending: Sending) {
        self.sending = Some(sending);
    }

    /// Checks that the queue could take the parameters of `to`, with an empty queue of the parameters of `from`.
    pub(crate) fn check_change(
        from: &scenario::Link,
        to: &scenario::Link,
        classes: &[String],
    ) -> Result<(), ParamError> {
        let (old, new) = (seen_by_discipline(from, classes), seen_by_discipline(to, classes));
        let mut queue: Box<dyn Qdisc<Queued>> = match from.aqm.parameters() {
            // Only the running queue knows what it takes.
            Parameters::Custom(_) => return Ok(()),
            _ => from.aqm.build(&old, Instant::ZERO)?,
        };
        let mut fates = Fates::default();
        let mut rng = Rng::stream(0, "check");
        queue.reconfigure(&to.aqm, &new, &mut Cx { now: Instant::ZERO, rng: &mut rng, sink: &mut fates })
    }

    /// Other settings from now on. Says what was in transmission and is to arrive at another time: as it was, and as it is.
    pub(crate) fn change(
        &mut self,
        to: &scenario::Link,
        classes: &[String],
        now: Instant,
    ) -> Result<Option<(Sending, Sending)>, ParamError> {
        let at = seen_by_discipline(to, classes);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.reconfigure(&to.aqm, &at, &mut cx)?;
        let resent = if to.rate == self.rate { None } else { self.send_the_rest_at(to.rate, now) };
        (self.rate, self.framing) = (to.rate, to.framing);
        let last = self.sending.map_or(now, |sending| sending.free);
        self.wire.change(to.delay, to.wire, last);
        Ok(resent)
    }

    /// Sends the remainder of the packet in transmission at another rate, as the live link does: otherwise a packet that began at
    /// a very low rate would hold the link for long.
    fn send_the_rest_at(&mut self, rate: BitRate, now: Instant) -> Option<(Sending, Sending)> {
        self.carry = 0;
        let old = self.sending.filter(|sending| sending.free > now && self.trace.is_none())?;
        let rest = u128::from(old.free.since(now).as_nanos()) * u128::from(self.rate.as_bps());
        let rest = rest.div_ceil(u128::from(rate.as_bps()).max(1));
        let free = now + Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX / 4));
        let new = Sending { free, arrives: free + old.arrives.since(old.free), ..old };
        (self.sending, self.busy_until) = (Some(new), Some(free));
        Some((old, new))
    }

    /// The rate; of a trace, the mean rate.
    pub(crate) fn rate(&self) -> BitRate {
        self.rate
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    /// The counters of the queue.
    pub(crate) fn stats(&self) -> &Stats {
        self.qdisc.stats()
    }

    /// Shows the packets that wait.
    pub(crate) fn waiting_packets(&self, see: &mut dyn FnMut(InnerQueue<'_>, &Queued)) {
        self.qdisc.waiting(see);
    }

    /// Offers a packet to the queue. [`Link::fates`] then lists drops and marks.
    pub(crate) fn enqueue(&mut self, packet: Queued, now: Instant) {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.enqueue(packet, &mut cx);
    }

    /// Dequeues the next packet, for [`Link::transmit`].
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Instant) -> Dequeued<Queued> {
        match self.waits(now) {
            Some(at) => Dequeued::NotBefore(at),
            None => self.leave_queue(now),
        }
    }

    /// Ends the transmission, or the wait, of the wire. Returns until when it has to wait before it can send.
    #[inline]
    pub(crate) fn waits(&mut self, now: Instant) -> Option<Instant> {
        let resumed = self.busy_until.take().is_some();
        let at = self.trace.as_mut()?.wait(now, !resumed)?;
        self.busy_until = Some(at);
        Some(at)
    }

    /// Takes the next packet out of the queue.
    #[inline]
    pub(crate) fn leave_queue(&mut self, now: Instant) -> Dequeued<Queued> {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut self.fates };
        self.qdisc.dequeue(&mut cx)
    }

    /// Starts the transmission of a packet of this length.
    #[inline]
    pub(crate) fn transmit(&mut self, len: u32, now: Instant) -> Transmission {
        let size = self.framing.sent(len);
        let transmission = match &mut self.trace {
            None => Transmission::even(now, now + self.rate.transmit(size, &mut self.carry)),
            Some(trace) => Transmission::Trace(Box::new(trace.send(size.0, now))),
        };
        self.busy_until = Some(transmission.until());
        transmission
    }

    /// When the last bit of the packet in transmission arrives, which is sent at `free`.
    #[inline]
    pub(crate) fn arrival(&mut self, free: Instant) -> Instant {
        self.wire.arrival(free)
    }

    /// Whether the wire loses the packet in transmission.
    pub(crate) fn loses(&mut self) -> bool {
        self.wire.loses()
    }

    /// Whether the wire marks the packet in transmission, which is ECN-capable.
    pub(crate) fn marks(&mut self) -> bool {
        self.wire.marks()
    }

    /// Whether a packet was dropped or marked since [`Link::next_fate`] was called last.
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

/// The link as a discipline sees it.
fn seen_by_discipline(link: &scenario::Link, classes: &[String]) -> registry::Link {
    registry::Link { rate: link.rate, mean_packet: link.mean_packet, classes: classes.to_vec() }
}

/// Whether a link can have this discipline: a parameter may contradict its rate or its classes. A discipline whose code comes with the
/// run is taken to be in order.
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
