//! One direction of a live bottleneck: a discipline, a transmitter and a delay line. Pure: the time is an argument.
//!
//! The transmitter is ideal. Each departure is computed for the moment at which a transmitter of this rate becomes
//! free, however late the computation happens, and before any later arrival is admitted: a delayed program catches up,
//! and no packet leaves before its arrival. The machine only delays the forwarding of packets, which the caller
//! measures against [`Released::due`].

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_aqm::{Ack, Backlog, Cx, Dequeued, Dscp, Ends, Packet, ParamError, Qdisc, Sink, Stats, Why};
use aqmkit_base::trace::{Opportunities, Trace};
use aqmkit_base::wire::{Propagation, Wire};
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, FlowKey, FlowKind, Framing, Instant, Rng};
use aqmkit_measure::Transmission;

use crate::meter::{Meter, Watch};

/// The settings of one direction of a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Its name in results.
    pub name: String,
    /// Its rate; if it varies, the mean rate, which disciplines assume.
    pub rate: BitRate,
    /// The trace of a varying rate, which starts with the link.
    pub trace: Option<Arc<Trace>>,
    /// The propagation delay.
    pub delay: Duration,
    /// Losses, jitter and reordering behind the queue.
    pub wire: Wire,
    /// The framing of packets.
    pub framing: Framing,
    /// The typical packet size, for disciplines that need one.
    pub mean_packet: Bytes,
    /// The discipline.
    pub aqm: Spec,
    /// The names of the traffic classes.
    pub classes: Vec<String>,
    /// The seed of the discipline's random stream.
    pub seed: u64,
}

impl Setup {
    /// Default settings: packets of 1000 bytes on average, no framing, one class.
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

    /// The longest possible delay after transmission.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        self.delay + self.wire.jitter + self.wire.reorder.map_or(Duration::ZERO, |reorder| reorder.delay)
    }

    fn link(&self) -> registry::Link {
        registry::Link { rate: self.rate, mean_packet: self.mean_packet, classes: self.classes.clone() }
    }
}

/// A packet and its arrival at the queue.
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
    fn ends(&self) -> Ends {
        self.packet.ends()
    }
    fn dscp(&self) -> Dscp {
        self.packet.dscp()
    }
    fn ack(&self) -> Option<Ack> {
        self.packet.ack()
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

/// Reports the discipline's drops and marks to the observer.
struct Reporter<'a, W>(&'a mut W);

impl<P, W: Watch<P>> Sink<Waiting<P>> for Reporter<'_, W> {
    fn dropped(&mut self, packet: Waiting<P>, why: Why, now: Instant) {
        self.0.dropped(packet.packet, why, packet.arrived, now);
    }

    fn marked(&mut self, packet: &Waiting<P>, why: Why, now: Instant) {
        self.0.marked(&packet.packet, why, packet.arrived, now);
    }
}

/// A packet that reached the other end.
#[derive(Clone, Debug)]
pub struct Released<P> {
    /// The packet.
    pub packet: P,
    /// The time at which it should reach the other end.
    pub due: Instant,
}

/// A packet in transmission.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// The time at which its last bit is sent.
    free: Instant,
    /// Its arrival at the other end; `None` if the wire loses it.
    due: Option<Instant>,
}

/// One direction of a bottleneck.
pub struct Shaper<P, W = Meter> {
    rate: BitRate,
    /// The trace of a varying rate.
    trace: Option<Opportunities>,
    carry: u64,
    wire: Propagation,
    framing: Framing,
    qdisc: Box<dyn Qdisc<Waiting<P>>>,
    /// The name of the discipline.
    name: &'static str,
    /// Replaced disciplines, each with the packets that wait in it. They are sent first, the oldest discipline's before.
    replaced: VecDeque<Box<dyn Qdisc<Waiting<P>>>>,
    flow: FlowKind,
    rng: Rng,
    meter: W,
    /// The time of the transmitter's next attempt to dequeue: it is sending until then, or the discipline holds packets
    /// back. `None` if it waits for an arrival.
    looks: Option<Instant>,
    /// The packet in transmission.
    sending: Option<Sending>,
    /// The rates so far, each with its start.
    rates: Vec<(Instant, BitRate)>,
    /// Packets sent, by their arrival at the other end.
    line: VecDeque<Released<P>>,
    /// The number of packets lost on the wire.
    lost: u64,
}

