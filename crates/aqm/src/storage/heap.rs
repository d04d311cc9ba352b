//! A priority queue with changeable keys: a binary heap that tracks positions.

const NIL: u32 = u32::MAX;

/// A heap of numbered items, smallest key on top. Every change takes `log2 n` steps. It grows with the highest number
/// and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct IndexedHeap<K> {
    heap: Vec<(K, u32)>,
    place: Vec<u32>,
}

impl<K> Default for IndexedHeap<K> {
    fn default() -> Self {
        IndexedHeap { heap: Vec::new(), place: Vec::new() }
    }
}

impl<K: Ord + Copy> IndexedHeap<K> {
    /// Inserts `id`, or changes its key.
    pub fn set(&mut self, id: usize, key: K) {
        if id >= self.place.len() {
            self.place.resize(id + 1, NIL);
        }
        let at = match self.place[id] {
            NIL => {
                self.heap.push((key, id as u32));
                self.heap.len() - 1
            }
            at => at as usize,
        };
        self.heap[at] = (key, id as u32);
        self.settle(at);
    }

    /// Removes `id`, if present.
    pub fn remove(&mut self, id: usize) -> Option<K> {
        let at = *self.place.get(id).filter(|&&at| at != NIL)? as usize;
        let (key, _) = self.heap.swap_remove(at);
        self.place[id] = NIL;
        if at < self.heap.len() {
            self.settle(at);
        }
        Some(key)
    }

    /// The thing with the smallest key, and the key.
    #[must_use]
    pub fn peek(&self) -> Option<(K, usize)> {
        self.heap.first().map(|&(key, id)| (key, id as usize))
    }

    /// Whether `id` is in.
    #[must_use]
    pub fn contains(&self, id: usize) -> bool {
        self.place.get(id).is_some_and(|&at| at != NIL)
    }

    /// How many are in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Restores the heap order of the item at `at`.
    fn settle(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.heap.swap(at, (at - 1) / 2);
            self.note(at);
            at = (at - 1) / 2;
        }
        while let Some(child) = self.smaller_child(at).filter(|&child| self.heap[child] < self.heap[at]) {
            self.heap.swap(at, child);
            self.note(at);
            at = child;
        }
        self.note(at);
    }

    fn smaller_child(&self, at: usize) -> Option<usize> {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        if right < self.heap.len() && self.heap[right] < self.heap[left] {
            return Some(right);
        }
        (left < self.heap.len()).then_some(left)
    }

    fn note(&mut self, at: usize) {
        self.place[self.heap[at].1 as usize] = at as u32;
    }
}

/// A number as a key of the heap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Real(pub f64);

impl Eq for Real {}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Real {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_smallest_is_on_top(ops in prop::collection::vec((0_u8..4, 0_usize..30, 0_u32..100), 0..400)) {
            let (mut heap, mut model) = (IndexedHeap::default(), BTreeMap::new());
            for (op, id, key) in ops {
                if op == 0 {
                    prop_assert_eq!(heap.remove(id), model.remove(&id));
                } else {
                    heap.set(id, key);
                    model.insert(id, key);
                }
                let smallest = model.iter().map(|(which, of)| (*of, *which)).min();
                prop_assert_eq!(heap.peek(), smallest);
                prop_assert_eq!(heap.len(), model.len());
                prop_assert_eq!(heap.contains(id), model.contains_key(&id));
            }
        }
    }
}
