//! A linked order over the indices of a vector.

use super::links::{Links, List};

/// The null index.
const NOBODY: usize = usize::MAX;

/// A linked list over the indices of a dense vector, in an order of its own. Indices outside of the vector mean none.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    links: Links,
    list: List,
}

impl Chain {
    /// The first place.
    #[must_use]
    pub fn first(&self) -> usize {
        self.list.front().unwrap_or(NOBODY)
    }

    /// The last place.
    #[must_use]
    pub fn last(&self) -> usize {
        self.list.back().unwrap_or(NOBODY)
    }

    /// The place after this one.
    #[must_use]
    pub fn after(&self, place: usize) -> usize {
        self.links.after(place).unwrap_or(NOBODY)
    }

    /// The place before this one.
    #[must_use]
    pub fn before(&self, place: usize) -> usize {
        self.links.before(place).unwrap_or(NOBODY)
    }

    /// Appends an index that is not in the chain.
    pub fn push(&mut self, place: usize) {
        self.links.push_back(&mut self.list, place);
    }

    /// Removes an index.
    pub fn remove(&mut self, place: usize) {
        self.links.remove(&mut self.list, place);
    }

    /// Moves the entry at `from` to `to`, which is free (or the same).
    pub fn moved(&mut self, from: usize, to: usize) {
        if from != to {
            self.links.renumber(&mut self.list, from, to);
        }
    }
}
