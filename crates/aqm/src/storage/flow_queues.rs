//! Many FIFOs in one store, with the longest always known: the storage of fair queueing.
//!
//! Packets are in one slab, each in the list of its queue, so memory is proportional to the queued packets, not to the
//! number of queues. Queues are in lists by their length, as in `McKenney` 1990: a packet moves its queue by one list,
//! so the longest is found without a search. If lengths are in bytes the lists are [`GRAIN`] apart, and the search
//! after a departure is proportional to the packet's length.

use aqmkit_base::size::Counting;

use super::links::{Links, List};
use super::pool::Pool;
use crate::packet::Packet;
use crate::qdisc::Backlog;

/// Resolution in bytes of comparisons of queue lengths.
pub const GRAIN: u64 = 256;

/// Numbered FIFOs of packets, each with a note of type `T`. It grows with the maximum number of packets and the longest
/// queue so far, and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct FlowQueues<P, T = ()> {
    pool: Pool<(P, T)>,
    queues: Vec<Queue>,
    /// Queues by their level; the latest to reach a level is first.
    levels: Vec<List>,
    by_level: Links,
    /// The highest level with a queue in it; 0 if nothing waits.
    top: usize,
    counting: Counting,
    total: Backlog,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    list: List,
    length: Backlog,
    level: usize,
}

impl Queue {
    fn level(&self, counting: Counting) -> usize {
        match counting {
            Counting::Packets => self.length.packets as usize,
            Counting::Bytes if self.length.packets == 0 => 0,
            Counting::Bytes => self.length.bytes.div_ceil(GRAIN).max(1) as usize,
        }
    }
}

impl<P: Packet, T> FlowQueues<P, T> {
    /// This many empty queues, whose lengths are compared in this unit.
    #[must_use]
    pub fn new(queues: usize, counting: Counting) -> Self {
        FlowQueues {
            pool: Pool::default(),
            queues: vec![Queue::default(); queues],
            levels: Vec::new(),
            by_level: Links::default(),
            top: 0,
            counting,
            total: Backlog::default(),
        }
    }

    /// Compares lengths in this unit from now on.
    pub fn set_counting(&mut self, counting: Counting) {
        if counting != self.counting {
            self.counting = counting;
            (0..self.queues.len()).for_each(|q| self.relevel(q));
        }
    }

    /// Appends a packet to queue `q`; creates queues up to the highest number used.
    pub fn push(&mut self, q: usize, packet: P, note: T) {
        if q >= self.queues.len() {
            self.queues.resize(q + 1, Queue::default());
        }
        let len = u64::from(packet.len());
        let queue = &mut self.queues[q];
        self.pool.push(&mut queue.list, (packet, note));
        for length in [&mut queue.length, &mut self.total] {
            length.packets += 1;
            length.bytes += len;
        }
        self.relevel(q);
    }

    /// Removes the packet at the head of queue `q`.
    pub fn pop(&mut self, q: usize) -> Option<(P, T)> {
        let entry = self.pool.pop(&mut self.queues.get_mut(q)?.list)?;
        self.taken(q, &entry.0);
        Some(entry)
    }

    /// Removes the packet at the tail of queue `q`.
    pub fn pop_tail(&mut self, q: usize) -> Option<(P, T)> {
        let entry = self.pool.pop_tail(&mut self.queues.get_mut(q)?.list)?;
        self.taken(q, &entry.0);
        Some(entry)
    }

    /// Removes a packet from queue `q` at the given end.
    pub fn steal(&mut self, q: usize, from_head: bool) -> Option<(P, T)> {
        if from_head { self.pop(q) } else { self.pop_tail(q) }
    }

    /// Removes from queue `q` the packet behind `before` others, in linear time.
    pub fn remove(&mut self, q: usize, before: usize) -> Option<(P, T)> {
        let entry = self.pool.remove(&mut self.queues.get_mut(q)?.list, before)?;
        self.taken(q, &entry.0);
        Some(entry)
    }

    /// The packets in queue `q`, from its head to its tail.
    pub fn each(&self, q: usize) -> impl Iterator<Item = &(P, T)> {
        self.pool.each(self.queues.get(q).map_or(List::default(), |queue| queue.list))
    }

    /// Accounts for a packet removed from queue `q`.
    fn taken(&mut self, q: usize, packet: &P) {
        for length in [&mut self.queues[q].length, &mut self.total] {
            length.packets -= 1;
            length.bytes -= u64::from(packet.len());
        }
        self.relevel(q);
    }

