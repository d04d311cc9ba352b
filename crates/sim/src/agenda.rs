//! The agenda: what happens when.
//!
//! A wheel of 2^14 slots of 32.8 microseconds each holds what comes within the next 268 to 537 milliseconds: two blocks
//! of slots. Later blocks, as far as 275 seconds, are lists of their own, and a block moves into the wheel as a whole when the one
//! before it begins; only what lies beyond waits in a heap. The slot at hand is kept sorted. So putting an event in is a push to a
//! list, and taking one out a step through a bitmap, whatever the number of events pending.
//!
//! Events at one instant happen in the order in which they were put in: that is what makes a run
//! repeatable.

mod lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmkit_base::Instant;

use lists::{List, Pool};

/// log2 of a slot's width in nanoseconds.
const SLOT_BITS: u32 = 15;
/// log2 of the number of slots.
const WHEEL_BITS: u32 = 14;
const SLOTS: usize = 1 << WHEEL_BITS;
/// log2 of the number of slots of a block: half a wheel, so that two blocks always fit.
const BLOCK_BITS: u32 = WHEEL_BITS - 1;
/// How many blocks have a list.
const BLOCKS: usize = 1 << 10;
/// With so many events pending, what they are about is in no cache, and it pays to know several at a time: then so many slots are
/// at hand together, until there are enough events in them. With fewer, a slot each is quicker by a fourteenth (`examples/dumbbell`).
const MANY: usize = 1 << 15;
const SPAN: u64 = 16;
const ENOUGH: usize = 48;

/// An event with its time and its place in the order of events at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<E> {
    at: u64,
    order: u64,
    what: E,
}

/// A queue of events in time order. `E` is a small plain value.
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    /// Pending events of the slot at hand, latest first.
    current: Vec<Entry<E>>,
    /// The slot at hand, counted from time zero.
    slot: u64,
    /// The events of each later slot.
    slots: Vec<List>,
    /// One bit for each slot that has any.
    occupied: Vec<u64>,
    /// The events of each block that is not in the wheel.
    blocks: Vec<List>,
    pool: Pool<E>,
    /// Events on their way from a block into the wheel: empty between calls.
    moving: Vec<Entry<E>>,
    /// The first block that is not in the wheel.
    next_block: u64,
    /// Events beyond the last block that has a list.
    far: BinaryHeap<Reverse<Entry<E>>>,
    in_wheel: usize,
    in_blocks: usize,
    order: u64,
}

impl<E: Copy + Ord> Default for Agenda<E> {
    fn default() -> Self {
        Agenda {
            current: Vec::new(),
            slot: 0,
            slots: vec![List::EMPTY; SLOTS],
            occupied: vec![0; SLOTS / 64],
            blocks: vec![List::EMPTY; BLOCKS],
            pool: Pool::default(),
            moving: Vec::new(),
            next_block: 2,
            far: BinaryHeap::new(),
            in_wheel: 0,
            in_blocks: 0,
            order: 0,
        }
    }
}

impl<E: Copy + Ord> Agenda<E> {
    /// Puts an event in. A time before the last event taken out counts as that event's time.
    pub fn put(&mut self, at: Instant, what: E) {
        self.order += 1;
        let (at, order) = (at.as_nanos(), self.order);
        if at >> SLOT_BITS <= self.slot {
            let place = self.current.partition_point(|e| (e.at, e.order) > (at, order));
            self.current.insert(place, Entry { at, order, what });
        } else {
            self.put_later(at, order, what);
        }
    }

    /// Puts an event in that lies beyond the slot at hand, or in a slot that is about to be at hand.
    #[inline(always)]
    fn put_later(&mut self, at: u64, order: u64, what: E) {
        let slot = at >> SLOT_BITS;
        let block = slot >> BLOCK_BITS;
        if block < self.next_block {
            let place = slot as usize & (SLOTS - 1);
            self.pool.put(&mut self.slots[place], at, order, what);
            self.occupied[place / 64] |= 1 << (place % 64);
            self.in_wheel += 1;
        } else if block - self.next_block < BLOCKS as u64 {
            let place = block as usize & (BLOCKS - 1);
            self.pool.put(&mut self.blocks[place], at, order, what);
            self.in_blocks += 1;
        } else {
            self.far.push(Reverse(Entry { at, order, what }));
        }
    }

