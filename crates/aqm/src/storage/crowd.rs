//! A FIFO from whose middle any packet can be drawn and removed at constant cost.

use aqmkit_base::{Amount, Duration, FlowKey, Instant};

use super::chain::Chain;
use crate::packet::Packet;
use crate::qdisc::Backlog;

#[derive(Clone, Debug)]
struct Place<P> {
    packet: P,
    since: Instant,
}

/// A FIFO in a dense vector: slots are filled from zero on, in no particular order, and linked in the order of arrival.
/// So every number below [`len`](Crowd::len) is a packet, and a random number draws each with equal probability. It
/// grows to the longest queue so far and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct Crowd<P> {
    places: Vec<Place<P>>,
    order: Chain,
    bytes: u64,
}

impl<P> Default for Crowd<P> {
    fn default() -> Self {
        Crowd { places: Vec::new(), order: Chain::default(), bytes: 0 }
    }
}

impl<P: Packet> Crowd<P> {
    /// Puts a packet at the tail.
    pub fn push(&mut self, packet: P, now: Instant) {
        self.bytes += u64::from(packet.len());
        self.order.push(self.places.len());
        self.places.push(Place { packet, since: now });
    }

    /// The packets from the head to the tail.
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        let first = self.places.get(self.order.first()).map(|_| self.order.first());
        let places =
            std::iter::successors(first, |&at| Some(self.order.after(at)).filter(|&at| at < self.places.len()));
        places.map(|at| &self.places[at].packet)
    }

    /// Removes the packet at the head; returns it with its sojourn time.
    pub fn pop(&mut self, now: Instant) -> Option<(P, Duration)> {
        self.take(self.order.first(), now)
    }

    /// Removes the packet at the tail.
    pub fn pop_tail(&mut self, now: Instant) -> Option<(P, Duration)> {
        self.take(self.order.last(), now)
    }

    /// Removes the packet at an index; the order of the others is kept, but the packet of the last index moves into the
    /// gap.
    pub fn take(&mut self, place: usize, now: Instant) -> Option<(P, Duration)> {
        if place >= self.places.len() {
            return None;
        }
        self.order.remove(place);
        let taken = self.places.swap_remove(place);
        self.order.moved(self.places.len(), place);
        self.bytes -= u64::from(taken.packet.len());
        Some((taken.packet, now.since(taken.since)))
    }

    /// The flow of the packet at an index.
    #[must_use]
    pub fn flow(&self, place: usize) -> Option<FlowKey> {
        self.places.get(place).map(|p| p.packet.flow())
    }

    /// The order of arrival, as a chain of indices.
    #[must_use]
    pub fn order(&self) -> &Chain {
        &self.order
    }

    /// How many packets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether a packet of `len` bytes fits under `limit`.
    #[must_use]
    pub fn fits(&self, len: u32, limit: Amount) -> bool {
        super::fits(self.backlog(), len, limit)
    }

    /// Whether more is queued than `limit` allows, as after the limit was lowered.
    #[must_use]
    pub fn over(&self, limit: Amount) -> bool {
        super::over(self.backlog(), limit)
    }

    /// Both counts.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.places.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::TestPacket;

    fn in_order(crowd: &Crowd<TestPacket>) -> Vec<FlowKey> {
        std::iter::successors(Some(crowd.order().first()), |&at| Some(crowd.order().after(at)))
            .map_while(|at| crowd.flow(at))
            .collect()
    }

    fn backwards(crowd: &Crowd<TestPacket>) -> Vec<FlowKey> {
        std::iter::successors(Some(crowd.order().last()), |&at| Some(crowd.order().before(at)))
            .map_while(|at| crowd.flow(at))
            .collect()
    }

    proptest! {
        #[test]
        fn it_is_a_list(ops in prop::collection::vec((0_u8..5, any::<prop::sample::Index>()), 0..200)) {
            let (mut crowd, mut model) = (Crowd::default(), Vec::new());
            for (id, (op, which)) in ops.into_iter().enumerate() {
                let packet = TestPacket::of(id as u64 + 1, id as u32 + 1);
                match op {
                    0 | 1 => {
                        crowd.push(packet, Instant::ZERO);
                        model.push(packet);
                    }
                    2 => {
                        let expected = (!model.is_empty()).then(|| model.remove(0));
                        prop_assert_eq!(crowd.pop(Instant::ZERO).map(|t| t.0), expected);
                    }
                    3 => prop_assert_eq!(crowd.pop_tail(Instant::ZERO).map(|t| t.0), model.pop()),
                    _ if model.is_empty() => prop_assert!(crowd.take(0, Instant::ZERO).is_none()),
                    _ => {
                        let taken = crowd.take(which.index(model.len()), Instant::ZERO).map(|t| t.0);
                        let at = model.iter().position(|p| Some(*p) == taken).unwrap();
                        model.remove(at);
                    }
                }
                let expected: Vec<_> = model.iter().map(Packet::flow).collect();
                prop_assert_eq!(&in_order(&crowd), &expected);
                prop_assert_eq!(backwards(&crowd), expected.into_iter().rev().collect::<Vec<_>>());
                let bytes = model.iter().map(|p| u64::from(p.len)).sum();
                prop_assert_eq!(crowd.backlog(), Backlog { packets: model.len() as u64, bytes });
            }
        }
    }
}
