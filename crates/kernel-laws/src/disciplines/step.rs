//! Step marker. Law and sources: `aqmkit_aqm::disciplines::step`.
//!
//! A delay threshold is compared with the arrival's predicted delay: backlog over link rate.

use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// The step marker's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Mark above this queue length.
        pub threshold: Limit,
        /// Mark above this predicted delay, in nanoseconds; 0 to use the queue length.
        pub sojourn: u64,
        /// Link time per byte, in nanoseconds.
        pub byte_time: Factor,
        /// Admit Not-ECT packets above the threshold instead of dropping them.
        pub pass_not_ect: u64,
    }
}

/// The step marker is stateless, but a map value cannot be empty.
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
