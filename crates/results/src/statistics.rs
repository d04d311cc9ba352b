//! Means and spreads of a few values.

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
    let m = mean(values);
    let squares: f64 = values.iter().map(|x| (x - m).powi(2)).sum();
    (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
}

/// Spearman's rank correlation of pairs; equal values share the mean of their ranks. `None` if all values on either
/// side are equal.
pub(crate) fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let (ma, mb) = (mean(&a), mean(&b));
    let product: f64 = a.iter().zip(&b).map(|(x, y)| (x - ma) * (y - mb)).sum();
    let square = |ranks: &[f64], m: f64| ranks.iter().map(|x| (x - m).powi(2)).sum::<f64>();
    let both = (square(&a, ma) * square(&b, mb)).sqrt();
    (both > 0.0).then(|| product / both)
}

/// The rank of each value, from 1.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |x: f64| values.iter().filter(|y| **y < x).count() as f64;
    let equal = |x: f64| values.iter().filter(|y| **y == x).count() as f64;
    values.iter().map(|&x| below(x) + (equal(x) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_whatever_the_values() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 100.0, 1000.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), Some(-1.0));
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), None);
        assert_eq!(ranks(&[7.0, 3.0, 7.0]), [2.5, 1.0, 2.5]);
        // By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
        let tied = rank_correlation(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((tied - 4.5 / 22.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn deviation_is_of_a_sample() {
        assert_eq!(deviation(&[1.0]), None);
        assert_eq!(deviation(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
    }
}
