//! RED's early drop: a probability that rises with the average, spread evenly over arrivals.
//!
//! Floyd and Jacobson 1993, section 4; Parris 2001, equations 3.1 and 3.2, Figures 3.8, 3.9, 4.3 and 4.5.

use aqmkit_base::Rng;

use crate::params::{ParamError, in_range};
use crate::verdict::Why;

/// How the base probability of a drop rises with the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// Average below which nothing is dropped.
    pub min: f64,
    /// Average at which the probability is `max_p`.
    pub max: f64,
    /// Probability at `max`.
    pub max_p: f64,
    /// Whether the probability continues from `max_p` at `max` to 1 at twice `max`, instead of jumping to 1.
    pub gentle: bool,
}

impl Ramp {
    /// Rejects thresholds in the wrong order, and values that are not probabilities.
    ///
    /// # Errors
    /// When `min` or `max` is negative, `min` is above `max`, or `max_p` is not a probability.
    pub fn check(self) -> Result<Self, ParamError> {
        in_range("max", self.max, 0.0, f64::INFINITY)?;
        in_range("min", self.min, 0.0, f64::INFINITY)?;
        if self.min > self.max {
            let want = format!("it must not be above max = {}", self.max);
            return Err(ParamError::new("min", self.min, want).cite("Floyd & Jacobson 1993"));
        }
        in_range("max_p", self.max_p, 0.0, 1.0)?;
        Ok(self)
    }

    /// The average above which everything is dropped.
    #[must_use]
    pub fn ceiling(&self) -> f64 {
        if self.gentle { 2.0 * self.max } else { self.max }
    }

    /// `p_b = max_p (avg - min) / (max - min)` from `min` to `max`; above `max` (with the gentle ramp) from `max_p` to
    /// 1 at twice `max`.
    #[must_use]
    pub fn base_probability(&self, avg: f64) -> f64 {
        if avg <= self.max {
            self.max_p * (avg - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (avg - self.max) / self.max
        }
    }
}

/// `p_a = p_b / (1 - count p_b)`: the probability that makes the gaps between drops uniform at a constant average, on 1
/// to `1/p_b - 1` if the first packet after a drop has count one. It is one if the denominator is not positive: a drop
/// is then overdue, because the average has risen since the last one.
#[must_use]
pub fn spread(p_b: f64, count: f64) -> f64 {
    let room = 1.0 - count * p_b;
    if room > p_b { p_b / room } else { 1.0 }
}

/// The probability of ns-2's `wait_`: no drop within `1/p_b` packets of the last one, then gaps uniform up to `2/p_b`.
/// The mean gap is three times that of [`spread`].
#[must_use]
pub fn spread_after_wait(p_b: f64, count: f64) -> f64 {
    let due = count * p_b;
    if due < 1.0 {
        0.0
    } else if due < 2.0 {
        (p_b / (2.0 - due)).min(1.0)
    } else {
        1.0
    }
}

/// The early drop test of Figure 3.9. It always draws a number, so that the random stream does not depend on rounding.
pub fn drop_early(p_b: f64, count: f64, rng: &mut Rng) -> bool {
    rng.uniform() < spread(p_b, count)
}

/// Which of RED's three modes an average is in, and the count that spreads its early drops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropMode {
    /// Packets that have arrived since the last drop.
    count: f64,
    in_early_drop: bool,
    /// Whether drops keep a distance: [`spread_after_wait`].
    waits: bool,
}

impl Default for DropMode {
    fn default() -> Self {
        DropMode { count: -1.0, in_early_drop: false, waits: false }
    }
}

impl DropMode {
    /// The same, with or without the gaps of ns-2's `wait_`.
    #[must_use]
    pub fn waiting(self, waits: bool) -> Self {
        DropMode { waits, ..self }
    }

