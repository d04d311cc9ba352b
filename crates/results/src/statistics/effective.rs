//! Effective sample size: the number of independent values with the same information.
//!
//! The mean of correlated values, or of values whose sum is dominated by a few, is less precise than their number
//! suggests.

use super::mean;

/// Effective sample size of a stationary time series, `n / (1 + 2 * sum of the autocorrelations)`. The sum is truncated
/// where two successive autocorrelations no longer have a positive sum (initial positive sequence; Geyer, "Practical
/// Markov chain Monte Carlo", Statistical Science 7(4), 1992). At most the number of values; equal to it for a constant
/// series.
#[must_use]
pub fn of_series(values: &[f64]) -> f64 {
    let n = values.len();
    let m = mean(values);
    let at = |lag: usize| -> f64 { values.iter().zip(&values[lag.min(n)..]).map(|(a, b)| (a - m) * (b - m)).sum() };
    let variance = at(0);
    if n < 4 || variance <= 0.0 {
        return n as f64;
    }
    let mut sum = 0.0;
    for lag in (1..n / 2).step_by(2) {
        let pair = (at(lag) + at(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        sum += pair;
    }
    (n as f64 / (1.0 + 2.0 * sum)).min(n as f64)
}

/// Kish's effective sample size of a sum, `(sum x)^2 / sum x^2` (Kish, Survey Sampling, 1965, section 11.7). With a
/// heavy tail it stays small for any number of values, because a few large ones determine the mean.
#[must_use]
pub fn of_sum(values: &[f64]) -> f64 {
    of_counted(values.iter().map(|value| (*value, 1)))
}

/// Like [`of_sum`], for values with numbers of occurrences.
pub fn of_counted(values: impl Iterator<Item = (f64, u64)>) -> f64 {
    let (mut sum, mut squares, mut all) = (0.0, 0.0, 0);
    for (value, times) in values {
        sum += value * times as f64;
        squares += value * value * times as f64;
        all += times;
    }
    if squares > 0.0 { sum * sum / squares } else { all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An autoregressive series with coefficient `phi`, whose effective size is `n (1 - phi) / (1 + phi)`.
    fn autoregressive(phi: f64, n: usize) -> Vec<f64> {
        let mut state = 1_u64;
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                // A linear congruential generator (Knuth's MMIX constants); its upper bits give a uniform number.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                x = phi * x + (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
                x
            })
            .collect()
    }

    #[test]
    fn correlation_costs_what_theory_says() {
        for phi in [0.0, 0.5, 0.9] {
            let n = 20_000;
            let expected = n as f64 * (1.0 - phi) / (1.0 + phi);
            let found = of_series(&autoregressive(phi, n));
            assert!((found / expected - 1.0).abs() < 0.2, "phi {phi}: {found} beside {expected}");
        }
        assert_eq!(of_series(&[3.0; 50]), 50.0);
        assert_eq!(of_series(&[]), 0.0);
    }

    #[test]
    fn a_few_large_values_count_alone() {
        assert_eq!(of_sum(&[2.0; 10]), 10.0);
        let mut heavy = vec![0.001; 1000];
        heavy.push(1000.0);
        assert!(of_sum(&heavy) < 1.01, "{}", of_sum(&heavy));
        assert_eq!(of_sum(&[]), 0.0);
    }
}
