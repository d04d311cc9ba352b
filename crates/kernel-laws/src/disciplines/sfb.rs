//! SFB: stochastic fair BLUE. `aqmkit_aqm::disciplines::sfb` has the law and its sources.
//!
//! Which packets wait is known from the packets that were let in ([`crate::waiting`]). A set of bins is not cleared when its turn is
//! over: each bin says to which set it belongs, and one of an earlier set counts as empty.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient, salt, spread};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::{masked, reread, reread_mut};
use crate::waiting::{Waiting, WaitingList};
use crate::words::words;

words! {
    /// SFB's parameters.
    pub struct Config {
        /// What the queue may hold, at most [`PACKETS`].
        pub limit: Limit,
        /// Bins that each flow has, at most [`LEVELS`].
        pub levels: u64,
        /// Bins of each level, at most [`BINS`].
        pub bins: u64,
        /// Packets in a bin above which it steps up.
        pub bin_size: u64,
        /// Packets from which on a bin is full.
        pub max: u64,
        /// Step up, times 2^[`FINER`].
        pub increment: Fixed,
        /// Step down, likewise.
        pub decrement: Fixed,
        /// The least time between two steps of a bin, in nanoseconds; 0 for none.
        pub freeze: u64,
        /// How long a set is used, in nanoseconds; 0 for ever.
        pub rehash: u64,
        /// How long before its turn the second set learns, in nanoseconds.
        pub db: u64,
        /// Tokens of the penalty box in a nanosecond.
        pub penalty_rate: Factor,
        /// The most tokens of the penalty box.
        pub penalty_burst: Fixed,
        /// How long the penalty box takes to fill, in nanoseconds.
        pub penalty_fills: u64,
        /// Whether ECN-capable packets are marked where an early drop is due.
        pub ecn: u64,
    }
}

/// The most levels.
pub const LEVELS: usize = 8;
/// The most bins of a level.
pub const BINS: usize = 256;
/// The most packets that can wait.
pub const PACKETS: usize = 4096;
/// How many departures one arrival makes up for while others still wait; each changes many bins.
const DEPARTURES: u32 = 64;
/// Levels that one hash serves, and the salts of both hashes.
const LEVELS_OF_HASH: u64 = 4;
const SALTS: [u64; LEVELS / LEVELS_OF_HASH as usize] = [salt(0), salt(4)];

/// One BLUE.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    /// The number of the set that it belongs to, plus one.
    set: u64,
    /// When it was last counted, in times that the queue was found empty.
    emptied: u64,
    /// Packets of its flows in the queue.
    qlen: u64,
    /// Its probability, times 2^[`FINER`].
    p: Fixed,
    /// When it stepped last, in nanoseconds.
    last_update: u64,
}

impl Bin {
    /// An empty one.
    const ZERO: Bin = Bin { set: 0, emptied: 0, qlen: 0, p: Fixed::ZERO, last_update: 0 };

    #[inline(always)]
    fn step(&mut self, delta: Fixed, config: &Config, now: u64) {
        if config.freeze == 0 || self.last_update == 0 || now.wrapping_sub(self.last_update) > config.freeze {
            self.p = self.p.plus(delta).within(Fixed::ZERO, Fixed::ONE.times(1 << FINER));
            self.last_update = now;
        }
    }
}

/// What a flow's bins have in common.
struct Least {
    qlen: u64,
    p: Fixed,
}

/// SFB's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sfb {
    /// The number of the set in use; the next one is in use beside it.
    set: u64,
    /// When the next takes over, in nanoseconds.
    until: u64,
    /// The shape of the sets.
    levels: u64,
    bins: u64,
    /// How often an arrival has found that all had left.
    emptied: u64,
    /// Of the penalty box.
    tokens: Fixed,
    filled: u64,
    /// The least probability of the bins of the last arrival, for its gauge.
    last_p: Fixed,
    /// The sets, each at its number modulo two.
    banks: [[Bin; LEVELS * BINS]; 2],
    /// Each with the set that was in use when it came as its owner.
    waiting: WaitingList<PACKETS>,
    /// The flows of those, at the same places.
    flows: [u64; PACKETS],
}

