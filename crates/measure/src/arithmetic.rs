//! Formulas that several results share.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;

/// `amount` per second; zero if no time passes.
pub(crate) fn per_second(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

/// Bytes over seconds, in bits per second; zero if no time passes.
pub(crate) fn bits_per_s(bytes: f64, seconds: f64) -> f64 {
    per_second(bytes * 8.0, seconds)
}

/// Utilisation: bytes sent in `seconds` over the capacity in bits per second; zero without capacity or time.
/// Transmissions start and end at whole nanoseconds, so a busy link can appear slightly above its capacity: clamped to
/// 1. Only a link that sends less than the packets' lengths (negative framing) can exceed 1.
#[must_use]
pub fn utilization(passed_bytes: f64, capacity_bps: f64, seconds: f64) -> f64 {
    if capacity_bps <= 0.0 || seconds <= 0.0 {
        return 0.0;
    }
    let share = bits_per_s(passed_bytes, seconds) / capacity_bps;
    let rounding = 2e-9 / seconds;
    if share <= 1.0 + rounding { share.min(1.0) } else { share }
}

/// `part / whole`; zero if `whole` is zero.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The mean of `count` times with the sum `ns`, in milliseconds; NaN if there are none.
pub(crate) fn mean_ms(ns: u64, count: u64) -> f64 {
    ns as f64 / count as f64 / 1e6
}

/// Counts by reason, without reasons that did not occur.
#[must_use]
pub fn by_reason(counts: &[u64; Why::COUNT]) -> BTreeMap<String, u64> {
    by_reasons_of(counts, counts)
}

/// Counts by reason, for each reason that occurs in `all`.
pub(crate) fn by_reasons_of(counts: &[u64; Why::COUNT], all: &[u64; Why::COUNT]) -> BTreeMap<String, u64> {
    let reasons = Why::ALL.iter().filter(|why| all[**why as usize] > 0);
    reasons.map(|why| (why.name().to_owned(), counts[*why as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Transmissions start and end at whole nanoseconds, so a busy link can appear to exceed its capacity by two of
    /// them.
    #[test]
    fn a_busy_link_is_used_to_its_capacity() {
        // 1 Mbit/s for 10 ms are 1250 bytes.
        let used = |bytes: f64| utilization(bytes, 1e6, 0.01);
        for (bytes, share) in [
            (0.0, 0.0),
            (625.0, 0.5),
            (1250.0, 1.0),
            (1250.0 + 2e-4, 1.0),
            (1250.0 + 3e-4, 1.0 + 2.4e-7),
            (1500.0, 1.2),
        ] {
            assert!((used(bytes) - share).abs() < 1e-12, "{bytes} bytes: {}", used(bytes));
        }
        assert_eq!([utilization(1.0, 0.0, 1.0), utilization(1.0, 1e6, 0.0)], [0.0, 0.0]);
    }

    #[test]
    fn nothing_of_nothing_is_nothing() {
        assert_eq!([per_second(5.0, 0.0), per_second(5.0, 2.0), bits_per_s(5.0, 2.0)], [0.0, 2.5, 20.0]);
        assert_eq!([share(1, 0), share(1, 4)], [0.0, 0.25]);
        assert!(mean_ms(0, 0).is_nan() && (mean_ms(3_000_000, 2) - 1.5).abs() < 1e-12);
    }
}
