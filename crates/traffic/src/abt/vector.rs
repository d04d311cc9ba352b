//! Connection vectors: the data units that both ends of a connection send, and the waiting times between them.

use aqmkit_base::Rng;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The end that opened it: the client.
    Initiator,
    /// The end that accepted it: the server.
    Acceptor,
}

/// The event from which a side's wait counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Its own last send, or the start of the connection.
    Send,
    /// The receipt of the other side's last data unit.
    Receipt,
}

/// A data unit that one side sends, or its end marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: Side,
    pub(super) after: After,
    pub(super) wait_us: u64,
    /// Zero in an end marker.
    pub(super) bytes: u64,
}

/// A connection: its steps are a range of the list of all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) start_us: u64,
    /// Whether the sides send independently.
    pub(super) concurrent: bool,
    first: u32,
    len: u32,
}

/// Connections by start time. All steps are in one list, so that millions of connections need few allocations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vectors {
    pub(super) all: Vec<Vector>,
    steps: Vec<Step>,
}

impl Vectors {
    /// Adds a connection; returns false if the list is full.
    pub(super) fn push(&mut self, start_us: u64, concurrent: bool, steps: &[Step]) -> bool {
        let (Ok(first), Ok(len)) = (u32::try_from(self.steps.len()), u32::try_from(steps.len())) else { return false };
        if first.checked_add(len).is_none() {
            return false;
        }
        self.steps.extend_from_slice(steps);
        self.all.push(Vector { start_us, concurrent, first, len });
        true
    }

    /// Splits the connections into blocks of this length and reorders the blocks: a permutation, or the same number
    /// drawn with replacement. Interarrival times within a block are preserved.
    pub(super) fn in_blocks(self, block_us: u64, drawn: bool, rng: &mut Rng) -> Vectors {
        let blocks: Vec<&[Vector]> = self.all.chunk_by(|a, b| a.start_us / block_us == b.start_us / block_us).collect();
        let of = |vector: &Vector| vector.start_us / block_us;
        let count = self.all.last().map_or(0, |last| of(last) + 1);
        // Blocks without connections are included: they hold the file's idle times.
        let mut order: Vec<u64> = (0..count).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        if drawn {
            order.iter_mut().for_each(|block| *block = rng.below(count));
        }
        let mut all = Vec::with_capacity(self.all.len());
        for (place, block) in order.into_iter().enumerate() {
            let Ok(found) = blocks.binary_search_by_key(&block, |b| of(&b[0])) else { continue };
            let moved = |v: &Vector| Vector { start_us: v.start_us % block_us + place as u64 * block_us, ..*v };
            all.extend(blocks[found].iter().map(moved));
        }
        Vectors { all, steps: self.steps }
    }

    /// Sorts the connections by start time.
    pub(super) fn sort(&mut self) {
        self.all.sort_by_key(|v| v.start_us);
    }

    /// The steps of a connection.
    pub(super) fn steps(&self, vector: &Vector) -> &[Step] {
        &self.steps[vector.first as usize..][..vector.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Connections that start at these times; the one step of each identifies it.
    fn of(starts: &[u64]) -> Vectors {
        let mut vectors = Vectors::default();
        for (&start, bytes) in starts.iter().zip(1..) {
            assert!(vectors.push(
                start,
                false,
                &[Step { from: Side::Initiator, after: After::Send, wait_us: 0, bytes }]
            ));
        }
        vectors
    }

    /// Resamples blocks of 100; returns each connection's start and identity.
    fn moved(starts: &[u64], drawn: bool, seed: u64) -> Vec<(u64, u64)> {
        let moved = of(starts).in_blocks(100, drawn, &mut Rng::stream(seed, "blocks"));
        moved.all.iter().map(|v| (v.start_us, moved.steps(v)[0].bytes)).collect()
    }

    #[test]
    fn connections_keep_their_steps_in_the_order_of_starts() {
        let mut vectors = of(&[30, 10, 20]);
        vectors.sort();
        let order: Vec<u64> = vectors.all.iter().map(|v| vectors.steps(v)[0].bytes).collect();
        assert_eq!(order, [2, 3, 1]);
    }

    /// An empty block counts as a block; the last block is as long as the others even if the file ends within it.
    #[test]
    fn every_order_of_blocks_is_as_likely() {
        // Blocks 0, 2 and 3 of four; the second is empty.
        let starts = [5, 99, 200, 310];
        let mut orders: BTreeMap<Vec<(u64, u64)>, u32> = BTreeMap::new();
        for seed in 0..4800 {
            *orders.entry(moved(&starts, false, seed)).or_default() += 1;
        }
        assert_eq!(orders.len(), 24);
        // Each order is expected 200 times, with a standard deviation of 14.
        assert!(orders.values().all(|n| (140..=260).contains(n)), "{orders:?}");
        for order in orders.keys() {
            let place = |n: u64| order.iter().find(|c| c.1 == n).unwrap().0;
            assert!(place(2) == place(1) + 94 && place(1) % 100 == 5 && place(3) % 100 == 0 && place(4) % 100 == 10);
            assert!(order.is_sorted() && order.last().unwrap().0 < 400);
        }
    }

    #[test]
    fn drawn_blocks_are_drawn_each_with_equal_chance() {
        let starts: Vec<u64> = (0..4).map(|n| n * 100 + 7).collect();
        let mut seen = BTreeMap::<u64, u32>::new();
        for seed in 0..1000 {
            let order = moved(&starts, true, seed);
            assert_eq!(order.iter().map(|c| c.0).collect::<Vec<_>>(), starts);
            order.iter().for_each(|c| *seen.entry(c.1).or_default() += 1);
        }
        assert!(seen.len() == 4 && seen.values().all(|n| (880..=1120).contains(n)), "{seen:?}");
    }
}
