//! Distributions, drawn by inverse transform.
//!
//! The logarithms and powers come from `libm`, not from the platform's C library, so that a seed gives
//! the same run on every machine.

use crate::Rng;

/// A draw from the exponential distribution with this mean.
pub fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * libm::log(rng.uniform_open())
}

/// A draw from the Pareto distribution with minimum `scale` and tail exponent `shape`
/// (mean `scale * shape / (shape - 1)` for `shape > 1`).
pub fn pareto(rng: &mut Rng, scale: f64, shape: f64) -> f64 {
    scale * libm::pow(rng.uniform_open(), -1.0 / shape)
}

/// A draw from the standard normal distribution (Box and Muller 1958; the second value is discarded, so that each draw
/// takes two numbers of the stream).
pub fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(rng.uniform_open()));
    radius * libm::cos(std::f64::consts::TAU * rng.uniform())
}

/// A draw from the lognormal distribution with this mean and coefficient of variation (standard
/// deviation over mean).
pub fn lognormal(rng: &mut Rng, mean: f64, cv: f64) -> f64 {
    let sigma2 = libm::log(1.0 + cv * cv);
    libm::exp(libm::log(mean) - sigma2 / 2.0 + libm::sqrt(sigma2) * normal(rng))
}

/// A draw from the uniform distribution on `[low, high)`.
pub fn uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.uniform()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_cv(mut draw: impl FnMut(&mut Rng) -> f64) -> (f64, f64) {
        let mut rng = Rng::stream(11, "dist");
        let n = 200_000;
        let xs: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
        let mean = xs.iter().sum::<f64>() / f64::from(n);
        let var = xs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        (mean, var.sqrt() / mean)
    }

    #[test]
    fn moments_are_as_asked() {
        let near = |got: (f64, f64), mean: f64, cv: f64| {
            assert!((got.0 / mean - 1.0).abs() < 0.02 && (got.1 - cv).abs() < 0.02, "{got:?} is not {mean} {cv}");
        };
        near(mean_and_cv(|r| exponential(r, 3.0)), 3.0, 1.0);
        near(mean_and_cv(|r| lognormal(r, 6916.0, 0.4)), 6916.0, 0.4);
        near(mean_and_cv(|r| pareto(r, 1.0, 5.0)), 1.25, 0.2582);
        near(mean_and_cv(|r| uniform(r, 10.0, 150.0)), 80.0, 0.5052);
    }
}
