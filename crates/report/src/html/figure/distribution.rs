//! The distribution of a metric over runs with different seeds.

use aqmkit_measure::output::Distribution;
use aqmkit_results::statistics::mean;

use super::band::Band;
use crate::format::{rounded, significant};

/// Maximum number of points of a curve.
const MOST_POINTS: usize = 120;

/// Maximum with a band, which doubles the number of points.
const MOST_WITH_BAND: usize = 50;

/// Before a curve with a band is thinned out, this many values of all runs are considered.
const MOST_CANDIDATES: usize = 400;

/// CDF and CCDF at some values: means over the runs, with intervals.
pub(super) struct Curve {
    /// 1st, 50th, 90th and 99th percentile, as means over the runs.
    percentiles: [f64; 4],
    pub(super) values: Vec<f64>,
    pub(super) shares: Band,
    pub(super) above: Band,
}

impl Curve {
    /// `None` if no run has a positive value.
    pub(super) fn of(all: &[&Distribution]) -> Option<Curve> {
        let points = || all.iter().flat_map(|found| thinned(&found.points));
        if !points().any(|(value, _)| value > 0.0) {
            return None;
        }
        let mut values: Vec<f64> = points().map(|(value, _)| rounded(value)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if all.len() > 1 {
            // The runs have different values: take as many of all together as one run has.
            let candidates = every(&values, MOST_CANDIDATES);
            let mean =
                |value: &f64| all.iter().map(|found| share(&found.points, *value)).sum::<f64>() / all.len() as f64;
            let curve: Vec<(f64, f64)> = candidates.iter().map(|value| (*value, mean(value))).collect();
            values = thinned_to(&curve, MOST_WITH_BAND).into_iter().map(|(value, _)| value).collect();
        }
        let shares: Vec<Vec<f64>> =
            all.iter().map(|found| values.iter().map(|value| share(&found.points, *value)).collect()).collect();
        let above: Vec<Vec<f64>> = shares.iter().map(|run| run.iter().map(|share| 1.0 - share).collect()).collect();
        // Zero has no position on a logarithmic axis.
        let rarest = above.iter().flatten().copied().filter(|share| *share > 0.0).fold(1.0, f64::min);
        let percentile = |share: f64| mean(&all.iter().map(|found| quantile(&found.points, share)).collect::<Vec<_>>());
        let percentiles = [0.01, 0.5, 0.9, 0.99].map(percentile);
        Some(Curve {
            percentiles,
            values,
            shares: Band::of(&shares, (0.0, 1.0)),
            above: Band::of(&above, (rarest, 1.0)),
        })
    }

    /// The 1st percentile.
    pub(super) fn low(&self) -> f64 {
        self.percentiles[0]
    }

    /// Describes median, 90th and 99th percentile in words.
    pub(super) fn words(&self, name: &str) -> String {
        let [_, median, most, nearly_all] = self.percentiles.map(|value| significant(value, 3));
        format!("{name}: median {median} ms, 90 % below {most} ms, 99 % below {nearly_all} ms")
    }
}

/// The quantile function.
fn quantile(points: &[(f64, f64)], share: f64) -> f64 {
    let place = points.partition_point(|(_, below)| *below < share).min(points.len().saturating_sub(1));
    points.get(place).map_or(f64::NAN, |point| point.0)
}

/// The share of samples up to `value`.
fn share(points: &[(f64, f64)], value: f64) -> f64 {
    let place = points.partition_point(|(other, _)| rounded(*other) <= value);
    place.checked_sub(1).map_or(0.0, |last| points[last].1)
}

/// Thins out the points of a curve evenly, but keeps those of the last hundredth as far as possible.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    thinned_to(points, MOST_POINTS)
}

fn thinned_to(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let body = points.partition_point(|(_, share)| *share < 0.99);
    let mut few = every(&points[..body], most / 3 * 2);
    few.extend(every(&points[body..], most / 3));
    few
}

/// About `most` points at equal steps, including the first and the last.
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

    /// At 2 ms one run has half of its samples at or below and the other all of them: three quarters on average.
    #[test]
    fn runs_weigh_the_same() {
        let curve = Curve::of(&[&of(&[1.0, 9.0]), &of(&[2.0, 2.0, 2.0, 2.0])]).unwrap();
        assert_eq!(curve.values, [1.0, 2.0, 9.0]);
        assert_eq!(curve.shares.mean, [0.25, 0.75, 1.0]);
        assert_eq!(curve.above.mean, [0.75, 0.25, 0.0]);
        // Medians of 1 and 2 ms, 99th percentiles of 9 and 2 ms.
        assert_eq!(curve.words("red"), "red: median 1.5 ms, 90 % below 5.5 ms, 99 % below 5.5 ms");
    }

    #[test]
    fn a_queue_in_which_nothing_waits_has_no_curve() {
        assert!(Curve::of(&[&of(&[0.0, 0.0])]).is_none());
        assert!(Curve::of(&[]).is_none());
    }
}
