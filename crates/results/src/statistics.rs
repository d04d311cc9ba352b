//! Statistics of runs: means, intervals and differences are computed only here.
//!
//! | module | holds |
//! |---|---|
//! | `interval` | [`Stat`]: mean, deviation and 95 % interval over independent runs; [`paired`] and [`welch`] differences |
//! | [`transient`] | where the start-up transient of a time series ends (MSER-5) |
//! | [`effective`] | effective sample size of correlated or heavy-tailed values |
//! | `rank` | Spearman's correlation |

pub mod effective;
mod interval;
mod rank;
pub mod transient;

pub use interval::{Difference, Interval, LEVEL, Stat, paired, student, welch};
pub(crate) use rank::rank_correlation;

/// The mean of the values that are not NaN; NaN if there are none.
pub fn mean_of_known(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

/// The arithmetic mean; NaN of an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample; `None` for fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let n = values.len();
    // The mean of equal values is rounded, and the difference would pass for a spread.
    if n > 1 && values.iter().all(|x| *x == values[0]) {
        return Some(0.0);
    }
    let m = mean(values);
    let squares: f64 = values.iter().map(|x| (x - m).powi(2)).sum();
    (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_no_deviation() {
        assert_ne!(mean(&[0.1; 10]), 0.1);
        assert_eq!(deviation(&[0.1; 10]), Some(0.0));
    }

    #[test]
    fn deviation_is_of_a_sample() {
        assert_eq!(deviation(&[1.0]), None);
        assert_eq!(deviation(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
    }
}
