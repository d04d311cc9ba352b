//! SRED: stabilized RED. Law and sources: `aqmkit_aqm::disciplines::sred`.

use crate::fixed::{Factor, Fixed, ONE, quotient};
use crate::law::{Arrival, Draws, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::{masked, reread_mut};
use crate::words::words;

words! {
    /// SRED's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// One sixth of the limit.
        pub sixth: Fixed,
        /// One third of the limit.
        pub third: Fixed,
        /// Length of the zombie list, at most [`ZOMBIES`].
        pub zombies: u64,
        /// Probability that a packet without a hit overwrites the zombie.
        pub overwrite: Fixed,
        /// Weight of the latest comparison in the hit rate.
        pub weight: Factor,
        /// Drop probability above a third of the limit with many flows.
        pub max_p: Fixed,
        /// Full SRED: drop packets with a hit more often.
        pub full: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Maximum length of the zombie list.
pub const ZOMBIES: usize = 16_384;
/// log2 of the number of flows above which the drop probability stays constant.
const MANY_FLOWS_LOG: u32 = 8;

/// State of SRED.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sred {
    /// P: the estimated hit frequency.
    hit_rate: Fixed,
    /// Number of zombies in the list.
    len: u64,
    zombies: [u64; ZOMBIES],
}

/// `a / b` for positive numbers, at most 1.
#[inline(always)]
fn ratio(a: Fixed, b: Fixed) -> Fixed {
    let ratio = quotient((a.0 as u64) << 31, (b.0 as u64) >> 1);
    Fixed(if ratio < ONE { ratio } else { ONE } as i64)
}

impl Sred {
    /// Compares a packet with a random zombie; returns whether it is a hit.
    #[inline(always)]
    fn compare(&mut self, config: &Config, arrival: &Arrival, draws: &mut Draws<'_>) -> bool {
        if self.len < config.zombies {
            self.zombies[masked::<ZOMBIES>(self.len)] = arrival.flow;
            self.len += 1;
            return false;
        }
        let zombie = &mut self.zombies[masked::<ZOMBIES>(draws.below(config.zombies))];
        let hit = *zombie == arrival.flow;
        if !hit && draws.chance(config.overwrite) {
            *zombie = arrival.flow;
        }
        let sample = if hit { Fixed::ONE } else { Fixed::ZERO };
        self.hit_rate = self.hit_rate.plus(config.weight.times(sample.minus(self.hit_rate)));
        hit
    }

    /// The drop probability of a packet, depending on whether it was a hit.
    #[inline(always)]
    fn p_zap(&self, config: &Config, arrival: &Arrival, hit: bool) -> Fixed {
        let q = config.limit.length(arrival);
        let p_sred = if q >= config.third {
            config.max_p
        } else if q >= config.sixth {
            Fixed(config.max_p.0 >> 2)
        } else {
            Fixed::ZERO
        };
        let shares = Fixed(self.hit_rate.0 << MANY_FLOWS_LOG);
        let p = if shares > Fixed::ONE { ratio(ratio(p_sred, shares), shares) } else { p_sred };
        if config.full == 0 || !hit {
            return p;
        }
        p.plus(ratio(p, self.hit_rate)).within(Fixed::ZERO, Fixed::ONE)
    }
}

impl Law for Sred {
    type Config = Config;

    const ZERO: Sred = Sred { hit_rate: Fixed::ZERO, len: 0, zombies: [0; ZOMBIES] };

    const GAUGES: &'static [&'static str] = &["hit_rate"];

    const FLOWS: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, _config: &Config, _now: u64) {}

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        let mut draws = Draws::of(arrival);
        let hit = self.compare(config, arrival, &mut draws);
        let this = reread_mut(self);
        if full {
            return Verdict::Drop(Why::Overflow);
        }
        if draws.chance(this.p_zap(config, arrival, hit)) {
            arrival.signal(config.ecn != 0, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    #[inline(always)]
    fn on_change(&mut self, config: &Config, _now: u64) {
        if self.len > config.zombies {
            self.len = config.zombies;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.hit_rate, Fixed::ZERO, Fixed::ZERO, Fixed::ZERO]
    }
}
