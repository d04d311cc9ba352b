//! A fixed-size hash table of flows, with buckets of eight slots.
//!
//! A flow whose bucket is full cannot be inserted; with twice as many slots as flows this is rare.

use crate::fixed::spread;
use crate::verifier::{masked, reread_mut};

/// Slots per bucket.
const WAYS: usize = 8;
/// Marker for a full bucket.
const NO_PLACE: u64 = u64::MAX;

/// A table entry.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<V> {
    /// Flow hash; 0 if the slot is free.
    pub flow: u64,
    /// The flow's value.
    pub value: V,
}

/// A hash table with `PLACES` slots, a power of two.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTable<V, const PLACES: usize> {
    /// Result of the last lookup: the flow's slot, or a free slot of its bucket.
    found: u64,
    entries: [Entry<V>; PLACES],
}

impl<V: Copy, const PLACES: usize> FlowTable<V, PLACES> {
    /// An empty table, with `value` in all slots.
    #[must_use]
    pub const fn empty(value: V) -> FlowTable<V, PLACES> {
        FlowTable { found: 0, entries: [Entry { flow: 0, value }; PLACES] }
    }

    /// Looks up a flow, for [`get`](Self::get) and [`place`](Self::place).
    #[inline(always)]
    pub fn find(&mut self, flow: u64, salt: u64) {
        let bucket = masked::<PLACES>(spread(flow, salt) << WAYS.ilog2()) as u64;
        self.found = NO_PLACE;
        let mut way = 0;
        while way < WAYS as u64 {
            let this = reread_mut(self);
            let holder = this.entries[masked::<PLACES>(bucket + way)].flow;
            if holder == flow {
                this.found = bucket + way;
                return;
            }
            if holder == 0 && this.found == NO_PLACE {
                this.found = bucket + way;
            }
            way += 1;
        }
    }

    /// The entry of the flow last looked up, if present.
    #[inline(always)]
    pub fn get(&mut self, flow: u64) -> Option<&mut Entry<V>> {
        let known = self.found != NO_PLACE;
        let entry = &mut self.entries[masked::<PLACES>(self.found)];
        if known && entry.flow == flow { Some(entry) } else { None }
    }

    /// The slot of the flow last looked up, or a free one for it; `None` if its bucket is full.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> Option<u64> {
        if self.found == NO_PLACE { None } else { Some(self.found) }
    }

    /// The entry in a slot.
    #[inline(always)]
    pub fn at(&mut self, place: u64) -> &mut Entry<V> {
        &mut self.entries[masked::<PLACES>(place)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::Fixed;

    #[test]
    fn flows_are_found_until_they_are_gone() {
        let mut table = FlowTable::<Fixed, 64>::empty(Fixed::ZERO);
        for flow in 1..=10 {
            table.find(flow, 7);
            assert!(table.get(flow).is_none());
            let place = table.place().expect("there is room");
            *table.at(place) = Entry { flow, value: Fixed::whole(flow) };
        }
        for flow in 1..=10 {
            table.find(flow, 7);
            assert_eq!(table.get(flow).map(|e| e.value), Some(Fixed::whole(flow)));
        }
        table.find(3, 7);
        table.get(3).expect("it is there").flow = 0;
        table.find(3, 7);
        assert!(table.get(3).is_none() && table.place().is_some());
    }

    #[test]
    fn a_full_bucket_has_no_place() {
        let mut table = FlowTable::<Fixed, 8>::empty(Fixed::ZERO);
        for flow in 1..=8 {
            table.find(flow, 7);
            let place = table.place().expect("there is room");
            *table.at(place) = Entry { flow, value: Fixed::ONE };
        }
        table.find(9, 7);
        assert!(table.place().is_none() && table.get(9).is_none());
    }
}
