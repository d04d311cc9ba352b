//! Disciplines of other crates behind the built-in ones' interface.
//!
//! A [`Discipline`] builds queues of any type of packet, which a trait object cannot. An added discipline is therefore
//! built once, for [`Ticket`]s; [`Tickets`] keeps the packets and hands their tickets through the discipline. It costs a
//! call through a table and a copy of 64 bytes per packet; built-in disciplines pay nothing for it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use aqmkit_base::read::Value;
use aqmkit_base::{ClassId, Ecn, FlowKey, Instant};
use serde::{Serialize, Serializer};

use crate::discipline::{Circuit, Discipline, Inner};
use crate::dscp::Dscp;
use crate::link::Link;
use crate::packet::{Ack, Ends, Packet};
use crate::params::{AnyParams, ParamError};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Sink, Stats};
use crate::verdict::Why;

/// Stands for a packet in the queue of an added discipline: the properties that a discipline may see, and where the packet is stored. It cannot be
/// copied, so a discipline can neither duplicate a packet nor invent one.
#[derive(Debug)]
pub struct Ticket {
    flow: FlowKey,
    len: u32,
    label: f32,
    place: u32,
    ends: Ends,
    ack: Option<Ack>,
    dscp: Dscp,
    class: ClassId,
    ecn: Ecn,
}

impl Packet for Ticket {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow(&self) -> FlowKey {
        self.flow
    }

    fn class(&self) -> ClassId {
        self.class
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn ends(&self) -> Ends {
        self.ends
    }

    fn dscp(&self) -> Dscp {
        self.dscp
    }

    fn ack(&self) -> Option<Ack> {
        self.ack
    }

    fn label(&self) -> f32 {
        self.label
    }

    fn set_label(&mut self, label: f32) {
        self.label = label;
    }

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// The parameters of an added discipline, without their type.
pub(crate) trait Held: AnyParams + fmt::Debug + Send + Sync {
    fn is(&self, other: &dyn Any) -> bool;
    fn serialized(&self) -> &dyn erased_serde::Serialize;
    fn thresholds(&self) -> &'static [&'static str];
    fn tells_hosts(&self) -> bool;
    fn marks(&self) -> bool;
    fn inner(&self, link: &Link) -> Vec<Inner>;
    fn circuits(&self, link: &Link) -> Vec<Circuit>;
    fn doubts(&self, link: &Link) -> Vec<String>;
    fn read(&self, table: &Value) -> Result<Arc<dyn Held>, ParamError>;
    fn effective(&self, link: &Link) -> Result<Arc<dyn Held>, ParamError>;
    fn build(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<Ticket>>, ParamError>;
}

impl<D: Discipline> Held for D {
    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn serialized(&self) -> &dyn erased_serde::Serialize {
        self
    }

    fn thresholds(&self) -> &'static [&'static str] {
        D::THRESHOLDS
    }

    fn tells_hosts(&self) -> bool {
        D::TELLS_HOSTS
    }

    fn marks(&self) -> bool {
        Discipline::marks(self)
    }

    fn inner(&self, link: &Link) -> Vec<Inner> {
        Discipline::inner(self, link)
    }

    fn circuits(&self, link: &Link) -> Vec<Circuit> {
        Discipline::circuits(self, link)
    }

    fn doubts(&self, link: &Link) -> Vec<String> {
        Discipline::doubts(self, link)
    }

    fn read(&self, table: &Value) -> Result<Arc<dyn Held>, ParamError> {
        table.read().map(|params: D| Arc::new(params) as Arc<dyn Held>)
    }

    fn effective(&self, link: &Link) -> Result<Arc<dyn Held>, ParamError> {
        Discipline::effective(self, link).map(|params| Arc::new(params) as Arc<dyn Held>)
    }

    fn build(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<Ticket>>, ParamError> {
        Discipline::build(self, link, now)
    }
}

/// The parameters of a discipline that a program has added to the catalogue.
#[derive(Clone, Debug)]
pub struct Added {
    params: Arc<dyn Held>,
    version: u32,
    tells_flows: bool,
}

impl PartialEq for Added {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.params.is(other.params.as_any())
    }
}

impl Serialize for Added {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(self.serialized(), s)
    }
}

impl Added {
    /// The parameters, to be written in any format.
    pub(crate) fn serialized(&self) -> &dyn erased_serde::Serialize {
        self.params.serialized()
    }

    pub(crate) fn new<D: Discipline>(version: u32, tells_flows: bool) -> Self {
        Added { params: Arc::new(D::default()), version, tells_flows }
    }

