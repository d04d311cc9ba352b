//! DCN: differential congestion notification. Law and sources: `aqmkit_aqm::disciplines::dcn`.
//!
//! The table of high-bandwidth flows is a hash table with buckets of eight slots. A flow whose bucket is full is
//! treated like one that finds the table full: its packet passes, and the next one tries again.

use crate::fixed::{Factor, Fixed, ONE, quotient, remainder, repeated, spread};
use crate::law::{Arrival, GAUGES, Law, Limit, Verdict, Why};
use crate::table::{Entry, FlowTable};
use crate::verifier::{masked, reread, reread_mut};
use crate::words::words;

words! {
    /// DCN's parameters.
    pub struct Config {
        /// Queue limit.
        pub limit: Limit,
        /// Reference queue length, in the unit of the limit.
        pub q_ref: Fixed,
        /// Gain of the older sample, in packets of share per unit of queue.
        pub a: Factor,
        /// Gain of the newer sample, likewise.
        pub b: Factor,
        /// Swap the gains, as printed in the paper.
        pub as_printed: u64,
        /// Sampling period of the queue, in nanoseconds.
        pub t_update: u64,
        /// Decrement period of a flow's count, in nanoseconds.
        pub t_dec: u64,
        /// Idle time after which a flow's score restarts from zero, in nanoseconds.
        pub clearing: u64,
        /// Score in packets that makes a flow high-bandwidth.
        pub threshold: Fixed,
        /// Initial share.
        pub p_init: Fixed,
        /// Minimum share.
        pub p_min: Fixed,
        /// Maximum share.
        pub p_max: Fixed,
        /// Scoreboard size, at most [`SB_SLOTS`].
        pub sb_slots: u64,
        /// Maximum number of high-bandwidth flows, at most [`HB_LIMIT`].
        pub hb_limit: u64,
        /// Reciprocal of the bytes that count as one packet.
        pub per_byte: Factor,
        /// Count bytes rather than packets.
        pub count_bytes: u64,
        /// Count dropped packets too.
        pub count_dropped: u64,
        /// Mark ECN-capable packets instead of dropping.
        pub ecn: u64,
    }
}

/// Maximum scoreboard size.
pub const SB_SLOTS: usize = 16_384;
/// Maximum number of high-bandwidth flows.
pub const HB_LIMIT: usize = 4096;
/// Slots of that table: twice the flows, so that buckets rarely fill up.
const PLACES: usize = 2 * HB_LIMIT;
/// Maximum timer steps processed per arrival; later ones are left to the next arrival.
pub const STEPS: u32 = 32;
/// Salt of the scoreboard, as in `aqmkit_aqm`, so that the same flows collide.
const SALT: u64 = 0x6463_6e5f_7362_0001;
/// Salt of the table of high-bandwidth flows.
const HB_SALT: u64 = 0x6463_6e5f_6862_0001;

/// A scoreboard entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// Flow hash; 0 if empty.
    flow: u64,
    count: Fixed,
    last: u64,
}

/// When a flow's count is decremented next.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Due {
    at: u64,
    place: u64,
}

/// State of DCN.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dcn {
    p_ref: Fixed,
    /// Error (distance from the reference) of the last sample.
    old_error: Fixed,
    /// The reference that this error refers to.
    q_ref: Fixed,
    next_update: u64,
    /// Time of the last parameter change.
    changed: u64,
    /// Number of high-bandwidth flows.
    flows: u64,
    /// Index of the earliest entry in `due`, a ring in time order because all flows have the same period.
    first: u64,
    hb: FlowTable<Fixed, PLACES>,
    due: [Due; HB_LIMIT],
    sb: [Slot; SB_SLOTS],
}

/// Change of the share, from two successive errors.
#[inline(always)]
fn gained(config: &Config, older: Fixed, newer: Fixed) -> Fixed {
    if config.as_printed != 0 {
        config.a.times(newer).minus(config.b.times(older))
    } else {
        config.a.times(older).minus(config.b.times(newer))
    }
}

impl Dcn {
    /// Updates the share for `n` samples with the same error.
    #[inline(always)]
    fn update(&mut self, config: &Config, error: Fixed, n: u64) {
        let (low, high) = (config.p_min, config.p_max);
        let first = self.p_ref.plus(gained(config, self.old_error, error)).within(low, high);
        // All further steps are equal.
        self.p_ref = repeated(first, gained(config, error, error), n - 1, low, high);
        self.old_error = error;
    }

    /// When the first high-bandwidth flow is due.
    #[inline(always)]
    fn first_due(&self, config: &Config) -> u64 {
        if self.flows == 0 {
            return u64::MAX;
        }
        let at = self.due[masked::<HB_LIMIT>(self.first)].at;
        // Keeps the order even if the period has become shorter.
        let latest = self.changed + config.t_dec;
        if at < latest || self.changed == 0 { at } else { latest }
    }

    /// Decrements the count of the flow that is due first; below zero the flow is removed.
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

    /// Processes the next timer event if it is due; returns whether there was one.
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
        // All samples up to now, or up to the next decrement.
        let until = if due <= arrival.now { due - 1 } else { arrival.now };
        let n = quotient(until - self.next_update, config.t_update) + 1;
        self.update(config, config.limit.length(arrival).minus(config.q_ref), n);
        self.next_update += n * config.t_update;
        true
    }

    /// Right half of figure 3: adds to the flow's score, and makes it high-bandwidth at the threshold.
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

    /// Decides on a packet whose flow has been looked up.
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
            // Signal with probability 1 - p_ref / m: equivalent to p_ref < m (1 - draw).
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

    /// Flows and share are kept.
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
