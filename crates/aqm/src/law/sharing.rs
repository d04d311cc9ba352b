//! Hierarchical link sharing: selection of the next node.
//!
//! Each node keeps the time at which it is to be served next, on its parent's clock, which advances with the work done
//! there: among the nodes with work, the one with the earliest time is served, and its time advances by the length sent
//! divided by its share. This is the "next service time" of Parris 2001, Figures 3.18 and 3.20, with start-time fair
//! queueing's clock (Goyal, Vin, Cheng 1996) for nodes that become busy again.

use aqmkit_base::{BitRate, Bytes, Duration, Instant};

/// A tree of nodes that share a link. Leaves hold work; what a node leaves unused goes first to its siblings, in
/// proportion to their shares, and only then up the tree.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// The root is first; a child comes after its parent.
    nodes: Vec<Node>,
}

/// The node to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This leaf.
    Leaf(usize),
    /// Every leaf with work is held to its rate until this time or later.
    Held(Instant),
    /// No leaf has work.
    Nobody,
}

#[derive(Clone, Debug)]
struct Node {
    parent: usize,
    children: Vec<usize>,
    /// Share of the link; only the ratio between siblings matters.
    share: f64,
    /// When it is to be served next, on its parent's clock.
    next_service: f64,
    /// The service time of the child served last, at which a newly backlogged child starts.
    clock: f64,
    /// Children with work in them; for a leaf, one if it has work.
    busy: usize,
    /// For a leaf that may not borrow: its maximum rate.
    held_to: Option<BitRate>,
    held_until: Instant,
}

/// The credit of a leaf held to a rate, in packets of this size or of its own if larger: at most the time for which
/// others' packets may have delayed it. A link slower than configured earns it no more, as `maxidle` bounds the credit
/// of CBQ's estimator (Floyd and Jacobson 1995, appendix A).
const CREDIT_PACKETS: u32 = 2;
const CREDIT_PACKET: u32 = 1500;

/// The root of every tree.
pub const ROOT: usize = 0;

impl Default for Sharing {
    fn default() -> Self {
        Sharing { nodes: vec![Node::new(ROOT, 0.0, None)] }
    }
}

impl Node {
    fn new(parent: usize, share: f64, held_to: Option<BitRate>) -> Self {
        Node {
            parent,
            children: Vec::new(),
            share,
            next_service: 0.0,
            clock: 0.0,
            busy: 0,
            held_to,
            held_until: Instant::ZERO,
        }
    }

    /// Holds a leaf to its rate, if it has one, after `len` bytes.
    fn hold(&mut self, len: u32, now: Instant) {
        let Some(rate) = self.held_to else { return };
        let time = |bytes: u32| -> Duration { rate.time_to_send(Bytes(u64::from(bytes))) };
        let credit = time(len.max(CREDIT_PACKET)) * u64::from(CREDIT_PACKETS);
        self.held_until = self.held_until.max(now - credit) + time(len);
    }
}

impl Sharing {
    /// Adds a node under `parent` and returns its index. Nodes with children have the sum of their shares.
    pub fn add(&mut self, parent: usize, share: f64, held_to: Option<BitRate>) -> usize {
        let new = self.nodes.len();
        self.nodes.push(Node::new(parent, 0.0, held_to));
        self.nodes[parent].children.push(new);
        self.set_share(new, share, held_to);
        new
    }

    /// Changes the share of a leaf.
    pub fn set_share(&mut self, leaf: usize, share: f64, held_to: Option<BitRate>) {
        let change = share - self.nodes[leaf].share;
        self.nodes[leaf].held_to = held_to;
        let mut at = leaf;
        while at != ROOT {
            self.nodes[at].share += change;
            at = self.nodes[at].parent;
        }
    }

    /// A leaf without work has got some.
    pub fn wake(&mut self, leaf: usize, now: Instant) {
        self.nodes[leaf].held_until = self.nodes[leaf].held_until.max(now);
        let mut at = leaf;
        loop {
            self.nodes[at].busy += 1;
            if at == ROOT || self.nodes[at].busy > 1 {
                return;
            }
            at = self.nodes[at].parent;
        }
    }

    /// The leaf has no more work. A node without work resets its clock.
    pub fn sleep(&mut self, leaf: usize) {
        let mut at = leaf;
        loop {
            self.nodes[at].busy -= 1;
            if self.nodes[at].busy > 0 {
                return;
            }
            self.nodes[at].clock = 0.0;
            for i in 0..self.nodes[at].children.len() {
                let child = self.nodes[at].children[i];
                self.nodes[child].next_service = 0.0;
            }
            if at == ROOT {
                return;
            }
            at = self.nodes[at].parent;
        }
    }