    /// The version that the program gave it ([`crate::catalogue::Addition::of`]).
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn name(&self) -> &'static str {
        self.params.name()
    }

    pub(crate) fn as_any(&self) -> &dyn Any {
        self.params.as_any()
    }

    pub(crate) fn tells_flows(&self) -> bool {
        self.tells_flows
    }

    pub(crate) fn set_tells_flows(&mut self) {
        self.tells_flows = true;
    }

    pub(crate) fn tells_hosts(&self) -> bool {
        self.params.tells_hosts()
    }

    pub(crate) fn marks(&self) -> bool {
        self.params.marks()
    }

    pub(crate) fn inner(&self, link: &Link) -> Vec<Inner> {
        self.params.inner(link)
    }

    pub(crate) fn circuits(&self, link: &Link) -> Vec<Circuit> {
        self.params.circuits(link)
    }

    pub(crate) fn doubts(&self, link: &Link) -> Vec<String> {
        self.params.doubts(link)
    }

    pub(crate) fn thresholds(&self) -> &'static [&'static str] {
        self.params.thresholds()
    }

    pub(crate) fn read(&self, table: &Value) -> Result<Self, ParamError> {
        self.params.read(table).map(|params| Added { params, ..*self })
    }

    pub(crate) fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        self.params.effective(link).map(|params| Added { params, ..*self })
    }

    pub(crate) fn build<P: Packet + 'static>(
        &self,
        link: &Link,
        now: Instant,
    ) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Tickets { queue: self.params.build(link, now)?, kept: Kept::default() }))
    }
}

/// The packets that are in the queue.
struct Kept<P> {
    packets: Vec<Option<P>>,
    free: Vec<u32>,
}

impl<P> Default for Kept<P> {
    fn default() -> Self {
        Kept { packets: Vec::new(), free: Vec::new() }
    }
}

impl<P: Packet> Kept<P> {
    fn put(&mut self, packet: P) -> Ticket {
        let place = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            (self.packets.len() - 1) as u32
        });
        let ticket = Ticket {
            flow: packet.flow(),
            len: packet.len(),
            label: packet.label(),
            place,
            ends: packet.ends(),
            ack: packet.ack(),
            dscp: packet.dscp(),
            class: packet.class(),
            ecn: packet.ecn(),
        };
        self.packets[place as usize] = Some(packet);
        ticket
    }

    /// The packet of a ticket, with what the discipline changed in the ticket (mark, label) applied.
    fn take(&mut self, ticket: &Ticket) -> Option<P> {
        let mut packet = self.packets.get_mut(ticket.place as usize)?.take()?;
        self.free.push(ticket.place);
        if ticket.ecn == Ecn::Ce && packet.ecn().is_capable() {
            packet.set_ce();
        }
        packet.set_label(ticket.label);
        Some(packet)
    }
}

/// Applies drops and marks of tickets to their packets.
struct ToPackets<'a, P> {
    kept: &'a mut Kept<P>,
    sink: &'a mut dyn Sink<P>,
}

impl<P: Packet> Sink<Ticket> for ToPackets<'_, P> {
    fn dropped(&mut self, ticket: Ticket, why: Why, now: Instant) {
        if let Some(packet) = self.kept.take(&ticket) {
            self.sink.dropped(packet, why, now);
        }
    }

    fn marked(&mut self, ticket: &Ticket, why: Why, now: Instant) {
        if let Some(Some(packet)) = self.kept.packets.get_mut(ticket.place as usize) {
            packet.set_ce();
            self.sink.marked(packet, why, now);
        }
    }
}

/// The queue of an added discipline, which queues tickets, as a queue of packets.
struct Tickets<P> {
    queue: Box<dyn Qdisc<Ticket>>,
    kept: Kept<P>,
}

impl<P: Packet> Tickets<P> {
    /// Calls the queue, which sees tickets instead of packets.
    fn call<T>(
        &mut self,
        cx: &mut Cx<'_, P>,
        call: impl FnOnce(&mut dyn Qdisc<Ticket>, &mut Cx<'_, Ticket>) -> T,
    ) -> T {
        let mut sink = ToPackets { kept: &mut self.kept, sink: cx.sink };
        call(&mut *self.queue, &mut Cx { now: cx.now, rng: cx.rng, sink: &mut sink })
    }
}

impl<P: Packet> Qdisc<P> for Tickets<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let ticket = self.kept.put(packet);
        self.call(cx, |queue, inner| queue.enqueue(ticket, inner));
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        match self.call(cx, |queue, inner| queue.dequeue(inner)) {
            Dequeued::Packet(ticket) => self.kept.take(&ticket).map_or(Dequeued::Empty, Dequeued::Packet),
            Dequeued::Empty => Dequeued::Empty,
            Dequeued::NotBefore(at) => Dequeued::NotBefore(at),
        }
    }

    fn next_len(&self) -> Option<u32> {
        self.queue.next_len()
    }

    fn wakeup(&self) -> Option<Instant> {
        self.queue.wakeup()
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.call(cx, |queue, inner| queue.on_wakeup(inner));
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        self.queue.stats()
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.call(cx, |queue, inner| queue.reconfigure(params, link, inner))
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        self.queue.probe(out);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queue.waiting(&mut |queue, ticket| {
            if let Some(Some(packet)) = self.kept.packets.get(ticket.place as usize) {
                see(queue, packet);
            }
        });
    }
}
