//! The event queue: pending events in time order.
//!
//! A hierarchical timing wheel. Events wait in lists by due time: on the lowest level a list spans 8
//! microseconds, up to the next multiple of 2.1 milliseconds; on the next level 2.1 milliseconds, up to the
//! next multiple of 537; and so on, with 256 lists per level. When the lists of a level are empty, the next
//! list of the level above is distributed over them. Inserting an event is a push to a list, removing one
//! is a step through a bitmap, and each event moves at most once per level, for any number of pending
//! events. There are few lists, so their ends stay in the caches.
//!
//! The events of the first list, or of several, are in the sorted current list. A list of few events is
//! sorted without distributing it further.
//!
//! Events at the same instant occur in insertion order, which makes runs repeatable: lists keep and pass on
//! this order, and sorting is stable.

mod lists;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use aqmkit_base::Instant;

use lists::{List, Pool};

/// log2 of the nanoseconds that a list of the lowest level spans.
const SPAN_BITS: u32 = 13;
/// log2 of the number of lists of a level.
const LEVEL_BITS: u32 = 8;
const WIDTH: usize = 1 << LEVEL_BITS;
const LEVELS: usize = (u64::BITS - SPAN_BITS).div_ceil(LEVEL_BITS) as usize;
/// Maximum number of events that are sorted together without further distribution: inserting an event among many sorted ones is slow.
const FEW: usize = 32;
/// Maximum size of a list of the second level that is sorted. It spans too little time for most new events to be inserted into
/// it, so sorting takes less than distributing.
const FEW_OF_SECOND: usize = 128;
/// If the current list is longer than this (many events at one instant), events inserted between them go to
/// a heap.
const CROWD: usize = 1024;

/// An event with its time.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: u64,
    what: E,
}

/// A heap entry: an event with its time and its insertion number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Late<E> {
    at: u64,
    order: u64,
    what: E,
}

/// The lists of one level.
#[derive(Clone, Debug)]
struct Level {
    lists: [List; WIDTH],
    /// One bit for each list that has any events.
    occupied: [u64; WIDTH / 64],
}

impl Level {
    const EMPTY: Level = Level { lists: [List::EMPTY; WIDTH], occupied: [0; WIDTH / 64] };

    /// The first non-empty list from `start` on.
    fn first(&self, start: usize) -> Option<usize> {
        let mut word = start / 64;
        let mut bits = self.occupied.get(word)? & (u64::MAX << (start % 64));
        while bits == 0 {
            word += 1;
            bits = *self.occupied.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// A queue of events in time order. `E` is a small plain value.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    /// The current events, latest first.
    hand: Vec<Entry<E>>,
    /// Heap of events inserted between the current ones while there were too many of those.
    between: BinaryHeap<Reverse<Late<E>>>,
    /// All pending events before this time are in `hand` or `between`.
    hand_ends: u64,
    /// Start of the last list that was sorted or distributed, in units of the lowest level's span. An event
    /// is on the level of the highest 8-bit digit in which its time differs from this, in the list of that
    /// digit.
    place: u64,
    levels: Vec<Level>,
    pool: Pool<E>,
    /// Buffer for distributing events; empty between calls.
    moving: Vec<Entry<E>>,
    /// Events in the levels.
    waiting: usize,
    /// Number of insertions into the heap so far.
    late: u64,
}

impl<E: Copy + Ord> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue {
            hand: Vec::new(),
            between: BinaryHeap::new(),
            hand_ends: 0,
            place: 0,
            levels: vec![Level::EMPTY; LEVELS],
            pool: Pool::default(),
            moving: Vec::new(),
            waiting: 0,
            late: 0,
        }
    }
}

/// Index of a time within its level.
fn digit(place: u64, level: usize) -> usize {
    (place >> (level as u32 * LEVEL_BITS)) as usize % WIDTH
}

impl<E: Copy + Ord> EventQueue<E> {
    /// Inserts an event. A time before the last removed event counts as that event's time.
    #[inline]
    pub fn put(&mut self, at: Instant, what: E) {
        let at = at.as_nanos();
        if at >= self.hand_ends {
            self.waiting += 1;
            self.put_later(at, what);
        } else {
            self.put_at_hand(at, what);
        }
    }