    /// The leaf to serve at `now`: Figure 3.18, at each level of the tree.
    #[must_use]
    pub fn next(&self, now: Instant) -> Next {
        let mut at = ROOT;
        while !self.nodes[at].children.is_empty() {
            let ready = self.nodes[at].children.iter().copied().filter(|&c| self.ready(c, now));
            let earliest = |a: &usize, b: &usize| self.due(*a).total_cmp(&self.due(*b));
            match ready.min_by(earliest) {
                Some(child) => at = child,
                None => return self.held(),
            }
        }
        Next::Leaf(at)
    }

    /// The leaf has sent `len` bytes at `now`: Figure 3.20's update of the service times, up to the root.
    pub fn charge(&mut self, leaf: usize, len: u32, now: Instant) {
        self.nodes[leaf].hold(len, now);
        let mut at = leaf;
        while at != ROOT {
            let (due, parent) = (self.due(at), self.nodes[at].parent);
            self.nodes[parent].clock = due;
            self.nodes[at].next_service = due + f64::from(len) / self.nodes[at].share;
            at = parent;
        }
    }

    /// When `node` is to be served next. Only a node that was idle, or held to its rate, can be behind the clock: it
    /// does not catch up.
    fn due(&self, node: usize) -> f64 {
        self.nodes[node].next_service.max(self.nodes[self.nodes[node].parent].clock)
    }

    /// Whether any leaf under `node` has work and may send.
    fn ready(&self, node: usize, now: Instant) -> bool {
        let n = &self.nodes[node];
        if n.children.is_empty() {
            return n.busy > 0 && (n.held_to.is_none() || n.held_until <= now);
        }
        n.busy > 0 && n.children.iter().any(|&c| self.ready(c, now))
    }

