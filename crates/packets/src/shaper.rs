//! One direction of a live bottleneck: a discipline, a transmitter and a delay line. Pure: the time is an argument.
//!
//! The transmitter is ideal. Each departure is computed for the moment at which a transmitter of this rate
//! becomes free, however late the computation happens, and before any later arrival is admitted: a delayed
//! program catches up, and no packet leaves before its arrival. What the machine adds is then only how late
//! a packet is handed on, which the caller measures against [`Released::due`].

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_aqm::{Backlog, Cx, Dequeued, Packet, ParamError, Qdisc, Sink, Stats, Why};
use aqmkit_base::trace::{Opportunities, Trace};
use aqmkit_base::wire::{Propagation, Wire};
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, FlowKey, FlowKind, Framing, Instant, Rng};
use aqmkit_measure::Transmission;

use crate::meter::Meter;

/// What one direction of a bottleneck is.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Its name in results.
    pub name: String,
    /// Its rate; where it varies, the mean rate, which disciplines are told.
    pub rate: BitRate,
    /// In place of the rate, where it varies. It begins with the link.
    pub trace: Option<Arc<Trace>>,
    /// How long a packet takes to the other end, once it is sent.
    pub delay: Duration,
    /// What happens to packets on the way.
    pub wire: Wire,
    /// What it sends for each packet beside the packet.
    pub framing: Framing,
    /// Size of a typical packet, for disciplines that need one.
    pub mean_packet: Bytes,
    /// The discipline.
    pub aqm: Spec,
    /// The names of the traffic classes.
    pub classes: Vec<String>,
    /// The seed of the discipline's random stream.
    pub seed: u64,
}

impl Setup {
    /// A direction with nothing out of the ordinary: packets of 1000 bytes in the mean, no framing, one class.
    #[must_use]
    pub fn new(name: &str, rate: BitRate, delay: Duration, aqm: Spec) -> Self {
        let (name, classes) = (name.to_owned(), Vec::new());
        Setup {
            name,
            rate,
            trace: None,
            delay,
            wire: Wire::default(),
            framing: Framing::default(),
            mean_packet: Bytes(1000),
            aqm,
            classes,
            seed: 1,
        }
    }

    /// How long a packet can be on the way at most.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        self.delay + self.wire.jitter + self.wire.reorder.map_or(Duration::ZERO, |reorder| reorder.delay)
    }

    fn link(&self) -> registry::Link {
        registry::Link { rate: self.rate, mean_packet: self.mean_packet, classes: self.classes.clone() }
    }
}

/// A packet and when it came to the queue.
#[derive(Clone, Debug)]
struct Waiting<P> {
    packet: P,
    arrived: Instant,
}

impl<P: Packet> Packet for Waiting<P> {
    fn len(&self) -> u32 {
        self.packet.len()
    }
    fn flow(&self) -> FlowKey {
        self.packet.flow()
    }
    fn class(&self) -> ClassId {
        self.packet.class()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn label(&self) -> f32 {
        self.packet.label()
    }
    fn set_label(&mut self, label: f32) {
        self.packet.set_label(label);
    }
    fn set_ce(&mut self) {
        self.packet.set_ce();
    }
}

/// Observer of packet events, usually a [`Meter`].
pub trait Watch<P> {
    /// A packet came.
    fn offered(&mut self, packet: &P, now: Instant);
    /// A packet begins to be sent, after having waited so long.
    fn departed(&mut self, packet: &P, waited: Duration, transmission: Transmission, now: Instant);
    /// The rate has changed: the rest of the packet that is being sent goes until `until`.
    fn continued(&mut self, until: Instant, now: Instant);
    /// A packet that came at `arrived` was dropped.
    fn dropped(&mut self, packet: P, why: Why, arrived: Instant, now: Instant);
    /// A packet that came at `arrived` was marked and stays in the queue.
    fn marked(&mut self, packet: &P, why: Why, arrived: Instant, now: Instant);
    /// The queue is this long from now on.
    fn queue(&mut self, backlog: Backlog, now: Instant);
}

/// Tells the watch what the discipline drops and marks.
struct Told<'a, W>(&'a mut W);

