//! Packets of many queues in one slab.

use aqmkit_base::{Duration, Instant};

#[derive(Clone, Debug)]
struct Slot<P> {
    /// Absent in a slot that is free.
    packet: Option<P>,
    since: Instant,
    /// The slot of the packet behind, or the next free slot.
    next: Option<u32>,
}

/// The packets of any number of queues, each with its arrival time, linked by index. It grows to the most
/// packets that have waited at once, in all queues together, and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct Pool<P> {
    slots: Vec<Slot<P>>,
    free: Option<u32>,
}

/// One queue within a [`Pool`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    head: Option<u32>,
    tail: Option<u32>,
    len: u32,
}

impl Chain {
    /// How many packets wait in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether none does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<P> Default for Pool<P> {
    fn default() -> Self {
        Pool { slots: Vec::new(), free: None }
    }
}

impl<P> Pool<P> {
    /// Puts a packet at the tail of `chain`.
    pub fn push(&mut self, chain: &mut Chain, packet: P, now: Instant) {
        let slot = Slot { packet: Some(packet), since: now, next: None };
        let at = match self.free {
            Some(at) => {
                self.free = self.slots[at as usize].next;
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        match chain.tail.replace(at) {
            Some(last) => self.slots[last as usize].next = Some(at),
            None => chain.head = Some(at),
        }
        chain.len += 1;
    }

    /// Takes the packet at the head of `chain`, with how long it has waited.
    pub fn pop(&mut self, chain: &mut Chain, now: Instant) -> Option<(P, Duration)> {
        let at = chain.head?;
        let slot = &mut self.slots[at as usize];
        let packet = slot.packet.take()?;
        chain.head = std::mem::replace(&mut slot.next, self.free);
        self.free = Some(at);
        chain.len -= 1;
        if chain.head.is_none() {
            chain.tail = None;
        }
        Some((packet, now.since(slot.since)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_several_fifos(ops in prop::collection::vec((any::<bool>(), 0_usize..4), 0..300)) {
            let (mut pool, mut chains) = (Pool::default(), [Chain::default(); 4]);
            let mut model = [const { VecDeque::new() }; 4];
            let mut most = 0;
            for (id, (put, which)) in ops.into_iter().enumerate() {
                if put {
                    pool.push(&mut chains[which], id, Instant::ZERO);
                    model[which].push_back(id);
                } else {
                    let popped = pool.pop(&mut chains[which], Instant::ZERO).map(|(packet, _)| packet);
                    prop_assert_eq!(popped, model[which].pop_front());
                }
                prop_assert_eq!(chains[which].len() as usize, model[which].len());
                prop_assert_eq!(chains[which].is_empty(), model[which].is_empty());
                most = most.max(model.iter().map(VecDeque::len).sum());
                prop_assert_eq!(pool.slots.len(), most, "a slot is used again");
            }
        }
    }
}
