//! Sizes: [`Bytes`], and [`Amount`], a queue length in packets or in bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// The number as a float, for averages.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, o: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(o.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Bytes) {
        *self = *self + o;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, o: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(o.0))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Bytes) {
        *self = *self - o;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}b", self.0)
    }
}

/// A queue length: a number of packets (`60`, `"60p"`; fractions are allowed, since averages are fractional) or of
/// bytes (`"90kb"`).
///
/// The unit determines what a discipline counts: RED with thresholds in bytes averages the queue length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Amount {
    /// A number of packets.
    Packets(f64),
    /// A number of bytes.
    Bytes(u64),
}

impl Amount {
    /// The unit of the amount.
    #[must_use]
    pub const fn unit(self) -> Counting {
        match self {
            Amount::Packets(_) => Counting::Packets,
            Amount::Bytes(_) => Counting::Bytes,
        }
    }

    /// The number, in its own unit.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Amount::Packets(p) => p,
            Amount::Bytes(b) => b as f64,
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Packets(p) => write!(f, "{p}p"),
            Amount::Bytes(b) => write!(f, "{b}b"),
        }
    }
}

/// The unit of a queue length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// Packets, of any size.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts_saturate_at_both_ends() {
        assert_eq!(Bytes(3) - Bytes(5), Bytes::ZERO);
        assert_eq!(Bytes(u64::MAX) + Bytes(1), Bytes(u64::MAX));
    }

    #[test]
    fn an_amount_knows_its_unit() {
        assert_eq!(Amount::Packets(4.28).unit(), Counting::Packets);
        assert_eq!(Amount::Bytes(1500).value(), 1500.0);
    }
}
