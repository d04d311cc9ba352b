//! The two schedulers of CBQ: by next service time, and by priority.

use std::collections::BTreeMap;

use aqmkit_base::Instant;

use super::Plan;
use crate::law::priorities::Priorities;
use crate::law::sharing::{Next, ROOT, Sharing};

/// Who is served next.
#[derive(Clone, Debug)]
pub(super) enum Scheduler {
    Service(Sharing),
    Priority(Box<Priorities>),
}

impl Scheduler {
    /// The scheduler of a plan, and the leaf of each of its classes.
    pub(super) fn new(plan: &Plan, now: Instant) -> (Self, Vec<usize>) {
        match plan.rules {
            None => {
                let mut tree = Sharing::default();
                let leaves = leaves(
                    plan,
                    &mut tree,
                    |tree, parent| tree.add(parent, 0.0, None),
                    |tree, parent, entry| {
                        let (share, held_to) = plan.service(entry);
                        tree.add(parent, share, held_to)
                    },
                );
                (Scheduler::Service(tree), leaves)
            }
            Some(rules) => {
                let mut tree = Priorities::new(rules, now);
                let leaves = leaves(plan, &mut tree, Priorities::add_group, |tree, parent, entry| {
                    let class = &plan.classes[entry];
                    tree.add(parent, class.priority.unwrap_or(super::LAST), class.share.unwrap_or(1.0), class.borrow)
                });
                (Scheduler::Priority(Box::new(tree)), leaves)
            }
        }
    }

    pub(super) fn wake(&mut self, leaf: usize, now: Instant) {
        match self {
            Scheduler::Service(tree) => tree.wake(leaf, now),
            Scheduler::Priority(tree) => tree.set_demand(leaf, true),
        }
    }

    pub(super) fn sleep(&mut self, leaf: usize) {
        match self {
            Scheduler::Service(tree) => tree.sleep(leaf),
            Scheduler::Priority(tree) => tree.set_demand(leaf, false),
        }
    }

    pub(super) fn next(&mut self, now: Instant) -> Next {
        match self {
            Scheduler::Service(tree) => tree.next(now),
            Scheduler::Priority(tree) => tree.next(now),
        }
    }

    pub(super) fn charge(&mut self, leaf: usize, len: u32, now: Instant) {
        match self {
            Scheduler::Service(tree) => tree.charge(leaf, len, now),
            Scheduler::Priority(tree) => tree.charge(leaf, len, now),
        }
    }

    /// Takes over the parameters of a plan for the same tree.
    pub(super) fn change(&mut self, plan: &Plan, leaves: &[usize]) {
        for (entry, &leaf) in leaves.iter().enumerate() {
            let (share, held_to) = plan.service(entry);
            match self {
                Scheduler::Service(tree) => tree.set_share(leaf, share, held_to),
                Scheduler::Priority(tree) => tree.set_share(leaf, share, plan.classes[entry].borrow),
            }
        }
        if let (Scheduler::Priority(tree), Some(rules)) = (self, plan.rules) {
            tree.set_rules(rules);
        }
    }
}

/// Adds the groups and classes of a plan to a tree; gives the leaf of each class.
fn leaves<T>(
    plan: &Plan,
    tree: &mut T,
    add_group: impl Fn(&mut T, usize) -> usize,
    add: impl Fn(&mut T, usize, usize) -> usize,
) -> Vec<usize> {
    let mut groups = BTreeMap::new();
    let mut leaves = Vec::new();
    for (entry, class) in plan.classes.iter().enumerate() {
        let mut parent = ROOT;
        for name in class.parent.iter().flat_map(|path| path.split('/')) {
            parent = *groups.entry((parent, name)).or_insert_with(|| add_group(tree, parent));
        }
        leaves.push(add(tree, parent, entry));
    }
    leaves
}
