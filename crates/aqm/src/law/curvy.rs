//! Curvy RED's law: compares a delay with the maximum of a few random numbers.
//!
//! De Schepper, Bondarenko, Briscoe, Tsang 2015, section 5, Algorithm 1; RFC 9332 appendix B.

use aqmkit_base::{Duration, Rng};

use crate::params::{ParamError, in_range};

/// More random numbers per packet would not bend the curve usefully.
const MAX_CURVINESS: u32 = 16;

/// How the probability rises with the delay: `(2^s delay)^u`, so it is 1 from `2^-s` seconds on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// `2^s` per second.
    scale: f64,
    /// Number of random numbers that the delay must exceed.
    u: u32,
}

impl Slope {
    /// The slope `2^s` with curviness `u`; the names of both parameters are for error messages.
    ///
    /// # Errors
    /// When `s` is not a sensible exponent, or `u` is 0 or too large.
    pub fn new((s_field, s): (&str, f64), (u_field, u): (&str, u32)) -> Result<Self, ParamError> {
        in_range(s_field, s, -20.0, 40.0)?;
        in_range(u_field, f64::from(u), 1.0, f64::from(MAX_CURVINESS))?;
        Ok(Slope { scale: libm::exp2(s), u })
    }

    /// The delay as a fraction of the one at which the probability is 1: `delay << s`.
    #[must_use]
    pub fn scaled(&self, delay: f64) -> f64 {
        delay * self.scale
    }

    /// The probability at this delay in seconds.
    #[must_use]
    pub fn probability(&self, delay: f64) -> f64 {
        libm::pow(self.scaled(delay).min(1.0), f64::from(self.u))
    }

    /// The delay in seconds at which the probability has this value.
    #[must_use]
    pub fn delay(&self, probability: f64) -> f64 {
        libm::pow(probability, 1.0 / f64::from(self.u)) / self.scale
    }

    /// Whether to act at this delay: `(delay << s) > max(rnd(), …)`, which is true with that probability, without a
    /// multiplication. It always draws all its numbers.
    pub fn exceeds(&self, delay: f64, rng: &mut Rng) -> bool {
        let bar = (0..self.u).map(|_| rng.uniform()).fold(0.0, f64::max);
        self.scaled(delay) > bar
    }
}

/// The weight `2^-f` of the newest sample.
///
/// # Errors
/// When `f` is not from 0 to 30.
pub fn weight(field: &str, f: f64) -> Result<f64, ParamError> {
    in_range(field, f, 0.0, 30.0)?;
    Ok(libm::exp2(-f))
}

/// The average of the delays of departing packets, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayAverage(f64);

impl DelayAverage {
    /// The average.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// A packet departs after this delay: `Q += (delay - Q) >> f`, with `weight` = `2^-f`; returns the average.
    pub fn sample(&mut self, weight: f64, delay: Duration) -> f64 {
        self.0 += (delay.as_secs_f64() - self.0) * weight;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(s: f64, u: u32) -> Slope {
        Slope::new(("s", s), ("u", u)).unwrap()
    }

    /// The numbers below Table 1: 62.5 ms and 0.5 s; at 28 ms 45 % and 0.3 %.
    #[test]
    fn the_scales_of_table_1() {
        let (l, c) = (slope(4.0, 1), slope(1.0, 2));
        assert_eq!((l.probability(0.0625), c.probability(0.5)), (1.0, 1.0));
        assert!(l.probability(0.0624) < 1.0 && c.probability(0.499) < 1.0);
        assert!((l.probability(0.028) - 0.448).abs() < 1e-12);
        assert!((c.probability(0.028) - 0.003_136).abs() < 1e-12);
        // Equations 12 and 16: p_C = (p_L / 2^k)^2 with k = S_L - S_C.
        assert!((c.probability(0.028) - (l.probability(0.028) / 8.0) * (l.probability(0.028) / 8.0)).abs() < 1e-15);
        assert!((l.delay(0.448) - 0.028).abs() < 1e-15 && (c.delay(0.003_136) - 0.028).abs() < 1e-15);
    }

    #[test]
    fn the_largest_of_u_numbers_is_a_power() {
        for u in 1..=4 {
            let (slope, mut rng) = (slope(1.0, u), Rng::stream(1, "curvy"));
            let hits = (0..100_000).filter(|_| slope.exceeds(0.3, &mut rng)).count() as f64 / 1e5;
            assert!((hits - slope.probability(0.3)).abs() < 0.005, "u = {u}: {hits}");
        }
    }

    #[test]
    fn after_2_to_the_f_samples_the_average_is_two_thirds_there() {
        let mut q = DelayAverage::default();
        let w = weight("f", 5.0).unwrap();
        (0..32).for_each(|_| {
            q.sample(w, Duration::from_secs(1));
        });
        assert!((q.get() - (1.0 - libm::pow(31.0 / 32.0, 32.0))).abs() < 1e-12);
    }
}
