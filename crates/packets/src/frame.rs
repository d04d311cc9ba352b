//! A packet of a live link or of a capture: its bytes, and the properties that disciplines use.

use aqmkit_aqm::{Ack, Dscp, Ends, Packet};
use aqmkit_base::{ClassId, Ecn, FlowKey, FlowKind};

use crate::meter::Measured;
use crate::wire::{Classes, Encapsulation, Network, View, mark_ce};

/// A packet with its bytes, and additional data `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<S = ()> {
    /// As many of its bytes as are needed later.
    bytes: Vec<u8>,
    /// Its length on the wire.
    len: u32,
    keys: Keys,
    network: Option<Network>,
    class: ClassId,
    ecn: Ecn,
    dscp: Dscp,
    /// Its acknowledgement.
    ack: Option<Ack>,
    /// Its payload in bytes, without network and transport headers.
    payload: u32,
    /// Additional data.
    pub passage: S,
}

/// The keys of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The key of its flow, as defined by its discipline.
    pub flow: FlowKey,
    /// The key of its connection.
    pub connection: FlowKey,
    /// Its hosts.
    pub ends: Ends,
}

impl Keys {
    /// The keys of a packet for a discipline with this definition of a flow.
    #[must_use]
    pub fn of(view: &View, kind: FlowKind, salt: u64) -> Self {
        let connection = view.flow.key(salt);
        let flow = if kind == FlowKind::Connection { connection } else { view.flow.key_as(kind, salt) };
        let host = |end| (view.flow.key_as(end, salt).0 >> 32) as u32;
        let ends = Ends { source: host(FlowKind::Source), destination: host(FlowKind::Destination) };
        Keys { flow, connection, ends }
    }
}

/// The settings for reading packets.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The first header of packets.
    pub encapsulation: Encapsulation,
    /// The rules that assign classes.
    pub classes: Classes,
    /// The salt of the hashes of flows.
    pub salt: u64,
}

impl Reader {
    /// Reads a packet for a discipline with this definition of a flow. Any bytes make a packet, which takes as much
    /// memory as it has bytes.
    #[must_use]
    pub fn read(&self, bytes: &[u8], flow: FlowKind) -> Frame {
        let view = View::of(self.encapsulation, bytes);
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Frame::new(&view, Keys::of(&view, flow, self.salt), self.classes.of(&view), bytes.to_vec(), len, ())
    }
}

impl<S> Frame<S> {
    /// A packet with these keys, read as `view`, with `len` bytes on the wire.
    pub fn new(view: &View, keys: Keys, class: ClassId, bytes: Vec<u8>, len: u32, passage: S) -> Self {
        let FlowKey(connection) = keys.connection;
        let ack = view.ack.map(|ack| Ack { connection: (connection >> 32) as u32, ..ack });
        let dscp = Dscp::new(view.dscp);
        Frame {
            bytes,
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

    /// Removes its bytes, so that their memory can be reused.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The bytes of the packet as sent.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
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
        if let Some(network) = self.network {
            mark_ce(&mut self.bytes, network);
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
        let reader = Reader { encapsulation: Encapsulation::Ip, classes: Classes::default(), salt: 1 };
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
        let reader = Reader { encapsulation: Encapsulation::Ip, classes: Classes::default(), salt: 1 };
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
