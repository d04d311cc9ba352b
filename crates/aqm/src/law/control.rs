//! CoDel's control law: when the next drop is due.
//!
//! Nichols and Jacobson 2012; RFC 8289, section 5.5.

use aqmkit_base::{Duration, Instant};

/// `interval / sqrt(count)` after `from`. A count of zero is treated as one.
#[must_use]
pub fn control_law(from: Instant, interval: Duration, count: u32) -> Instant {
    from + interval.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_times_the_count_is_twice_as_often() {
        let after = |count| control_law(Instant::ZERO, Duration::from_millis(100), count).since(Instant::ZERO);
        assert_eq!([0, 1, 4, 100].map(after), [100, 100, 50, 10].map(Duration::from_millis));
    }
}
