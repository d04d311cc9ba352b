//! # CBQ: class-based queueing with borrowing
//!
//! A queue for each class of traffic, and a scheduler that gives each backlogged class its share of the
//! link. Unused capacity is borrowed first by classes of the same group, and by others only if the whole
//! group leaves capacity unused.
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
//! If any class has a `priority`, the general scheduler and the estimator of CBQ replace service times:
//!
//! ```text
//! link is ready:  by priority, 1 first; in each, in turns of share / (sum of shares) n maxpkt bytes,    [floyd95; ns-2]
//!                 the classes with packets that are below their share, or borrow from a group that
//!                 is and lends; nobody: the first that may borrow, as if it had not sent
//! packet sent:    for the class and its groups, up to the link, t its time at the link's rate:
//!                 idle = end - last end - length / (share mu);  avgidle += (idle - avgidle) / 16
//!                 avgidle <= 0:  above its share until end + t (1/share - 1) - 15 avgidle
//! lends:          formal: nobody on a level below the lender's is below its share with packets waiting
//! ```
//!
//! `avgidle` is bounded above by the credit for a burst of `maxburst` packets, and below by the debt of one
//! `maxpkt`.
//!
//! Without priorities, a class that may not borrow is limited to `rate` packet by packet; it may catch up
//! on what other classes or a slow link prevented it from sending, at most two packets of 1500 bytes or of
//! its own size.
//!
//! A parent's clock is the service time of the child it served last. While two siblings are both
//! backlogged, their bytes sent divided by their shares differ by less than one packet of each.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `classes` | Q | | equal shares for the link's classes | an entry for each class, with the fields below |
//! | `class` | cl | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `share` | | 1 | | fraction of the link; the sum must not exceed 1, and the rest is shared in proportion |
//! | `rate` | service rate | rate | | the share as a rate; give one of the two |
//! | `limit` | qlimit | queue length | 240 | capacity of the class's queue; a class above its share fills it and waits that long |
//! | `parent` | | | | the group whose members borrow from one another first; `a/b` is group `b` inside group `a`; a group has the sum of its members' shares |
//! | `priority` (`prio`) | | | | from 1 (served first) to 8, among classes within their shares. Shares hold over about a second (the first class sends up to a fifth more), delays follow the priority. If any class has one, the others have 8 |
//! | `link_sharing` | | | `"formal"` | when a class above its share may borrow: `"formal"`, or `"ancestors"`: whenever an ancestor group is below its share, which may keep classes of low priority from their shares |
//! | `maxburst` | | packets | 16 | burst in typical packets after an idle period, with priorities |
//! | `minburst` | | packets | 2 | burst while limited to its share, with priorities |
//! | `maxpkt` | | size | 1500b | largest packet: unit of a turn, with priorities |
//! | `avpkt` | | size | the link's mean | typical packet size: unit of bursts, with priorities |
//! | `borrow` | | | true | whether the class may use capacity that others leave; if not, it is limited to its share even on an idle link |
//!
//! In chapter V of the dissertation, TCP and multimedia borrow from each other first, and other traffic
//! borrows what they leave:
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
//!    round robin by priority; a `priority` selects this scheduler. Without one, the scheduler is that of
//!    the dissertation's pseudo-code, by next service time: its shares are exact from the first packet
//!    (those of the estimator hold over about a second), and there are no bursts above the share except the
//!    two packets that a class that may not borrow can catch up.
//! 2. The pseudo-code does not define the service time of an idle class; here a class that becomes
//!    backlogged starts at its parent's clock, so idleness gives neither credit nor debt.
//! 3. Admission control (Figure 3.17) is the check that the shares sum to at most 1.
//! 4. The dissertation gives no queue limits. The default of 240 packets is the limit of its other queues;
//!    its testbed ran ALTQ's CBQ, which uses 30 if no delay is given, so the experiments of that study set
//!    `limit` to 30 for each class.
//! 5. With priorities: the paper's top-level link sharing, a cheaper approximation of formal sharing, is
//!    omitted. The weight of a sample is 1/16 as in ns-2 (ALTQ: 1/32, and it forgets `avgidle` after two
//!    seconds), `avgidle` is bounded below as in ALTQ (ns-2: not), a class over its limit waits the time of
//!    `minburst - 1` packets beyond its own, and times shorter than sixteen bytes count as zero because of
//!    rounding. `tc`'s `cbq` used the same names, and an `allot` for a turn in bytes.
//!
//! ## Limits
//!
//! Each queue is drop-tail. Unknown classes use the entry `*`, or else the last. The set of classes and
//! groups cannot change while packets wait. State: a queue for each class, two numbers for each node. Per
//! packet: one comparison per class; with priorities a walk over the tree for each class above its share,
//! and three powers per level.
//!
//! ## Evidence
//!
//! `tests/oracle/cbq.rs` transcribes Figures 3.18 to 3.20 literally, with equal decisions on random and
//! bursty traces; `tests/oracle/cbq_priority.rs` does so for the scheduler with priorities of ns-2, with
//! both guidelines; `tests/aqm/closed_forms.rs` checks the exact shares and the borrowing of chapter V;
//! `tests/aqm/fair.rs` checks shares and delays with priorities.
//!
//! ## References
//!
//! * floyd95: S. Floyd, V. Jacobson, Link-sharing and Resource Management Models for Packet Networks,
//!   IEEE/ACM `ToN` 3(4), 1995.
//! * goyal96: P. Goyal, H. Vin, H. Cheng, Start-time Fair Queuing, SIGCOMM 1996.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapters III.4.1 and V.

