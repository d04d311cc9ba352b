//! ERD: early random drop. Law and sources: `aqmkit_aqm::disciplines::erd`.

use crate::early::Scale;
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// ERD's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Queue length above which arrivals are dropped at random.
        pub threshold: Limit,
        /// Drop probability above the threshold.
        pub probability: Fixed,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// ERD is stateless, but a map value cannot be empty.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erd {
    unused: u64,
}

impl Law for Erd {
    type Config = Config;

    const ZERO: Erd = Erd { unused: 0 };

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
        let long = config.threshold.length(arrival) > config.threshold.most;
        let scale = Scale::of_arrival(arrival, 0, Factor::ZERO);
        if long && scale.of(config.probability).exceeds(arrival.draws[0]) {
            arrival.signal(config.ecn != 0, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn on_change(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [Fixed::ZERO; GAUGES]
    }
}
