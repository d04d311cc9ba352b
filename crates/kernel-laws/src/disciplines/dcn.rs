//! DCN: differential congestion notification. `aqmkit_aqm::disciplines::dcn` has the law and its sources.
//!
//! The table of high-bandwidth flows has buckets of eight places; a flow whose bucket is full passes and is tried again
//! with its next packet, as where the table is full.

use crate::fixed::{Factor, Fixed, ONE, quotient, remainder, repeated, spread};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::table::{Entry, FlowTable};
use crate::verifier::{masked, reread, reread_mut};
use crate::words::words;

words! {
    /// DCN's parameters.
    pub struct Config {
        /// What the queue may hold.
        pub limit: Limit,
        /// The queue that the controller aims at, in the unit of the limit.
        pub q_ref: Fixed,
        /// Gain of the older sample, packets of the share per unit of the queue.
        pub a: Factor,
        /// Gain of the newer sample, likewise.
        pub b: Factor,
        /// Whether the gains change places, as the paper prints them.
        pub as_printed: u64,
        /// Sampling period of the queue in nanoseconds.
        pub t_update: u64,
        /// Period of a flow's count in nanoseconds.
        pub t_dec: u64,
        /// Pause after which a flow starts from zero, in nanoseconds.
        pub clearing: u64,
        /// Recent packets that make a flow high-bandwidth.
        pub threshold: Fixed,
        /// Share at the start.
        pub p_init: Fixed,
        /// Smallest share.
        pub p_min: Fixed,
        /// Largest share.
        pub p_max: Fixed,
        /// Slots of the scoreboard, at most [`SB_SLOTS`].
        pub sb_slots: u64,
        /// The most high-bandwidth flows, at most [`HB_LIMIT`].
        pub hb_limit: u64,
        /// 1 over the bytes that count as a packet.
        pub per_byte: Factor,
        /// Whether bytes are counted.
        pub count_bytes: u64,
        /// Whether packets count that were dropped.
        pub count_dropped: u64,
        /// Whether ECN-capable packets are marked.
        pub ecn: u64,
    }
}

/// The most slots of the scoreboard.
pub const SB_SLOTS: usize = 16_384;
/// The most high-bandwidth flows.
pub const HB_LIMIT: usize = 4096;
/// Places of that table: twice as many as flows, so that a bucket seldom fills.
const PLACES: usize = 2 * HB_LIMIT;
/// Steps of the timers for which one arrival makes up; what is left waits for the next one.
pub const STEPS: u32 = 32;
/// The salt of the scoreboard, as in `aqmkit_aqm`: the same flows meet in a slot.
const SALT: u64 = 0x6463_6e5f_7362_0001;
/// The salt of the other table.
const HB_SALT: u64 = 0x6463_6e5f_6862_0001;

/// A slot of the scoreboard.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// 0 where it is empty.
    flow: u64,
    count: Fixed,
    last: u64,
}

/// When a flow's count is next decreased.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: u64,
    place: u64,
}

/// DCN's state.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dcn {
    p_ref: Fixed,
    /// The last sample's distance from the target.
    old_error: Fixed,
    /// The target to which that belongs.
    q_ref: Fixed,
    next_update: u64,
    /// When the parameters last changed.
    changed: u64,
    /// How many high-bandwidth flows there are.
    flows: u64,
    /// Where the soonest of their times stands in `due`; the others follow, for all have one period.
    first: u64,
    hb: FlowTable<Fixed, PLACES>,
    due: [Due; HB_LIMIT],
    sb: [Slot; SB_SLOTS],
}

/// The difference that a gain makes.
#[inline(always)]
fn gained(config: &Config, older: Fixed, newer: Fixed) -> Fixed {
    if config.as_printed != 0 {
        config.a.times(newer).minus(config.b.times(older))
    } else {
        config.a.times(older).minus(config.b.times(newer))
    }
}

impl Dcn {
    /// The share follows `n` samples of the queue with one error.
    #[inline(always)]
    fn update(&mut self, config: &Config, error: Fixed, n: u64) {
        let (low, high) = (config.p_min, config.p_max);
        let first = self.p_ref.plus(gained(config, self.old_error, error)).within(low, high);
        // All further steps are alike.
        self.p_ref = repeated(first, gained(config, error, error), n - 1, low, high);
        self.old_error = error;
    }

    /// When the first of the high-bandwidth flows is due.
    #[inline(always)]
    fn first_due(&self, config: &Config) -> u64 {
        if self.flows == 0 {
            return u64::MAX;
        }
        let at = self.due[masked::<HB_LIMIT>(self.first)].at;
        // Soonest first even where the period has become shorter.
        let latest = self.changed + config.t_dec;
        if at < latest || self.changed == 0 { at } else { latest }
    }

    /// Decreases the count of the flow that is due first; below zero it leaves.
    #[inline(always)]
    fn decrease(&mut self, config: &Config, at: u64) {
        let place = self.due[masked::<HB_LIMIT>(self.first)].place;
        let entry = self.hb.at(place);
        entry.value = entry.value.minus(self.p_ref);
        self.first += 1;
        if entry.value < Fixed::ZERO {
            entry.flow = 0;
            self.flows -= 1;
        } else {
            let last = self.first + self.flows - 1;
            self.due[masked::<HB_LIMIT>(last)] = Due { at: at + config.t_dec, place };
        }
    }

