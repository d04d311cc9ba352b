//! Framing: the bytes that a link sends in addition to a packet (link-layer headers, padding and cells), as in `tc-stab(8)`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// Link-layer encapsulation: how frames map to bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkLayer {
    /// Frames of the same length as the packets.
    #[default]
    Ethernet,
    /// Cells of ATM (ADSL): 48 bytes of payload in 53, the last one padded (ITU-T I.361).
    Atm,
    /// Packet transfer mode (VDSL): one additional byte for every 64 bytes or part of them (64b/65b encoding, IEEE
    /// 802.3 clause 61.3.3).
    Ptm,
}

impl LinkLayer {
    /// All link layers, by the names that commands and experiments use.
    pub const ALL: [(&'static str, LinkLayer); 3] =
        [("ethernet", LinkLayer::Ethernet), ("atm", LinkLayer::Atm), ("ptm", LinkLayer::Ptm)];
}

/// Bytes that a link adds to each packet, as experiments and commands write them: `38b`, `-4b`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead(pub i32);

impl Overhead {
    /// The least, as `tc-cake(8)` has it: a link layer sends no fewer bytes than this below the packet that a host counts. With less, a
    /// link would send every packet as if it were empty.
    pub const LEAST: i32 = -64;
    /// The most, as `tc-cake(8)` has it.
    pub const MOST: i32 = 256;
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}b", self.0)
    }
}

/// Bytes on the wire for a packet: packet plus `overhead`, at least `mpu`, then encapsulated by `linklayer`, in the
/// order of `tc-stab(8)` and `cake_calc_overhead` (Linux, `sch_cake.c`). The default adds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Framing {
    /// Bytes added to each packet; negative if the link sends less than the IP packet with the headers that the host
    /// counts.
    pub overhead: i32,
    /// Minimum packet unit: shorter packets are padded to this size, in bytes.
    #[serde(skip_serializing_if = "is_default")]
    pub mpu: u32,
    /// Encapsulation of the padded packet.
    #[serde(skip_serializing_if = "is_default")]
    pub linklayer: LinkLayer,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Framing {
    /// Framing that adds this many bytes to each packet.
    #[must_use]
    pub const fn bytes(overhead: i32) -> Self {
        Framing { overhead, mpu: 0, linklayer: LinkLayer::Ethernet }
    }

    /// The number of bytes that the link sends for a packet of `len` bytes; at least one.
    #[must_use]
    #[inline]
    pub fn sent(self, len: u32) -> Bytes {
        let framed = (i64::from(len) + i64::from(self.overhead)).max(1).cast_unsigned().max(u64::from(self.mpu));
        Bytes(match self.linklayer {
            LinkLayer::Ethernet => framed,
            LinkLayer::Atm => framed.div_ceil(48) * 53,
            LinkLayer::Ptm => framed + framed.div_ceil(64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(overhead: i32, mpu: u32, linklayer: LinkLayer, len: u32) -> u64 {
        Framing { overhead, mpu, linklayer }.sent(len).0
    }

    #[test]
    fn a_packet_without_framing_is_as_long_as_itself() {
        assert_eq!(Framing::default().sent(1500), Bytes(1500));
        assert_eq!(Framing::bytes(38).sent(1500), Bytes(1538));
    }

    #[test]
    fn a_negative_overhead_shortens_and_never_below_one_byte() {
        assert_eq!(sent(-14, 0, LinkLayer::Ethernet, 1514), 1500);
        assert_eq!(sent(-40, 0, LinkLayer::Ethernet, 40), 1);
        assert_eq!(sent(-40, 0, LinkLayer::Ethernet, 20), 1);
    }

    /// A TCP acknowledgement of 40 bytes over PPPoE with LLC (40 bytes of headers) fills two cells; without headers it fills one.
    #[test]
    fn atm_sends_whole_cells() {
        assert_eq!(sent(0, 0, LinkLayer::Atm, 40), 53);
        assert_eq!(sent(0, 0, LinkLayer::Atm, 48), 53);
        assert_eq!(sent(0, 0, LinkLayer::Atm, 49), 106);
        assert_eq!(sent(40, 0, LinkLayer::Atm, 40), 106);
        assert_eq!(sent(40, 0, LinkLayer::Atm, 1500), 33 * 53);
    }

    #[test]
    fn ptm_sends_a_byte_more_for_each_64_begun() {
        assert_eq!(sent(0, 0, LinkLayer::Ptm, 64), 65);
        assert_eq!(sent(0, 0, LinkLayer::Ptm, 65), 67);
        assert_eq!(sent(30, 0, LinkLayer::Ptm, 1500), 1530 + 24);
    }

    #[test]
    fn the_least_counts_after_the_overhead_and_before_the_cells() {
        assert_eq!(sent(18, 64, LinkLayer::Ethernet, 40), 64);
        assert_eq!(sent(18, 64, LinkLayer::Ethernet, 50), 68);
        assert_eq!(sent(0, 96, LinkLayer::Atm, 40), 106);
    }

    #[test]
    fn a_plan_writes_only_what_is_set() {
        assert_eq!(serde_json::to_string(&Framing::bytes(38)).unwrap(), r#"{"overhead":38}"#);
        let adsl = Framing { overhead: -4, mpu: 64, linklayer: LinkLayer::Atm };
        assert_eq!(serde_json::to_string(&adsl).unwrap(), r#"{"overhead":-4,"mpu":64,"linklayer":"atm"}"#);
    }
}