impl<P, W: Watch<P>> Sink<Waiting<P>> for Told<'_, W> {
    fn dropped(&mut self, packet: Waiting<P>, why: Why, now: Instant) {
        self.0.dropped(packet.packet, why, packet.arrived, now);
    }

    fn marked(&mut self, packet: &Waiting<P>, why: Why, now: Instant) {
        self.0.marked(&packet.packet, why, packet.arrived, now);
    }
}

/// A packet that is at the other end.
#[derive(Clone, Debug)]
pub struct Released<P> {
    /// The packet.
    pub packet: P,
    /// When it should be there.
    pub due: Instant,
}

/// A packet in transmission.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// When its last bit goes.
    free: Instant,
    /// When it is at the other end; nothing where the wire loses it.
    due: Option<Instant>,
}

/// A bottleneck in one direction.
pub struct Shaper<P, W = Meter> {
    rate: BitRate,
    /// In place of the rate, where it varies.
    trace: Option<Opportunities>,
    carry: u64,
    wire: Propagation,
    framing: Framing,
    qdisc: Box<dyn Qdisc<Waiting<P>>>,
    flow: FlowKind,
    rng: Rng,
    meter: W,
    /// When the transmitter looks at the queue next: it is sending until then, or the discipline holds its packets
    /// back until then. None where it waits for a packet.
    looks: Option<Instant>,
    /// The packet that is being sent, if one is.
    sending: Option<Sending>,
    /// The rates it has had, each with when it began.
    rates: Vec<(Instant, BitRate)>,
    /// Packets sent, in the order in which they are at the other end, with the time.
    line: VecDeque<Released<P>>,
    /// Packets that the wire lost.
    lost: u64,
}

