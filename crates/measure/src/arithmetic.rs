//! Formulas that several results share.

use std::collections::BTreeMap;

use aqmkit_aqm::Why;

/// Bytes over seconds, in bits per second.
pub(crate) fn bits_per_s(bytes: f64, seconds: f64) -> f64 {
    bytes * 8.0 / seconds
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
