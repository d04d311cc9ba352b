//! # CBQ: class-based queueing with borrowing
//!
//! A queue for each class of traffic, and a scheduler that gives each class its share of the link whenever
//! it has packets. What a class leaves unused is borrowed: by the classes of its own group first, by
//! others only when the whole group leaves something.
//!
//! ## Law
//!
//! ```text
//! arrival of class c:  queue c shorter than its limit: enqueue, else drop       [parris01 fig 3.19]
//! link is ready:       of the nodes with packets, the one with the earliest
//!                      next service time, level by level down to a class        [parris01 fig 3.18]
//! packet sent:         next service time += length / share, at each level       [parris01 fig 3.20]
//! class c wakes up:    next service time = max(its own, its parent's clock)     [goyal96]
//! ```
//!
//! A parent's clock is the service time of the child it served last. Over any time in which two siblings
//! always have packets, what each has sent over its share differs by less than a packet of each.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `classes` | Q | | equal shares for the link's classes | an entry for each class, with the fields below |
//! | `class` | cl | | `"*"` | name of a class of the link, or `"*"` for all classes without an entry |
//! | `share` | | 1 | | fraction of the link; the sum of all must not be above 1, and what it lacks is shared in proportion |
//! | `rate` | service rate | rate | | the same as a rate; give one of the two |
//! | `limit` | qlimit | queue length | 240 | what the class's queue may hold: a class above its share fills it, and waits that long |
//! | `parent` | | | | the group whose members borrow from one another first; `a/b` is group `b` inside group `a`; a group has the sum of its members' shares |
//! | `borrow` | | | true | whether the class may use what others leave; if not, it is held to its share even on an idle link |
//!
//! The dissertation's chapter V has TCP and multimedia borrow from each other first, and other traffic
//! only from what they leave:
//!
//! ```toml
//! classes = [
//!   { class = "multimedia", share = 0.16, parent = "elastic" },
//!   { class = "tcp",        share = 0.72, parent = "elastic" },
//!   { class = "other",      share = 0.12 },
//! ]
//! ```
//!
//! ## Deviations
//!
//! 1. The experiments ran ALTQ's CBQ: an estimator per class (`avgidle`, `maxidle`, `offtime`) and weighted
//!    round robin by priority. Here is the scheduler of the dissertation's pseudo-code, by next service
//!    time: its shares are exact from the first packet, where the estimator's hold over a second or so.
//!    There are no priorities and no bursts above the share.
//! 2. The pseudo-code does not say how service times of an idle class go on; a class that wakes up
//!    starts at the clock, so that idleness earns no credit and costs nothing.
//! 3. Admission control (Figure 3.17) is the check that the shares sum to no more than 1.
//! 4. The dissertation prints no queue limits, only that multimedia lost nothing; 240 packets is the limit
//!    of its other queues.
//!
//! ## Limits
//!
//! Each queue is drop-tail. A class id that the link does not name goes to the entry `*`, or else to the
//! last. Which classes and groups there are cannot change while packets wait. State: a queue for each class,
//! two numbers for each node. Per packet: one comparison per class.
//!
//! ## Evidence
//!
//! `tests/oracle/cbq.rs` is Figures 3.18 to 3.20, literally, with equal decisions on random and bursty
//! traces; `tests/closed_forms.rs` has the exact shares, and the borrowing of chapter V.
//!
//! ## References
//!
//! * floyd95: S. Floyd, V. Jacobson, Link-sharing and Resource Management Models for Packet Networks,
//!   IEEE/ACM `ToN` 3(4), 1995.
//! * goyal96: P. Goyal, H. Vin, H. Cheng, Start-time Fair Queuing, SIGCOMM 1996.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapters III.4.1 and V.

use std::collections::BTreeMap;

use aqmkit_base::{Amount, BitRate, Instant};
use serde::{Deserialize, Serialize};

use crate::classes::{ClassMap, REST, names_or_rest};
use crate::law::sharing::{Next, ROOT, Sharing};
use crate::packet::Packet;
use crate::params::{ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, Qdisc, Stats, Why};
use crate::registry::{Discipline, Link, Spec, discipline};
use crate::storage::Ring;

/// The parameters of CBQ as a user writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

/// The parameters of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassParams {
    /// The name of a class of the link, or `*`.
    pub class: String,
    /// Its fraction of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The same as a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// What its queue may hold.
    pub limit: Amount,
    /// The group it is in: names from the outermost, with `/` between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it may use what others leave.
    pub borrow: bool,
}

impl Default for ClassParams {
    fn default() -> Self {
        ClassParams {
            class: REST.to_owned(),
            share: None,
            rate: None,
            limit: Amount::Packets(240.0),
            parent: None,
            borrow: true,
        }
    }
}

impl Discipline for Params {
    discipline!("cbq", Cbq);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let mut full = self.clone();
        if full.classes.is_empty() {
            let names = names_or_rest(link);
            let share = Some(1.0 / names.len() as f64);
            full.classes =
                names.into_iter().map(|class| ClassParams { class, share, ..ClassParams::default() }).collect();
        }
        for (i, class) in full.classes.iter_mut().enumerate() {
            class.complete(link).map_err(|e| e.within(&format!("classes[{i}]")))?;
        }
        let total: f64 = full.classes.iter().filter_map(|c| c.share).sum();
        // Shares such as 0.16 + 0.12 + 0.72 need not sum to 1 in binary.
        if total > 1.0 + 1e-9 {
            let want = "the shares must not sum to more than 1";
            return Err(
                ParamError::new("classes.share", format!("a sum of {total}"), want).cite("Parris 2001, Figure 3.17")
            );
        }
        Ok(full)
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Cbq::<P>::new(self, link, now)?))
    }
}

