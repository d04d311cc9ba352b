//! ARED: adaptive RED. Law and sources: `aqmkit_aqm::disciplines::ared`.

use super::red::{self, Red};
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict};
use crate::words::words;

words! {
    /// ARED's parameters.
    pub struct Config {
        /// RED's parameters, including Floyd's adaptation if selected.
        pub red: red::Config,
        /// From this average on, drop instead of marking.
        pub no_marks_from: Fixed,
        /// Feng's variant: adapt `max_p` when the average leaves the band.
        pub feng: u64,
        /// Feng: reciprocal of the divisor of `max_p` below the band.
        pub per_alpha: Factor,
        /// Feng: multiplier of `max_p` above the band.
        pub beta: Factor,
    }
}

/// Feng: which side of the band the average was last on.
const BETWEEN: u64 = 0;
const BELOW: u64 = 1;
const ABOVE: u64 = 2;

/// State of ARED.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ared {
    red: Red,
    status: u64,
}

impl Ared {
    /// Feng's adaptation, on every arrival.
    #[inline(always)]
    fn adapt_at_crossings(&mut self, config: &Config) {
        let (avg, ramp, max_p) = (self.red.avg(), &config.red.ramp, self.red.max_p());
        if ramp.min < avg && avg < ramp.max {
            self.status = BETWEEN;
        } else if avg < ramp.min && self.status != BELOW {
            self.status = BELOW;
            self.red.set_max_p(config.per_alpha.times(max_p).within(Fixed(1), Fixed::ONE));
        } else if avg > ramp.max && self.status != ABOVE {
            self.status = ABOVE;
            self.red.set_max_p(config.beta.times(max_p).within(Fixed(1), Fixed::ONE));
        }
    }
}

impl Law for Ared {
    type Config = Config;

    const ZERO: Ared = Ared { red: Red::ZERO, status: BETWEEN };

    const GAUGES: &'static [&'static str] = Red::GAUGES;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.red.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.red.start(&config.red, now);
        self.status = BETWEEN;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.red.average(&config.red, arrival);
        if config.feng != 0 {
            self.adapt_at_crossings(config);
        }
        match self.red.decide(&config.red, arrival, full) {
            Verdict::Mark(why) if self.red.avg() >= config.no_marks_from => Verdict::Drop(why),
            verdict => verdict,
        }
    }

    /// Keeps the adapted `max_p`, unless its configured initial value has changed.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        let max_p = self.red.max_p();
        let kept = config.feng != 0 && self.red.starts_from(config.red.ramp.max_p);
        self.red.on_change(&config.red, now);
        if kept {
            self.red.set_max_p(max_p);
        }
    }

    #[inline(always)]
    fn gauges(&self, config: &Config) -> [Fixed; GAUGES] {
        self.red.gauges(&config.red)
    }
}
