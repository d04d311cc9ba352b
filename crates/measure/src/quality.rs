//! Metrics of the quality that users experience: ratios of a model's counters.

use std::collections::BTreeMap;

/// A metric that is a sum of counters divided by another.
struct Ratio {
    /// Its name in results.
    name: &'static str,
    /// The counters of the numerator.
    of: &'static [&'static str],
    /// The counters of the denominator.
    over: &'static [&'static str],
    /// The factor of the ratio.
    times: f64,
}

const fn ratio(name: &'static str, of: &'static [&'static str], over: &'static [&'static str], times: f64) -> Ratio {
    Ratio { name, of, over, times }
}

/// All ratios. A model has a ratio if it has all its counters.
const RATIOS: &[Ratio] = &[
    ratio("video_rate_bps", &["video_bits"], &["video_s"], 1.0),
    ratio("switches_per_min", &["switches"], &["video_s"], 60.0),
    ratio("stalled", &["stalled_s"], &["played_s", "stalled_s"], 1.0),
    ratio("mos", &["mos_sum"], &["mos_intervals"], 1.0),
    ratio("missed", &["packets_missed"], &["packets_due"], 1.0),
    ratio("stalls_per_min", &["stalls"], &["played_s", "stalled_s"], 60.0),
];

/// The names of the metrics, in the order of the list.
pub fn names() -> impl Iterator<Item = &'static str> {
    RATIOS.iter().map(|ratio| ratio.name)
}

/// The metrics of a model with these counters and their rates. A metric whose denominator did not increase is
/// [`f64::NAN`]; a metric whose counters the model lacks is missing.
pub(crate) fn of<'a>(counters: &'a [&'a str], rates: &'a [f64]) -> impl Iterator<Item = (&'static str, f64)> + 'a {
    let sum = |names: &[&str]| {
        let rate = |name: &&str| counters.iter().position(|c| c == name).map(|i| rates[i]);
        names.iter().map(rate).sum::<Option<f64>>()
    };
    RATIOS.iter().filter_map(move |ratio| {
        let (of, over) = (sum(ratio.of)?, sum(ratio.over)?);
        Some((ratio.name, if over > 0.0 { of / over * ratio.times } else { f64::NAN }))
    })
}

/// [`of`], without metrics that have no value.
pub(crate) fn known(counters: &[&str], rates: &[f64]) -> BTreeMap<String, f64> {
    of(counters, rates).filter(|(_, value)| value.is_finite()).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_all_its_counters_and_a_denominator_that_rose() {
        let counters = ["stalled_s", "stalls", "played_s"];
        let known_of = |rates: [f64; 3]| known(&counters, &rates).into_iter().collect::<Vec<_>>();
        let found = known_of([0.25, 0.5, 0.75]);
        assert_eq!(found, [("stalled".to_owned(), 0.25), ("stalls_per_min".to_owned(), 30.0)]);
        assert_eq!(known_of([0.0, 0.0, 0.0]), []);
        assert_eq!(of(&counters, &[0.0; 3]).filter(|(_, value)| value.is_nan()).count(), 2);
        assert_eq!(of(&["stalls"], &[1.0]).count(), 0);
    }
}
