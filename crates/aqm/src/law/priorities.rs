//! Link sharing with priorities: the general scheduler, the estimator and the guidelines of CBQ.
//!
//! Floyd and Jacobson 1995, sections 3 to 5 and appendix A. What the paper leaves to the implementation is as in the
//! authors' own for ns-2, `WRR_CBQueue`; the bounds of the estimator are ALTQ's.

use aqmkit_base::{BitRate, Duration, Instant};

use super::sharing::Next;

/// Inverse weight of the newest sample of a class's idle time.
const SAMPLES: f64 = 16.0;

/// When a class above its share may continue to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guideline {
    /// While an ancestor is below its own share, and nobody on a level below that ancestor's is unsatisfied.
    #[default]
    Formal,
    /// While any ancestor is below its own share.
    Ancestors,
}

/// Parameters common to all classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The link's rate.
    pub link: BitRate,
    /// When a class above its share may continue to send.
    pub guideline: Guideline,
    /// Average bytes per round for each class of a priority: a maximum-size packet.
    pub maxpkt: f64,
    /// Bytes of a typical packet.
    pub avpkt: f64,
    /// Burst of a class after an idle period, in typical packets.
    pub maxburst: u32,
    /// Burst of a class above its share when it may send again, in typical packets.
    pub minburst: u32,
}

/// A node of the tree, with its estimator. Times are in seconds relative to the last call, so that they stay exact over
/// years.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    /// 1 for a leaf, otherwise one above its highest child's.
    level: u32,
    share: f64,
    borrows: bool,
    /// Whether it is a leaf with packets.
    demand: bool,
    /// The average of the time between its packets, less the time they would take at its share.
    avgidle: f64,
    /// When transmission of its last packet ends.
    last: f64,
    /// Until when it is above its share.
    undertime: f64,
    delayed: bool,
    /// Bytes that it may still send in this round.
    bytes: f64,
}

/// The classes of one priority.
#[derive(Clone, Debug)]
struct Band {
    priority: u32,
    leaves: Vec<usize>,
    /// Index of the class whose turn it is.
    turn: usize,
    share: f64,
}

/// A tree of classes: those of the highest priority are served first, in turns of bytes in proportion to their shares,
/// while they are below their shares or may borrow.
#[derive(Clone, Debug)]
pub struct Priorities {
    rules: Rules,
    nodes: Vec<Node>,
    bands: Vec<Band>,
    /// When the last call was.
    origin: Instant,
    /// Whether the leaf picked last may send only because no other would.
    unaccounted: bool,
}

impl Priorities {
    /// A tree with only the root.
    #[must_use]
    pub fn new(rules: Rules, now: Instant) -> Self {
        let root = Node::new(None, 1.0, true);
        Priorities { rules, nodes: vec![root], bands: Vec::new(), origin: now, unaccounted: false }
    }

    /// Adds a group under `parent` and returns its index.
    pub fn add_group(&mut self, parent: usize) -> usize {
        self.nodes.push(Node::new(Some(parent), 0.0, true));
        self.nodes.len() - 1
    }

    /// Adds a class under `parent` and returns its index. The lowest priority number is served first.
    pub fn add(&mut self, parent: usize, priority: u32, share: f64, borrows: bool) -> usize {
        let leaf = self.nodes.len();
        self.nodes.push(Node::new(Some(parent), 0.0, borrows));
        let at = self.bands.partition_point(|band| band.priority < priority);
        if self.bands.get(at).is_none_or(|band| band.priority != priority) {
            self.bands.insert(at, Band { priority, leaves: Vec::new(), turn: 0, share: 0.0 });
        }
        self.bands[at].leaves.push(leaf);
        self.set_share(leaf, share, borrows);
        let (mut child, mut level) = (leaf, 1);
        while let Some(above) = self.nodes[child].parent {
            level += 1;
            self.nodes[above].level = self.nodes[above].level.max(level);
            child = above;
        }
        leaf
    }

