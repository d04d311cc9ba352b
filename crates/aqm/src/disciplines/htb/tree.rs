//! The tree of classes: which leaf may send, and from whom it borrows.

use aqmkit_base::Instant;

use super::feed::Feed;
use super::node::{LEVELS, Mode, Node, PRIORITIES};
use crate::storage::IndexedHeap;

/// The classes and their turns.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// The classes within their rates that have packets, or classes below that borrow and have: by level and priority.
    rows: [[Feed; PRIORITIES]; LEVELS],
    /// The rows that are not empty: by level, a bit for each priority.
    busy: [u8; LEVELS],
    /// By level, the classes above their rates, by a time before which their modes do not change (`wait_pq`).
    events: [IndexedHeap<Instant>; LEVELS],
    /// The classes whose modes may change now.
    due: Vec<usize>,
}

impl Tree {
    pub(super) fn new(nodes: Vec<Node>) -> Self {
        let mut tree =
            Tree { nodes, rows: Default::default(), busy: [0; LEVELS], events: Default::default(), due: Vec::new() };
        tree.reserve();
        tree
    }

    /// Makes room in every feed for the classes that can be in it, so that no memory is needed later.
    fn reserve(&mut self) {
        for leaf in 0..self.nodes.len() {
            let (mut class, prio) = (leaf, self.nodes[leaf].prio);
            while self.nodes[leaf].level == 0 {
                self.rows[self.nodes[class].level][prio].set.reserve(class);
                let Some(parent) = self.nodes[class].parent else { break };
                self.nodes[parent].feeds[prio].set.reserve(class);
                class = parent;
            }
        }
        self.due.reserve(self.nodes.len());
    }

    /// A leaf has packets.
    pub(super) fn activate(&mut self, leaf: usize) {
        let node = &mut self.nodes[leaf];
        if node.activity == 0 {
            node.activity = 1 << node.prio;
            self.connect(leaf);
        }
    }

    /// A leaf has no packets.
    pub(super) fn deactivate(&mut self, leaf: usize) {
        self.disconnect(leaf);
        self.nodes[leaf].activity = 0;
    }

    /// Puts an active class into the feeds from which it is served: those of its ancestors up to one that is within its rate, and the row of that.
    fn connect(&mut self, class: usize) {
        let (mut class, mut mask) = (class, self.nodes[class].activity);
        while let (Mode::MayBorrow, Some(parent), true) = (self.nodes[class].mode, self.nodes[class].parent, mask != 0)
        {
            for prio in priorities(mask) {
                let feed = &mut self.nodes[parent].feeds[prio];
                if !feed.set.is_empty() {
                    mask &= !(1 << prio);
                }
                feed.set.add(class);
            }
            self.nodes[parent].activity |= mask;
            class = parent;
        }
        if self.nodes[class].mode == Mode::CanSend {
            let level = self.nodes[class].level;
            priorities(mask).for_each(|prio| self.rows[level][prio].set.add(class));
            self.busy[level] |= mask;
        }
    }

    /// The reverse of [`Tree::connect`], with the mode that the class had then.
    fn disconnect(&mut self, class: usize) {
        let (mut class, mut mask) = (class, self.nodes[class].activity);
        while let (Mode::MayBorrow, Some(parent), true) = (self.nodes[class].mode, self.nodes[class].parent, mask != 0)
        {
            let of_child = std::mem::take(&mut mask);
            for prio in priorities(of_child) {
                let feed = &mut self.nodes[parent].feeds[prio];
                feed.remove(class, false);
                if feed.set.is_empty() {
                    mask |= 1 << prio;
                }
            }
            self.nodes[parent].activity &= !mask;
            class = parent;
        }
        if self.nodes[class].mode == Mode::CanSend {
            let level = self.nodes[class].level;
            for prio in priorities(mask) {
                let row = &mut self.rows[level][prio];
                row.remove(class, true);
                if row.set.is_empty() {
                    self.busy[level] &= !(1 << prio);
                }
            }
        }
    }

    /// Brings the mode of a class up to date.
    fn refresh(&mut self, class: usize, now: Instant) {
        let mode = self.nodes[class].mode_at(now);
        let changed = mode != self.nodes[class].mode;
        if changed {
            self.disconnect(class);
            self.nodes[class].mode = mode;
            self.connect(class);
        }
        // A charge only puts off the change of a mode, so the time that is known stays early enough.
        if changed || (mode != Mode::CanSend && !self.events[self.nodes[class].level].contains(class)) {
            self.schedule(class);
        }
    }

    fn schedule(&mut self, class: usize) {
        let node = &self.nodes[class];
        let events = &mut self.events[node.level];
        match node.mode {
            Mode::CanSend => _ = events.remove(class),
            _ => events.set(class, node.next_mode()),
        }
    }

    /// Brings the modes of all classes of a level up to date, in the order of their numbers.
    pub(super) fn refresh_level(&mut self, level: usize, now: Instant) {
        while let Some((_, class)) = self.events[level].peek().filter(|(at, _)| *at <= now) {
            self.events[level].remove(class);
            self.due.push(class);
        }
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        due.drain(..).for_each(|class| self.refresh(class, now));
        self.due = due;
    }

    /// Takes the parameters of these classes.
    pub(super) fn change(&mut self, to: &[Node], now: Instant) {
        for (class, node) in to.iter().enumerate() {
            self.nodes[class].change(node, now);
            self.refresh(class, now);
            self.schedule(class);
        }
    }

    /// Whether somebody is to be served by this row.
    pub(super) fn serves(&self, level: usize, prio: usize) -> bool {
        self.busy[level] & 1 << prio != 0
    }

    fn feed(&mut self, level: usize, prio: usize, path: &[usize]) -> &mut Feed {
        match path.last() {
            None => &mut self.rows[level][prio],
            Some(class) => &mut self.nodes[*class].feeds[prio],
        }
    }

    /// The leaf whose turn it is in this row. Where the round of a class's feed is over, the next class of the row has its turn.
    pub(super) fn turn(&mut self, level: usize, prio: usize) -> Option<usize> {
        let (mut path, mut depth) = ([0; LEVELS], 0);
        // A round may be over on each level, and each feed of the path may have to be rewound.
        for _ in 0..2 * (self.nodes.len() + LEVELS) {
            match self.feed(level, prio, &path[..depth]).current() {
                Some(class) if self.nodes[class].level == 0 => return Some(class),
                Some(class) => {
                    path[depth] = class;
                    depth += 1;
                }
                None => {
                    self.feed(level, prio, &path[..depth]).rewind();
                    if depth > 0 {
                        depth -= 1;
                        self.feed(level, prio, &path[..depth]).advance();
                    }
                }
            }
        }
        None
    }

    /// Passes the turn of a leaf on to the next in the feed that it is served from.
    pub(super) fn pass(&mut self, leaf: usize, level: usize, prio: usize) {
        match self.nodes[leaf].parent.filter(|_| level > 0) {
            Some(parent) => self.nodes[parent].feeds[prio].advance(),
            None => self.rows[0][prio].advance(),
        }
    }

    /// Charges the leaf and its ancestors for a packet that it borrowed from a class of this level.
    pub(super) fn charge(&mut self, leaf: usize, level: usize, bytes: f64, now: Instant) {
        let mut next = Some(leaf);
        while let Some(class) = next {
            let node = &mut self.nodes[class];
            node.charge(bytes, node.level < level, now);
            next = node.parent;
            self.refresh(class, now);
        }
    }
}

fn priorities(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |prio| mask & (1 << prio) != 0)
}