    /// Does what the timers have to do next, if its time has come.
    #[inline(always)]
    fn catch_up(&mut self, config: &Config, arrival: &Arrival) -> bool {
        let due = self.first_due(config);
        if due <= arrival.now && due <= self.next_update {
            self.decrease(config, due);
            return true;
        }
        if self.next_update > arrival.now {
            return false;
        }
        // Every sample up to now, or up to where a count is decreased before the next one.
        let until = if due <= arrival.now { due - 1 } else { arrival.now };
        let n = quotient(until - self.next_update, config.t_update) + 1;
        self.update(config, config.limit.length(arrival).minus(config.q_ref), n);
        self.next_update += n * config.t_update;
        true
    }

    /// The right half of Figure 3: is this flow becoming a high-bandwidth one?
    #[inline(always)]
    fn score(&mut self, config: &Config, arrival: &Arrival, added: Fixed) {
        let slot = &mut self.sb[masked::<SB_SLOTS>(remainder(spread(arrival.flow, SALT), config.sb_slots))];
        let count = if slot.flow != arrival.flow {
            added
        } else if arrival.now.wrapping_sub(slot.last) < config.clearing {
            slot.count.plus(added)
        } else {
            Fixed::ZERO
        };
        *slot = Slot { flow: arrival.flow, count, last: arrival.now };
        if count < config.threshold || self.flows >= config.hb_limit {
            return;
        }
        let Some(place) = self.hb.place() else { return };
        *self.hb.at(place) = Entry { flow: arrival.flow, value: count };
        let last = self.first + self.flows;
        self.due[masked::<HB_LIMIT>(last)] = Due { at: arrival.now + config.t_dec, place };
        self.flows += 1;
    }

    /// Decides about a flow whose place has been looked for.
    #[inline(always)]
    fn decide(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        let added = if config.count_bytes != 0 {
            Fixed(config.per_byte.of(Fixed::whole(arrival.bytes).0 as u64) as i64)
        } else {
            Fixed::whole(arrival.packets)
        };
        let p_ref = self.p_ref;
        if let Some(entry) = self.hb.get(arrival.flow) {
            let with_this = entry.value.plus(added);
            // A draw is below 1 - p_ref / m where p_ref is below the part of m that the draw leaves.
            let signalled = p_ref < with_this.part(ONE - u64::from(arrival.draws[0]));
            let verdict = if signalled { arrival.signal(config.ecn != 0, Why::Unfair) } else { Verdict::Pass };
            let forwarded = !full && !matches!(verdict, Verdict::Drop(_));
            if forwarded || config.count_dropped != 0 {
                entry.value = with_this;
            }
            return verdict;
        }
        if !full || config.count_dropped != 0 {
            self.score(config, arrival, added);
        }
        Verdict::Pass
    }
}

impl Law for Dcn {
    type Config = Config;

    const ZERO: Dcn = Dcn {
        p_ref: Fixed::ZERO,
        old_error: Fixed::ZERO,
        q_ref: Fixed::ZERO,
        next_update: 0,
        changed: 0,
        flows: 0,
        first: 0,
        hb: FlowTable::empty(Fixed::ZERO),
        due: [Due { at: 0, place: 0 }; HB_LIMIT],
        sb: [Slot { flow: 0, count: Fixed::ZERO, last: 0 }; SB_SLOTS],
    };

    const GAUGES: &'static [&'static str] = &["p_ref", "flows"];

    const FLOWS: bool = true;

    #[inline(always)]
    fn limit(config: &Config) -> &Limit {
        &config.limit
    }

    #[inline(always)]
    fn start(&mut self, config: &Config, now: u64) {
        self.p_ref = config.p_init;
        // As if the queue had been empty before.
        self.old_error = Fixed::ZERO.minus(config.q_ref);
        self.q_ref = config.q_ref;
        self.next_update = now + config.t_update;
    }

    /// Figure 3.
    #[inline(always)]
    fn on_arrival(&mut self, config: &Config, arrival: &Arrival, full: bool) -> Verdict {
        for _ in 0..STEPS {
            if !reread_mut(self).catch_up(config, reread(arrival)) {
                break;
            }
        }
        reread_mut(self).hb.find(arrival.flow, HB_SALT);
        reread_mut(self).decide(config, reread(arrival), full)
    }

    /// Flows and share stay.
    #[inline(always)]
    fn on_change(&mut self, config: &Config, now: u64) {
        if self.q_ref != config.q_ref {
            self.old_error = Fixed::ZERO.minus(config.q_ref);
            self.q_ref = config.q_ref;
        }
        self.p_ref = self.p_ref.within(config.p_min, config.p_max);
        self.changed = now;
        let soonest = now + config.t_update;
        if soonest < self.next_update {
            self.next_update = soonest;
        }
    }

    #[inline(always)]
    fn gauges(&self, _config: &Config) -> [Fixed; GAUGES] {
        [self.p_ref, Fixed::whole(self.flows), Fixed::ZERO, Fixed::ZERO]
    }
}