    /// Changes the share of a class.
    pub fn set_share(&mut self, leaf: usize, share: f64, borrows: bool) {
        let change = share - self.nodes[leaf].share;
        self.nodes[leaf].borrows = borrows;
        let mut at = leaf;
        while let Some(parent) = self.nodes[at].parent {
            self.nodes[at].share += change;
            at = parent;
        }
        if let Some(band) = self.bands.iter_mut().find(|band| band.leaves.contains(&leaf)) {
            band.share += change;
        }
    }

    /// Changes what all classes have in common.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The class has packets, or no longer has any.
    pub fn set_demand(&mut self, leaf: usize, demand: bool) {
        self.nodes[leaf].demand = demand;
    }

    /// The class to serve at `now`, by the general scheduler.
    pub fn next(&mut self, now: Instant) -> Next {
        self.pass(now);
        self.unaccounted = false;
        for band in 0..self.bands.len() {
            if let Some(leaf) = self.pick(band) {
                return Next::Leaf(leaf);
            }
        }
        // If no class may send, the first that may borrow does, so the link does not idle.
        let first = self.leaves().find(|&leaf| self.nodes[leaf].demand && self.nodes[leaf].borrows);
        self.unaccounted = true;
        first.map_or_else(|| self.held(now), Next::Leaf)
    }

    /// The class has sent `len` bytes from `now` on: updates the estimators up to the root, and its part of the round.
    pub fn charge(&mut self, leaf: usize, len: u32, now: Instant) {
        let Some(band) = self.bands.iter_mut().find(|band| band.leaves.contains(&leaf)) else { return };
        let turn = band.leaves.iter().position(|&other| other == leaf).unwrap_or(0);
        let node = &mut self.nodes[leaf];
        let accounted = !self.unaccounted;
        if accounted && node.bytes > 0.0 {
            node.bytes -= f64::from(len);
        }
        let goes_on = accounted && node.bytes > 0.0;
        band.turn = if goes_on { turn } else { (turn + 1) % band.leaves.len() };
        if accounted {
            self.pass(now);
            self.estimate(leaf, f64::from(len));
        }
    }

    /// Advances time to `now`.
    fn pass(&mut self, now: Instant) {
        let seconds = now.since(self.origin).as_secs_f64();
        self.origin = now;
        for node in &mut self.nodes {
            node.last -= seconds;
            node.undertime -= seconds;
        }
    }

    fn leaves(&self) -> impl Iterator<Item = usize> {
        self.bands
            .iter()
            .flat_map(|band| (0..band.leaves.len()).map(|i| band.leaves[(band.turn + i) % band.leaves.len()]))
    }

    /// Weighted round robin among the classes of a priority that may send. The first pass considers only those with
    /// bytes left; if there are none, the second takes one that may send.
    fn pick(&mut self, band: usize) -> Option<usize> {
        let mut deficit = false;
        for again in [false, true] {
            for _ in 0..self.bands[band].leaves.len() {
                let Band { turn, share, ref leaves, .. } = self.bands[band];
                let (leaf, count) = (leaves[turn], leaves.len());
                if !again && self.nodes[leaf].bytes <= 0.0 {
                    let round = count as f64 * self.rules.maxpkt;
                    self.nodes[leaf].bytes += (self.nodes[leaf].share / share * round).trunc();
                }
                if self.nodes[leaf].demand {
                    if !self.may_send(leaf) {
                        self.hold(leaf);
                    } else if again || self.nodes[leaf].bytes > 0.0 {
                        return Some(leaf);
                    } else {
                        deficit = true;
                    }
                }
                self.nodes[leaf].bytes = 0.0;
                self.bands[band].turn = (turn + 1) % count;
            }
            if !deficit {
                return None;
            }
        }
        None
    }

    /// Whether it is below its share, or able to borrow by the guideline.
    fn may_send(&mut self, leaf: usize) -> bool {
        if self.under(leaf) {
            self.nodes[leaf].delayed = false;
            return true;
        }
        let mut lender = self.nodes[leaf].parent.filter(|_| self.nodes[leaf].borrows);
        while let Some(node) = lender {
            if self.under(node) && self.lends(node) {
                return true;
            }
            lender = self.nodes[node].parent;
        }
        false
    }

