//! The proportional-integral controller of queueing delay, as PIE, PI2 and DualPI2 use it.
//!
//! RFC 8033 section 4.2; RFC 9332 appendix A.

/// The gains of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiController {
    /// Integral gain: how fast a standing error moves the probability.
    pub alpha_hz: f64,
    /// Proportional gain: how far a change of the delay moves it.
    pub beta_hz: f64,
}

impl PiController {
    /// The probability after one period: `p + alpha (qdelay - target) + beta (qdelay - qdelay_old)`, kept
    /// from 0 to 1. Times are in seconds. The bounds are also what keeps the integral from winding up.
    #[must_use]
    pub fn update(&self, p: f64, qdelay: f64, qdelay_old: f64, target: f64) -> f64 {
        (p + self.alpha_hz * (qdelay - target) + self.beta_hz * (qdelay - qdelay_old)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standing_error_integrates_and_a_step_counts_once() {
        let pi = PiController { alpha_hz: 0.16, beta_hz: 3.2 };
        let stepped = pi.update(0.0, 0.025, 0.015, 0.015);
        assert!((stepped - (0.16 * 0.010 + 3.2 * 0.010)).abs() < 1e-15);
        assert!((pi.update(stepped, 0.025, 0.025, 0.015) - stepped - 0.0016).abs() < 1e-15);
    }

    #[test]
    fn it_stays_a_probability() {
        let pi = PiController { alpha_hz: 0.16, beta_hz: 3.2 };
        assert_eq!((pi.update(0.001, 0.0, 0.015, 0.015), pi.update(0.9, 10.0, 0.0, 0.015)), (0.0, 1.0));
    }
}
