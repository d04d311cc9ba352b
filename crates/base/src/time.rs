//! Time as integer nanoseconds: points in time ([`Instant`]) and durations ([`Duration`]).
//!
//! The origin of an `Instant` is the start of the run in the simulator, and the start of the process on a live link.
//! Integers are exact for runs of up to 584 years, and make the order of events the same on every machine.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time, in nanoseconds since the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A duration in nanoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The origin.
    pub const ZERO: Instant = Instant(0);
    /// Later than all events.
    pub const FAR_FUTURE: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Instant(ns)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, rounded to the nearest `f64`.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Zero length.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// A length of `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Duration(ns)
    }

    /// A length of `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Duration(us * 1_000)
    }

    /// A length of `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Duration(ms * 1_000_000)
    }

    /// A length of `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Duration(s * 1_000_000_000)
    }

    /// A length of `s` seconds, rounded to the nearest nanosecond; negative and NaN become zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates, and converts NaN and negative numbers to zero.
        Duration((s * 1e9 + 0.5) as u64)
    }

    /// The length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The length in milliseconds.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the length is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// `self` times a non-negative number, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The number of whole periods in `self`; zero for a zero period.
    #[must_use]
    pub const fn whole(self, period: Duration) -> u64 {
        match self.0.checked_div(period.0) {
            Some(n) => n,
            None => 0,
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Saturates at zero, since durations are never negative.
    fn sub(self, d: Duration) -> Duration {
        self.saturating_sub(d)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_saturate_instead_of_wrapping() {
        assert_eq!(Duration::from_secs(1) - Duration::from_secs(2), Duration::ZERO);
        assert_eq!(Instant::ZERO - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Duration::ZERO);
    }

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(1.5e-9), Duration::from_nanos(2));
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_millis(30).as_secs_f64(), 0.03);
    }

    #[test]
    fn whole_periods_of_a_zero_period_are_none() {
        assert_eq!(Duration::from_secs(7).whole(Duration::from_secs(2)), 3);
        assert_eq!(Duration::from_secs(7).whole(Duration::ZERO), 0);
    }
}
