//! Adaptive RED's slow adaptation of `max_p`.
//!
//! Floyd, Gummadi and Shenker 2001, Figure 1.

use aqmkit_base::Duration;

use super::early::Ramp;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range};

/// The adaptation of `max_p`, which keeps the average midway between the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// Between changes.
    pub interval: Duration,
    /// Maximum increase of `max_p` per step.
    pub alpha: f64,
    /// Decrease factor of `max_p`.
    pub beta: f64,
    /// Above this `max_p` is not increased.
    pub top: f64,
    /// Below this `max_p` is not decreased.
    pub bottom: f64,
}

/// The paper's values, which Linux uses too.
impl Default for Adaptation {
    fn default() -> Self {
        Adaptation { interval: Duration::from_millis(500), alpha: 0.01, beta: 0.9, top: 0.5, bottom: 0.01 }
    }
}

impl Adaptation {
    /// Checks the parameters.
    ///
    /// # Errors
    /// When the interval is below 100 microseconds, a gain or bound is no fraction, or the bounds are in the wrong order.
    pub fn check(self) -> Result<Self, ParamError> {
        at_least("interval", self.interval, SHORTEST_PERIOD)?;
        in_range("alpha", self.alpha, 0.0, 1.0)?;
        in_range("beta", self.beta, 0.0, 1.0)?;
        in_range("top", self.top, 0.0, 1.0)?;
        in_range("bottom", self.bottom, 0.0, self.top)?;
        Ok(self)
    }

    /// Adapts `max_p`; called every interval.
    pub fn adapt(&self, ramp: &mut Ramp, avg: f64) {
        let (low, high) = aim(ramp);
        let max_p = ramp.max_p;
        if avg > high && max_p <= self.top {
            ramp.max_p = (max_p + self.alpha.min(max_p / 4.0)).min(1.0);
        } else if avg < low && max_p >= self.bottom {
            ramp.max_p = max_p * self.beta;
        }
    }

    /// Whether `max_p` stays constant while the average does not rise.
    #[must_use]
    pub fn at_rest(&self, ramp: &Ramp, avg: f64) -> bool {
        ramp.max_p < self.bottom && avg < aim(ramp).0
    }
}

/// The target range of the average.
fn aim(ramp: &Ramp) -> (f64, f64) {
    let Ramp { min, max, .. } = ramp;
    (min + 0.4 * (max - min), min + 0.6 * (max - min))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Floyd, Gummadi and Shenker 2001, Figure 1: `max_p <= 0.5` and `max_p >= 0.01` include the bounds; from a bound
    /// one more step is taken.
    #[test]
    fn the_last_step_begins_at_the_bound() {
        let changed = |max_p: f64, avg: f64| {
            let mut ramp = Ramp { min: 10.0, max: 20.0, max_p, gentle: true };
            Adaptation::default().adapt(&mut ramp, avg);
            ramp.max_p
        };
        for (max_p, avg, wanted) in [
            (0.5, 16.1, 0.51),
            (0.501, 16.1, 0.501),
            (0.01, 13.9, 0.009),
            (0.0099, 13.9, 0.0099),
            // A quarter of it where that is less than 0.01, and nothing from 14 to 16.
            (0.02, 16.1, 0.025),
            (0.1, 14.0, 0.1),
            (0.1, 16.0, 0.1),
        ] {
            assert!((changed(max_p, avg) - wanted).abs() < 1e-12, "{max_p} at {avg}: {}", changed(max_p, avg));
        }
        // Whatever the bound and the step, the result is a probability.
        let mut ramp = Ramp { min: 10.0, max: 20.0, max_p: 0.9, gentle: true };
        Adaptation { alpha: 1.0, top: 1.0, ..Adaptation::default() }.adapt(&mut ramp, 16.1);
        assert_eq!(ramp.max_p, 1.0);
    }
}
