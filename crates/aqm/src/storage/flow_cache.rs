//! The state of flows that come and go, in a fixed amount of memory.

use aqmkit_base::FlowKey;

/// A fixed salt, as in [`super::FlowTable`].
const SALT: u64 = 0x6171_6d6b_6974_0002;

/// How many flows share a set.
const WAYS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Slot<V> {
    key: FlowKey,
    /// When it was last used, by a clock that counts uses.
    used: u64,
    value: V,
}

/// A map from flows to values with a fixed capacity: a flow belongs to one set of four, and if the set is full,
/// replaces the least recently used flow of the set. All memory is allocated at the start.
#[derive(Clone, Debug)]
pub struct FlowCache<V> {
    slots: Vec<Option<Slot<V>>>,
    uses: u64,
    len: usize,
}

impl<V: Copy> FlowCache<V> {
    /// Room for `flows`, rounded up to a power of two.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        FlowCache { slots: vec![None; flows.next_power_of_two().max(WAYS)], uses: 0, len: 0 }
    }

    /// The value of `key`, created by `fresh` if it is not (or no longer) known.
    pub fn get_or(&mut self, key: FlowKey, fresh: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        let sets = self.slots.len() / WAYS;
        let first = (key.hash(SALT) as usize & (sets - 1)) * WAYS;
        let set = &mut self.slots[first..first + WAYS];
        // The first among equals: an empty slot was never used.
        let oldest = |slot: &Option<Slot<V>>| slot.as_ref().map_or(0, |s| s.used);
        let way = set
            .iter()
            .position(|slot| slot.as_ref().is_some_and(|s| s.key == key))
            .or_else(|| (0..WAYS).min_by_key(|&way| oldest(&set[way])))
            .unwrap_or(0);
        if set[way].as_ref().is_none_or(|s| s.key != key) {
            self.len += usize::from(set[way].is_none());
            set[way] = None;
        }
        let slot = set[way].get_or_insert_with(|| Slot { key, used: 0, value: fresh() });
        slot.used = self.uses;
        &mut slot.value
    }

    /// Number of flows it knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it knows none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its capacity in flows.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_who_was_not_seen_for_longest() {
        // One set.
        let mut cache = FlowCache::new(4);
        assert!(cache.is_empty());
        for flow in [1, 2, 3, 4, 1] {
            *cache.get_or(FlowKey(flow), || 0) += 1;
        }
        assert_eq!((cache.len(), cache.capacity(), cache.is_empty()), (4, 4, false));
        assert_eq!(*cache.get_or(FlowKey(5), || 10), 10, "in place of 2");
        assert_eq!(*cache.get_or(FlowKey(1), || 10), 2);
        assert_eq!(*cache.get_or(FlowKey(2), || 10), 10, "in place of 3");
        assert_eq!(cache.len(), 4);
    }

    #[test]
    fn any_number_of_flows_takes_the_same_space() {
        let mut cache = FlowCache::new(1000);
        for flow in 0..100_000 {
            cache.get_or(FlowKey(flow), || ());
        }
        assert_eq!((cache.len(), cache.capacity()), (1024, 1024));
    }
}
