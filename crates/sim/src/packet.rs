//! The arena of packets in flight, and the handles stored in queues.

use aqmkit_aqm::{Ack, Ends, Packet};
use aqmkit_base::{ClassId, Ecn, FlowKey, Instant};
use aqmkit_measure::Seen;
use aqmkit_traffic as traffic;
use aqmkit_transport::{Flags, Options, Segment, rate};

/// The contents of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A TCP segment.
    Segment(Segment),
    /// A packet of a rate-based transport.
    Rate(rate::Packet),
    /// A datagram of a stack.
    Bytes(Vec<u8>),
    /// A datagram of an application.
    Datagram { tag: u64, len: u32 },
}

impl Body {
    /// Content of a free slot.
    const NOTHING: Body = Body::Datagram { tag: 0, len: 0 };

    /// The sequence number after the data of a segment; the maximum if unknown.
    pub(crate) fn data_end(&self) -> u64 {
        match self {
            Body::Segment(segment) => segment.seq + u64::from(segment.len),
            _ => u64::MAX,
        }
    }
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    pub(crate) const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

impl From<traffic::Side> for Side {
    fn from(side: traffic::Side) -> Self {
        match side {
            traffic::Side::Client => Side::Client,
            traffic::Side::Server => Side::Server,
        }
    }
}

impl From<Side> for traffic::Side {
    fn from(side: Side) -> Self {
        match side {
            Side::Client => traffic::Side::Client,
            Side::Server => traffic::Side::Server,
        }
    }
}

/// A packet in flight: two whole cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Flight {
    pub(crate) body: Body,
    /// Its connection. A datagram of an application has none.
    pub(crate) conn: u32,
    /// The generation of its connection's slot, or of its application.
    pub(crate) generation: u16,
    /// The side that it is sent to.
    pub(crate) to: Side,
    /// When its sender sent it.
    pub(crate) sent: Instant,
    /// When it entered the queue that it is in.
    pub(crate) queued: Instant,
    pub(crate) flow: FlowKey,
    /// Length with headers.
    pub(crate) len: u32,
    /// Bytes of data that it carries, headers excluded.
    pub(crate) payload: u32,
    /// Its path, as an index into the world's list.
    pub(crate) path: u32,
    /// Number of links of the path entered so far.
    pub(crate) hop: u8,
    pub(crate) class: ClassId,
    pub(crate) ecn: Ecn,
    /// The label written by an edge router.
    pub(crate) label: f32,
    /// The application it belongs to, for statistics.
    pub(crate) app: u32,
}

impl Flight {
    /// The initial contents of a slot.
    const NOTHING: Flight = Flight {
        body: Body::NOTHING,
        conn: 0,
        generation: 0,
        to: Side::Client,
        sent: Instant::ZERO,
        queued: Instant::ZERO,
        flow: FlowKey(0),
        len: 0,
        payload: 0,
        path: 0,
        hop: 0,
        class: ClassId(0),
        ecn: Ecn::NotEct,
        label: 0.0,
        app: 0,
    };

    /// The fields of the packet that the measurements of links need.
    #[inline]
    pub(crate) fn seen(&self) -> Seen {
        Seen { class: self.class, len: self.len, payload: self.payload }
    }

    /// The acknowledgement of a segment; `None` with a SYN.
    pub(crate) fn ack(&self) -> Option<Ack> {
        let Body::Segment(segment) = &self.body else { return None };
        let flags = segment.flags;
        if !flags.has(Flags::ACK) || flags.has(Flags::SYN) {
            return None;
        }
        let options = &segment.options;
        let says_more = options.duplicate(segment.ack).is_some() || options.ecn().is_some();
        let only_ack = flags.bits() & !Flags::ACE.bits() == Flags::ACK.bits();
        let sack_end = options.held(segment.ack).map(|(_, end)| end).max().unwrap_or(segment.ack);
        Some(Ack {
            connection: self.conn * 2 + self.to as u32,
            number: segment.ack as u32,
            sack_end: sack_end as u32,
            pure: only_ack && segment.len == 0 && !says_more,
            marks: flags.ace(),
        })
    }
}