impl Sfb {
    /// The flow's bin of a level in a set.
    #[inline(always)]
    fn bin(&mut self, config: &Config, flow: u64, set: u64, level: u64) -> &mut Bin {
        let word = spread(flow, salt(set) ^ SALTS[masked::<{ SALTS.len() }>(level / LEVELS_OF_HASH)]);
        let place = (((word >> (16 * (level % LEVELS_OF_HASH))) & 0xffff) * config.bins) >> 16;
        let bin = &mut self.banks[masked::<2>(set)][masked::<{ LEVELS * BINS }>(level * BINS as u64 + place)];
        if bin.set != set + 1 {
            *bin = Bin { set: set + 1, ..Bin::ZERO };
        }
        let bin = reread_mut(bin);
        if bin.emptied != self.emptied {
            (bin.qlen, bin.emptied) = (0, self.emptied);
        }
        reread_mut(bin)
    }

    /// Steps the flow's bins in a set.
    #[inline(always)]
    fn update(&mut self, config: &Config, arrival: &Arrival, set: u64) -> Least {
        let mut least = Least { qlen: u64::MAX, p: Fixed::ONE.times(1 << FINER) };
        for level in 0..LEVELS as u64 {
            let config = reread(config);
            if level >= config.levels {
                break;
            }
            let bin = reread_mut(self).bin(config, reread(arrival).flow, set, level);
            if bin.qlen > config.bin_size {
                bin.step(config.increment, config, arrival.now);
            } else if bin.qlen == 0 {
                bin.step(Fixed::ZERO.minus(config.decrement), config, arrival.now);
            }
            let bin = reread(bin);
            least.qlen = if bin.qlen < least.qlen { bin.qlen } else { least.qlen };
            least.p = if bin.p < least.p { bin.p } else { least.p };
        }
        least
    }

    /// Adds packets to the flow's bins of a set, or takes them away.
    #[inline(always)]
    fn count(&mut self, config: &Config, flow: u64, set: u64, packets: u64, added: bool) {
        for level in 0..LEVELS as u64 {
            let config = reread(config);
            if level >= config.levels {
                return;
            }
            let bin = reread_mut(self).bin(config, flow, set, level);
            bin.qlen = if added { bin.qlen.wrapping_add(packets) } else { bin.qlen.saturating_sub(packets) };
        }
    }

    /// Counts every packet out that has left, in the sets that counted it in.
    #[inline(always)]
    fn departures(&mut self, config: &Config, arrival: &Arrival) {
        if arrival.finds_nothing() {
            if !self.waiting.is_empty() {
                self.waiting.clear();
                self.emptied += 1;
            }
            return;
        }
        for _ in 0..DEPARTURES {
            let this = reread_mut(self);
            let flow = this.flows[masked::<PACKETS>(this.waiting.oldest())];
            let Some(gone) = this.waiting.next_gone(reread(arrival)) else { return };
            let Waiting { owner: then, packets, .. } = gone;
            let set = this.set;
            if set <= then + 1 {
                this.count(config, flow, set, u64::from(packets), false);
            }
            if set <= then {
                reread_mut(self).count(config, flow, set + 1, u64::from(packets), false);
            }
        }
    }

    /// The sets take turns.
    #[inline(always)]
    fn take_turns(&mut self, config: &Config, arrival: &Arrival) {
        if config.rehash == 0 || self.until > arrival.now {
            return;
        }
        let turns = quotient(arrival.now - self.until, config.rehash) + 1;
        self.set += turns;
        self.until += turns * config.rehash;
    }

