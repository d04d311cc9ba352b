//! Rates in bits per second, and transmission times.

use std::fmt;

use crate::{Bytes, Duration};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

const NANOS_PER_SEC: u128 = 1_000_000_000;

impl BitRate {
    /// A rate of `bps` bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        BitRate(bps)
    }

    /// A rate of `mbps` million bits per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        BitRate(mbps * 1_000_000)
    }

    /// A rate of `rate` bytes per second, rounded to the nearest bit.
    #[must_use]
    pub fn from_bytes_per_sec(rate: f64) -> Self {
        BitRate((rate * 8.0 + 0.5) as u64)
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The transmission time of `size` at this rate, rounded up to a nanosecond; infinite at rate zero.
    ///
    /// A transmitter that sends back to back must use [`BitRate::transmit`], which keeps the remainder below a
    /// nanosecond; otherwise its rate drifts.
    #[must_use]
    pub fn time_to_send(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let ns = (u128::from(size.0) * 8 * NANOS_PER_SEC).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The transmission time of `size`, with the remainder of the last division in `carry` (in units of 1/rate
    /// nanoseconds, below the rate). Rounding errors do not accumulate.
    #[must_use]
    pub fn transmit(self, size: Bytes, carry: &mut u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // The product fits 64 bits for sizes below 2^31 bytes, hence for nearly every packet.
        if size.0 < (1 << 31) {
            let total = size.0 * 8_000_000_000 + *carry;
            *carry = total % self.0;
            return Duration::from_nanos(total / self.0);
        }
        let total = u128::from(size.0) * 8 * NANOS_PER_SEC + u128::from(*carry);
        let rate = u128::from(self.0);
        *carry = u64::try_from(total % rate).unwrap_or(0);
        Duration::from_nanos(u64::try_from(total / rate).unwrap_or(u64::MAX))
    }

    /// The number of bytes sent in `time` at this rate, rounded down.
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let bits = u128::from(self.0) * u128::from(time.as_nanos()) / NANOS_PER_SEC;
        Bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::units::format_rate(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thousand_bytes_at_ten_megabits_take_800_microseconds() {
        assert_eq!(BitRate::from_mbps(10).time_to_send(Bytes(1000)), Duration::from_micros(800));
    }

    #[test]
    fn a_rate_of_zero_never_finishes() {
        assert_eq!(BitRate::from_bps(0).time_to_send(Bytes(1)), Duration::MAX);
    }

    proptest! {
        #[test]
        fn carrying_the_remainder_loses_no_time(bps in 1_000_u64..10_000_000_000, sizes in prop::collection::vec(1_u64..9_000, 1..200)) {
            let rate = BitRate::from_bps(bps);
            let mut carry = 0;
            let mut ns = 0_u128;
            let mut bytes = 0_u128;
            for size in sizes {
                ns += u128::from(rate.transmit(Bytes(size), &mut carry).as_nanos());
                bytes += u128::from(size);
            }
            prop_assert_eq!(ns, bytes * 8_000_000_000 / u128::from(bps));
        }
    }
}
