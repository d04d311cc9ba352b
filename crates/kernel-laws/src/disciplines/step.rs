//! The step marker. `aqmkit_aqm::disciplines::step` has the law and its sources.
//!
//! A threshold on the delay is compared with the delay that an arrival will have: what waits, over the rate of the link.

use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// The step marker's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Marks above this much waiting.
        pub threshold: Limit,
        /// Marks what will wait longer than this, in nanoseconds; 0 where lengths count.
        pub sojourn: u64,
        /// How long the link takes for a byte, in nanoseconds.
        pub byte_time: Factor,
        /// Whether packets above the threshold that cannot carry a mark are let through.
        pub pass_not_ect: u64,
    }
}

/// The step marker needs no state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    unused: u64,
}

impl Law for Step {
    type Config = Config;

    const ZERO: Step = Step { unused: 0 };

    const GAUGES: &'static [&'static str] = &[];

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        let above = if config.sojourn != 0 {
            config.byte_time.of(arrival.waiting_bytes) > config.sojourn
        } else {
            config.threshold.length(arrival) > config.threshold.most
        };
        if !above || (config.pass_not_ect != 0 && arrival.ecn_capable == 0) {
            return Verdict::Pass;
        }
        arrival.signal(true, Why::Step)
    }

    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [Fixed::ZERO; GAUGES]
    }
}