    /// Whether the penalty box lets a packet through.
    #[inline(always)]
    fn penalty_box(&mut self, config: &Config, now: u64) -> bool {
        let since = now.wrapping_sub(self.filled);
        self.tokens = if since >= config.penalty_fills {
            config.penalty_burst
        } else {
            let more = Fixed(config.penalty_rate.of(since) as i64);
            self.tokens.plus(more).within(Fixed::ZERO, config.penalty_burst)
        };
        self.filled = now;
        if self.tokens < Fixed::ONE {
            return false;
        }
        self.tokens = self.tokens.minus(Fixed::ONE);
        true
    }

    /// The reason to drop the arrival or, where that can be, to mark it.
    #[inline(always)]
    fn decide(&mut self, config: &Config, arrival: &Arrival) -> Option<(Why, bool)> {
        let set = self.set;
        let least = self.update(config, arrival, set);
        let this = reread_mut(self);
        this.last_p = least.p;
        if least.qlen >= config.max {
            return Some((Why::Unfair, false));
        }
        if this.last_p >= Fixed::ONE.times(1 << FINER) {
            if config.rehash != 0 && arrival.now + config.db > this.until {
                this.update(config, arrival, set + 1);
            }
            let passes = reread_mut(this).penalty_box(config, arrival.now);
            return if passes { None } else { Some((Why::Penalty, false)) };
        }
        let p = Scale::of_arrival(arrival, 0, Factor::ZERO).of(Fixed(this.last_p.0 >> FINER));
        if !p.exceeds(arrival.draws[0]) {
            return None;
        }
        // So many marks mean that the flow does not answer, or that all is badly congested.
        let enough = p.times(2).minus(Fixed::ONE).exceeds(arrival.draws[0]);
        Some((Why::Early, config.ecn != 0 && !enough))
    }

    /// The arrival is let in.
    #[inline(always)]
    fn enter(&mut self, config: &Config, arrival: &Arrival) {
        let set = self.set;
        self.flows[masked::<PACKETS>(self.waiting.newest())] = arrival.flow;
        self.waiting.push(arrival, set);
        self.count(config, arrival.flow, set, arrival.packets, true);
        reread_mut(self).count(config, arrival.flow, set + 1, arrival.packets, true);
    }
}

impl Law for Sfb {
    type Config = Config;

    const ZERO: Sfb = Sfb {
        set: 0,
        until: 0,
        levels: 0,
        bins: 0,
        emptied: 0,
        tokens: Fixed::ZERO,
        filled: 0,
        last_p: Fixed::ZERO,
        banks: [[Bin::ZERO; LEVELS * BINS]; 2],
        waiting: WaitingList::ZERO,
        flows: [0; PACKETS],
    };

    const GAUGES: &'static [&'static str] = &["p.last", "set"];

    const FLOWS: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.until = now + config.rehash;
        (self.levels, self.bins) = (config.levels, config.bins);
        (self.tokens, self.filled) = (config.penalty_burst, now);
    }

    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        self.departures(config, arrival);
        reread_mut(self).take_turns(config, arrival);
        let this = reread_mut(self);
        if full || this.waiting.is_full() {
            return Verdict::Drop(Why::Overflow);
        }
        let marked = match this.decide(config, arrival) {
            None => false,
            Some((Why::Early, true)) if arrival.ecn_capable != 0 => true,
            Some((why, _)) => return Verdict::Drop(why),
        };
        reread_mut(this).enter(config, arrival);
        if marked { Verdict::Mark(Why::Early) } else { Verdict::Pass }
    }

    /// The next set takes over when its time has come under the new parameters. Sets of another shape begin anew.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        if (self.levels, self.bins) != (config.levels, config.bins) {
            self.set += 2;
            (self.levels, self.bins) = (config.levels, config.bins);
        }
        let soonest = now + config.rehash;
        if soonest < self.until {
            self.until = soonest;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [Fixed(self.last_p.0 >> FINER), Fixed::whole(self.set), Fixed::ZERO, Fixed::ZERO]
    }
}