mod scheduler;

use aqmkit_base::{Amount, BitRate, Bytes, Instant};
use serde::{Deserialize, Serialize};

use self::scheduler::Scheduler;
use crate::classes::{ClassMap, REST, names_or_rest};
use crate::discipline::{Discipline, discipline};
use crate::law::priorities::{Guideline, Rules};
use crate::law::sharing::Next;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::Ring;
use crate::verdict::Why;

/// The parameters of CBQ as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// With priorities: when a class above its share may borrow.
    pub link_sharing: Guideline,
    /// With priorities: the burst after an idle period, in typical packets.
    pub maxburst: u32,
    /// With priorities: the burst while the class is limited to its share, in typical packets.
    pub minburst: u32,
    /// With priorities: the longest packet.
    pub maxpkt: Bytes,
    /// With priorities: a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// The classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassParams>,
}

/// Priority of classes without one, if others have one.
const LAST: u32 = 8;

impl Default for Params {
    fn default() -> Self {
        Params {
            link_sharing: Guideline::Formal,
            maxburst: 16,
            minburst: 2,
            maxpkt: Bytes(1500),
            avpkt: None,
            classes: Vec::new(),
        }
    }
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
    /// Limit of its queue.
    pub limit: Amount,
    /// The group that contains it: names from the outermost, separated by `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it may use bandwidth that others leave.
    pub borrow: bool,
    /// From 1, served first, to 8.
    #[serde(alias = "prio", skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
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
            priority: None,
        }
    }
}

