//! SFB: stochastic fair BLUE. Law and sources: `aqmkit_aqm::disciplines::sfb`.
//!
//! Queued packets are tracked with [`crate::waiting`]. A set of bins is not cleared when it is retired: each bin stores
//! the number of its set, and a bin of an earlier set counts as empty.

use crate::early::Scale;
use crate::fixed::{FINER, Factor, Fixed, quotient, salt, spread};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::verifier::{masked, reread, reread_mut};
use crate::waiting::{Waiting, WaitingList};
use crate::words::words;

words! {
    /// SFB's parameters.
    pub struct Config {
        /// Queue limit, at most [`PACKETS`].
        pub limit: Limit,
        /// Number of levels, at most [`LEVELS`].
        pub levels: u64,
        /// Bins per level, at most [`BINS`].
        pub bins: u64,
        /// A bin with more packets than this increments its probability.
        pub bin_size: u64,
        /// From this many packets on, a bin is full.
        pub max: u64,
        /// Increment of the probability, times 2^[`FINER`].
        pub increment: Fixed,
        /// Decrement of the probability, likewise.
        pub decrement: Fixed,
        /// Minimum time between updates of a bin, in nanoseconds; 0 for none.
        pub freeze: u64,
        /// Rehash period: lifetime of a set, in nanoseconds; 0 for unlimited.
        pub rehash: u64,
        /// Double buffering: how long before its lifetime the next set is warmed up, in nanoseconds.
        pub db: u64,
        /// Token rate of the penalty box, per nanosecond.
        pub penalty_rate: Factor,
        /// Token bucket depth of the penalty box, in packets.
        pub penalty_burst: Fixed,
        /// Time for the empty penalty box to fill, in nanoseconds.
        pub penalty_fills: u64,
        /// Mark ECN-capable packets instead of early drops.
        pub ecn: u64,
    }
}

/// Maximum number of levels.
pub const LEVELS: usize = 8;
/// Maximum number of bins per level.
pub const BINS: usize = 256;
/// Maximum queue length in packets.
pub const PACKETS: usize = 4096;
/// Maximum departures processed per arrival while others are still queued; each updates many bins.
const DEPARTURES: u32 = 64;
/// Levels served by one hash, and the salts of the two hashes.
const LEVELS_OF_HASH: u64 = 4;
const SALTS: [u64; LEVELS / LEVELS_OF_HASH as usize] = [salt(0), salt(4)];

/// A bin: one instance of BLUE.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bin {
    /// Number of its set, plus one.
    set: u64,
    /// Value of [`Sfb::emptied`] when its queue length was last updated.
    emptied: u64,
    /// Packets of its flows in the queue.
    qlen: u64,
    /// Drop probability, times 2^[`FINER`].
    p: Fixed,
    /// Time of the last update, in nanoseconds.
    last_update: u64,
}

impl Bin {
    /// An empty bin.
    const ZERO: Bin = Bin { set: 0, emptied: 0, qlen: 0, p: Fixed::ZERO, last_update: 0 };

    #[inline(always)]
    fn step(&mut self, delta: Fixed, config: &Config, now: u64) {
        if config.freeze == 0 || self.last_update == 0 || now.wrapping_sub(self.last_update) > config.freeze {
            self.p = self.p.plus(delta).within(Fixed::ZERO, Fixed::ONE.times(1 << FINER));
            self.last_update = now;
        }
    }
}

/// Minima over a flow's bins.
struct Least {
    qlen: u64,
    p: Fixed,
}

/// State of SFB.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sfb {
    /// Number of the active set; the next set is warmed up beside it.
    set: u64,
    /// When the next set becomes active, in nanoseconds.
    until: u64,
    /// Geometry of the sets.
    levels: u64,
    bins: u64,
    /// How many times the queue was found empty.
    emptied: u64,
    /// Tokens in the penalty box.
    tokens: Fixed,
    filled: u64,
    /// Minimum probability over the bins of the last arrival, for the gauge.
    last_p: Fixed,
    /// The two sets, indexed by set number modulo two.
    banks: [[Bin; LEVELS * BINS]; 2],
    /// Queued packets; the owner is the set that was active on arrival.
    waiting: WaitingList<PACKETS>,
    /// Flow hashes of the queued packets, by the same indices.
    flows: [u64; PACKETS],
}

impl Sfb {
    /// The flow's bin at one level of a set.
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

    /// Runs BLUE on the flow's bins in a set.
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

    /// Adds packets to, or removes them from, the flow's bins in a set.
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

    /// Removes departed packets from the sets they were counted in.
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

    /// Activates the next set when it is due.
    #[inline(always)]
    fn take_turns(&mut self, config: &Config, arrival: &Arrival) {
        if config.rehash == 0 || self.until > arrival.now {
            return;
        }
        let turns = quotient(arrival.now - self.until, config.rehash) + 1;
        self.set += turns;
        self.until += turns * config.rehash;
    }

    /// Whether the penalty box admits a packet.
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

    /// The reason to drop the arrival, and whether it may be marked instead.
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
        // A probability this high means that the flow is unresponsive, or that all traffic is badly congested.
        let enough = p.times(2).minus(Fixed::ONE).exceeds(arrival.draws[0]);
        Some((Why::Early, config.ecn != 0 && !enough))
    }

    /// Admits the arrival.
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

    /// Applies the new rehash period to the active set. Sets of another geometry are cleared.
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