    fn held(&self) -> Next {
        let waiting = self.nodes.iter().filter(|n| n.busy > 0 && n.held_to.is_some());
        waiting.map(|n| n.held_until).min().map_or(Next::Nobody, Next::Held)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aqmkit_base::Rng;

    use super::*;

    const NOW: Instant = Instant::ZERO;

    /// Serves `packets` packets of 1000 bytes and counts them by leaf.
    fn serve(tree: &mut Sharing, packets: usize) -> Vec<usize> {
        let mut served = vec![0; tree.nodes.len()];
        for _ in 0..packets {
            let Next::Leaf(leaf) = tree.next(NOW) else { panic!("nobody to serve") };
            tree.charge(leaf, 1000, NOW);
            served[leaf] += 1;
        }
        served
    }

    #[test]
    fn busy_leaves_get_their_shares() {
        let mut tree = Sharing::default();
        let leaves = [0.16, 0.12, 0.72].map(|share| tree.add(ROOT, share, None));
        leaves.iter().for_each(|&leaf| tree.wake(leaf, NOW));
        assert_eq!(serve(&mut tree, 100)[1..], [16, 12, 72]);
    }

    #[test]
    fn what_one_leaves_goes_to_its_siblings_first() {
        let mut tree = Sharing::default();
        let group = tree.add(ROOT, 0.0, None);
        let (tcp, multimedia, other) =
            (tree.add(group, 0.6, None), tree.add(group, 0.2, None), tree.add(ROOT, 0.2, None));
        tree.wake(tcp, NOW);
        tree.wake(other, NOW);
        let served = serve(&mut tree, 100);
        assert_eq!((served[tcp], served[multimedia], served[other]), (80, 0, 20), "tcp borrows all of multimedia's");
    }

    /// A random tree of two levels: each leaf with its group and its share.
    fn two_levels(draw: &mut Rng) -> (Sharing, Vec<(usize, usize, f64)>) {
        let (mut tree, mut leaves) = (Sharing::default(), Vec::new());
        for _ in 0..2 + draw.below(3) {
            let group = tree.add(ROOT, 0.0, None);
            for _ in 0..=draw.below(3) {
                let share = (1 + draw.below(8)) as f64;
                leaves.push((tree.add(group, share, None), group, share));
            }
        }
        (tree, leaves)
    }

    /// Whoever sleeps and wakes: groups at work divide the link by the shares of all that they hold, and the leaves at work in each what it
    /// gets by theirs.
    #[test]
    fn each_level_divides_what_it_gets_among_those_at_work() {
        let mut draw = Rng::stream(1, "trees");
        for _ in 0..30 {
            let (mut tree, leaves) = two_levels(&mut draw);
            let mut busy: Vec<bool> = vec![false; leaves.len()];
            for _ in 0..10 {
                for (works, (leaf, ..)) in busy.iter_mut().zip(&leaves).filter(|_| draw.chance(0.5)) {
                    if *works {
                        tree.sleep(*leaf);
                    } else {
                        tree.wake(*leaf, NOW);
                    }
                    *works = !*works;
                }
                if !busy.contains(&true) {
                    assert_eq!(tree.next(NOW), Next::Nobody);
                    continue;
                }
                let at_work: Vec<_> =
                    leaves.iter().zip(&busy).filter(|(_, busy)| **busy).map(|(leaf, _)| leaf).collect();
                let whole = |group: usize| leaves.iter().filter(|l| l.1 == group).map(|l| l.2).sum::<f64>();
                let groups: BTreeSet<usize> = at_work.iter().map(|l| l.1).collect();
                let of_groups: f64 = groups.iter().map(|group| whole(*group)).sum();
                let served = serve(&mut tree, 2000);
                for (leaf, group, share) in at_work.iter().copied() {
                    let siblings: f64 = at_work.iter().filter(|l| l.1 == *group).map(|l| l.2).sum();
                    let wanted = 2000.0 * whole(*group) / of_groups * share / siblings;
                    assert!(
                        (served[*leaf] as f64 - wanted).abs() < 8.0,
                        "{} of {wanted}: {leaves:?} {busy:?}",
                        served[*leaf]
                    );
                }
                assert_eq!(at_work.iter().map(|l| served[l.0]).sum::<usize>(), 2000, "who sleeps is not served");
            }
        }
    }

    /// When nobody waits, nobody is behind: the tree serves as a new one does.
    #[test]
    fn a_tree_at_rest_forgets() {
        let mut draw = Rng::stream(2, "trees");
        for _ in 0..100 {
            let (mut tree, leaves) = two_levels(&mut draw);
            let order = |rested: &mut Sharing| -> Vec<Next> {
                leaves.iter().for_each(|l| rested.wake(l.0, NOW));
                let serve = |_| {
                    let next = rested.next(NOW);
                    let Next::Leaf(leaf) = next else { panic!("all have work") };
                    rested.charge(leaf, 1000, NOW);
                    next
                };
                let served = (0..17).map(serve).collect();
                leaves.iter().for_each(|l| rested.sleep(l.0));
                served
            };
            let first = order(&mut tree);
            assert_eq!(order(&mut tree), first);
        }
    }

    #[test]
    fn idleness_earns_no_credit() {
        let mut tree = Sharing::default();
        let (a, b) = (tree.add(ROOT, 0.5, None), tree.add(ROOT, 0.5, None));
        tree.wake(a, NOW);
        serve(&mut tree, 1000);
        tree.wake(b, NOW);
        let served = serve(&mut tree, 10);
        assert!(served[b] <= 6, "{served:?}");
        tree.sleep(a);
        tree.sleep(b);
        assert_eq!(tree.next(NOW), Next::Nobody);
    }

    #[test]
    fn who_may_not_borrow_is_held_to_its_rate() {
        let mut tree = Sharing::default();
        let leaf = tree.add(ROOT, 0.1, Some(BitRate::from_mbps(1)));
        tree.wake(leaf, NOW);
        tree.charge(leaf, 1000, NOW);
        let next = NOW + Duration::from_millis(8);
        assert_eq!((tree.next(NOW), tree.next(next)), (Next::Held(next), Next::Leaf(leaf)));
    }

    /// A leaf that always has work, on a link that serves half of what it is held to.
    #[test]
    fn a_slow_link_earns_little_credit() {
        let mut tree = Sharing::default();
        let leaf = tree.add(ROOT, 0.1, Some(BitRate::from_mbps(1)));
        tree.wake(leaf, NOW);
        let mut now = NOW;
        for _ in 0..1000 {
            assert_eq!(tree.next(now), Next::Leaf(leaf));
            tree.charge(leaf, 1000, now);
            now += Duration::from_millis(16);
        }
        let mut at_once = 0;
        while tree.next(now) == Next::Leaf(leaf) {
            tree.charge(leaf, 1000, now);
            at_once += 1;
        }
        assert_eq!(at_once, 4, "what 3000 bytes are, and the one that is due");
    }

    /// A leaf whose packets are small waits for a large one of another at times: its rate is the same.
    #[test]
    fn who_was_kept_waiting_still_gets_its_rate() {
        let mut tree = Sharing::default();
        let leaf = tree.add(ROOT, 0.5, Some(BitRate::from_mbps(5)));
        tree.wake(leaf, NOW);
        let (mut now, mut sent) = (NOW, 0);
        while now < NOW + Duration::from_secs(10) {
            if tree.next(now) == Next::Leaf(leaf) {
                tree.charge(leaf, 100, now);
                sent += 100;
                now += Duration::from_micros(80);
            } else {
                now += Duration::from_micros(1200);
            }
        }
        assert!((6_249_000..=6_251_000).contains(&sent), "{sent} bytes in 10 s");
    }
}
