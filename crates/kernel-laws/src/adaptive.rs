//! Adaptive RED's slow change of the slope of RED's ramp: `aqmkit_aqm::law::adaptive`.

use crate::fixed::{Factor, Fixed};
use crate::words::words;

words! {
    /// The adaptation of `max_p`, which keeps the average midway between the thresholds.
    pub struct Adaptation {
        /// Time between changes in nanoseconds; 0 where `max_p` stays.
        pub interval: u64,
        /// Below this average `max_p` falls.
        pub low: Fixed,
        /// Above this average `max_p` rises.
        pub high: Fixed,
        /// Most that `max_p` rises at once.
        pub alpha: Fixed,
        /// What `max_p` is multiplied by where it falls.
        pub beta: Factor,
        /// Above it `max_p` rises no further.
        pub top: Fixed,
        /// Below it `max_p` falls no further.
        pub bottom: Fixed,
    }
}

impl Adaptation {
    /// `max_p` after an interval with this average at its end.
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
