//! A table of flows without allocation: buckets of eight places.
//!
//! A flow whose bucket is full has no place; a table with twice as many places as flows seldom has a full bucket.

use crate::fixed::spread;
use crate::verifier::{masked, reread_mut};

/// Places of a bucket.
const WAYS: usize = 8;
/// In the place of a place: the bucket is full.
const NO_PLACE: u64 = u64::MAX;

/// What is known of a flow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<V> {
    /// 0 where nobody has the place.
    pub flow: u64,
    /// Its value.
    pub value: V,
}

/// Flows and their values; `PLACES` is a power of two.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTable<V, const PLACES: usize> {
    /// Where the flow that was looked for last is, or could be.
    found: u64,
    entries: [Entry<V>; PLACES],
}

impl<V: Copy, const PLACES: usize> FlowTable<V, PLACES> {
    /// An empty table, with this value in all places.
    #[must_use]
    pub const fn empty(value: V) -> FlowTable<V, PLACES> {
        FlowTable { found: 0, entries: [Entry { flow: 0, value }; PLACES] }
    }

    /// Looks for a flow: [`get`](Self::get) and [`place`](Self::place) are then about it.
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

    /// The entry of the flow that was looked for, if it is there.
    #[inline(always)]
    pub fn get(&mut self, flow: u64) -> Option<&mut Entry<V>> {
        let known = self.found != NO_PLACE;
        let entry = &mut self.entries[masked::<PLACES>(self.found)];
        if known && entry.flow == flow { Some(entry) } else { None }
    }

    /// The place of the flow that was looked for, or one where it could be put.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> Option<u64> {
        if self.found == NO_PLACE { None } else { Some(self.found) }
    }

    /// The entry at a place.
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
