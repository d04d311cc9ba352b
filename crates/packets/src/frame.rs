//! A packet of a live link or a capture: its bytes, and the fields that disciplines use.

use std::borrow::Cow;
use std::sync::Arc;

use aqmkit_aqm::{Ack, Dscp, Ends, Packet};
use aqmkit_base::{ClassId, Ecn, FlowKey, FlowKind};

use crate::meter::Measured;
use crate::super_packet::{Held, LONGEST_HEADERS, Received, SuperPacket};
use crate::wire::{Classes, Encapsulation, Network, View, mark_ce};

/// Bytes of super-packets in memory above which segments are copied: each queued segment keeps its whole super-packet
/// alive.
const MOST_SHARED: u64 = 256 << 20;

/// Where a packet's bytes are stored.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Owned; cut to what is needed later.
    Own(Received),
    /// A segment of a super-packet, by its index.
    Segment(Arc<SuperPacket>, u16),
}

/// A packet with its bytes, and additional data `S`.
#[derive(Clone, Debug)]
pub struct Frame<S = ()> {
    pub(crate) content: Content,
    /// Length on the wire, in bytes.
    len: u32,
    keys: Keys,
    network: Option<Network>,
    class: ClassId,
    pub(crate) ecn: Ecn,
    dscp: Dscp,
    /// The TCP acknowledgement it carries, if any.
    ack: Option<Ack>,
    /// Payload in bytes, excluding network and transport headers.
    payload: u32,
    /// Additional data of the caller.
    pub passage: S,
}

/// The flow keys of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Key of its flow, as its discipline defines flows.
    pub flow: FlowKey,
    /// Key of its transport connection.
    pub connection: FlowKey,
    /// Source and destination host.
    pub ends: Ends,
}

impl Keys {
    /// The keys of a packet for a discipline that defines flows as `kind`.
    #[must_use]
    pub fn of(view: &View, kind: FlowKind, salt: u64) -> Self {
        let connection = view.flow.key(salt);
        let flow = if kind == FlowKind::Connection { connection } else { view.flow.key_as(kind, salt) };
        let host = |end| (view.flow.key_as(end, salt).0 >> 32) as u32;
        let ends = Ends { source: host(FlowKind::Source), destination: host(FlowKind::Destination) };
        Keys { flow, connection, ends }
    }
}

/// How packets are parsed.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The outermost header.
    pub encapsulation: Encapsulation,
    /// The classification rules.
    pub classes: Classes,
    /// The salt of flow hashes.
    pub salt: u64,
    /// The super-packets currently in memory.
    pub held: Held,
}

impl Reader {
    /// A reader with these rules and this salt.
    #[must_use]
    pub fn new(encapsulation: Encapsulation, classes: Classes, salt: u64) -> Self {
        Reader { encapsulation, classes, salt, held: Held::default() }
    }

    /// Parses a packet for a discipline that defines flows as `flow`. Any bytes are a packet; it takes no more memory
    /// than its bytes.
    #[must_use]
    pub fn read(&self, bytes: &[u8], flow: FlowKind) -> Frame {
        self.single(Received::from(bytes.to_vec()), flow)
    }

    /// As [`read`](Self::read), for packets from a device: passes every segment of a super-packet, or the single
    /// packet, to `each`. Returns their number, zero for a super-packet that cannot be segmented.
    pub fn admit(&self, received: Received, flow: FlowKind, mut each: impl FnMut(Frame)) -> usize {
        if received.offload.segments.is_none() {
            each(self.single(received, flow));
            return 1;
        }
        let view = View::of(self.encapsulation, received.packet());
        let Ok(whole) = SuperPacket::of(received, &view, &self.held).map(Arc::new) else { return 0 };
        let (keys, class) = (Keys::of(&view, flow, self.salt), self.classes.of(&view));
        let shared = self.held.bytes() <= MOST_SHARED;
        let all = whole.count();
        for number in 0..all {
            let payload = whole.payload(number..number + 1).len();
            let length = whole.header_length() + payload;
            let content = if shared {
                Content::Segment(Arc::clone(&whole), number as u16)
            } else {
                let mut headers = [0; LONGEST_HEADERS];
                let headers = &mut headers[..whole.header_length()];
                let (rest, offload) = whole.part(number..number + 1, false, headers);
                Content::Own(Received { offload, ..[headers, rest].concat().into() })
            };
            let view = View { payload: payload as u32, ..view };
            each(Frame::with(&view, keys, class, content, length as u32, ()));
        }
        all
    }

