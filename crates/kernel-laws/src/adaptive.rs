//! Adaptive RED: slow adaptation of RED's `max_p`. See `aqmkit_aqm::law::adaptive`.

use crate::fixed::{Factor, Fixed};
use crate::words::words;

words! {
    /// Adaptation of `max_p` that keeps the average midway between the thresholds.
    pub struct Adaptation {
        /// Time between updates in nanoseconds; 0 disables adaptation.
        pub interval: u64,
        /// `max_p` decreases while the average is below this.
        pub low: Fixed,
        /// `max_p` increases while the average is above this.
        pub high: Fixed,
        /// Maximum increase of `max_p` per update.
        pub alpha: Fixed,
        /// Factor of a decrease of `max_p`.
        pub beta: Factor,
        /// Upper bound of an increase of `max_p`.
        pub top: Fixed,
        /// Lower bound of a decrease of `max_p`.
        pub bottom: Fixed,
    }
}

impl Adaptation {
    /// `max_p` after an interval that ended with this average.
    #[inline(always)]
    #[must_use]
    pub fn adapt(&self, max_p: Fixed, avg: Fixed) -> Fixed {
        if avg > self.high && max_p <= self.top {
            let quarter = Fixed(max_p.0 >> 2);
            max_p.plus(if self.alpha < quarter { self.alpha } else { quarter }).within(Fixed::ZERO, Fixed::ONE)
        } else if avg < self.low && max_p >= self.bottom {
            self.beta.times(max_p)
        } else {
            max_p
        }
    }
}
