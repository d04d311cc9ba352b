//! BLUE: a probability from overflows and idle times. `aqmkit_aqm::disciplines::blue` has the law and its sources.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient, repeated};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// BLUE's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Step of the probability on overflow, times 2^[`FINER`].
        pub d1: Fixed,
        /// Step of the probability on an idle link, likewise.
        pub d2: Fixed,
        /// The least time between two steps, in nanoseconds.
        pub freeze: u64,
        /// A queue above this counts as an overflow.
        pub trigger: Limit,
        /// Whether ECN-capable packets are marked.
        pub ecn: u64,
    }
}

/// BLUE's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blue {
    /// The probability, times 2^[`FINER`].
    p: Fixed,
    last_update: u64,
    last_arrival: u64,
    /// Whether there was an update.
    updated: u64,
}

impl Blue {
    /// One step, unless the last one was too recent.
    #[inline(always)]
    fn step(&mut self, delta: Fixed, config: &Config, now: u64) {
        if self.updated == 0 || now.wrapping_sub(self.last_update) > config.freeze {
            self.p = self.p.plus(delta).within(Fixed::ZERO, Fixed::ONE.times(1 << FINER));
            self.last_update = now;
            self.updated = 1;
        }
    }

    /// The steps down of a link that went idle since the last arrival, when it did and as long as it stayed so.
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
