//! RED: random early detection. Law and sources: `aqmkit_aqm::disciplines::red`.

use crate::adaptive::Adaptation;
use crate::average::{Averaging, QueueAverage};
use crate::early::{DropMode, Ramp, Scale, early_verdict};
use crate::fixed::{Factor, Fixed, quotient};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// RED's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Drop probability as a function of the average.
        pub ramp: Ramp,
        /// Averaging of the queue length.
        pub averaging: Averaging,
        /// Byte mode: reciprocal of the packet size whose probability is unscaled.
        pub per_byte: Factor,
        /// Scale the probability by packet size.
        pub byte_mode: u64,
        /// Flags [`ECN`](crate::early::ECN), [`HARDDROP`](crate::early::HARDDROP) and [`NODROP`](crate::early::NODROP).
        pub rules: u64,
        /// Adaptation of `max_p`, if enabled.
        pub adaptation: Adaptation,
    }
}

/// Maximum overdue adaptation intervals processed per arrival; from 0.5 down to 0.01 takes 38.
const LATE_INTERVALS: u32 = 40;

/// State of RED.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Red {
    avg: QueueAverage,
    mode: DropMode,
    /// Current `max_p`.
    max_p: Fixed,
    /// Configured `max_p`.
    given_max_p: Fixed,
    /// Unit of the average: bytes (1) or packets (0).
    bytes: u64,
    /// Time of the next adaptation, in nanoseconds.
    next_interval: u64,
}

impl Red {
    /// Current average.
    #[inline(always)]
    #[must_use]
    pub fn avg(&self) -> Fixed {
        self.avg.get()
    }

    /// Current `max_p`.
    #[inline(always)]
    #[must_use]
    pub fn max_p(&self) -> Fixed {
        self.max_p
    }

    /// Sets the current `max_p`.
    #[inline(always)]
    pub fn set_max_p(&mut self, max_p: Fixed) {
        self.max_p = max_p;
    }

    /// Whether this is the configured `max_p`.
    #[inline(always)]
    #[must_use]
    pub fn starts_from(&self, max_p: Fixed) -> bool {
        self.given_max_p == max_p
    }

    /// Runs overdue adaptations, and updates the average with the queue that the arrival finds.
    #[inline(always)]
    pub fn average(&mut self, config: &Config, arrival: &Arrival) {
        self.adapt(config, arrival);
        self.avg.on_arrival(&config.averaging, arrival, config.limit.length(arrival));
    }

    /// Adapts `max_p` for every interval that has elapsed.
    #[inline(always)]
    fn adapt(&mut self, config: &Config, arrival: &Arrival) {
        if config.adaptation.interval == 0 {
            return;
        }
        for _ in 0..LATE_INTERVALS {
            if self.next_interval > arrival.now {
                return;
            }
            let avg = if config.limit.length(arrival) > Fixed::ZERO {
                self.avg.get()
            } else {
                self.avg.while_idle(&config.averaging, arrival.empty_since, self.next_interval)
            };
            self.max_p = config.adaptation.adapt(self.max_p, avg);
            self.next_interval += config.adaptation.interval;
        }
        if self.next_interval <= arrival.now {
            let late = quotient(arrival.now - self.next_interval, config.adaptation.interval) + 1;
            self.next_interval += late * config.adaptation.interval;
        }
    }

    /// Decides with the current average.
    #[inline(always)]
    pub fn decide(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        if full {
            self.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let scale = Scale::of_arrival(arrival, config.byte_mode, config.per_byte);
        let decision = self.mode.on_arrival(&config.ramp, self.max_p, self.avg.get(), scale, arrival);
        early_verdict(decision, config.rules, arrival)
    }
}

impl Law for Red {
    type Config = Config;

    const ZERO: Red = Red {
        avg: QueueAverage::ZERO,
        mode: DropMode::ZERO,
        max_p: Fixed::ZERO,
        given_max_p: Fixed::ZERO,
        bytes: 0,
        next_interval: 0,
    };

    const GAUGES: &'static [&'static str] = &["avg", "max_p"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.avg.start(now);
        self.mode.start();
        self.max_p = config.ramp.max_p;
        self.given_max_p = config.ramp.max_p;
        self.bytes = config.limit.bytes;
        self.next_interval = now + config.adaptation.interval;
    }

    /// Figure 3.8.
    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.average(config, arrival);
        self.decide(config, arrival, full)
    }

    /// Resets the average if its unit has changed. Keeps the adapted `max_p`, unless its configured value has changed.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        if self.bytes != config.limit.bytes {
            self.start(config, now);
        }
        if config.adaptation.interval == 0 || self.given_max_p != config.ramp.max_p {
            self.max_p = config.ramp.max_p;
            self.given_max_p = config.ramp.max_p;
        }
        let soonest = now + config.adaptation.interval;
        if soonest < self.next_interval {
            self.next_interval = soonest;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.avg.get(), self.max_p, Fixed::ZERO, Fixed::ZERO]
    }
}