    /// A clock in nanoseconds may see the end of a packet slightly late, so times above that of sixteen bytes count.
    fn under(&self, node: usize) -> bool {
        self.nodes[node].undertime + 16.0 / self.rules.link.bytes_per_sec() < 0.0
    }

    fn lends(&self, lender: usize) -> bool {
        let level = self.nodes[lender].level;
        let unsatisfied = |node: usize| self.nodes[node].level < level && self.under(node) && self.has_demand(node);
        self.rules.guideline == Guideline::Ancestors || !(0..self.nodes.len()).any(unsatisfied)
    }

    /// Whether it is a class with packets, or a group with such a class that may borrow.
    fn has_demand(&self, node: usize) -> bool {
        if self.nodes[node].level == 1 {
            return self.nodes[node].demand;
        }
        (0..self.nodes.len()).any(|leaf| {
            let of_group =
                || std::iter::successors(self.nodes[leaf].parent, |&n| self.nodes[n].parent).any(|n| n == node);
            self.nodes[leaf].demand && self.nodes[leaf].borrows && of_group()
        })
    }

    /// A class above its share that cannot borrow waits a little longer, so that it can then send `minburst` packets.
    fn hold(&mut self, leaf: usize) {
        let extra = self.extradelay(leaf);
        let node = &mut self.nodes[leaf];
        if !node.delayed && node.undertime + extra > 0.0 {
            node.undertime += extra + (SAMPLES - 1.0) * node.avgidle;
            node.delayed = true;
        }
    }

    fn held(&self, now: Instant) -> Next {
        let waiting = self.nodes.iter().filter(|node| node.demand).map(|node| node.undertime);
        let first = waiting.fold(f64::INFINITY, f64::min);
        if first == f64::INFINITY {
            return Next::Nobody;
        }
        let seconds = (first + 16.0 / self.rules.link.bytes_per_sec()).max(0.0);
        Next::Held(now + Duration::from_secs_f64(seconds) + Duration::from_nanos(1))
    }

    fn estimate(&mut self, leaf: usize, len: f64) {
        let link = self.rules.link.bytes_per_sec();
        let end = len / link;
        let mut next = Some(leaf);
        while let Some(i) = next {
            let (maxidle, minidle) = (self.maxidle(i), -self.rules.maxpkt / (self.nodes[i].share * link));
            let node = &mut self.nodes[i];
            let idle = end - node.last - len / (node.share * link);
            node.avgidle = (node.avgidle + (idle - node.avgidle) / SAMPLES).min(maxidle).max(minidle);
            if node.avgidle <= 0.0 {
                node.undertime = end + len / link * (1.0 / node.share - 1.0) - (SAMPLES - 1.0) * node.avgidle;
            }
            node.last = end;
            next = node.parent;
        }
    }

    /// The maximum average: what `maxburst` back-to-back packets use up.
    fn maxidle(&self, node: usize) -> f64 {
        let g = 1.0 - 1.0 / SAMPLES;
        let gn = libm::pow(g, f64::from(self.rules.maxburst));
        let packet = self.rules.avpkt / self.rules.link.bytes_per_sec();
        packet * ((1.0 / self.nodes[node].share - 1.0) * (1.0 - gn) / gn).max(1.0 - g)
    }

    /// How long a class waits beyond one packet time, to send `minburst` at once.
    fn extradelay(&self, node: usize) -> f64 {
        let packet = self.rules.avpkt / self.rules.link.bytes_per_sec();
        packet * (1.0 / self.nodes[node].share - 1.0) * f64::from(self.rules.minburst.saturating_sub(1))
    }
}

impl Node {
    fn new(parent: Option<usize>, share: f64, borrows: bool) -> Self {
        Node {
            parent,
            level: 1,
            share,
            borrows,
            demand: false,
            avgidle: 0.0,
            last: 0.0,
            undertime: f64::NEG_INFINITY,
            delayed: false,
            bytes: 0.0,
        }
    }
}
