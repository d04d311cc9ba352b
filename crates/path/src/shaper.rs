//! One direction of a bottleneck: discipline, transmitter and delay line, for packets of any type. No I/O: time is an
//! argument. A [`Path`](crate::Path) consists of two, and live links use the same code.
//!
//! The transmitter is ideal. Each departure is computed for the instant at which a transmitter of this rate becomes
//! free, however late that happens, and before any later arrival is admitted: a program that was delayed catches up,
//! and no packet departs before its arrival. Only forwarding is delayed by the machine, which the caller measures
//! against [`Released::due`].

use std::collections::VecDeque;
use std::sync::Arc;

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_aqm::{Ack, Backlog, Cx, Dequeued, Dscp, Ends, Packet, ParamError, Qdisc, Sink, Stats, Why};
use aqmkit_base::trace::Trace;
use aqmkit_base::transmitter::{Resent, Settings, Transmitter};
use aqmkit_base::wire::Wire;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, FlowKey, FlowKind, Framing, Instant, Rng};

mod watch;

pub use watch::Watch;

/// The settings of one direction of a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Name of the direction in results.
    pub name: String,
    /// Link rate; with a trace, its mean, which disciplines assume.
    pub rate: BitRate,
    /// A trace of the varying rate, starting with the link.
    pub trace: Option<Arc<Trace>>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Impairments of the wire behind the queue.
    pub wire: Wire,
    /// Link-layer framing that takes transmission time.
    pub framing: Framing,
    /// Mean packet size, for disciplines that need one.
    pub mean_packet: Bytes,
    /// Discipline and parameters.
    pub aqm: Spec,
    /// Names of the traffic classes.
    pub classes: Vec<String>,
    /// The seed of the discipline's random stream.
    pub seed: u64,
}

impl Setup {
    /// Defaults: mean packet size 1000 bytes, no framing, a single class.
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

    /// Upper bound of the delay behind the transmitter, as long as no slot is full.
    #[must_use]
    pub fn longest_delay(&self) -> Duration {
        self.delay + self.wire.longest_delay()
    }

    fn settings(&self) -> Settings {
        let Setup { rate, framing, delay, wire, .. } = *self;
        Settings { rate, trace: self.trace.clone(), framing, delay, wire }
    }

    /// Whether a bottleneck can have this rate, and packets that are not of a simulation this discipline.
    fn check(&self) -> Result<(), ParamError> {
        if self.rate == BitRate::default() {
            return Err(ParamError::new("rate", self.rate, "it must be above zero"));
        }
        match self.aqm.circuits(&self.link()).first() {
            None => Ok(()),
            Some(circuit) => {
                let what =
                    format!("{} matches packets of a client of a simulation, and these are of none", circuit.name);
                Err(ParamError::sentence("classes", what, "match a class or a codepoint"))
            }
        }
    }

    /// The link as the discipline sees it.
    #[must_use]
    pub fn link(&self) -> registry::Link {
        registry::Link { rate: self.rate, mean_packet: self.mean_packet, classes: self.classes.clone() }
    }
}

/// A queued packet with its arrival time.
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

/// Passes the discipline's drops and marks on to the observer.
struct Reporter<'a, W>(&'a mut W);

impl<P, W: Watch<P>> Sink<Waiting<P>> for Reporter<'_, W> {
    fn dropped(&mut self, packet: Waiting<P>, why: Why, now: Instant) {
        self.0.dropped(packet.packet, why, packet.arrived, now);
    }

    fn marked(&mut self, packet: &Waiting<P>, why: Why, now: Instant) {
        self.0.marked(&packet.packet, why, packet.arrived, now);
    }
}

/// A packet that has reached the far end.
#[derive(Clone, Debug)]
pub struct Released<P> {
    /// The packet.
    pub packet: P,
    /// When it was due there.
    pub due: Instant,
}

/// One direction of a bottleneck.
pub struct Shaper<P, W> {
    transmitter: Transmitter,
    qdisc: Box<dyn Qdisc<Waiting<P>>>,
    /// Name of the discipline.
    name: &'static str,
    /// Replaced disciplines with the packets still queued in them, oldest first; they are sent before others.
    replaced: VecDeque<Box<dyn Qdisc<Waiting<P>>>>,
    flow: FlowKind,
    rng: Rng,
    meter: W,
    /// The discipline's `NotBefore`: until then it holds the queued packets back, but a new arrival may be sent
    /// earlier.
    held_until: Option<Instant>,
    /// When the packet sent last reaches the far end; `None` if the wire loses it.
    last_due: Option<Instant>,
    /// All rates so far, each with the time it took effect.
    rates: Vec<(Instant, BitRate)>,
    /// Packets in flight, by arrival at the far end.
    line: VecDeque<Released<P>>,
    /// Packets lost on the wire.
    lost: u64,
}

