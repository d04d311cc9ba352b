//! Connection vectors: what the two ends of a connection send each other, and how long they wait in between.

use aqmkit_base::Rng;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The end that opened it: the client.
    Initiator,
    /// The other: the server.
    Acceptor,
}

/// From when a side waits before it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// From its own last send, or from the beginning.
    Send,
    /// From when it has received what the other side sent last.
    Receipt,
}

/// One application data unit, or the end of what a side sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: Side,
    pub(super) after: After,
    pub(super) wait_us: u64,
    /// Bytes to send; none at the end.
    pub(super) bytes: u64,
}

/// A connection, as a part of the list of all steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vector {
    pub(super) start_us: u64,
    /// Whether the sides send without regard to each other.
    pub(super) concurrent: bool,
    first: u32,
    len: u32,
}

/// Connections in the order of their starts. Steps stand in one list: millions of connections are few allocations.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Vectors {
    pub(super) all: Vec<Vector>,
    steps: Vec<Step>,
}

impl Vectors {
    /// Adds a connection; false where the list is full.
    pub(super) fn push(&mut self, start_us: u64, concurrent: bool, steps: &[Step]) -> bool {
        let (Ok(first), Ok(len)) = (u32::try_from(self.steps.len()), u32::try_from(steps.len())) else { return false };
        if first.checked_add(len).is_none() {
            return false;
        }
        self.steps.extend_from_slice(steps);
        self.all.push(Vector { start_us, concurrent, first, len });
        true
    }

    /// The connections in blocks of this length of time, in another order: each block once, or as many drawn from all of
    /// them. Within a block starts keep their distances.
    pub(super) fn in_blocks(self, block_us: u64, drawn: bool, rng: &mut Rng) -> Vectors {
        let blocks: Vec<&[Vector]> = self.all.chunk_by(|a, b| a.start_us / block_us == b.start_us / block_us).collect();
        let of = |vector: &Vector| vector.start_us / block_us;
        let count = self.all.last().map_or(0, |last| of(last) + 1);
        // Blocks without connections have their turn, too.
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

    /// Puts the connections in the order of their starts.
    pub(super) fn sort(&mut self) {
        self.all.sort_by_key(|v| v.start_us);
    }

    /// The steps of a connection.
    pub(super) fn steps(&self, vector: &Vector) -> &[Step] {
        &self.steps[vector.first as usize..][..vector.len as usize]
    }
}
