//! Rate estimation per packet. See `aqmkit_aqm::law::rate`.
//!
//! Rates are in Mbit/s, that is, bits per microsecond.

use crate::fixed::{Fixed, Fraction, quotient};
use crate::verifier::{masked, reread};
use crate::words::{Words, words};

/// Time bits per table of an [`Exponential`].
pub const DIGIT: u32 = 6;
/// Number of tables: times are below 2^42 ns, over an hour.
pub const DIGITS: usize = 7;

/// `e^(-t/K)` for integer nanoseconds `t`: one table for each six bits of `t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponential(pub [[Fraction; 1 << DIGIT]; DIGITS]);

impl Default for Exponential {
    fn default() -> Self {
        Exponential([[Fraction::default(); 1 << DIGIT]; DIGITS])
    }
}

impl Words for Exponential {
    const COUNT: usize = <[[Fraction; 1 << DIGIT]; DIGITS]>::COUNT;
    fn write(&self, out: &mut dyn FnMut(u64)) {
        self.0.write(out);
    }
}

impl Exponential {
    /// `e^(-t/K)`; 0 beyond the tables.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, t: u64) -> Fraction {
        let (mut left, mut product) = (t, u64::MAX);
        for digit in 0..DIGITS {
            if left == 0 {
                break;
            }
            product = reread(self).0[digit][masked::<{ 1 << DIGIT }>(left)].of(product);
            left >>= DIGIT;
        }
        Fraction::computed(if left == 0 { product } else { 0 })
    }
}

words! {
    /// Parameters of exponential averaging.
    pub struct Averaging {
        /// The averaging constant K in nanoseconds.
        pub k: u64,
        /// `e^(-t/K)`.
        pub decay: Exponential,
    }
}

/// Maximum bits counted at one instant: 262 kB.
const MOST_BITS: u64 = (i32::MAX / 1000) as u64;

/// A rate by exponential averaging over interarrival times (Stoica, Shenker, Zhang 1998, equation 3).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEstimate {
    rate: Fixed,
    /// Time of the last packet, in nanoseconds; 0 before the first one.
    at: u64,
    /// Bits that arrived at that time and are not in the rate yet.
    together: u64,
}

impl RateEstimate {
    /// The estimate before any packet: the first packet counts as one after a silence of K.
    pub const UNKNOWN: RateEstimate = RateEstimate { rate: Fixed::ZERO, at: 0, together: 0 };

    /// Starts with no packets seen up to `now`.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        *self = RateEstimate { at: now, ..Self::UNKNOWN };
    }

    /// The rate in Mbit/s.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Fixed {
        self.rate
    }

    /// Adds a packet: `r <- (1 - e^(-T/K)) l/T + e^(-T/K) r`.
    #[inline(always)]
    pub fn packet(&mut self, by: &Averaging, bits: u64, now: u64) {
        let bits = self.together + bits;
        self.together = if bits < MOST_BITS { bits } else { MOST_BITS };
        let gap = if self.at == 0 { by.k } else { now.saturating_sub(self.at) };
        if gap == 0 {
            return;
        }
        let old = by.decay.at(gap);
        // 1 bit/ns is 1000 bits/µs.
        let new = quotient(old.rest().of(Fixed::whole(self.together * 1000).0 as u64), gap);
        *self = RateEstimate { rate: Fixed((old.of(self.rate.0 as u64) + new) as i64), at: now, together: 0 };
    }
}
