//! Distributions of times.

use aqmkit_base::Duration;
use hdrhistogram::Histogram;

use crate::output::{Distribution, Summary};

/// Nanoseconds in a histogram's unit: a tenth of a microsecond.
const UNIT: u64 = 100;

/// A distribution of times, to one part in a thousand.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Times::new()
    }
}

impl Times {
    /// No samples. It grows to the longest time it is given, and allocates nothing after that.
    #[must_use]
    pub fn new() -> Self {
        // Three digits are within the five that the library allows.
        Times(Histogram::new(3).unwrap_or_else(|_| unreachable!()))
    }

    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        // A histogram that resizes itself takes every value.
        let _ = self.0.record(time.as_nanos() / UNIT);
    }

    /// How many samples there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// In milliseconds; nothing without samples.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        if self.0.is_empty() {
            return None;
        }
        let ms = |units: f64| units * (UNIT as f64 / 1e6);
        let quantile = |q| ms(self.0.value_at_quantile(q) as f64);
        Some(Summary {
            mean: ms(self.0.mean()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: ms(self.0.max() as f64),
        })
    }

    /// Points of the cumulative distribution: (milliseconds, share at or below), at most `steps` over the body and about 100 over
    /// the last hundredth.
    #[must_use]
    pub fn cumulative(&self, steps: u32) -> Vec<(f64, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let ms = |v: u64| v as f64 * (UNIT as f64 / 1e6);
        let values = self.0.value_at_quantiles(Distribution::shares(steps));
        Distribution::points(steps, values.map(ms), ms(self.0.max()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_without_samples_says_nothing() {
        let mut times = Times::default();
        assert_eq!((times.summary(), times.cumulative(100)), (None, Vec::new()));
        times.record(Duration::from_millis(2));
        let summary = times.summary().unwrap();
        assert!((summary.mean - 2.0).abs() < 0.01 && (summary.max - 2.0).abs() < 0.01, "{summary:?}");
    }
}
