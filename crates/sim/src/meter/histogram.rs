//! Distributions of times.

use aqmkit_base::Duration;
use hdrhistogram::Histogram;

use crate::output::{Distribution, Summary};

/// Nanoseconds in a histogram's unit: a tenth of a microsecond.
const UNIT: u64 = 100;

/// A distribution of times, to one part in a thousand.
#[derive(Clone, Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Times {
    /// No samples. It grows to the longest time it is given, and allocates nothing after that.
    pub(crate) fn new() -> Self {
        // Three digits are within the five that the library allows.
        Times(Histogram::new(3).unwrap_or_else(|_| unreachable!()))
    }

    pub(crate) fn record(&mut self, time: Duration) {
        // A histogram that resizes itself takes every value.
        let _ = self.0.record(time.as_nanos() / UNIT);
    }

    /// In milliseconds; nothing without samples.
    pub(crate) fn summary(&self) -> Option<Summary> {
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
    pub(crate) fn cumulative(&self, steps: u32) -> Vec<(f64, f64)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let ms = |v: u64| v as f64 * (UNIT as f64 / 1e6);
        Distribution::points(steps, |q| ms(self.0.value_at_quantile(q)), ms(self.0.max()))
    }
}
