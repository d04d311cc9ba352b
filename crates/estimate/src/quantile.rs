//! Quantiles and intervals. Means have Student's interval (`aqmkit_results::statistics`).

use aqmkit_results::statistics::Stat;
use serde::{Deserialize, Serialize};

/// An estimated value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The estimate.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Value {
    /// Multiplies value and interval.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Value {
        Value { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// The mean of values and its interval by Student's distribution; a single value has none, and gets `alone` as half the width.
    pub(crate) fn of_mean(values: &[f64], alone: f64) -> Option<Value> {
        let stat = Stat::of(values)?;
        let half = stat.half_width().unwrap_or(alone);
        Some(Value { value: stat.mean, low: stat.mean - half, high: stat.mean + half })
    }

    /// A quantile and its interval by order statistics, which assumes no distribution: the number of values below the quantile is binomial.
    pub(crate) fn of_quantile(values: &[f64], q: f64) -> Option<Value> {
        let sorted = sorted(values);
        let value = at(&sorted, q)?;
        let n = sorted.len() as f64;
        // The normal approximation of the binomial distribution, in ranks.
        let spread = 1.96 * (n * q * (1.0 - q)).sqrt();
        let rank = |place: f64| sorted[place.clamp(0.0, n - 1.0) as usize];
        let (low, high) = (rank((n * q - spread).floor() - 1.0), rank((n * q + spread).ceil()));
        Some(Value { value, low: low.min(value), high: high.max(value) })
    }
}

pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A quantile of sorted values, interpolated.
fn at(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

/// A quantile, interpolated; `None` of no values.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    at(&sorted(values), q)
}

/// The median; `None` of no values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For 100 values, the 95 % interval of the median is from the 40th to the 61st (tables of the binomial distribution).
    #[test]
    fn a_quantile_has_the_interval_of_its_ranks() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let median = Value::of_quantile(&values, 0.5).unwrap();
        assert_eq!(median.value, 50.5);
        assert!((39.0..=41.0).contains(&median.low) && (60.0..=62.0).contains(&median.high), "{median:?}");
        let low = Value::of_quantile(&values, 0.02).unwrap();
        assert!(low.low >= 1.0 && low.high <= 8.0, "{low:?}");
        assert_eq!(Value::of_quantile(&[], 0.5), None);
        assert_eq!(Value::of_quantile(&[7.0], 0.9), Some(Value { value: 7.0, low: 7.0, high: 7.0 }));
    }

    #[test]
    fn a_mean_of_one_value_has_the_given_width() {
        assert_eq!(Value::of_mean(&[5.0], 1.0), Some(Value { value: 5.0, low: 4.0, high: 6.0 }));
        assert_eq!(Value::of_mean(&[], 1.0), None);
    }
}
