//! When the first packet may leave, without a look at every leaf.

use aqmkit_base::Instant;

use super::node::Node;
use crate::storage::IndexedHeap;

/// For each class with packets below it, the time from which it and those below are within their ceilings; and the earliest at which one of them has a
/// lender.
///
/// With `free(leaf)` the time until which its queue holds its packets back, the packets of a class pass its ceiling from
/// `open(class) = max(recovered ceiling, min over those below of open)` on, and may borrow from it from `max(open, recovered rate)` on. A packet changes these
/// on its way up only.
#[derive(Clone, Debug)]
pub(super) struct Times {
    /// By class, `open` of those below, by their place among them.
    below: Vec<IndexedHeap<Instant>>,
    place: Vec<usize>,
    /// When each class can lend.
    lends: IndexedHeap<Instant>,
    /// Leaves on whose way up something has changed.
    stale: Vec<usize>,
    is_stale: Vec<bool>,
}

impl Times {
    pub(super) fn new(nodes: &[Node]) -> Self {
        let mut parts = vec![0; nodes.len()];
        let mut place = Vec::with_capacity(nodes.len());
        for node in nodes {
            let next = node.parent.map(|parent| &mut parts[parent]);
            place.push(next.as_ref().map_or(0, |next| **next));
            next.into_iter().for_each(|next| *next += 1);
        }
        Times {
            below: vec![IndexedHeap::default(); nodes.len()],
            place,
            lends: IndexedHeap::default(),
            stale: Vec::with_capacity(nodes.len()),
            is_stale: vec![false; nodes.len()],
        }
    }

    /// Something has changed for a leaf: its packets, or the tokens of a class on its way up.
    pub(super) fn changed(&mut self, leaf: usize) {
        if !std::mem::replace(&mut self.is_stale[leaf], true) {
            self.stale.push(leaf);
        }
    }

    /// The time at which a leaf may send if nobody else does before. `free` gives the time until which a leaf holds its packets back, and nothing where it
    /// has none.
    pub(super) fn first(&mut self, nodes: &[Node], free: impl Fn(usize) -> Option<Instant>) -> Option<Instant> {
        while let Some(leaf) = self.stale.pop() {
            self.is_stale[leaf] = false;
            self.update(nodes, leaf, free(leaf));
        }
        self.lends.peek().map(|(at, _)| at)
    }

    fn update(&mut self, nodes: &[Node], leaf: usize, mut from: Option<Instant>) {
        let mut next = Some(leaf);
        while let Some(class) = next {
            let (ceil, rate) = nodes[class].recovered();
            from = from.map(|at| at.max(ceil));
            match from {
                Some(open) => self.lends.set(class, open.max(rate)),
                None => _ = self.lends.remove(class),
            }
            next = nodes[class].parent;
            if let Some(parent) = next {
                let below = &mut self.below[parent];
                match from {
                    Some(open) => below.set(self.place[class], open),
                    None => _ = below.remove(self.place[class]),
                }
                from = below.peek().map(|(at, _)| at);
            }
        }
    }
}
