//! Doubly linked lists of numbered items, with the links in one array: any item can leave its list in constant time,
//! without allocation.

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Neighbours {
    prev: u32,
    next: u32,
}

/// The links of numbered items, each in at most one list at a time. The owner of the lists knows which.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<Neighbours>);

/// The two ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NIL, tail: NIL }
    }
}

impl List {
    /// The first.
    #[must_use]
    pub fn front(self) -> Option<usize> {
        (self.head != NIL).then_some(self.head as usize)
    }

    /// The last.
    #[must_use]
    pub fn back(self) -> Option<usize> {
        (self.tail != NIL).then_some(self.tail as usize)
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.head == NIL
    }
}

impl Links {
    /// Appends `id`, which is in no list, to `list`.
    pub fn push_back(&mut self, list: &mut List, id: usize) {
        let last = list.tail;
        self.place(id, Neighbours { prev: last, next: NIL });
        list.tail = id as u32;
        self.set_next(list, last, id as u32);
    }

    /// Prepends `id`, which is in no list, to `list`.
    pub fn push_front(&mut self, list: &mut List, id: usize) {
        let first = list.head;
        self.place(id, Neighbours { prev: NIL, next: first });
        list.head = id as u32;
        self.set_prev(list, first, id as u32);
    }

    /// Removes `id` from `list`, which contains it.
    pub fn remove(&mut self, list: &mut List, id: usize) {
        let Neighbours { prev, next } = self.0[id];
        self.set_next(list, prev, next);
        self.set_prev(list, next, prev);
    }

    /// Renumbers the element `from` of `list` to `to`, which is in no list.
    pub fn renumber(&mut self, list: &mut List, from: usize, to: usize) {
        let link = self.0[from];
        self.place(to, link);
        self.set_next(list, link.prev, to as u32);
        self.set_prev(list, link.next, to as u32);
    }

    /// The successor of `id` in its list.
    #[must_use]
    pub fn after(&self, id: usize) -> Option<usize> {
        self.0.get(id).and_then(|link| (link.next != NIL).then_some(link.next as usize))
    }

    /// The predecessor of `id` in its list.
    #[must_use]
    pub fn before(&self, id: usize) -> Option<usize> {
        self.0.get(id).and_then(|link| (link.prev != NIL).then_some(link.prev as usize))
    }

    /// Removes the first element of `list`.
    pub fn pop_front(&mut self, list: &mut List) -> Option<usize> {
        let first = list.front()?;
        self.remove(list, first);
        Some(first)
    }

    /// Moves the first element of `list` to its end.
    pub fn rotate(&mut self, list: &mut List) {
        if let Some(first) = self.pop_front(list) {
            self.push_back(list, first);
        }
    }

    /// No item precedes the first.
    fn set_next(&mut self, list: &mut List, id: u32, next: u32) {
        match id {
            NIL => list.head = next,
            _ => self.0[id as usize].next = next,
        }
    }

    /// No item follows the last.
    fn set_prev(&mut self, list: &mut List, id: u32, prev: u32) {
        match id {
            NIL => list.tail = prev,
            _ => self.0[id as usize].prev = prev,
        }
    }

    fn place(&mut self, id: usize, link: Neighbours) {
        if id >= self.0.len() {
            self.0.resize(id + 1, Neighbours { prev: NIL, next: NIL });
        }
        self.0[id] = link;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_deque_that_things_may_leave(ops in prop::collection::vec((0_u8..4, 0_usize..20), 0..200)) {
            let (mut links, mut list, mut model) = (Links::default(), List::default(), Vec::new());
            for (op, id) in ops {
                let inside = model.iter().position(|&other| other == id);
                match (op, inside) {
                    (0, None) => { links.push_back(&mut list, id); model.push(id); }
                    (1, None) => { links.push_front(&mut list, id); model.insert(0, id); }
                    (2, Some(at)) => { links.remove(&mut list, id); model.remove(at); }
                    (3, _) if !model.is_empty() => { links.rotate(&mut list); model.rotate_left(1); }
                    _ => {}
                }
                prop_assert_eq!((list.front(), list.back()), (model.first().copied(), model.last().copied()));
            }
            let left: Vec<_> = std::iter::from_fn(|| links.pop_front(&mut list)).collect();
            prop_assert_eq!(left, model);
        }
    }
}
