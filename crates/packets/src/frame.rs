//! A packet of a live link or of a capture: its bytes, and what disciplines may know of them.

use aqmkit_aqm::Packet;
use aqmkit_base::{ClassId, Ecn, FlowKey, FlowKind};

use crate::meter::Measured;
use crate::wire::{Classes, Encapsulation, Network, View, mark_ce};

/// A packet with its bytes, and `S` that is to be remembered of it besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<S = ()> {
    /// As many of its bytes as are wanted again.
    bytes: Vec<u8>,
    /// Its length on the wire.
    len: u32,
    keys: Keys,
    network: Option<Network>,
    class: ClassId,
    ecn: Ecn,
    /// Its data in bytes, without the headers of network and transport.
    payload: u32,
    /// What is remembered of it.
    pub story: S,
}

/// What a packet is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// What its queue takes for one flow.
    pub flow: FlowKey,
    /// Its connection.
    pub connection: FlowKey,
}

impl Keys {
    /// Those of a packet for a queue with this kind of flows.
    #[must_use]
    pub fn of(view: &View, kind: FlowKind, salt: u64) -> Self {
        let connection = view.flow.key(salt);
        let flow = if kind == FlowKind::Connection { connection } else { view.flow.key_as(kind, salt) };
        Keys { flow, connection }
    }
}

/// How packets are read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// What they begin with.
    pub encapsulation: Encapsulation,
    /// Which class each is in.
    pub classes: Classes,
    /// What the keys of flows are mixed with.
    pub salt: u64,
}

impl Reader {
    /// Reads a packet for a queue that takes this for one flow; whatever the bytes are, there is one. It takes as much memory
    /// as it has bytes.
    #[must_use]
    pub fn read(&self, bytes: &[u8], flow: FlowKind) -> Frame {
        let view = View::of(self.encapsulation, bytes);
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Frame::new(&view, Keys::of(&view, flow, self.salt), self.classes.of(&view), bytes.to_vec(), len, ())
    }
}

impl<S> Frame<S> {
    /// A packet with these keys that `view` has been taken of, `len` bytes long on the wire.
    pub fn new(view: &View, keys: Keys, class: ClassId, bytes: Vec<u8>, len: u32, story: S) -> Self {
        Frame { bytes, len, keys, network: view.network, class, ecn: view.ecn, payload: view.payload, story }
    }

    /// Takes its bytes out, for their memory to be used again.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// The packet as it goes on.
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