    /// Draws whether the early drop is due. It always draws a number, so that the random stream does not depend on
    /// rounding.
    fn drops_early(&self, p_b: f64, rng: &mut Rng) -> bool {
        let spread = if self.waits { spread_after_wait } else { spread };
        rng.uniform() < spread(p_b, self.count)
    }

    /// Counts an arrival at a full queue, which will be dropped.
    pub fn on_overflow(&mut self) {
        self.count = 0.0;
    }

    /// Decides about an arrival at a queue of `waiting` packets with average `avg`: the reason to drop
    /// it, if any. `scale` multiplies the base probability.
    ///
    /// A queue (or class) may always hold one packet, whatever its average, and the first arrival above
    /// `min` is never dropped.
    pub fn on_arrival(&mut self, ramp: &Ramp, avg: f64, waiting: u32, scale: f64, rng: &mut Rng) -> Option<Why> {
        self.count += 1.0;
        let why = if avg > ramp.min && waiting > 1 {
            if avg > ramp.ceiling() {
                Some(Why::Forced)
            } else if !self.in_early_drop {
                self.count = 1.0;
                self.in_early_drop = true;
                None
            } else if self.drops_early(scale * ramp.base_probability(avg), rng) {
                Some(Why::Early)
            } else {
                None
            }
        } else {
            self.in_early_drop = false;
            None
        };
        if why.is_some() {
            self.count = 0.0;
        }
        why
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: Ramp = Ramp { min: 5.0, max: 40.0, max_p: 0.1, gentle: false };

    #[test]
    fn a_drop_is_certain_after_nine_packets_at_one_tenth() {
        assert!(spread(0.1, 8.0) < 1.0);
        assert_eq!(spread(0.1, 9.0), 1.0);
        assert_eq!(spread(0.1, 50.0), 1.0);
    }

    /// From 10 to 19 packets at one tenth, each gap as likely: 14.5 in the mean, where it is 5 without waiting.
    #[test]
    fn a_drop_waits_for_its_time() {
        assert_eq!([9.0, 20.0, 25.0].map(|count| spread_after_wait(0.1, count)), [0.0, 1.0, 1.0]);
        let mut left = 1.0;
        for count in 10..20 {
            let dropped = left * spread_after_wait(0.1, f64::from(count));
            assert!((dropped - 0.1).abs() < 1e-9, "{count}: {dropped}");
            left -= dropped;
        }
        assert!(left.abs() < 1e-9);
        // At nine tenths the second packet is due, and the third is one too many for two gaps of 1/p.
        assert_eq!([1.0, 2.0, 3.0].map(|count| spread_after_wait(0.9, count)), [0.0, 1.0, 1.0]);
    }

    /// The threshold that cannot be is named, whatever the other one is.
    #[test]
    fn a_wrong_threshold_is_named() {
        let field = |min, max| Ramp { min, max, ..RAMP }.check().map_err(|e| e.field);
        assert_eq!(field(5.0, -1.0), Err("max".to_owned()));
        assert_eq!(field(0.0, f64::NAN), Err("max".to_owned()));
        assert_eq!(field(-1.0, 40.0), Err("min".to_owned()));
        assert_eq!(field(41.0, 40.0), Err("min".to_owned()));
        assert!(field(40.0, 40.0).is_ok() && field(0.0, 0.0).is_ok());
    }

    #[test]
    fn the_base_rises_from_zero_to_max_p() {
        assert_eq!(RAMP.base_probability(5.0), 0.0);
        assert_eq!(RAMP.base_probability(40.0), 0.1);
    }

    #[test]
    fn the_gentle_ramp_has_no_step_at_max_nor_at_twice_max() {
        let gentle = Ramp { gentle: true, ..RAMP };
        let p = |avg| gentle.base_probability(avg);
        assert!((p(40.0 + 1e-9) - p(40.0)).abs() < 1e-9);
        assert!((p(80.0) - 1.0).abs() < 1e-12, "{}", p(80.0));
        assert_eq!((RAMP.ceiling(), gentle.ceiling()), (40.0, 80.0));
    }
}