    /// Inserts an event into the current list.
    #[inline(never)]
    fn put_at_hand(&mut self, at: u64, what: E) {
        if self.hand.len() <= CROWD && self.between.is_empty() {
            // From the end: most insertions here are transmissions that end soon, before which few events happen.
            let mut place = self.hand.len();
            self.hand.push(Entry { at, what });
            while place > 0 && self.hand[place - 1].at <= at {
                self.hand[place] = self.hand[place - 1];
                place -= 1;
            }
            self.hand[place] = Entry { at, what };
        } else {
            self.put_between(at, what);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_between(&mut self, at: u64, what: E) {
        self.late += 1;
        self.between.push(Reverse(Late { at, order: self.late, what }));
    }

    /// Inserts an event into its list.
    fn put_later(&mut self, at: u64, what: E) {
        let place = at >> SPAN_BITS;
        let highest = ((place ^ self.place) | 1).ilog2();
        let level = (highest / LEVEL_BITS) as usize;
        let index = digit(place, level);
        let level = &mut self.levels[level];
        self.pool.put(&mut level.lists[index], at, what);
        level.occupied[index / 64] |= 1 << (index % 64);
    }

    /// Removes the earliest event.
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.take_until(Instant::FAR_FUTURE)
    }

    /// If there are no current events, loads the next list, or several with up to `together` events.
    /// Returns whether it did.
    pub fn turn(&mut self, together: usize) -> bool {
        self.hand.is_empty() && self.between.is_empty() && self.advance(together, together).is_some()
    }

    /// The current events, latest first. Events that they cause may still be inserted between them.
    pub fn at_hand(&self) -> impl ExactSizeIterator<Item = (Instant, E)> {
        self.hand.iter().map(|entry| (Instant::from_nanos(entry.at), entry.what))
    }

    /// Removes the earliest event, if it is not after `end`.
    pub fn take_until(&mut self, end: Instant) -> Option<(Instant, E)> {
        if !self.between.is_empty() {
            return self.take_of_crowd(end);
        }
        if self.hand.is_empty() {
            self.advance(FEW, FEW_OF_SECOND)?;
        }
        let entry = self.hand.pop_if(|entry| entry.at <= end.as_nanos())?;
        Some((Instant::from_nanos(entry.at), entry.what))
    }

    /// Removes the earliest event of the current list and the heap.
    #[cold]
    #[inline(never)]
    fn take_of_crowd(&mut self, end: Instant) -> Option<(Instant, E)> {
        let Reverse(Late { at, what, .. }) = *self.between.peek()?;
        // At equal times the current list precedes the heap, because it was inserted earlier.
        let at_hand = self.hand.last().copied().filter(|entry| entry.at <= at);
        let Entry { at, what } = at_hand.unwrap_or(Entry { at, what });
        if at > end.as_nanos() {
            return None;
        }
        match at_hand {
            Some(_) => self.hand.truncate(self.hand.len() - 1),
            None => _ = self.between.pop(),
        }
        Some((Instant::from_nanos(at), what))
    }

    /// How many events are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hand.len() + self.between.len() + self.waiting
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads the next events: the first list, distributed until it has at most `together` events, or `of_second` on the second level,
    /// and following lists while the total is at most `together`. Each list is sorted separately, because small sorts are fast.
    fn advance(&mut self, together: usize, of_second: usize) -> Option<()> {
        let (level, first) = loop {
            let (level, index) = self.first()?;
            let few = if level == 1 { of_second } else { together };
            if level == 0 || self.levels[level].lists[index].len() <= few {
                break (level, index);
            }
            self.deal_out(level, index);
        };
        let mut next = Some(first);
        while let Some(index) = next {
            self.turn_to(level, index);
            let earlier = self.hand.len();
            while self.pool.take_piece(&mut self.levels[level].lists[index], &mut self.hand) {}
            self.hand[earlier..].sort_by_key(|e| e.at);
            let room = together.saturating_sub(self.hand.len());
            let level = &self.levels[level];
            next = level.first(index).filter(|after| level.lists[*after].len() <= room);
        }
        self.waiting -= self.hand.len();
        let shift = level as u32 * LEVEL_BITS;
        let ends = ((self.place >> shift) + 1) << shift;
        // The last list ends at the largest time.
        self.hand_ends = ends.saturating_mul(1 << SPAN_BITS);
        self.hand.reverse();
        Some(())
    }

    /// Level and index of the first non-empty list. It is on the lowest non-empty level, because all lists
    /// of a level lie within one list of the level above.
    fn first(&self) -> Option<(usize, usize)> {
        self.levels.iter().enumerate().find_map(|(level, l)| Some((level, l.first(digit(self.place, level))?)))
    }

    /// Advances `place` to the start of a list that is about to be emptied.
    fn turn_to(&mut self, level: usize, index: usize) {
        let shift = level as u32 * LEVEL_BITS;
        self.place = (self.place >> shift >> LEVEL_BITS << LEVEL_BITS | index as u64) << shift;
        self.levels[level].occupied[index / 64] &= !(1 << (index % 64));
    }

    /// Distributes the events of a list over the levels below.
    fn deal_out(&mut self, level: usize, index: usize) {
        self.turn_to(level, index);
        let mut list = std::mem::replace(&mut self.levels[level].lists[index], List::EMPTY);
        while self.pool.take_piece(&mut list, &mut self.moving) {
            for i in 0..self.moving.len() {
                let Entry { at, what } = self.moving[i];
                self.put_later(at, what);
            }
            self.moving.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The name of the `n`th event inserted. Names are ordered differently from events, as those of packets are.
    fn name(n: u64) -> u64 {
        n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn events_at_one_instant_keep_their_order() {
        let mut event_queue = EventQueue::default();
        for what in [5_u8, 3, 4] {
            event_queue.put(Instant::from_nanos(1_000_000), what);
        }
        event_queue.put(Instant::from_nanos(10), 1);
        let order: Vec<u8> = std::iter::from_fn(|| event_queue.take()).map(|(_, e)| e).collect();
        assert_eq!(order, [1, 5, 3, 4]);
        assert!(event_queue.is_empty());
    }

    /// Enough events that lists are distributed and several are current at a time, with new events inserted between
    /// them.
    #[test]
    fn very_many_come_in_time_order() {
        const MANY: usize = 1 << 16;
        const TOGETHER: usize = 40;
        let mut event_queue = EventQueue::default();
        let mut rng = aqmkit_base::Rng::stream(1, "event_queue");
        let mut due = || Instant::from_nanos((rng.uniform() * 1e9) as u64);
        for n in 0..MANY {
            event_queue.put(due(), n);
        }
        let (mut last, mut taken, mut together) = ((Instant::ZERO, 0), 0, 0);
        loop {
            if event_queue.turn(TOGETHER) {
                together = together.max(event_queue.at_hand().len());
            }
            let Some((at, n)) = event_queue.take() else { break };
            assert!((at, n) > last, "{n} at {at:?} after {last:?}");
            (last, taken) = ((at, n), taken + 1);
            if n < MANY {
                event_queue.put(at + aqmkit_base::Duration::from_nanos(100_000), n + MANY);
            }
        }
        assert_eq!(taken, 2 * MANY);
        assert!((TOGETHER / 2..=TOGETHER).contains(&together), "never more than {together} at hand");
    }

    /// Many events at one instant, each of which causes events at once, soon, and after the current list.
    #[test]
    fn a_crowd_at_one_instant_comes_in_order() {
        const N: u64 = 3 * CROWD as u64;
        let mut event_queue = EventQueue::default();
        (0..N).for_each(|n| event_queue.put(Instant::from_nanos(10), name(n)));
        let mut model: std::collections::BTreeSet<(u64, u64)> = (0..N).map(|n| (10, n)).collect();
        for turn in 0.. {
            let Some((at, named)) = event_queue.take_until(Instant::from_nanos(2_000_000)) else { break };
            assert_eq!(model.pop_first().map(|(due, nth)| (due, name(nth))), Some((at.as_nanos(), named)));
            if turn < N {
                let later = 10 + [0, 3 * turn % 5000, 1_000_000, 9_000_000][turn as usize % 4];
                event_queue.put(Instant::from_nanos(later), name(N + turn));
                model.insert((later, N + turn));
            }
            assert_eq!(event_queue.len(), model.len());
        }
        assert_eq!(event_queue.len() as u64, N / 4, "what comes after the end stays");
    }

    /// The last list of the highest level ends where times do.
    #[test]
    fn the_end_of_time_comes_last() {
        let mut event_queue = EventQueue::default();
        let ends = [u64::MAX, u64::MAX - 1, 1 << 63, u64::MAX, 5];
        for (n, at) in ends.into_iter().enumerate() {
            event_queue.put(Instant::from_nanos(at), n);
        }
        assert_eq!(event_queue.take(), Some((Instant::from_nanos(5), 4)));
        assert_eq!(event_queue.take(), Some((Instant::from_nanos(1 << 63), 2)));
        assert_eq!(event_queue.take(), Some((Instant::from_nanos(u64::MAX - 1), 1)));
        event_queue.put(Instant::FAR_FUTURE, 5);
        let rest: Vec<usize> = std::iter::from_fn(|| event_queue.take()).map(|(_, n)| n).collect();
        assert_eq!(rest, [0, 3, 5]);
    }

    proptest! {
        /// Compared with a sorted list, with events that cause events, near, far and at once.
        #[test]
        fn takes_out_in_time_order(starts in prop::collection::vec(0_u64..3_000_000_000, 1..50), delays in prop::collection::vec(prop_oneof![Just(0), 1_u64..20_000, 100_000_000_u64..150_000_000, 1_u64..20_000_000_000, 200_000_000_000_u64..900_000_000_000], 1..400)) {
            let mut event_queue = EventQueue::default();
            let mut model: std::collections::BTreeSet<(u64, u64)> = std::collections::BTreeSet::new();
            let mut n = 0_u64;
            for at in starts {
                event_queue.put(Instant::from_nanos(at), name(n));
                model.insert((at, n));
                n += 1;
            }
            let mut delays = delays.into_iter();
            while let Some((at, named)) = event_queue.take() {
                prop_assert_eq!(model.pop_first().map(|(due, nth)| (due, name(nth))), Some((at.as_nanos(), named)));
                for delay in delays.by_ref().take(2) {
                    let later = at.as_nanos() + delay;
                    event_queue.put(Instant::from_nanos(later), name(n));
                    model.insert((later, n));
                    n += 1;
                }
                prop_assert_eq!(event_queue.len(), model.len());
            }
            prop_assert!(model.is_empty());
        }
    }
}
