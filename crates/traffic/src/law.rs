//! Distributions that a model's parameters can select, by mean and shape, like the random variables of ns-2.

use aqmkit_base::{Rng, dist};
use serde::{Deserialize, Serialize};

use super::model::{ParamError, in_range};

/// A family of distributions with a given mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Always the mean.
    Constant,
    /// Exponential.
    Exponential,
    /// Pareto of the first kind; its minimum is `mean (shape - 1) / shape`.
    Pareto,
    /// Pareto of the second kind (Lomax); its minimum is zero.
    #[serde(rename = "pareto-ii")]
    ParetoII,
}

impl Law {
    pub(crate) fn draw(self, mean: f64, shape: f64, rng: &mut Rng) -> f64 {
        match self {
            Law::Constant => mean,
            Law::Exponential => dist::exponential(rng, mean),
            Law::Pareto => dist::pareto(rng, mean * (shape - 1.0) / shape, shape),
            Law::ParetoII => mean * (shape - 1.0) * (libm::pow(rng.uniform_open(), -1.0 / shape) - 1.0),
        }
    }
}

/// Checks that a Pareto tail exponent gives a finite mean and a heavy tail.
pub(crate) fn check_shape(field: &str, shape: f64) -> Result<(), ParamError> {
    in_range(field, shape, 1.01, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_law_has_the_mean_asked_for() {
        let mut rng = Rng::stream(1, "law");
        for law in [Law::Constant, Law::Exponential, Law::Pareto, Law::ParetoII] {
            let n = 400_000;
            let mean = (0..n).map(|_| law.draw(24.0, 3.0, &mut rng)).sum::<f64>() / f64::from(n);
            assert!((mean / 24.0 - 1.0).abs() < 0.01, "{law:?}: {mean}");
        }
    }

    #[test]
    fn the_second_kind_of_pareto_begins_at_zero_and_has_its_median() {
        // P(X > x) = (1 + x / s)^-shape with s = mean (shape - 1): median s (2^(1 / shape) - 1).
        let mut rng = Rng::stream(2, "law");
        let mut draws: Vec<f64> = (0..100_001).map(|_| Law::ParetoII.draw(24.0, 1.2, &mut rng)).collect();
        draws.sort_by(f64::total_cmp);
        let median = 4.8 * (libm::pow(2.0, 1.0 / 1.2) - 1.0);
        assert!(draws[0] < 0.01 && (draws[50_000] / median - 1.0).abs() < 0.02, "{}", draws[50_000]);
    }
}
