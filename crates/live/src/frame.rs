//! A packet of a live link: its bytes, and what disciplines may know of them.

use aqmkit_aqm::Packet;
use aqmkit_base::{ClassId, Ecn, FlowKey};

use crate::wire::{Classes, Encapsulation, Network, View, mark_ce};

/// A packet with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    bytes: Box<[u8]>,
    flow: FlowKey,
    network: Option<Network>,
    class: ClassId,
    ecn: Ecn,
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
    /// Reads a packet; whatever the bytes are, there is one. It takes as much memory as it has bytes.
    #[must_use]
    pub fn read(&self, bytes: &[u8]) -> Frame {
        let view = View::of(self.encapsulation, bytes);
        Frame {
            bytes: bytes.into(),
            flow: view.flow.key(self.salt),
            network: view.network,
            class: self.classes.of(&view),
            ecn: view.ecn,
        }
    }
}

impl Frame {
    /// The packet as it goes on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
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
        if self.network.is_some_and(|network| mark_ce(&mut self.bytes, network)) {
            self.ecn = Ecn::Ce;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_is_a_packet() {
        let reader = Reader { encapsulation: Encapsulation::Ip, classes: Classes::default(), salt: 1 };
        for len in [0, 1, 7, 19, 20, 39, 1500, 65_535] {
            for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
                let mut bytes = vec![0xff; len];
                bytes.first_mut().into_iter().for_each(|b| *b = first);
                let mut frame = reader.read(&bytes);
                frame.set_ce();
                assert_eq!(frame.bytes().len(), len);
            }
        }
    }
}
