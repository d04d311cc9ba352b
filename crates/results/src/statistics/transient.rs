//! The end of the start-up transient of a time series, by MSER-5.
//!
//! MSER (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997)
//! drops the first `d` values for which the squared standard error of the mean of the rest,
//! `sum((x_i - mean)^2) / (n - d)^2`, is least. MSER-5 (White, Cobb and Spratt, Winter Simulation Conference 2000) takes
//! means of five values at a time. Among the methods that need no setting it was judged best in the survey of Hoad,
//! Robinson and Davies ("Automating warm-up length estimation", Journal of the Operational Research Society 61, 2010),
//! which also gives the rule that a minimum in the second half means that the series is too short to tell.

/// Number of values per batch, which gives MSER-5 its name.
const BATCH: usize = 5;

/// Minimum number of batches for a result.
const FEWEST: usize = 10;

/// End of a start-up transient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transient {
    /// It ends after this number of values; 0 if there is no transient.
    Ends(usize),
    /// It does not end in the first half of the series, so that the series is too short to tell.
    Beyond,
}

/// The end of the start-up transient of equally spaced values; `None` for fewer than 50 values.
#[must_use]
pub fn mser5(values: &[f64]) -> Option<Transient> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(super::mean).collect();
    let n = batches.len();
    if n < FEWEST {
        return None;
    }
    // Sums are accumulated from the end, so that each truncation takes one step. Values are relative to the last batch,
    // because the difference of two large squares would lose precision.
    let base = batches[n - 1];
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let x = batches[d] - base;
        sum += x;
        squares += x * x;
        let left = (n - d) as f64;
        // Means of a few batches are pure noise: keep at least five.
        if n - d >= BATCH {
            let error = (squares - sum * sum / left).max(0.0) / (left * left);
            if error <= best.0 {
                best = (error, d);
            }
        }
    }
    Some(if 2 * best.1 > n { Transient::Beyond } else { Transient::Ends(best.1 * BATCH) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that vary by ±1 in a fixed pattern without a trend.
    fn noise(i: usize) -> f64 {
        [0.3, -0.8, 1.0, -0.1, 0.6, -1.0, 0.2][i % 7]
    }

    #[test]
    fn a_ramp_is_cut_off() {
        let values: Vec<f64> =
            (0..600).map(|i| if i < 100 { 10.0 * (100 - i) as f64 } else { 0.0 } + noise(i)).collect();
        let Some(Transient::Ends(end)) = mser5(&values) else { panic!("{:?}", mser5(&values)) };
        assert!((90..=110).contains(&end), "{end}");
    }

    #[test]
    fn a_steady_series_keeps_nearly_all() {
        let values: Vec<f64> = (0..600).map(noise).collect();
        let Some(Transient::Ends(end)) = mser5(&values) else { panic!("{:?}", mser5(&values)) };
        assert!(end <= 60, "{end}");
        assert_eq!(mser5(&[4.0; 100]), Some(Transient::Ends(0)), "nothing varies");
    }

    #[test]
    fn a_trend_to_the_end_is_beyond_the_series() {
        let values: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(mser5(&values), Some(Transient::Beyond));
        assert_eq!(mser5(&values[..49]), None);
    }

    #[test]
    fn large_values_do_not_hide_small_ones() {
        let values: Vec<f64> = (0..600).map(|i| 1e12 + if i < 100 { 1e4 } else { noise(i) }).collect();
        assert_eq!(mser5(&values), Some(Transient::Ends(100)));
    }
}