impl<P: Packet + 'static, W: Watch<P>> Shaper<P, W> {
    /// An empty bottleneck at `now`.
    ///
    /// # Errors
    /// When a discipline parameter is invalid at this rate.
    pub fn new(setup: &Setup, meter: W, now: Instant) -> Result<Self, ParamError> {
        setup.check()?;
        Ok(Shaper {
            transmitter: Transmitter::new(&setup.name, setup.settings(), setup.seed),
            qdisc: setup.aqm.build(&setup.link(), now)?,
            name: setup.aqm.name(),
            replaced: VecDeque::new(),
            flow: setup.aqm.flow(),
            rng: Rng::stream(setup.seed, &format!("link.{}", setup.name)),
            meter,
            held_until: None,
            last_due: None,
            rates: vec![(now, setup.rate)],
            line: VecDeque::new(),
            lost: 0,
        })
    }

    /// The discipline's definition of a flow, which determines packets' keys.
    #[must_use]
    pub fn flow(&self) -> FlowKind {
        self.flow
    }

    /// A packet arrives; departures due earlier are processed first.
    pub fn arrive(&mut self, packet: P, now: Instant) {
        self.advance(now);
        self.meter.offered(&packet, now);
        let mut cx = Cx { now, rng: &mut self.rng, sink: &mut Reporter(&mut self.meter) };
        self.qdisc.enqueue(Waiting { packet, arrived: now }, &mut cx);
        if self.transmitter.busy_until().is_none() {
            self.transmit(now);
        }
        self.meter.queue(self.backlog(), now);
    }

    /// Processes all departures up to and including `now`, each at its own time.
    pub fn advance(&mut self, now: Instant) {
        while let Some(at) = self.next_dequeue().filter(|&at| at <= now) {
            self.transmit(at);
            self.meter.queue(self.backlog(), at);
        }
    }

    /// When the transmitter dequeues if no packet arrives: the end of the transmission, or the discipline's
    /// `NotBefore`.
    fn next_dequeue(&self) -> Option<Instant> {
        self.transmitter.busy_until().or(self.held_until)
    }

    /// The transmitter becomes free at `now` and dequeues.
    fn transmit(&mut self, now: Instant) {
        self.held_until = None;
        if self.transmitter.wait(now).is_some() {
            return;
        }
        match self.dequeue(now) {
            Dequeued::Packet(waiting) => self.send(waiting, now),
            Dequeued::Empty => {}
            // A discipline that keeps answering "not before now" must not stall the program.
            Dequeued::NotBefore(at) => self.held_until = Some(at.max(now + Duration::from_nanos(1))),
        }
    }

    fn send(&mut self, Waiting { mut packet, arrived }: Waiting<P>, now: Instant) {
        let transmission = self.transmitter.transmit(packet.len(), now);
        self.meter.departed(&packet, now.since(arrived), transmission, now);
        if packet.ecn().is_capable() && self.transmitter.marks() {
            packet.set_ce();
        }
        let due = self.transmitter.arrival(packet.len());
        let lost = self.transmitter.loses();
        self.last_due = (!lost).then_some(due);
        if lost {
            self.lost += 1;
            self.meter.lost(packet, now);
        } else {
            self.put(Released { packet, due });
        }
    }

    /// Dequeues the next packet, from replaced disciplines first.
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

    /// Inserts a packet into the delay line, sorted by arrival at the far end.
    fn put(&mut self, released: Released<P>) {
        let place = self.line.iter().rposition(|other| other.due <= released.due).map_or(0, |before| before + 1);
        self.line.insert(place, released);
    }

    /// The next packet that has reached the far end by `now`. Call [`Shaper::advance`] first, then this until it
    /// returns `None`.
    pub fn release(&mut self, now: Instant) -> Option<Released<P>> {
        self.line.pop_front_if(|first| first.due <= now)
    }

    /// When the next packet reaches the far end, of those that have left the queue.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.line.front().map(|first| first.due)
    }

    /// Time of the next event if no packet arrives.
    #[must_use]
    pub fn wakeup(&self) -> Option<Instant> {
        self.next_dequeue().into_iter().chain(self.next_due()).min()
    }

    /// The backlog, including that of replaced disciplines.
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

    /// Reports the discipline's gauges.
    pub fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.qdisc.probe(out);
    }

    /// Packets lost by the emulated random loss.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The observer.
    #[must_use]
    pub fn meter(&self) -> &W {
        &self.meter
    }

    /// The observer, mutable.
    pub fn meter_mut(&mut self) -> &mut W {
        &mut self.meter
    }

    /// The current rate; with a trace, its mean.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.transmitter.rate()
    }

    /// All rates so far, each with the time it took effect; the first is the initial one.
    #[must_use]
    pub fn rates(&self) -> &[(Instant, BitRate)] {
        &self.rates
    }

    /// Changes rate, delay and discipline parameters under load. The rest of the packet in transmission is sent at the
    /// new rate, and packets in flight stay in order. A different discipline replaces the current one, which accepts no
    /// more packets but sends those queued: none is lost.
    ///
    /// # Errors
    /// When a parameter is invalid at this rate; nothing has changed then.
    pub fn reconfigure(&mut self, setup: &Setup, now: Instant) -> Result<(), ParamError> {
        setup.check()?;
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
        // Queued packets keep the keys they arrived with.
        self.flow = setup.aqm.flow();
        if setup.rate != self.rate() {
            self.rates.push((now, setup.rate));
        }
        if let Some(resent) = self.transmitter.change(&setup.settings(), now) {
            self.meter.continued(resent.to, now);
            self.postpone(resent);
        }
        self.meter.queue(self.backlog(), now);
        Ok(())
    }

    /// Moves the arrival of the packet in transmission.
    fn postpone(&mut self, resent: Resent) {
        let Some(due) = self.last_due else { return };
        let later = resent.arrival(due);
        self.last_due = Some(later);
        let place = self.line.iter().rposition(|released| released.due == due);
        if let Some(packet) = place.and_then(|place| self.line.remove(place)) {
            self.put(Released { due: later, ..packet });
        }
    }
}
