//! The exponentially weighted average of a queue's length, with RED's correction for idle time.
//!
//! Floyd and Jacobson 1993, section 11; Parris 2001, Figure 3.7.

/// An exponentially weighted moving average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ewma(f64);

impl Ewma {
    /// The average.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Takes one sample with weight `w`: `avg <- (1 - w) avg + w x`.
    pub fn sample(&mut self, w: f64, x: f64) {
        self.0 = (1.0 - w) * self.0 + w * x;
    }

    /// As if `n` samples of zero had been taken: `avg <- (1 - w)^n avg`. A negative `n` counts as none:
    /// the pseudo-code's `idle_time * drain_rate - 1` is -1 after an idle time of nothing, which would
    /// raise the average.
    pub fn decay(&mut self, w: f64, n: f64) {
        if n > 0.0 {
            self.0 *= libm::pow(1.0 - w, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_so_many_samples_of_zero() {
        let (mut a, mut b) = (Ewma(40.0), Ewma(40.0));
        for _ in 0..17 {
            a.sample(0.002, 0.0);
        }
        b.decay(0.002, 17.0);
        assert!((a.get() - b.get()).abs() < 1e-12);
        b.decay(0.002, -1.0);
        assert!((a.get() - b.get()).abs() < 1e-12, "a negative count must not raise the average");
    }
}