impl Discipline for Params {
    discipline!("cbq");
    const MARKS: bool = false;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let mut full = self.clone();
        if full.classes.is_empty() {
            let names = names_or_rest(link);
            let share = Some(1.0 / names.len() as f64);
            full.classes =
                names.into_iter().map(|class| ClassParams { class, share, ..ClassParams::default() }).collect();
        }
        full.avpkt = Some(link.avpkt(self.avpkt)?);
        in_range("maxpkt", self.maxpkt.as_f64(), 64.0, f64::from(u32::MAX))?;
        in_range("maxburst", self.maxburst.into(), 1.0, 1000.0)?;
        in_range("minburst", self.minburst.into(), 1.0, 1000.0)?;
        let priorities = full.classes.iter().any(|class| class.priority.is_some());
        for (i, class) in full.classes.iter_mut().enumerate() {
            if priorities {
                class.priority.get_or_insert(LAST);
            }
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
        in_range("priority", self.priority.unwrap_or(1).into(), 1.0, LAST.into())?;
        let share = match (self.share, self.rate) {
            (Some(share), None) => share,
            (None, Some(rate)) => rate.bytes_per_sec() / link.rate.bytes_per_sec(),
            // In the form that `effective` itself returns.
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
    /// If there are priorities.
    rules: Option<Rules>,
}

impl Plan {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let full = params.effective(link)?;
        let rules = Rules {
            link: link.rate,
            guideline: full.link_sharing,
            maxpkt: full.maxpkt.as_f64(),
            avpkt: link.avpkt(full.avpkt)?.as_f64(),
            maxburst: full.maxburst,
            minburst: full.minburst,
        };
        let classes = full.classes;
        let with_priorities = classes.iter().any(|class| class.priority.is_some());
        let map = ClassMap::new(link, classes.iter().map(|c| c.class.as_str()))?;
        Ok(Plan { map, rules: with_priorities.then_some(rules), classes })
    }

    /// The share of a class, and its maximum rate if it may not borrow.
    fn service(&self, entry: usize) -> (f64, Option<BitRate>) {
        let class = &self.classes[entry];
        (class.share.unwrap_or(1.0), class.rate.filter(|_| !class.borrow))
    }

    fn same_tree(&self, other: &Plan) -> bool {
        let place = |class: &ClassParams| (class.parent.clone(), class.priority);
        self.map == other.map && self.classes.iter().map(place).eq(other.classes.iter().map(place))
    }
}

/// A queue for each class, and the scheduler.
#[derive(Clone, Debug)]
pub struct Cbq<P> {
    plan: Plan,
    queues: Vec<Ring<P>>,
    scheduler: Scheduler,
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
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let plan = Plan::new(params, link)?;
        let (scheduler, leaves) = Scheduler::new(&plan, now);
        let nodes = leaves.iter().max().map_or(0, |last| last + 1);
        let queue_of = (0..nodes).map(|node| leaves.iter().position(|&leaf| leaf == node).unwrap_or(0)).collect();
        let queues = plan.classes.iter().map(|_| Ring::default()).collect();
        Ok(Cbq { plan, queues, scheduler, leaves, queue_of, stats: Stats::default() })
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
            self.scheduler.wake(self.leaves[cl], cx.now);
        }
        queue.push(packet, cx.now);
    }

    /// Figure 3.20.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let leaf = match self.scheduler.next(cx.now) {
            Next::Leaf(leaf) => leaf,
            Next::Held(until) => return Dequeued::NotBefore(until),
            Next::Nobody => return Dequeued::Empty,
        };
        let queue = &mut self.queues[self.queue_of[leaf]];
        let Some((packet, _)) = queue.pop(cx.now) else {
            return Dequeued::Empty;
        };
        self.scheduler.charge(leaf, packet.len(), cx.now);
        if queue.is_empty() {
            self.scheduler.sleep(leaf);
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

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let plan = Plan::new(params.of::<Params>()?, link)?;
        if !plan.same_tree(&self.plan) {
            return Err(ParamError::new("classes", "another list", "the classes cannot change while packets wait"));
        }
        self.scheduler.change(&plan, &self.leaves);
        for (cl, queue) in self.queues.iter_mut().enumerate() {
            let had_packets = !queue.is_empty();
            while queue.over(plan.classes[cl].limit) {
                if let Some((packet, _)) = queue.pop_tail(cx.now) {
                    cx.discard(packet, Why::Reconfigured, &mut self.stats);
                }
            }
            if had_packets && queue.is_empty() {
                self.scheduler.sleep(self.leaves[cl]);
            }
        }
        self.plan = plan;
        Ok(())
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (queue, class) in self.queues.iter().zip(&self.plan.classes) {
            queue.packets().for_each(|packet| see(InnerQueue::Named(&class.class), packet));
        }
    }
}
