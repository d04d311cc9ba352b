//! Distributions of times.

use aqmkit_base::Duration;
use hdrhistogram::Histogram;

use crate::output::{Distribution, Summary};

/// Resolution of the histogram in nanoseconds: a tenth of a microsecond.
const UNIT: u64 = 100;

/// log2 of the number of bins between a power of two and the next.
const FINE_BITS: u32 = 10;
/// Below this number of units, each value has its own bin.
const EXACT: u64 = 2 << FINE_BITS;

/// A distribution of times, with a precision of 0.1 %.
///
/// The bins are those of an [`Histogram`] with three digits. Recording a sample is the most frequent operation of all
/// measurements; here it takes a quarter of the instructions of the library's. Everything else is computed by the
/// library.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Sample counts per bin, up to the last non-empty one.
    bins: Vec<u64>,
}

/// Index of the bin of a value.
#[inline]
fn bin(value: u64) -> usize {
    let shift = (value | (EXACT - 1)).ilog2() - FINE_BITS;
    ((u64::from(shift) << FINE_BITS) + (value >> shift)) as usize
}

/// Lowest value in a bin.
fn least(bin: usize) -> u64 {
    let bin = bin as u64;
    match (bin >> FINE_BITS).checked_sub(1) {
        None => bin,
        Some(shift) => (bin - (shift << FINE_BITS)) << shift,
    }
}

impl Times {
    /// An empty distribution. It allocates memory only for times longer than all earlier ones.
    #[must_use]
    pub fn new() -> Self {
        Times::default()
    }

    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        let bin = bin(time.as_nanos() / UNIT);
        match self.bins.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.record_longest(bin),
        }
    }

    #[cold]
    #[inline(never)]
    fn record_longest(&mut self, bin: usize) {
        self.bins.resize(bin + 1, 0);
        self.bins[bin] = 1;
    }

    /// Adds the samples of another distribution.
    pub fn add(&mut self, other: &Times) {
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, count)| *sum += count);
    }

    /// The same samples in a `Histogram`, with a precision of 0.1 %.
    fn histogram(&self) -> Histogram<u64> {
        // Three digits are within the library's limit of five, and an auto-resizing histogram accepts every value.
        let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!());
        for (bin, &count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            let _ = histogram.record_n(least(bin), count);
        }
        histogram
    }

    /// The number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Number of samples above this time, with a precision of 0.1 %.
    #[must_use]
    pub fn count_above(&self, time: Duration) -> u64 {
        self.bins.iter().skip(bin(time.as_nanos() / UNIT) + 1).sum()
    }

    /// The summary in milliseconds; `None` without samples.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let histogram = self.histogram();
        if histogram.is_empty() {
            return None;
        }
        let ms = |units: f64| units * (UNIT as f64 / 1e6);
        let quantile = |q| ms(histogram.value_at_quantile(q) as f64);
        Some(Summary {
            mean: ms(histogram.mean()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: ms(histogram.max() as f64),
        })
    }

    /// Points of the CDF: (milliseconds, share at or below), at most `steps` over the body and about 100 over the last
    /// hundredth.
    #[must_use]
    pub fn cumulative(&self, steps: u32) -> Vec<(f64, f64)> {
        let histogram = self.histogram();
        if histogram.is_empty() {
            return Vec::new();
        }
        let ms = |v: u64| v as f64 * (UNIT as f64 / 1e6);
        let values = histogram.value_at_quantiles(Distribution::shares(steps));
        Distribution::points(steps, values.map(ms), ms(histogram.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bins match the library's: their edges are contiguous, and its histogram does not distinguish values within
    /// one.
    #[test]
    fn bins_are_those_of_the_library() {
        let library = Histogram::<u64>::new(3).unwrap();
        for n in (0..4 * EXACT as usize).chain((20_000..55_000).step_by(7)) {
            let (first, next) = (least(n), least(n + 1));
            assert_eq!((bin(first), bin(next - 1), bin(next)), (n, n, n + 1));
            assert_eq!((library.lowest_equivalent(next - 1), library.next_non_equivalent(first)), (first, next));
        }
        assert_eq!(least(bin(u64::MAX)), library.lowest_equivalent(u64::MAX));
    }

    #[test]
    fn samples_above_a_time_are_counted() {
        let mut times = Times::new();
        [10, 999, 1000, 1010, 5000].map(Duration::from_micros).iter().for_each(|time| times.record(*time));
        let above = |us| times.count_above(Duration::from_micros(us));
        assert_eq!([above(0), above(10), above(1000), above(4900), above(5000), above(90_000)], [5, 4, 2, 1, 0, 0]);
    }

    #[test]
    fn two_distributions_together_are_that_of_all_samples() {
        let (mut all, mut short, mut long) = (Times::new(), Times::new(), Times::new());
        for us in 1..2000 {
            let time = Duration::from_micros(us * us);
            all.record(time);
            if us % 3 == 0 { short.record(time) } else { long.record(time) }
        }
        short.add(&long);
        assert_eq!((short.count(), short.summary()), (1999, all.summary()));
        assert_eq!(short.cumulative(100), all.cumulative(100));
    }

    #[test]
    fn a_distribution_without_samples_says_nothing() {
        let mut times = Times::default();
        assert_eq!((times.summary(), times.cumulative(100)), (None, Vec::new()));
        times.record(Duration::from_millis(2));
        let summary = times.summary().unwrap();
        assert!((summary.mean - 2.0).abs() < 0.01 && (summary.max - 2.0).abs() < 0.01, "{summary:?}");
    }
}
