//! BLUE: a drop probability driven by overflow and idle events. Law and sources: `aqmkit_aqm::disciplines::blue`.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient, repeated};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// BLUE's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Increment of the probability on overflow, times 2^[`FINER`].
        pub d1: Fixed,
        /// Decrement of the probability on link idle, times 2^[`FINER`].
        pub d2: Fixed,
        /// Minimum time between updates, in nanoseconds.
        pub freeze: u64,
        /// A queue above this counts as overflow.
        pub trigger: Limit,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// State of BLUE.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blue {
    /// Drop probability, times 2^[`FINER`].
    p: Fixed,
    last_update: u64,
    last_arrival: u64,
    /// Whether there has been an update.
    updated: u64,
}

impl Blue {
    /// Changes the probability, unless within the freeze time of the last update.
    #[inline(always)]
    fn step(&mut self, delta: Fixed, config: &Config, now: u64) {
        if self.updated == 0 || now.wrapping_sub(self.last_update) > config.freeze {
            self.p = self.p.plus(delta).within(Fixed::ZERO, Fixed::ONE.times(1 << FINER));
            self.last_update = now;
            self.updated = 1;
        }
    }

    /// Decrements for the time the link was idle since the last arrival.
    #[inline(always)]
    fn while_idle(&mut self, config: &Config, arrival: &Arrival) {
        if !arrival.finds_nothing() || arrival.empty_since < self.last_arrival {
            return;
        }
        self.step(Fixed::ZERO.minus(config.d2), config, arrival.empty_since);
        let steps = quotient(arrival.now.wrapping_sub(self.last_update), config.freeze);
        let one = Fixed::ONE.times(1 << FINER);
        self.p = repeated(self.p, Fixed::ZERO.minus(config.d2), steps, Fixed::ZERO, one);
        self.last_update += steps * config.freeze;
    }
}

impl Law for Blue {
    type Config = Config;

    const ZERO: Blue = Blue { p: Fixed::ZERO, last_update: 0, last_arrival: 0, updated: 0 };

    const GAUGES: &'static [&'static str] = &["p"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, _config: &Config, now: u64) {
        self.last_arrival = now + 1;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.while_idle(config, arrival);
        self.last_arrival = arrival.now;
        if full || config.trigger.length(arrival) > config.trigger.most {
            self.step(config.d1, config, arrival.now);
        }
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        let p = Fixed(self.p.0 >> FINER);
        if Scale::of_arrival(arrival, 0, Factor::ZERO).of(p).exceeds(arrival.draws[0]) {
            arrival.signal(config.ecn != 0, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [Fixed(self.p.0 >> FINER), Fixed::ZERO, Fixed::ZERO, Fixed::ZERO]
    }
}