impl ClassParams {
    /// Fills in both the share and the rate.
    fn complete(&mut self, link: &Link) -> Result<(), ParamError> {
        usable_limit("limit", self.limit)?;
        let share = match (self.share, self.rate) {
            (Some(share), None) => share,
            (None, Some(rate)) => rate.bytes_per_sec() / link.rate.bytes_per_sec(),
            // As `effective` itself writes them.
            (Some(share), Some(rate)) if rate == fraction(link.rate, share) => share,
            (Some(share), Some(rate)) => {
                return Err(ParamError::new("rate", rate, format!("give either share or rate; share is {share}")));
            }
            (None, None) => return Err(ParamError::new("share", "nothing", "a class needs share or rate")),
        };
        in_range("share", share, f64::MIN_POSITIVE, 1.0)?;
        self.share = Some(share);
        self.rate = Some(fraction(link.rate, share));
        Ok(())
    }
}

fn fraction(rate: BitRate, share: f64) -> BitRate {
    BitRate::from_bytes_per_sec(rate.bytes_per_sec() * share)
}

/// CBQ's parameters, checked, without the queues.
#[derive(Clone, Debug)]
struct Plan {
    map: ClassMap,
    /// In the order of the entries.
    classes: Vec<ClassParams>,
}

impl Plan {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let classes = params.effective(link)?.classes;
        Ok(Plan { map: ClassMap::new(link, classes.iter().map(|c| c.class.as_str()))?, classes })
    }

    /// The share of a class, and the rate it is held to if it may not borrow.
    fn service(&self, entry: usize) -> (f64, Option<BitRate>) {
        let class = &self.classes[entry];
        (class.share.unwrap_or(1.0), class.rate.filter(|_| !class.borrow))
    }

    /// The tree, and the leaf of each entry.
    fn tree(&self) -> (Sharing, Vec<usize>) {
        let mut tree = Sharing::default();
        let mut groups = BTreeMap::new();
        let mut leaves = Vec::new();
        for (entry, class) in self.classes.iter().enumerate() {
            let mut parent = ROOT;
            for name in class.parent.iter().flat_map(|path| path.split('/')) {
                parent = *groups.entry((parent, name)).or_insert_with(|| tree.add(parent, 0.0, None));
            }
            let (share, held_to) = self.service(entry);
            leaves.push(tree.add(parent, share, held_to));
        }
        (tree, leaves)
    }

    fn same_tree(&self, other: &Plan) -> bool {
        self.map == other.map && self.classes.iter().map(|c| &c.parent).eq(other.classes.iter().map(|c| &c.parent))
    }
}

/// A queue for each class, and who is served next.
#[derive(Clone, Debug)]
pub struct Cbq<P> {
    plan: Plan,
    queues: Vec<Ring<P>>,
    tree: Sharing,
    /// The leaf of each queue.
    leaves: Vec<usize>,
    /// The queue of each node that is a leaf.
    queue_of: Vec<usize>,
    stats: Stats,
}

impl<P: Packet> Cbq<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, _now: Instant) -> Result<Self, ParamError> {
        let plan = Plan::new(params, link)?;
        let (tree, leaves) = plan.tree();
        let nodes = leaves.iter().max().map_or(0, |last| last + 1);
        let queue_of = (0..nodes).map(|node| leaves.iter().position(|&leaf| leaf == node).unwrap_or(0)).collect();
        let queues = plan.classes.iter().map(|_| Ring::default()).collect();
        Ok(Cbq { plan, queues, tree, leaves, queue_of, stats: Stats::default() })
    }
}

impl<P: Packet> Qdisc<P> for Cbq<P> {
    /// Figure 3.19.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let cl = self.plan.map.entry(packet.class());
        let queue = &mut self.queues[cl];
        if !queue.fits(packet.len(), self.plan.classes[cl].limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        if queue.is_empty() {
            self.tree.wake(self.leaves[cl], cx.now);
        }
        queue.push(packet, cx.now);
    }

    /// Figure 3.20.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let leaf = match self.tree.next(cx.now) {
            Next::Leaf(leaf) => leaf,
            Next::Held(until) => return Dequeued::NotBefore(until),
            Next::Nobody => return Dequeued::Empty,
        };
        let queue = &mut self.queues[self.queue_of[leaf]];
        let Some((packet, _)) = queue.pop(cx.now) else {
            return Dequeued::Empty;
        };
        self.tree.charge(leaf, packet.len());
        if queue.is_empty() {
            self.tree.sleep(leaf);
        }
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        let add = |a: Backlog, b: Backlog| Backlog { packets: a.packets + b.packets, bytes: a.bytes + b.bytes };
        self.queues.iter().map(Ring::backlog).fold(Backlog::default(), add)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, spec: &Spec, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let plan = Plan::new(Params::of(spec)?, link)?;
        if !plan.same_tree(&self.plan) {
            return Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"));
        }
        for (cl, queue) in self.queues.iter_mut().enumerate() {
            let (share, held_to) = plan.service(cl);
            self.tree.set_share(self.leaves[cl], share, held_to);
            let had_packets = !queue.is_empty();
            while queue.over(plan.classes[cl].limit) {
                if let Some((packet, _)) = queue.pop_tail(cx.now) {
                    cx.discard(packet, Why::Reconfigured, &mut self.stats);
                }
            }
            if had_packets && queue.is_empty() {
                self.tree.sleep(self.leaves[cl]);
            }
        }
        self.plan = plan;
        Ok(())
    }
}
