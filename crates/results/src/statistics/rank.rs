//! Rank correlation.

use super::mean;

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
}
