//! ERD: early random drop. `aqmkit_aqm::disciplines::erd` has the law and its sources.

use crate::early::Scale;
use crate::fixed::{Factor, Fixed};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::words::words;

words! {
    /// ERD's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// Length above which arriving packets are dropped by chance.
        pub threshold: Limit,
        /// Chance of each.
        pub probability: Fixed,
        /// Whether ECN-capable packets are marked.
        pub ecn: u64,
    }
}

/// ERD needs no state.
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