impl<P: Packet + 'static, W: Watch<P>> Shaper<P, W> {
    /// Creates an empty bottleneck at `now`.
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
            name: setup.aqm.name(),
            replaced: VecDeque::new(),
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

    /// A packet arrives. Departures that are due earlier are executed first.
    pub fn arrive(&mut self, packet: P, now: Instant) {
        self.advance(now);
        self.meter.offered(&packet, now);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Reporter(&mut self.meter) };
        self.qdisc.enqueue(Waiting { packet, arrived: now }, &mut cx);
        if self.looks.is_none() {
            self.transmit(now);
        }
        self.meter.queue(self.backlog(), now);
    }

    /// Executes all departures up to and including `now`, each at its own time.
    pub fn advance(&mut self, now: Instant) {
        while let Some(at) = self.looks.filter(|&at| at <= now) {
            self.transmit(at);
            self.meter.queue(self.backlog(), at);
        }
    }

    /// The transmitter is free at `now` and dequeues a packet.
    fn transmit(&mut self, now: Instant) {
        let resumed = self.looks.is_some();
        self.sending = None;
        if let Some(at) = self.trace.as_mut().and_then(|trace| trace.wait(now, !resumed)) {
            self.looks = Some(at);
            return;
        }
        self.looks = match self.dequeue(now) {
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

    /// The next packet to send: of a replaced discipline as long as one waits there.
    fn dequeue(&mut self, now: Instant) -> Dequeued<Waiting<P>> {
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Reporter(&mut self.meter) };
        while let Some(oldest) = self.replaced.front_mut() {
            match oldest.dequeue(&mut cx) {
                Dequeued::Empty => self.replaced.pop_front(),
                packet_or_pause => return packet_or_pause,
            };
        }
        self.qdisc.dequeue(&mut cx)
    }

    /// Inserts a packet in the order of arrivals at the other end.
    fn put(&mut self, released: Released<P>) {
        let place = self.line.iter().rposition(|other| other.due <= released.due).map_or(0, |before| before + 1);
        self.line.insert(place, released);
    }

    /// The next packet that has reached the other end by `now`. Call it until it returns `None`, after
    /// [`Shaper::advance`].
    pub fn release(&mut self, now: Instant) -> Option<Released<P>> {
        self.line.pop_front_if(|first| first.due <= now)
    }

    /// The time of the next event without further arrivals.
    #[must_use]
    pub fn wakeup(&self) -> Option<Instant> {
        let due = self.line.front().map(|first| first.due);
        self.looks.into_iter().chain(due).min()
    }

    /// The backlog of the queue, with what still waits in a replaced discipline.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.replaced.iter().fold(self.qdisc.backlog(), |sum, old| {
            let more = old.backlog();
            Backlog { packets: sum.packets + more.packets, bytes: sum.bytes + more.bytes }
        })
    }

    /// The discipline's counters.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.qdisc.stats()
    }

    /// The discipline's gauges.
    pub fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.probe(out);
    }

    /// The number of packets that the configured wire has lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The observer.
    #[must_use]
    pub fn meter(&self) -> &W {
        &self.meter
    }

    /// The observer, to update it or read time-dependent values.
    pub fn meter_mut(&mut self) -> &mut W {
        &mut self.meter
    }

    /// The present rate; if it varies, the mean rate.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// The rates so far, each with its start; the first is the initial rate.
    #[must_use]
    pub fn rates(&self) -> &[(Instant, BitRate)] {
        &self.rates
    }

    /// Changes the rate, the delay and the discipline's parameters while packets wait. The remainder of the
    /// packet in transmission is sent at the new rate, and packets in flight keep their order. Another discipline replaces
    /// the present one, which accepts no more packets and sends those that wait in it first: none is lost by the change.
    ///
    /// # Errors
    /// When a parameter cannot be used at this rate; nothing has changed then.
    pub fn reconfigure(&mut self, setup: &Setup, now: Instant) -> Result<(), ParamError> {
        if setup.rate == BitRate::default() {
            return Err(ParamError::new("rate", setup.rate, "it must be above zero"));
        }
        self.advance(now);
        if setup.aqm.name() == self.name {
            let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Reporter(&mut self.meter) };
            self.qdisc.reconfigure(&setup.aqm, &setup.link(), &mut cx)?;
        } else {
            let old = std::mem::replace(&mut self.qdisc, setup.aqm.build(&setup.link(), now)?);
            if old.backlog().packets > 0 {
                self.replaced.push_back(old);
            }
            self.name = setup.aqm.name();
        }
        // Waiting packets keep the keys of their arrival.
        self.flow = setup.aqm.flow();
        if setup.rate != self.rate {
            self.send_the_rest_at(setup.rate, now);
            self.rates.push((now, setup.rate));
            (self.rate, self.carry) = (setup.rate, 0);
        }
        self.framing = setup.framing;
        self.wire.change(setup.delay, setup.wire, self.sending.map_or(now, |sending| sending.free));
        self.meter.queue(self.backlog(), now);
        Ok(())
    }

    /// Applies a new rate to the remainder of the packet in transmission; otherwise a packet that started at 1 bit/s
    /// would occupy the link for hours. Traces are not affected.
    fn send_the_rest_at(&mut self, rate: BitRate, now: Instant) {
        let Some(Sending { free, due }) = self.sending.filter(|s| s.free > now && self.trace.is_none()) else { return };
        let old = u128::from(free.since(now).as_nanos());
        let new = (old * u128::from(self.rate.as_bps())).div_ceil(u128::from(rate.as_bps()));
        let new = now + Duration::from_nanos(u64::try_from(new).unwrap_or(u64::MAX));
        // It keeps the propagation delay of the start of its transmission.
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
mod sound;
#[cfg(test)]
mod tests;