    /// Takes the earliest event out.
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.take_until(Instant::FAR_FUTURE)
    }

    /// Goes on to the next slot with events if the one at hand is used up; whether it did.
    pub fn turn(&mut self) -> bool {
        self.current.is_empty() && self.advance().is_some()
    }

    /// The events of the slot at hand, latest first. What they cause may yet come between them.
    pub fn at_hand(&self) -> impl ExactSizeIterator<Item = E> {
        self.current.iter().map(|entry| entry.what)
    }

    /// Takes the earliest event out, if it is not after `end`.
    pub fn take_until(&mut self, end: Instant) -> Option<(Instant, E)> {
        while self.current.is_empty() {
            self.advance()?;
        }
        let entry = self.current.pop_if(|entry| entry.at <= end.as_nanos())?;
        Some((Instant::from_nanos(entry.at), entry.what))
    }

    /// How many events are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.current.len() + self.in_wheel + self.in_blocks + self.far.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes on to the next slot that has events and sorts them.
    fn advance(&mut self) -> Option<()> {
        if self.in_wheel == 0 {
            let block = self.first_block_with_events()?;
            // The slot before the block, so that its first one is ahead.
            self.slot = (block << BLOCK_BITS) - 1;
            self.bring_blocks_before(block + 1);
        }
        let first = self.next_occupied()?;
        self.collect(first);
        if self.len() >= MANY {
            while let Some(slot) = self.next_occupied()
                && slot < first + SPAN
                && self.current.len() < ENOUGH
            {
                self.collect(slot);
            }
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|e| Reverse((e.at, e.order)));
        }
        Some(())
    }

    /// The first block outside of the wheel that has events.
    fn first_block_with_events(&self) -> Option<u64> {
        let mut listed = self.next_block..self.next_block + BLOCKS as u64;
        let listed = if self.in_blocks == 0 {
            None
        } else {
            listed.find(|block| !self.blocks[*block as usize & (BLOCKS - 1)].is_empty())
        };
        listed.or_else(|| self.far.peek().map(|Reverse(e)| e.at >> SLOT_BITS >> BLOCK_BITS))
    }

    /// Moves the events of all blocks before `end` into the wheel, and from the heap what then has a list.
    fn bring_blocks_before(&mut self, end: u64) {
        if end <= self.next_block {
            return;
        }
        // Beyond a whole turn of lists there is nothing in them.
        for block in self.next_block..end.min(self.next_block + BLOCKS as u64) {
            self.next_block = block + 1;
            let mut list = std::mem::replace(&mut self.blocks[block as usize & (BLOCKS - 1)], List::EMPTY);
            while self.pool.take_piece(&mut list, &mut self.moving) {
                self.in_blocks -= self.moving.len();
                while let Some(Entry { at, order, what }) = self.moving.pop() {
                    self.put_later(at, order, what);
                }
            }
        }
        self.next_block = end;
        let listed = (self.next_block + BLOCKS as u64) << BLOCK_BITS << SLOT_BITS;
        while self.far.peek().is_some_and(|Reverse(e)| e.at < listed) {
            if let Some(Reverse(entry)) = self.far.pop() {
                self.put_later(entry.at, entry.order, entry.what);
            }
        }
    }

    /// Makes a slot of the wheel the one at hand: its events come to those in `current`.
    fn collect(&mut self, slot: u64) {
        self.slot = slot;
        self.bring_blocks_before((slot >> BLOCK_BITS) + 2);
        let place = slot as usize & (SLOTS - 1);
        let before = self.current.len();
        while self.pool.take_piece(&mut self.slots[place], &mut self.current) {}
        self.in_wheel -= self.current.len() - before;
        self.occupied[place / 64] &= !(1 << (place % 64));
    }

    /// The first slot after the one at hand that has a list.
    fn next_occupied(&self) -> Option<u64> {
        if self.in_wheel == 0 {
            return None;
        }
        let start = (self.slot as usize + 1) & (SLOTS - 1);
        let words = self.occupied.len();
        let first = self.occupied[start / 64] & (u64::MAX << (start % 64));
        let mut word = start / 64;
        let mut bits = first;
        // One word more than there are: the first one is looked at again for its lower bits.
        for _ in 0..=words {
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                let ahead = place.wrapping_sub(start) & (SLOTS - 1);
                return Some(self.slot + 1 + ahead as u64);
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_at_one_instant_keep_their_order() {
        let mut agenda = Agenda::default();
        for what in [5_u8, 3, 4] {
            agenda.put(Instant::from_nanos(1_000_000), what);
        }
        agenda.put(Instant::from_nanos(10), 1);
        let order: Vec<u8> = std::iter::from_fn(|| agenda.take()).map(|(_, e)| e).collect();
        assert_eq!(order, [1, 5, 3, 4]);
        assert!(agenda.is_empty());
    }

    /// So many that several slots are at hand together, and what the events cause comes between them.
    #[test]
    fn very_many_come_in_time_order() {
        let mut agenda = Agenda::default();
        let mut rng = aqmkit_base::Rng::stream(1, "agenda");
        let mut due = || Instant::from_nanos((rng.uniform() * 1e9) as u64);
        for n in 0..2 * MANY {
            agenda.put(due(), n);
        }
        let (mut last, mut taken, mut together) = ((Instant::ZERO, 0), 0, 0);
        while let Some((at, n)) = agenda.take() {
            assert!((at, n) > last, "{n} at {at:?} after {last:?}");
            (last, taken, together) = ((at, n), taken + 1, together.max(agenda.at_hand().len()));
            if n < 2 * MANY {
                agenda.put(at + aqmkit_base::Duration::from_nanos(100_000), n + 2 * MANY);
            }
        }
        assert_eq!(taken, 4 * MANY);
        assert!(together >= ENOUGH / 2, "never more than {together} at hand");
    }

    proptest! {
        /// Against a sorted list, with events that cause events, near, far and at once.
        #[test]
        fn takes_out_in_time_order(starts in prop::collection::vec(0_u64..3_000_000_000, 1..50), delays in prop::collection::vec(prop_oneof![Just(0), 1_u64..20_000, 100_000_000_u64..150_000_000, 1_u64..20_000_000_000, 200_000_000_000_u64..900_000_000_000], 1..400)) {
            let mut agenda = Agenda::default();
            let mut model: std::collections::BTreeSet<(u64, u64)> = std::collections::BTreeSet::new();
            let mut n = 0_u64;
            for at in starts {
                agenda.put(Instant::from_nanos(at), n);
                model.insert((at, n));
                n += 1;
            }
            let mut delays = delays.into_iter();
            while let Some((at, what)) = agenda.take() {
                prop_assert_eq!(model.pop_first(), Some((at.as_nanos(), what)));
                for delay in delays.by_ref().take(2) {
                    let later = at.as_nanos() + delay;
                    agenda.put(Instant::from_nanos(later), n);
                    model.insert((later, n));
                    n += 1;
                }
                prop_assert_eq!(agenda.len(), model.len());
            }
            prop_assert!(model.is_empty());
        }
    }
}