/// The handle of a packet, with the fields visible to disciplines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Queued {
    pub(crate) flow: FlowKey,
    pub(crate) id: u32,
    pub(crate) len: u32,
    pub(crate) label: f32,
    /// Its hosts and its acknowledgement, for a queue that needs them.
    pub(crate) ends: Ends,
    pub(crate) ack: Option<Ack>,
    pub(crate) class: ClassId,
    pub(crate) ecn: Ecn,
}

impl Packet for Queued {
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

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    fn ends(&self) -> Ends {
        self.ends
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
}

/// The packets in flight. Slots are reused, so memory depends on the maximum in flight.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    slots: Vec<Flight>,
    free: Vec<u32>,
}

impl Arena {
    /// A slot for a new packet, written in place: copying memory that was just written in smaller units
    /// stalls the processor.
    pub(crate) fn claim(&mut self) -> (u32, &mut Flight) {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Flight::NOTHING);
            self.slots.len() as u32 - 1
        });
        (id, &mut self.slots[id as usize])
    }

    /// Frees the slot of a packet that was delivered, dropped or lost. Its contents stay until the next packet takes
    /// the slot: only memory on the heap is freed.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) {
        match &mut self.slots[id as usize].body {
            Body::Segment(segment) => segment.options = Options::default(),
            Body::Bytes(bytes) => free(bytes),
            Body::Rate(_) | Body::Datagram { .. } => {}
        }
        self.free.push(id);
    }

    pub(crate) fn get(&self, id: u32) -> &Flight {
        &self.slots[id as usize]
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Flight {
        &mut self.slots[id as usize]
    }
}

/// Frees the memory of a datagram of a stack.
#[cold]
#[inline(never)]
fn free(bytes: &mut Vec<u8>) {
    *bytes = Vec::new();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack_of(flags: Flags, len: u32, options: Options) -> Option<Ack> {
        let segment = Segment { seq: 7, ack: 1000, len, flags, options, ..Segment::default() };
        Flight { conn: 3, to: Side::Server, body: Body::Segment(segment), ..Flight::NOTHING }.ack()
    }

    /// A filter may drop an acknowledgement in favour of a later one, so never one that opens a connection or carries
    /// anything else.
    #[test]
    fn only_a_bare_acknowledgement_is_pure() {
        let ack = |flags, len| ack_of(flags, len, Options::default());
        assert_eq!(ack(Flags::SYN, 0), None);
        assert_eq!(ack(Flags::SYN.and(Flags::ACK), 0), None, "its number is the other end's first");
        assert_eq!(ack(Flags::NONE, 10), None, "without the flag, the number means nothing");
        assert_eq!(ack(Flags::RST, 0), None);
        let bare = Ack { connection: 7, number: 1000, sack_end: 1000, pure: true, marks: 0 };
        assert_eq!(ack(Flags::ACK, 0), Some(bare));
        assert_eq!(ack(Flags::ACK.with_ace(5), 0), Some(Ack { marks: 5, ..bare }));
        let not_pure = Some(Ack { pure: false, ..bare });
        assert_eq!(ack(Flags::ACK, 1), not_pure);
        assert_eq!(ack(Flags::ACK.and(Flags::FIN), 0), not_pure);
        assert_eq!(ack(Flags::ACK.and(Flags::RST), 0), not_pure);
        let mut blocks = Options::default();
        assert!(blocks.push_block(1000, 3000, 4000) && blocks.push_block(1000, 1500, 2000));
        assert_eq!(ack_of(Flags::ACK, 0, blocks), Some(Ack { sack_end: 4000, ..bare }));
        let data = Segment { seq: 7, len: 10, ..Segment::default() };
        assert_eq!(Body::Segment(data).data_end(), 17);
        let datagram = Flight { body: Body::Datagram { tag: 0, len: 9 }, ..Flight::NOTHING };
        assert_eq!((datagram.ack(), datagram.body.data_end()), (None, u64::MAX));
    }
}
