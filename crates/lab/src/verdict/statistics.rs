//! Means and spreads of a few values.

/// The mean of those that are numbers; NaN of none.
pub(super) fn mean_of_known(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    known.iter().sum::<f64>() / known.len() as f64
}

/// The arithmetic mean; NaN of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample; none of fewer than two.
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let m = mean(values);
    let squares: f64 = values.iter().map(|x| (x - m).powi(2)).sum();
    (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_is_of_a_sample() {
        assert_eq!(deviation(&[1.0]), None);
        assert_eq!(deviation(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
    }
}
