//! The distribution of a quantity over runs with different seeds.

use aqmkit_measure::output::Distribution;

use super::band::Band;
use crate::format::{rounded, significant};

/// The largest number of points in a curve.
const MOST_POINTS: usize = 120;

/// The same with a band around it, which takes twice as many.
const MOST_WITH_BAND: usize = 70;

/// The share of samples at or below each of some values, and above it: means over the runs with their intervals.
pub(super) struct Curve {
    pub(super) values: Vec<f64>,
    pub(super) shares: Band,
    pub(super) above: Band,
}

impl Curve {
    /// `None` if no run has a value above zero.
    pub(super) fn of(all: &[&Distribution]) -> Option<Curve> {
        let points = || all.iter().flat_map(|found| thinned(&found.points));
        if !points().any(|(value, _)| value > 0.0) {
            return None;
        }
        let mut values: Vec<f64> = points().map(|(value, _)| rounded(value)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if all.len() > 1 {
            // Every run adds its own values; as many as one has are enough.
            values = every(&values, MOST_WITH_BAND);
        }
        let shares: Vec<Vec<f64>> =
            all.iter().map(|found| values.iter().map(|value| share(&found.points, *value)).collect()).collect();
        let above: Vec<Vec<f64>> = shares.iter().map(|run| run.iter().map(|share| 1.0 - share).collect()).collect();
        // A logarithmic axis has no zero.
        let rarest = above.iter().flatten().copied().filter(|share| *share > 0.0).fold(1.0, f64::min);
        Some(Curve { values, shares: Band::of(&shares, (0.0, 1.0)), above: Band::of(&above, (rarest, 1.0)) })
    }

    /// The value that this share of the samples does not exceed.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let place = self.shares.mean.iter().position(|below| *below >= share).unwrap_or(self.values.len() - 1);
        self.values[place]
    }

    /// The median, the 90th and the 99th percentile, in words.
    pub(super) fn words(&self, name: &str) -> String {
        let at = |share: f64| significant(self.quantile(share), 3);
        format!("{name}: median {} ms, 90 % below {} ms, 99 % below {} ms", at(0.5), at(0.9), at(0.99))
    }
}

/// The share of the samples that do not exceed `value`.
fn share(points: &[(f64, f64)], value: f64) -> f64 {
    let place = points.partition_point(|(other, _)| rounded(*other) <= value);
    place.checked_sub(1).map_or(0.0, |last| points[last].1)
}

/// Thins out the points of a curve: evenly spread ones of the body, and all of the last hundredth as far as possible.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let body = points.partition_point(|(_, share)| *share < 0.99);
    let mut few = every(&points[..body], MOST_POINTS / 3 * 2);
    few.extend(every(&points[body..], MOST_POINTS / 3));
    few
}

/// About `most` of the points, including the first and the last.
fn every<T: Copy>(points: &[T], most: usize) -> Vec<T> {
    let step = points.len().div_ceil(most).max(1);
    let last = points.len().saturating_sub(1);
    points
        .iter()
        .enumerate()
        .filter(|(place, _)| place % step == 0 || *place == last)
        .map(|(_, point)| *point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Distribution {
        let count = values.len() as f64;
        let points = values.iter().enumerate().map(|(i, value)| (*value, (i + 1) as f64 / count)).collect();
        Distribution { points, ..Distribution::default() }
    }

    #[test]
    fn curves_keep_their_ends_and_their_tail() {
        let points: Vec<(f64, f64)> = (1..=5000).map(|n| (f64::from(n), f64::from(n) / 5000.0)).collect();
        let few = thinned(&points);
        assert!(few.len() <= MOST_POINTS + 2, "{}", few.len());
        assert_eq!((few[0], few[few.len() - 1]), (points[0], points[4999]));
        assert!(few.iter().filter(|(_, share)| *share >= 0.99).count() > 20);
        assert_eq!(thinned(&[]), []);
    }

    /// At 2 ms, one run has half of its samples at or below and the other all of them: three quarters on average.
    #[test]
    fn runs_weigh_the_same() {
        let curve = Curve::of(&[&of(&[1.0, 9.0]), &of(&[2.0, 2.0, 2.0, 2.0])]).unwrap();
        assert_eq!(curve.values, [1.0, 2.0, 9.0]);
        assert_eq!(curve.shares.mean, [0.25, 0.75, 1.0]);
        assert_eq!(curve.above.mean, [0.75, 0.25, 0.0]);
        assert_eq!((curve.quantile(0.5), curve.quantile(0.99)), (2.0, 9.0));
    }

    #[test]
    fn a_queue_in_which_nothing_waits_has_no_curve() {
        assert!(Curve::of(&[&of(&[0.0, 0.0])]).is_none());
        assert!(Curve::of(&[]).is_none());
    }
}
