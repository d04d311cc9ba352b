//! Sizes of the mix's HTTP responses: a lognormal body and a Pareto tail, fitted to le03 and le04.
//!
//! The fit uses three published properties: a median below 1000 bytes (le03), about 90 % of the responses up to 10 000
//! bytes, and 25 % of the bytes in responses longer than a megabyte (le04, figures 1 and 2). Others check it.

use super::super::empirical::Empirical;

/// Median of the body in bytes. Published: below 1000.
const MEDIAN: f64 = 900.0;
/// Standard deviation of ln(size). With the median it puts the 90 % point at 10 270 bytes. Published: about 90 % of the
/// responses have 10 000 bytes or less.
const SIGMA: f64 = 1.9;
/// Quantile at which the body ends and the tail begins.
const BODY: f64 = 0.9;
/// Exponent of the tail. Published: responses longer than a megabyte hold 25 % of the bytes.
const SHAPE: f64 = 1.15;
/// Longest response in bytes, a choice: without a bound the mean varies too much from run to run.
const LONGEST: f64 = 50e6;
/// Points at which the body's quantile function is tabulated.
const STEPS: u32 = 450;

/// The distribution of response sizes in bytes: a lognormal body and a Pareto tail.
#[must_use]
pub(super) fn responses() -> Empirical {
    let point = |i: u32| {
        // The 0 quantile of a lognormal is 0, which has no logarithm: use the quantile of half a step.
        let p = BODY * f64::from(i) / f64::from(STEPS);
        (p, lognormal_quantile(p.max(BODY / f64::from(STEPS) / 2.0)))
    };
    let body: Vec<(f64, f64)> = (0..=STEPS).map(point).collect();
    Empirical::with_tail_shape(&body, LONGEST, SHAPE)
}

/// Quantile function of the lognormal body.
fn lognormal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..60 {
        let z = f64::midpoint(low, high);
        let below = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        if below < p { low = z } else { high = z }
    }
    MEDIAN * libm::exp(SIGMA * low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of all responses and of all bytes in responses of up to `x` bytes.
    fn shares(x: f64) -> (f64, f64) {
        let n = 2_000_000;
        let (mut below, mut bytes_below, mut bytes) = (0.0, 0.0, 0.0);
        let responses = responses();
        for i in 0..n {
            let size = responses.quantile((f64::from(i) + 0.5) / f64::from(n));
            bytes += size;
            if size <= x {
                below += 1.0;
                bytes_below += size;
            }
        }
        (below / f64::from(n), bytes_below / bytes)
    }

    #[test]
    fn what_the_fit_used_is_met() {
        let responses = responses();
        assert!(responses.quantile(0.5) < 1000.0);
        assert!((responses.mean() / 7240.0 - 1.0).abs() < 0.02, "{}", responses.mean());
        let (count, _) = shares(10_000.0);
        assert!((count - 0.9).abs() < 0.005, "{count}");
        let (_, bytes) = shares(1e6);
        assert!((1.0 - bytes - 0.25).abs() < 0.03, "{}", 1.0 - bytes);
    }

    #[test]
    fn what_the_fit_did_not_use_is_met_too() {
        // le04, section 3: responses up to 10 000 bytes carry less than 25 % of the bytes; less than 1 % are longer
        // than a megabyte; about 70 % of the flows have up to 2000 to 3000 bytes, with 6 to 8 % of the bytes; at least
        // 84 % of the flows are small (up to 100 KB).
        assert!(shares(10_000.0).1 < 0.25, "{}", shares(10_000.0).1);
        assert!(1.0 - shares(1e6).0 < 0.01);
        let (low, high) = (shares(2000.0), shares(3000.0));
        assert!(low.0 < 0.7 && high.0 > 0.7, "{low:?} {high:?}");
        assert!(low.1 < 0.08 && high.1 > 0.06, "{low:?} {high:?}");
        assert!(shares(100_000.0).0 > 0.84);
    }

    #[test]
    fn the_body_is_the_lognormal() {
        let responses = responses();
        // Normal quantiles from a table: 0.84162 at 0.8, -0.67449 at 0.25.
        // The lowest point is the quantile of half of the first of 450 steps: probability 0.001, -3.09023.
        for (p, z) in [(0.8, 0.841_621), (0.25, -0.674_490), (0.0, -3.090_232)] {
            let wanted = MEDIAN * libm::exp(SIGMA * z);
            assert!((responses.quantile(p) / wanted - 1.0).abs() < 1e-3, "{p}");
        }
        assert!((responses.quantile(0.99) / (10_270.0 * libm::pow(10.0, 1.0 / 1.15)) - 1.0).abs() < 0.01);
    }
}
