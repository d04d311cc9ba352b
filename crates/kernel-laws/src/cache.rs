//! Per-flow state in a fixed-size set-associative cache with LRU replacement. See `aqmkit_aqm::storage::FlowCache`.

use crate::fixed::spread;
use crate::verifier::{masked, reread_mut};

/// Associativity: slots per set.
const WAYS: u64 = 4;
/// The salt of that cache, so that the same flows share a set.
const SALT: u64 = 0x6171_6d6b_6974_0002;

/// A cached flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot<V> {
    /// Flow hash; 0 for an empty slot.
    flow: u64,
    /// Time of last use, counted in uses; 0 for never.
    used: u64,
    value: V,
}

/// A 4-way set-associative cache with `PLACES` slots, a power of two.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowCache<V, const PLACES: usize> {
    uses: u64,
    /// Number of cached flows.
    flows: u64,
    /// Result of `find`: the flow's slot, and the oldest use in its set.
    place: u64,
    oldest: u64,
    slots: [Slot<V>; PLACES],
}

impl<V: Copy, const PLACES: usize> FlowCache<V, PLACES> {
    /// An empty cache.
    #[must_use]
    pub const fn empty(fresh: V) -> Self {
        FlowCache { uses: 0, flows: 0, place: 0, oldest: 0, slots: [Slot { flow: 0, used: 0, value: fresh }; PLACES] }
    }

    /// Number of cached flows.
    #[inline(always)]
    #[must_use]
    pub fn flows(&self) -> u64 {
        self.flows
    }

    /// The value of a flow, in a cache of `places` slots (a power of two from 4 to `PLACES`). A flow that is not cached
    /// gets the value `fresh` and replaces the least recently used flow of its set.
    #[inline(always)]
    pub fn get_or(&mut self, flow: u64, places: u64, fresh: V) -> &mut V {
        self.find(flow, places);
        let this = reread_mut(self);
        this.uses += 1;
        let slot = &mut this.slots[masked::<PLACES>(this.place)];
        if slot.flow != flow {
            this.flows += u64::from(slot.flow == 0);
            *slot = Slot { flow, used: 0, value: fresh };
        }
        slot.used = this.uses;
        &mut reread_mut(slot).value
    }

    /// Finds the flow's slot, or else the least recently used one of its set.
    #[inline(always)]
    fn find(&mut self, flow: u64, places: u64) {
        let first = (spread(flow, SALT) & ((places / WAYS).wrapping_sub(1))) * WAYS;
        self.oldest = u64::MAX;
        for way in 0..WAYS {
            let this = reread_mut(self);
            let slot = &this.slots[masked::<PLACES>(first + way)];
            if slot.flow == flow {
                this.place = first + way;
                return;
            }
            if slot.used < this.oldest {
                (this.oldest, this.place) = (slot.used, first + way);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_who_was_not_seen_for_longest() {
        // A single set.
        let mut cache = FlowCache::<u64, 4>::empty(0);
        for flow in [1, 2, 3, 4, 1] {
            *cache.get_or(flow, 4, 0) += 1;
        }
        assert_eq!(cache.flows(), 4);
        assert_eq!(*cache.get_or(5, 4, 10), 10, "in place of 2");
        assert_eq!(*cache.get_or(1, 4, 10), 2);
        assert_eq!(*cache.get_or(2, 4, 10), 10, "in place of 3");
        assert_eq!(cache.flows(), 4);
    }

    #[test]
    fn a_smaller_cache_uses_the_first_places() {
        let mut cache = FlowCache::<u64, 16>::empty(0);
        for flow in 1..100 {
            cache.get_or(flow, 8, 0);
        }
        assert_eq!(cache.flows(), 8);
    }
}
