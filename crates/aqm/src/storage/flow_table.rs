//! The state of the flows that have packets waiting.

use aqmkit_base::FlowKey;

/// A fixed salt: two runs must visit the same slots, and a live link's keys are salted hashes already.
const SALT: u64 = 0x6171_6d6b_6974_0001;

/// The minimum number of slots once it holds a flow; a power of two.
const SMALLEST: usize = 16;

/// A map from flows to small values: open addressing with linear probing, at most a quarter full (so that look-ups
/// seldom take a second step), no tombstones. It grows with the maximum number of flows so far and allocates nothing
/// after that; if only flows with queued packets are kept, the queue's limit bounds it.
#[derive(Clone, Debug)]
pub struct FlowTable<V> {
    /// Empty, or a power of two long.
    slots: Vec<Option<(FlowKey, V)>>,
    len: usize,
}

impl<V> Default for FlowTable<V> {
    fn default() -> Self {
        FlowTable { slots: Vec::new(), len: 0 }
    }
}

impl<V: Default> FlowTable<V> {
    /// A table with room for this many flows before it allocates again.
    #[must_use]
    pub fn with_capacity(flows: usize) -> Self {
        let capacity = (flows * 4).next_power_of_two().max(SMALLEST);
        FlowTable { slots: std::iter::repeat_with(|| None).take(capacity).collect(), len: 0 }
    }

    /// How many flows it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: FlowKey) -> Option<&V> {
        self.slots.get(self.find(key))?.as_ref().map(|(_, value)| value)
    }

    /// The value of `key`, mutable.
    pub fn get_mut(&mut self, key: FlowKey) -> Option<&mut V> {
        let slot = self.find(key);
        self.slots.get_mut(slot)?.as_mut().map(|(_, value)| value)
    }

    /// The value of `key`, inserted with the default if missing.
    pub fn or_default(&mut self, key: FlowKey) -> &mut V {
        let mut slot = self.find(key);
        if self.slots.get(slot).is_none_or(Option::is_none) {
            if (self.len + 1) * 4 > self.slots.len() {
                self.grow();
                slot = self.find(key);
            }
            self.len += 1;
        }
        &mut self.slots[slot].get_or_insert_with(|| (key, V::default())).1
    }

    /// Updates the value of `key`, if present, and removes it if `keep` then returns false: one look-up for both.
    pub fn change(&mut self, key: FlowKey, keep: impl FnOnce(&mut V) -> bool) {
        let slot = self.find(key);
        if let Some(Some((_, value))) = self.slots.get_mut(slot)
            && !keep(value)
        {
            self.clear_slot(slot);
        }
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: FlowKey) -> Option<V> {
        let slot = self.find(key);
        let (_, value) = self.slots.get_mut(slot)?.take()?;
        self.clear_slot(slot);
        Some(value)
    }

    /// Updates every value, and removes those for which `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(FlowKey, &mut V) -> bool) {
        // When starting at a free slot, closing a gap moves only flows not visited yet.
        let Some(start) = self.slots.iter().position(Option::is_none) else { return };
        let mut slot = self.after(start);
        while slot != start {
            if self.slots[slot].as_mut().is_none_or(|(key, value)| keep(*key, value)) {
                slot = self.after(slot);
            } else {
                self.clear_slot(slot);
            }
        }
    }

    /// Clears the slot of a flow and closes the gap: the following flows of the same run move back, unless the hole is
    /// before their home slot.
    fn clear_slot(&mut self, slot: usize) {
        self.len -= 1;
        self.slots[slot] = None;
        let mask = self.slots.len() - 1;
        let (mut hole, mut next) = (slot, self.after(slot));
        while let Some((follower, _)) = self.slots[next] {
            let from_home = next.wrapping_sub(self.home(follower)) & mask;
            if from_home >= (next.wrapping_sub(hole) & mask) {
                self.slots.swap(hole, next);
                hole = next;
            }
            next = self.after(next);
        }
    }

    /// Every flow with its value, in no meaningful order (but the same in every run).
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &V)> {
        self.slots.iter().flatten().map(|(key, value)| (*key, value))
    }

    fn home(&self, key: FlowKey) -> usize {
        key.hash(SALT) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// The slot that holds `key`, or the one it would be inserted at; 0 in a table without slots.
    fn find(&self, key: FlowKey) -> usize {
        if self.slots.is_empty() {
            return 0;
        }
        let mut slot = self.home(key);
        while self.slots[slot].as_ref().is_some_and(|(other, _)| *other != key) {
            slot = self.after(slot);
        }
        slot
    }

    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(SMALLEST);
        let fresh = std::iter::repeat_with(|| None).take(capacity).collect();
        for entry in std::mem::replace(&mut self.slots, fresh).into_iter().flatten() {
            let slot = self.find(entry.0);
            self.slots[slot] = Some(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(ops in prop::collection::vec((any::<bool>(), 0_u64..60), 0..600)) {
            let (mut table, mut model) = (FlowTable::<u64>::default(), BTreeMap::new());
            for (at, (put, key)) in ops.into_iter().enumerate() {
                if at % 64 == 63 {
                    table.retain(|_, value| { *value += 1; *value % 5 > 0 });
                    model.retain(|_, value| { *value += 1; *value % 5 > 0 });
                }
                if put && at % 2 == 0 {
                    table.change(FlowKey(key), |value| { *value += 1; *value % 3 > 0 });
                    if let Some(value) = model.get_mut(&FlowKey(key)) {
                        *value += 1;
                        if *value % 3 == 0 {
                            model.remove(&FlowKey(key));
                        }
                    }
                } else if put {
                    *table.or_default(FlowKey(key)) += at as u64;
                    *model.entry(FlowKey(key)).or_default() += at as u64;
                } else {
                    prop_assert_eq!(table.remove(FlowKey(key)), model.remove(&FlowKey(key)));
                }
                prop_assert_eq!(table.len(), model.len());
                for any in (0..60).map(FlowKey) {
                    prop_assert_eq!(table.get(any), model.get(&any));
                }
            }
            prop_assert_eq!(table.iter().map(|(k, v)| (k, *v)).collect::<BTreeMap<_, _>>(), model);
        }
    }

    #[test]
    fn an_empty_table_knows_nobody() {
        let mut table = FlowTable::<u32>::default();
        assert_eq!(table.get(FlowKey(1)), None);
        assert_eq!(table.get_mut(FlowKey(1)), None);
        assert_eq!(table.remove(FlowKey(1)), None);
        assert!(table.is_empty());
    }
}
