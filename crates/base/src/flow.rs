//! Flows and classes of packets.

use serde::{Deserialize, Serialize};

/// The definition of a flow, for disciplines that distinguish flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// Addresses, ports and protocol: one direction of a transport connection.
    #[default]
    Connection,
    /// Source and destination address: all packets from one host to another.
    Hosts,
    /// The source address: all packets from a host.
    Source,
    /// The destination address: all packets to a host.
    Destination,
}

impl FlowKind {
    /// The addresses shared by all packets of such a flow. For a connection, ports and protocol are shared as well.
    #[must_use]
    pub fn ends<T>(self, source: T, destination: T) -> (Option<T>, Option<T>) {
        match self {
            FlowKind::Connection | FlowKind::Hosts => (Some(source), Some(destination)),
            FlowKind::Source => (Some(source), None),
            FlowKind::Destination => (None, Some(destination)),
        }
    }
}

/// The identity of a flow of some [`FlowKind`]; by default, of one direction of a transport connection.
///
/// On a live link it is a 64-bit hash of the header fields of the kind, in the simulator a number. Disciplines treat
/// two flows with the same key as one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

impl FlowKey {
    /// A salted hash of the key over 64 bits, for hash tables of flows.
    ///
    /// The salt is only combined with the key by exclusive or, which is fast; salts that differ in few bits therefore
    /// only permute the hashes of keys that differ in the same bits. Take numbered salts from [`salt`].
    #[must_use]
    pub const fn hash(self, salt: u64) -> u64 {
        finalise((self.0 ^ salt).wrapping_add(0x9e37_79b9_7f4a_7c15))
    }
}

/// The salt with this number for [`FlowKey::hash`]. Salts of different numbers are unrelated. Number 0 has salt 0.
#[must_use]
pub const fn salt(number: u64) -> u64 {
    finalise(number)
}

/// The finaliser of `SplitMix64` (Stafford's variant 13 of `MurmurHash3`'s): each input bit affects about half of the
/// output bits.
const fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The traffic class of a packet: an index into the run's list of classes, such as `tcp`,
/// `multimedia`, `other`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u8);

impl ClassId {
    /// The class as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_salts_spread() {
        let low = |k: u64, salt| FlowKey(k).hash(salt) % 1024;
        let distinct: std::collections::BTreeSet<_> = (0..512).map(|k| low(k, 7)).collect();
        // 512 balls in 1024 bins fill about 403 of them.
        assert!((360..450).contains(&distinct.len()), "{}", distinct.len());
        assert_ne!(FlowKey(1).hash(1), FlowKey(1).hash(2));
    }
}
