//! Packets of many queues in one slab.

use super::links::{Links, List};

/// Storage for any number of queues, each a linked [`List`] of indices. It grows to the maximum number of elements in
/// all queues together, and allocates nothing after that.
#[derive(Clone, Debug)]
pub struct Pool<T> {
    /// Empty in a free slot.
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    order: Links,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { slots: Vec::new(), free: Vec::new(), order: Links::default() }
    }
}

impl<T> Pool<T> {
    /// Appends an element to `queue`.
    pub fn push(&mut self, queue: &mut List, item: T) {
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        self.slots[slot] = Some(item);
        self.order.push_back(queue, slot);
    }

    /// The head of `queue`.
    #[must_use]
    pub fn head(&self, queue: List) -> Option<&T> {
        self.slots[queue.front()?].as_ref()
    }

    /// The elements of `queue`, from its head to its tail.
    pub fn each(&self, queue: List) -> impl Iterator<Item = &T> {
        std::iter::successors(queue.front(), |&slot| self.order.after(slot))
            .filter_map(|slot| self.slots[slot].as_ref())
    }

    /// The head of `queue`, mutable.
    pub fn head_mut(&mut self, queue: List) -> Option<&mut T> {
        self.slots[queue.front()?].as_mut()
    }

    /// The tail of `queue`, mutable.
    pub fn tail_mut(&mut self, queue: List) -> Option<&mut T> {
        self.slots[queue.back()?].as_mut()
    }

    /// Removes the head of `queue`.
    pub fn pop(&mut self, queue: &mut List) -> Option<T> {
        let slot = queue.front()?;
        self.take(queue, slot)
    }

    /// Removes the tail of `queue`.
    pub fn pop_tail(&mut self, queue: &mut List) -> Option<T> {
        let slot = queue.back()?;
        self.take(queue, slot)
    }

    /// Removes the element behind `before` others in `queue`, in linear time.
    pub fn remove(&mut self, queue: &mut List, before: usize) -> Option<T> {
        let slot = std::iter::successors(queue.front(), |&slot| self.order.after(slot)).nth(before)?;
        self.take(queue, slot)
    }

    fn take(&mut self, queue: &mut List, slot: usize) -> Option<T> {
        self.order.remove(queue, slot);
        self.free.push(slot as u32);
        self.slots[slot].take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_several_queues(ops in prop::collection::vec((0_u8..4, 0_usize..4), 0..300)) {
            let (mut pool, mut queues) = (Pool::default(), [List::default(); 4]);
            let mut model = [const { VecDeque::new() }; 4];
            let mut most = 0;
            for (id, (op, which)) in ops.into_iter().enumerate() {
                let (queue, same) = (&mut queues[which], &mut model[which]);
                match op {
                    0 => prop_assert_eq!(pool.pop(queue), same.pop_front()),
                    1 => prop_assert_eq!(pool.pop_tail(queue), same.pop_back()),
                    _ => {
                        pool.push(queue, id);
                        same.push_back(id);
                    }
                }
                prop_assert_eq!(pool.head(*queue), same.front());
                prop_assert_eq!(pool.tail_mut(*queue), same.back_mut());
                most = most.max(model.iter().map(VecDeque::len).sum());
                prop_assert_eq!(pool.slots.len(), most, "a slot is used again");
            }
        }
    }
}