    fn single(&self, received: Received, flow: FlowKind) -> Frame {
        let view = View::of(self.encapsulation, received.packet());
        let len = u32::try_from(received.packet().len()).unwrap_or(u32::MAX);
        let (keys, class) = (Keys::of(&view, flow, self.salt), self.classes.of(&view));
        Frame::with(&view, keys, class, Content::Own(received), len, ())
    }
}

impl<S> Frame<S> {
    /// A packet with these keys, parsed as `view`, `len` bytes long on the wire.
    pub fn new(view: &View, keys: Keys, class: ClassId, bytes: Vec<u8>, len: u32, passage: S) -> Self {
        Frame::with(view, keys, class, Content::Own(bytes.into()), len, passage)
    }

    fn with(view: &View, keys: Keys, class: ClassId, content: Content, len: u32, passage: S) -> Self {
        let FlowKey(connection) = keys.connection;
        let ack = view.ack.map(|ack| Ack { connection: (connection >> 32) as u32, ..ack });
        let dscp = Dscp::new(view.dscp);
        Frame {
            content,
            len,
            keys,
            network: view.network,
            class,
            ecn: view.ecn,
            dscp,
            ack,
            payload: view.payload,
            passage,
        }
    }

    /// Takes its bytes, so that the buffer can be reused. A segment of a super-packet has none of its own.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        match &mut self.content {
            Content::Own(received) => std::mem::take(&mut received.bytes),
            Content::Segment(..) => Vec::new(),
        }
    }

    /// The packet's bytes as sent, except for an offloaded checksum.
    #[must_use]
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Own(received) => Cow::Borrowed(received.packet()),
            Content::Segment(of, number) => {
                let mut bytes = vec![0; of.header_length()];
                let number = usize::from(*number);
                let (rest, _) = of.part(number..number + 1, self.ecn == Ecn::Ce, &mut bytes);
                bytes.extend_from_slice(rest);
                Cow::Owned(bytes)
            }
        }
    }
}

impl<S> Packet for Frame<S> {
    fn len(&self) -> u32 {
        self.len
    }

    fn flow(&self) -> FlowKey {
        self.keys.flow
    }

    fn class(&self) -> ClassId {
        self.class
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn ends(&self) -> Ends {
        self.keys.ends
    }

    fn dscp(&self) -> Dscp {
        self.dscp
    }

    fn ack(&self) -> Option<Ack> {
        self.ack
    }

    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
        // A segment is marked when it leaves, because its bytes are shared.
        if let (Some(network), Content::Own(received)) = (self.network, &mut self.content) {
            mark_ce(received.packet_mut(), network);
        }
    }
}

impl<S> Measured for Frame<S> {
    fn payload(&self) -> u32 {
        self.payload
    }

    fn connection(&self) -> FlowKey {
        self.keys.connection
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_belongs_to_the_flow_that_its_queue_wants() {
        let reader = Reader::new(Encapsulation::Ip, Classes::default(), 1);
        let from_port = |port: u8| {
            let header = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            [&header[..], &[0, port, 0, 9, 0, 8, 0, 0]].concat()
        };
        let same = |kind| reader.read(&from_port(7), kind).flow() == reader.read(&from_port(8), kind).flow();
        let kinds = [FlowKind::Connection, FlowKind::Hosts, FlowKind::Source, FlowKind::Destination];
        assert_eq!(kinds.map(same), [false, true, true, true]);
    }

    #[test]
    fn whatever_comes_is_a_packet() {
        let reader = Reader::new(Encapsulation::Ip, Classes::default(), 1);
        for len in [0, 1, 7, 19, 20, 39, 1500, 65_535] {
            for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
                let mut bytes = vec![0xff; len];
                bytes.first_mut().into_iter().for_each(|b| *b = first);
                let mut frame = reader.read(&bytes, FlowKind::Connection);
                frame.set_ce();
                assert_eq!(frame.bytes().len(), len);
            }
        }
    }
}