    /// Moves queue `q` to the list of its length.
    fn relevel(&mut self, q: usize) {
        let (old, new) = (self.queues[q].level, self.queues[q].level(self.counting));
        if old == new {
            return;
        }
        if old > 0 {
            self.by_level.remove(&mut self.levels[old], q);
        }
        if new >= self.levels.len() {
            self.levels.resize(new + 1, List::default());
        }
        if new > 0 {
            self.by_level.push_front(&mut self.levels[new], q);
        }
        self.queues[q].level = new;
        self.top = self.top.max(new);
        // The queue that just left the top is at `new` or above it, which bounds the search.
        while self.top > 0 && self.levels[self.top].is_empty() {
            self.top -= 1;
        }
    }

    /// The longest queue; among several, the one that reached this length last.
    #[must_use]
    pub fn longest(&self) -> Option<usize> {
        self.levels.get(self.top)?.front()
    }

    /// The packet at the head of queue `q`, with its note.
    #[must_use]
    pub fn head(&self, q: usize) -> Option<&(P, T)> {
        self.pool.head(self.queues.get(q)?.list)
    }

    /// The packet at the head of queue `q`, for marking; its length must not change.
    pub fn head_mut(&mut self, q: usize) -> Option<&mut (P, T)> {
        self.pool.head_mut(self.queues.get(q)?.list)
    }

    /// The packet at the tail of queue `q`, for marking; its length must not change.
    pub fn tail_mut(&mut self, q: usize) -> Option<&mut (P, T)> {
        self.pool.tail_mut(self.queues.get(q)?.list)
    }

    /// Every packet with the number of its queue: queue by queue in the order of their numbers, each from its head.
    pub fn packets(&self) -> impl Iterator<Item = (usize, &P)> {
        let busy = self.queues.iter().enumerate().filter(|(_, queue)| !queue.list.is_empty());
        busy.flat_map(|(q, queue)| self.pool.each(queue.list).map(move |(packet, _)| (q, packet)))
    }

    /// How much waits in queue `q`.
    #[must_use]
    pub fn length(&self, q: usize) -> Backlog {
        self.queues.get(q).map_or(Backlog::default(), |queue| queue.length)
    }

    /// Whether nothing waits in queue `q`.
    #[must_use]
    pub fn is_empty(&self, q: usize) -> bool {
        self.queues.get(q).is_none_or(|queue| queue.list.is_empty())
    }

    /// How much waits in all queues.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::TestPacket;

    proptest! {
        #[test]
        fn they_are_queues_and_the_longest_is_known(
            ops in prop::collection::vec((0_u8..8, 0_usize..5, 0_u32..1500), 0..400), bytes: bool,
        ) {
            let counting = if bytes { Counting::Bytes } else { Counting::Packets };
            let mut queues = FlowQueues::new(2, counting);
            let mut model = vec![std::collections::VecDeque::new(); 5];
            for (at, (op, q, len)) in ops.into_iter().enumerate() {
                match op {
                    0..4 => { let packet = TestPacket::of(0, len); queues.push(q, packet, at); model[q].push_back((packet, at)); }
                    4..5 => prop_assert_eq!(queues.pop(q), model[q].pop_front()),
                    5..6 => {
                        let before = len as usize % 4;
                        prop_assert_eq!(queues.remove(q, before), model[q].remove(before));
                        prop_assert!(queues.each(q).eq(&model[q]));
                    }
                    _ => prop_assert_eq!(queues.pop_tail(q), model[q].pop_back()),
                }
                let length = |queue: &std::collections::VecDeque<(TestPacket, usize)>| match counting {
                    Counting::Packets => queue.len() as u64,
                    Counting::Bytes => queue.iter().map(|p| u64::from(p.0.len)).sum::<u64>().div_ceil(GRAIN).max(queue.len().min(1) as u64),
                };
                let longest = model.iter().map(length).max().filter(|&l| l > 0);
                prop_assert_eq!(queues.longest().map(|found| length(&model[found])), longest);
                let bytes = model.iter().flatten().map(|p| u64::from(p.0.len)).sum();
                prop_assert_eq!(queues.backlog(), Backlog { packets: model.iter().map(|queue| queue.len() as u64).sum(), bytes });
            }
        }
    }
}
