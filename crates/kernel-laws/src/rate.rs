//! The rate of a stream of packets, estimated packet by packet: `aqmkit_aqm::law::rate`.
//!
//! Rates are in Mbit/s, which are bits per microsecond.

use crate::fixed::{Fixed, Fraction, quotient};
use crate::verifier::{masked, reread};
use crate::words::{Words, words};

/// Bits of a time for which an [`Exponential`] has one table.
pub const DIGIT: u32 = 6;
/// Its tables: times are below 2^42 ns, more than an hour.
pub const DIGITS: usize = 7;

/// `e^(-t/K)` for whole nanoseconds `t`: a table for each six bits of `t`.
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
    /// `e^(-t/K)`; 0 for longer times.
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
    /// How a rate is averaged.
    pub struct Averaging {
        /// The averaging constant K in nanoseconds.
        pub k: u64,
        /// `e^(-t/K)`.
        pub decay: Exponential,
    }
}

/// The most bits that count at one time: 262 kB.
const MOST_BITS: u64 = (i32::MAX / 1000) as u64;

/// A rate by exponential averaging over the gaps between packets (Stoica, Shenker, Zhang 1998, equation 3).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEstimate {
    rate: Fixed,
    /// When the last packet came, in nanoseconds; 0 where none has.
    at: u64,
    /// Bits that came at the time of the last packet and are not in the rate.
    together: u64,
}

impl RateEstimate {
    /// That of a stream of which nothing is known: its first packet counts as one after a silence of K.
    pub const UNKNOWN: RateEstimate = RateEstimate { rate: Fixed::ZERO, at: 0, together: 0 };

    /// A stream of which nothing has been seen until `now`.
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

    /// So many bits have come: `r <- (1 - e^(-T/K)) l/T + e^(-T/K) r`.
    #[inline(always)]
    pub fn packet(&mut self, by: &Averaging, bits: u64, now: u64) {
        let bits = self.together + bits;
        self.together = if bits < MOST_BITS { bits } else { MOST_BITS };
        let gap = if self.at == 0 { by.k } else { now.saturating_sub(self.at) };
        if gap == 0 {
            return;
        }
        let old = by.decay.at(gap);
        // A bit per nanosecond is 1000 bits per microsecond.
        let new = quotient(old.rest().of(Fixed::whole(self.together * 1000).0 as u64), gap);
        *self = RateEstimate { rate: Fixed((old.of(self.rate.0 as u64) + new) as i64), at: now, together: 0 };
    }
}
