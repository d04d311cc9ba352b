//! PI: proportional-integral control of the queue length. Law and sources: `aqmkit_aqm::disciplines::pi`.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient, repeated};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// PI's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Reference queue length, in the unit of the limit.
        pub q_ref: Fixed,
        /// Gain of the new sample, times 2^[`FINER`], per unit of the limit.
        pub a: Factor,
        /// Gain of the previous sample, likewise.
        pub b: Factor,
        /// Sampling period, in nanoseconds.
        pub period: u64,
        /// Reciprocal of the packet size whose probability is unscaled.
        pub per_byte: Factor,
        /// Scale the probability by packet size.
        pub byte_mode: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// State of PI.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pi {
    /// Drop probability, times 2^[`FINER`] because its steps are small.
    p: Fixed,
    q_old: Fixed,
    next_sample: u64,
}

impl Pi {
    /// Takes all due samples, each with the queue that the arrival finds.
    #[inline(always)]
    fn sample(&mut self, config: &Config, arrival: &Arrival) {
        if self.next_sample > arrival.now {
            return;
        }
        let n = quotient(arrival.now - self.next_sample, config.period) + 1;
        self.next_sample += n * config.period;
        let q = config.limit.length(arrival);
        let one = Fixed::ONE.times(1 << FINER);
        let error = q.minus(config.q_ref);
        let old_error = self.q_old.minus(config.q_ref);
        let first = self.p.plus(config.a.times(error)).minus(config.b.times(old_error)).within(Fixed::ZERO, one);
        let step = config.a.times(error).minus(config.b.times(error));
        self.p = repeated(first, step, n - 1, Fixed::ZERO, one);
        self.q_old = q;
    }
}

impl Law for Pi {
    type Config = Config;

    const ZERO: Pi = Pi { p: Fixed::ZERO, q_old: Fixed::ZERO, next_sample: 0 };

    const GAUGES: &'static [&'static str] = &["p"];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.next_sample = now + config.period;
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.sample(config, arrival);
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        let p = Fixed(self.p.0 >> FINER);
        if Scale::of_arrival(arrival, config.byte_mode, config.per_byte).of(p).exceeds(arrival.draws[0]) {
            arrival.signal(config.ecn != 0, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        let soonest = now + config.period;
        if soonest < self.next_sample {
            self.next_sample = soonest;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [Fixed(self.p.0 >> FINER), Fixed::ZERO, Fixed::ZERO, Fixed::ZERO]
    }
}
