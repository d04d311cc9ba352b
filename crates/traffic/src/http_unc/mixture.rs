//! Mixtures of lognormals and a Pareto tail, cut at a common maximum.

use std::f64::consts::SQRT_2;

use super::super::empirical::Empirical;

/// One component of a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// A lognormal: median, and standard deviation of ln(x).
    Lognormal { weight: f64, median: f64, sigma: f64 },
    /// A Pareto distribution: minimum, and tail exponent.
    Pareto { weight: f64, low: f64, shape: f64 },
}

/// The components and the maximum. Weights are relative to their sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    pub(super) parts: Vec<Part>,
    pub(super) max: f64,
}

impl Part {
    pub(super) fn weight(self) -> f64 {
        match self {
            Part::Lognormal { weight, .. } | Part::Pareto { weight, .. } => weight,
        }
    }

    /// The component with its weight multiplied by `factor`.
    pub(super) fn scaled(self, factor: f64) -> Part {
        match self {
            Part::Lognormal { weight, median, sigma } => Part::Lognormal { weight: weight * factor, median, sigma },
            Part::Pareto { weight, low, shape } => Part::Pareto { weight: weight * factor, low, shape },
        }
    }

    /// P(X > x) of the component, before the cut.
    fn above(self, x: f64) -> f64 {
        match self {
            Part::Lognormal { median, sigma, .. } => 0.5 * libm::erfc(libm::log(x / median) / sigma / SQRT_2),
            Part::Pareto { low, .. } if x <= low => 1.0,
            Part::Pareto { low, shape, .. } => libm::pow(low / x, shape),
        }
    }
}

/// Step between the table's probabilities below [`FINE`].
const STEP: f64 = 0.002;
/// Above this probability the steps are logarithmic in 1 - p.
const FINE: f64 = 0.99;
/// Steps per decade of 1 - p, and number of decades; the last step ends at the maximum.
const PER_DECADE: u32 = 40;
const DECADES: u32 = 7;

impl Mixture {
    /// P(X > x), for `x` up to the maximum.
    fn above(&self, x: f64) -> f64 {
        let cut = |part: &Part| {
            let beyond = part.above(self.max);
            part.weight() * (part.above(x) - beyond) / (1.0 - beyond)
        };
        self.parts.iter().map(cut).sum::<f64>() / self.parts.iter().map(|part| part.weight()).sum::<f64>()
    }

    /// The value that is exceeded with probability `share`.
    fn value_above(&self, share: f64) -> f64 {
        let (mut low, mut high) = (libm::log(1e-3), libm::log(self.max));
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.above(libm::exp(middle)) > share { low = middle } else { high = middle }
        }
        libm::exp(low)
    }

    /// The mixture as a table of quantiles, so that a draw takes one random number.
    pub(super) fn table(&self) -> Empirical {
        let even = (FINE / STEP) as u32;
        // The 0 quantile of a lognormal is 0, which has no logarithm: use the quantile of half a step.
        let body = (0..even).map(|i| f64::from(i) * STEP).map(|p| (p, self.value_above(1.0 - p.max(STEP / 2.0))));
        let tail = (0..PER_DECADE * DECADES).map(|i| {
            let above = (1.0 - FINE) * libm::pow(10.0, -f64::from(i) / f64::from(PER_DECADE));
            (1.0 - above, self.value_above(above))
        });
        let points: Vec<(f64, f64)> = body.chain(tail).chain([(1.0, self.max)]).collect();
        Empirical::from_quantiles(&points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_quantiles_of_its_components() {
        // Normal quantiles: 0.84162 at 0.8, -0.67449 at 0.25, 3.71902 at 0.9999.
        let one = Part::Lognormal { weight: 3.0, median: 900.0, sigma: 1.5 };
        let table = Mixture { parts: vec![one], max: 1e12 }.table();
        for (p, z) in [(0.8, 0.841_621), (0.25, -0.674_490), (0.9999, 3.719_016)] {
            assert!((table.quantile(p) / 900.0 / libm::exp(1.5 * z) - 1.0).abs() < 2e-3, "{p}");
        }
        assert_eq!(table.max(), 1e12);
        // A Pareto distribution with exponent 1 and minimum 10, cut at 101 times the minimum.
        let tail = Part::Pareto { weight: 1.0, low: 10.0, shape: 1.0 };
        let pareto = Mixture { parts: vec![tail], max: 1010.0 }.table();
        // P(X > x) = (10 / x - 1 / 101) / (1 - 1 / 101), which is 0.1 at 10 / (0.1 * 100 / 101 + 1 / 101) = 91.818.
        assert!((pareto.quantile(0.9) / 91.818 - 1.0).abs() < 1e-3, "{}", pareto.quantile(0.9));
        // The mean of this cut Pareto distribution: ln(101) 10 / (1 - 1 / 101).
        assert!((pareto.mean() / (libm::log(101.0) * 10.0 * 1.01) - 1.0).abs() < 2e-3, "{}", pareto.mean());
    }

    #[test]
    fn components_add_by_their_weights() {
        let low = Part::Lognormal { weight: 1.0, median: 1.0, sigma: 0.1 };
        let high = Part::Lognormal { weight: 3.0, median: 1000.0, sigma: 0.1 };
        let table = Mixture { parts: vec![low, high], max: 1e6 }.table();
        assert!(table.quantile(0.24) < 2.0 && table.quantile(0.26) > 500.0);
        // The median is where one third of the second component lies below: z = -0.43073.
        assert!((table.quantile(0.5) / 1000.0 / libm::exp(-0.043_073) - 1.0).abs() < 1e-3);
        let scaled = Mixture { parts: vec![low.scaled(2.0), high.scaled(2.0)], max: 1e6 }.table();
        assert!((scaled.quantile(0.5) / table.quantile(0.5) - 1.0).abs() < 1e-9);
    }
}
