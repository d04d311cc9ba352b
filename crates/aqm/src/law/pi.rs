//! The proportional-integral controller: how a delay becomes a probability.
//!
//! Pan et al. 2013 and RFC 8033 section 4.2 (PIE); De Schepper et al. 2016 (PI2); RFC 9332 appendix A (DualPI2).

use aqmkit_base::Duration;

/// A PI controller of the queuing delay. Both gains are per second of delay error and per update, so a delay cannot
/// have the wrong unit; if the update period is halved, `alpha_hz` must be halved too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiController {
    /// Integral gain, in Hz: the increment per update for each second above the target.
    pub alpha_hz: f64,
    /// Proportional gain, in Hz: the increment per update for each second by which the delay has grown.
    pub beta_hz: f64,
}

impl PiController {
    /// The increment of one update: `alpha (qdelay - target) + beta (qdelay - qdelay_old)`.
    #[must_use]
    pub fn step(&self, qdelay: Duration, qdelay_old: Duration, target: Duration) -> f64 {
        let (now, old) = (qdelay.as_secs_f64(), qdelay_old.as_secs_f64());
        self.alpha_hz * (now - target.as_secs_f64()) + self.beta_hz * (now - old)
    }

    /// The probability after one update, clamped to 0 and 1, which also prevents integral windup.
    #[must_use]
    pub fn update(&self, p: f64, qdelay: Duration, qdelay_old: Duration, target: Duration) -> f64 {
        (p + self.step(qdelay, qdelay_old, target)).clamp(0.0, 1.0)
    }
}

/// The accumulated probability below which no packet is dropped at random (RFC 8033 section 5.4).
pub const PROB_LOW: f64 = 0.85;

/// The accumulated probability at which the next packet is certainly dropped.
pub const PROB_HIGH: f64 = 8.5;

/// PIE's scaling of a step by the current probability: the gains of a linear controller are too large at small
/// probabilities. A factor of four for each decade.
#[must_use]
pub fn auto_tune(p: f64) -> f64 {
    const TABLE: [(f64, f64); 6] = [
        (0.000_001, 1.0 / 2048.0),
        (0.000_01, 1.0 / 512.0),
        (0.000_1, 1.0 / 128.0),
        (0.001, 1.0 / 32.0),
        (0.01, 1.0 / 8.0),
        (0.1, 1.0 / 2.0),
    ];
    TABLE.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, scale)| *scale)
}

/// [`auto_tune`] continued to probabilities above one, which belong to packets longer than the shortest (RFC 8034 section 4.4).
#[must_use]
pub fn auto_tune_in_bytes(p: f64) -> f64 {
    match p {
        _ if p < 0.1 => auto_tune(p),
        _ if p < 1.0 => 2.0,
        _ if p < 10.0 => 8.0,
        _ => 32.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_step_has_an_integral_and_a_proportional_part() {
        let pi = PiController { alpha_hz: 0.125, beta_hz: 1.25 };
        // 0.125 * 5 ms + 1.25 * 10 ms
        assert!((pi.step(MS(20), MS(10), MS(15)) - 0.013_125).abs() < 1e-12);
        assert!((pi.step(MS(15), MS(15), MS(15))).abs() < 1e-18);
        assert_eq!(pi.update(0.001, MS(0), MS(30), MS(15)), 0.0, "it stops at zero");
        assert_eq!(pi.update(0.9, MS(900), MS(0), MS(15)), 1.0, "and at one");
    }

    #[test]
    fn the_table_is_rfc_8033s() {
        let scales = [0.0, 0.000_001, 0.000_01, 0.000_1, 0.001, 0.01, 0.1, 1.0].map(|p| 1.0 / auto_tune(p));
        assert_eq!(scales, [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn above_a_tenth_rfc_8034_goes_on() {
        assert_eq!(
            [0.01, 0.1, 0.99, 1.0, 9.9, 10.0, 13.6].map(auto_tune_in_bytes),
            [0.5, 2.0, 2.0, 8.0, 8.0, 32.0, 32.0]
        );
    }
}
