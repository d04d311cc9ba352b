//! RED: random early detection. `aqmkit_aqm::disciplines::red` has the equations and their sources.

use crate::adaptive::Adaptation;
use crate::average::{Averaging, QueueAverage};
use crate::early::{DropMode, Ramp, Scale, early_verdict};
use crate::fixed::{Factor, Fixed, quotient};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// RED's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// How the probability rises.
        pub ramp: Ramp,
        /// How the queue is averaged.
        pub averaging: Averaging,
        /// In byte mode, 1 over the size of a packet whose probability is not scaled.
        pub per_byte: Factor,
        /// Whether byte mode is on.
        pub byte_mode: u64,
        /// A sum of [`ECN`](crate::early::ECN), [`HARDDROP`](crate::early::HARDDROP) and [`NODROP`](crate::early::NODROP).
        pub rules: u64,
        /// Whether and how `max_p` moves.
        pub adaptation: Adaptation,
    }
}

/// Intervals of the adaptation for which one arrival makes up: from 0.5 to 0.01 it takes 38.
const LATE_INTERVALS: u32 = 40;

/// RED's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Red {
    avg: QueueAverage,
    mode: DropMode,
    /// `max_p` as it now is.
    max_p: Fixed,
    /// `max_p` as the parameters have it.
    given_max_p: Fixed,
    /// Whether the average is of bytes.
    bytes: u64,
    /// When `max_p` is adapted next.
    next_interval: u64,
}

impl Red {
    /// The average.
    #[inline(always)]
    #[must_use]
    pub fn avg(&self) -> Fixed {
        self.avg.get()
    }

    /// `max_p` as it now is.
    #[inline(always)]
    #[must_use]
    pub fn max_p(&self) -> Fixed {
        self.max_p
    }

    /// Moves `max_p`.
    #[inline(always)]
    pub fn set_max_p(&mut self, max_p: Fixed) {
        self.max_p = max_p;
    }

    /// Whether this is where `max_p` started.
    #[inline(always)]
    #[must_use]
    pub fn starts_from(&self, max_p: Fixed) -> bool {
        self.given_max_p == max_p
    }

    /// The adaptation of `max_p` catches up, and the average takes in the queue that the arrival finds.
    #[inline(always)]
    pub fn average(&mut self, config: &Config, arrival: &Arrival) {
        self.adapt(config, arrival);
        self.avg.on_arrival(&config.averaging, arrival, config.limit.length(arrival));
    }

    /// Adapts `max_p` for every interval that has passed.
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

    /// Decides with the average as it is.
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

    /// An average of packets says nothing about bytes. `max_p` stays where it has come to, unless its start is another.
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
