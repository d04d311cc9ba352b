//! The ECN field of the IP header (RFC 3168 section 5, RFC 9331).

use serde::{Deserialize, Serialize};

/// The ECN codepoint of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Ecn {
    /// `00`: the transport does not support ECN; the packet can be dropped, but not marked.
    #[default]
    NotEct = 0b00,
    /// `01`: ECN-capable; since RFC 9331 it identifies L4S traffic.
    Ect1 = 0b01,
    /// `10`: ECT(0), ECN-capable.
    Ect0 = 0b10,
    /// `11`: CE, congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a router may mark the packet instead of dropping it. True for CE too, where marking has no effect.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// The codepoint of the two lowest bits of `bits`.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        for bits in 0..4 {
            assert_eq!(Ecn::from_bits(bits) as u8, bits);
        }
        assert!(!Ecn::NotEct.is_capable());
        assert!(Ecn::Ce.is_capable());
    }
}