impl<P: Packet + 'static, W: Watch<P>> Shaper<P, W> {
    /// An empty one at `now`.
    ///
    /// # Errors
    /// When a parameter of the discipline cannot be used at this rate.
    pub fn new(setup: &Setup, meter: W, now: Instant) -> Result<Self, ParamError> {
        if setup.rate == BitRate::default() {
            return Err(ParamError::new("rate", setup.rate, "it must be above zero"));
        }
        Ok(Shaper {
            rate: setup.rate,
            trace: setup.trace.clone().map(Opportunities::new),
            carry: 0,
            wire: Propagation::new(&setup.name, setup.delay, setup.wire, setup.seed),
            framing: setup.framing,
            qdisc: setup.aqm.build(&setup.link(), now)?,
            flow: setup.aqm.flow(),
            rng: Rng::stream(setup.seed, &format!("link.{}", setup.name)),
            meter,
            looks: None,
            sending: None,
            rates: vec![(now, setup.rate)],
            line: VecDeque::new(),
            lost: 0,
        })
    }

    /// The discipline's definition of a flow, which determines the keys of packets.
    #[must_use]
    pub fn flow(&self) -> FlowKind {
        self.flow
    }

    /// A packet comes. What was due before it departs first.
    pub fn arrive(&mut self, packet: P, now: Instant) {
        self.advance(now);
        self.meter.offered(&packet, now);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Told(&mut self.meter) };
        self.qdisc.enqueue(Waiting { packet, arrived: now }, &mut cx);
        if self.looks.is_none() {
            self.transmit(now);
        }
        self.meter.queue(self.qdisc.backlog(), now);
    }

    /// Lets everything depart that is due up to and including `now`, each packet at its own time.
    pub fn advance(&mut self, now: Instant) {
        while let Some(at) = self.looks.filter(|&at| at <= now) {
            self.transmit(at);
            self.meter.queue(self.qdisc.backlog(), at);
        }
    }

    /// The transmitter is free at `now` and takes a packet from the queue.
    fn transmit(&mut self, now: Instant) {
        let resumed = self.looks.is_some();
        self.sending = None;
        if let Some(at) = self.trace.as_mut().and_then(|trace| trace.wait(now, !resumed)) {
            self.looks = Some(at);
            return;
        }
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Told(&mut self.meter) };
        self.looks = match self.qdisc.dequeue(&mut cx) {
            Dequeued::Packet(Waiting { mut packet, arrived }) => {
                let size = self.framing.sent(packet.len());
                let transmission = match &mut self.trace {
                    None => Transmission::even(now, now + self.rate.transmit(size, &mut self.carry)),
                    Some(trace) => Transmission::Trace(Box::new(trace.send(size.0, now))),
                };
                let free = transmission.until();
                self.meter.departed(&packet, now.since(arrived), transmission, now);
                if packet.ecn().is_capable() && self.wire.marks() {
                    packet.set_ce();
                }
                let due = self.wire.arrival(free);
                let lost = self.wire.loses();
                self.sending = Some(Sending { free, due: (!lost).then_some(due) });
                if lost {
                    self.lost += 1;
                } else {
                    self.put(Released { packet, due });
                }
                Some(free)
            }
            Dequeued::Empty => None,
            // A discipline that repeatedly answers "not before now" must not block the program.
            Dequeued::NotBefore(at) => Some(at.max(now + Duration::from_nanos(1))),
        };
    }

    /// Puts a packet behind those that are at the other end before it.
    fn put(&mut self, released: Released<P>) {
        let place = self.line.iter().rposition(|other| other.due <= released.due).map_or(0, |before| before + 1);
        self.line.insert(place, released);
    }

    /// The next packet that is at the other end by `now`. Call it until there is none, after [`Shaper::advance`].
    pub fn release(&mut self, now: Instant) -> Option<Released<P>> {
        self.line.pop_front_if(|first| first.due <= now)
    }

    /// When there is something to do next without another arrival.
    #[must_use]
    pub fn wakeup(&self) -> Option<Instant> {
        let due = self.line.front().map(|first| first.due);
        self.looks.into_iter().chain(due).min()
    }

    /// What waits in the queue.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.qdisc.backlog()
    }

    /// What the discipline has counted.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.qdisc.stats()
    }

    /// The discipline's gauges.
    pub fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.probe(out);
    }

    /// How many packets the wire has lost, as it was asked to.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What has been measured.
    #[must_use]
    pub fn meter(&self) -> &W {
        &self.meter
    }

    /// What has been measured, to read the time-dependent part of it or to add to.
    pub fn meter_mut(&mut self) -> &mut W {
        &mut self.meter
    }

    /// The rates it has had, each with when it began: the first is that of the start.
    #[must_use]
    pub fn rates(&self) -> &[(Instant, BitRate)] {
        &self.rates
    }

    /// Changes the rate, the delay and the discipline's parameters while packets wait. The remainder of the
    /// packet in transmission is sent at the new rate, and packets in flight keep their order.
    ///
    /// # Errors
    /// When the discipline is another one, or a parameter cannot be used at this rate; nothing has changed then.
    pub fn reconfigure(&mut self, setup: &Setup, now: Instant) -> Result<(), ParamError> {
        if setup.rate == BitRate::default() {
            return Err(ParamError::new("rate", setup.rate, "it must be above zero"));
        }
        self.advance(now);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Told(&mut self.meter) };
        self.qdisc.reconfigure(&setup.aqm, &setup.link(), &mut cx)?;
        // What waits keeps the key with which it came.
        self.flow = setup.aqm.flow();
        if setup.rate != self.rate {
            self.send_the_rest_at(setup.rate, now);
            self.rates.push((now, setup.rate));
            (self.rate, self.carry) = (setup.rate, 0);
        }
        self.framing = setup.framing;
        self.wire.change(setup.delay, setup.wire, self.sending.map_or(now, |sending| sending.free));
        self.meter.queue(self.qdisc.backlog(), now);
        Ok(())
    }

    /// Applies a new rate to the remainder of the packet in transmission. Otherwise a packet that started
    /// at 1 bit/s would occupy the link for hours. Traces are not affected.
    fn send_the_rest_at(&mut self, rate: BitRate, now: Instant) {
        let Some(Sending { free, due }) = self.sending.filter(|s| s.free > now && self.trace.is_none()) else { return };
        let old = u128::from(free.since(now).as_nanos());
        let new = (old * u128::from(self.rate.as_bps())).div_ceil(u128::from(rate.as_bps()));
        let new = now + Duration::from_nanos(u64::try_from(new).unwrap_or(u64::MAX));
        // Its delay is the one with which it set out.
        let later = due.map(|due| new + due.since(free));
        (self.sending, self.looks) = (Some(Sending { free: new, due: later }), Some(new));
        self.meter.continued(new, now);
        let place = self.line.iter().rposition(|released| Some(released.due) == due);
        if let (Some(packet), Some(later)) = (place.and_then(|place| self.line.remove(place)), later) {
            self.put(Released { due: later, ..packet });
        }
    }
}

#[cfg(test)]
mod tests;
