//! # HTB: hierarchical token bucket
//!
//! Classes in a tree, each with a rate that it is sure of and a ceiling up to which it may borrow what its parent has left. Leaves have queues of any
//! discipline.
//!
//! ## Law
//!
//! ```text
//! each class has two buckets: tokens at rate, up to burst; ctokens at ceil, up to cburst       [htb]
//! mode:     ctokens < 0: cannot send;  else tokens < 0: may borrow;  else: can send            [htb_class_mode]
//! arrival:  the first leaf whose match holds, else default, else the direct queue              [htb_classify]
//! request:  the direct queue first; then, for each level from the leaves to the root,          [htb_dequeue]
//!           and for each priority from 0 to 7: a leaf of this priority whose lender, the first
//!           class that can send on the way up, is on this level. Classes between may borrow.
//! turns:    among the classes of one lender, and among the lenders of a level, in the order of  [htb_lookup_leaf]
//!           the list; a leaf has its turn until its deficit is used up: deficit -= length,
//!           below zero: deficit += quantum, the next one
//! sent:     ctokens -= length in the leaf and all its ancestors; tokens -= length in the        [htb_charge_class]
//!           lender and its ancestors: what is borrowed does not cost the borrower's rate
//! ```
//!
//! A packet is sent as soon as there is no debt, whatever its length: in any time T a class sends at most `cburst + ceil T` and one packet more.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `default` | | | | name of the leaf for packets that no class matches; without it they go unlimited, before all others |
//! | `r2q` | | | 10 | a quantum is the bytes that `rate` sends in a second, over this |
//! | `direct_qlen` | | queue length | 1000 | capacity of the queue of unlimited packets |
//! | `classes` (`class`) | | | | an entry for each class, with the fields below; turns go in the order of the list |
//! | `name` | | | | its name in results; a class of the link with this name goes here |
//! | `parent` | | | | name of the class of which it is a part, and from which it borrows; none for a class at the root |
//! | `rate` | | rate | | the rate that it is sure of; rates of parts above that of the whole are not kept |
//! | `ceil` | | rate | `rate` | the most it sends with what it borrows |
//! | `burst` (`buffer`, `maxburst`) | | size | 1600b | what it may send at once after a pause. A live link needs what the rate sends between two timers, about a millisecond |
//! | `cburst` (`cbuffer`) | | size | 1600b | the same at the ceiling |
//! | `prio` | | | 0 | from 0, served first, to 7, among leaves that have the same right to send |
//! | `quantum` | | size | `rate` / 8 `r2q` | bytes in a turn, from 1000 to 200000 where not given; below a full packet, a turn is a packet whatever the quantum, and shares are not kept |
//! | `each` | | | 1 | how many classes this entry stands for below each class of its parent: `home` under `point` are `point-2.home-17` and so on. It must be within 65535 in all |
//! | `match` | | | | packets that go to this leaf: the name of a class of the link, `"dscp ef"`, `"client 17"` (to or from that client of a simulation), with `each` `"client *"` (the next client that none before it has), or `"*"`, or a list of these |
//! | `aqm` | | | a FIFO of 1000 | queue of a leaf, a discipline as for a link: `"fq-codel"`, or `{ name = "red", min = 5 }` |
//! | `flow` | | | connection | which packets form a flow for the queues: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ```toml
//! [topology.aqm]
//! name = "htb"
//! default = "rest"
//! [[topology.aqm.class]]
//! name = "all"; rate = "20mbit"
//! [[topology.aqm.class]]
//! name = "voice"; parent = "all"; rate = "2mbit"; ceil = "20mbit"; prio = 0
//! match = "dscp ef"
//! [[topology.aqm.class]]
//! name = "rest"; parent = "all"; rate = "18mbit"; ceil = "20mbit"; prio = 1
//! aqm = { name = "fq-codel" }
//! ```
//!
//! (TOML has each key on a line of its own.)
//!
//! ## Deviations
//!
//! 1. Tokens are fractions of bytes; Linux counts nanoseconds at the rate.
//! 2. Filters are names of classes and codepoints: ports, networks and marks belong to the classes of the link. The first leaf that matches counts, as filters of `tc` in the order of their preference; inner
//!    classes have no filters.
//! 3. A default that is missing, or is not a leaf, is refused; in Linux packets then go to the direct queue. Turns go by the list, in Linux by the number of the class: the same where classes are listed in that order.
//! 4. Where the queue of a leaf holds its packets back (a shaper), the next leaf is served, as in Linux; the time at which the link asks again is exact, where Linux asks again at the next event.
//! 5. Modes change without hysteresis, which Linux has as an option of the module. Lengths are those of the link (`overhead`, `mpu`, `linklayer` of `tc`: see the page on experiment files).
//! 6. Where several classes change their modes at once, it is in the order of the list; in Linux it is in that of their times, which are rounded to ticks.
//! 7. A change of `rate` or `burst` leaves buckets as far from full as they were; Linux leaves the time of their tokens. Classes cannot be added or removed while packets wait.
//!
//! ## Limits
//!
//! At most 65535 classes on at most eight levels. Clients are those of a simulation: a live link refuses a match of a client. A leaf's discipline sees a link of its `ceil`, or that of the link if it is lower. Priorities starve as those of `prio` do among leaves that borrow.
//! State: a queue for each leaf, about 200 bytes for each class and eight rounds for each inner one. With more than 256 leaves, gauges are those of all leaves together. Per packet: the classes on the way up, and the logarithm of the number of those above their rates; no look at
//! other leaves (`cargo run --release -p aqmkit-aqm --example leaves -- 10 1000 10000` measures it).
//!
//! ## Evidence
//!
//! `tests/oracle/htb.rs` transcribes `htb_dequeue`, `htb_lookup_leaf` and `htb_charge_class` in whole nanoseconds with sorted sets, with equal decisions on random and bursty traces, for trees of one to four levels. `tests/aqm/htb.rs` checks by
//! hand guaranteed rates, borrowing by quanta and by priority, ceilings, the direct queue, and a tree of 10,000 leaves.
//!
//! ## References
//!
//! * htb: Linux, `net/sched/sch_htb.c`, M. Devera; tc-htb(8); M. Devera, Hierarchical token bucket theory, 2002.
//! * floyd95: S. Floyd, V. Jacobson, Link-sharing and Resource Management Models for Packet Networks,
//!   IEEE/ACM `ToN` 3(4), 1995.

mod feed;
mod node;
mod params;
mod plan;
mod times;
mod tree;

use aqmkit_base::Instant;

use self::node::{LEVELS, PRIORITIES};
pub use self::params::{ClassParams, Params};
use self::plan::{Leaf, Plan};
use self::times::Times;
use self::tree::Tree;
use crate::child::{Child, check_changes};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{IndexedHeap, Ring};
use crate::verdict::Why;

/// A queue for each leaf, and the tree that decides whose packet is next.
struct Htb<P> {
    plan: Plan,
    tree: Tree,
    /// The queue of each leaf.
    queues: Vec<Queue<P>>,
    /// The queue of each class that is a leaf.
    queue_of: Vec<usize>,
    direct: Ring<P>,
    /// The backlog of all leaves.
    backlog: Backlog,
    /// When the first leaf may send.
    times: Times,
    /// The leaves whose queues have timers.
    timers: IndexedHeap<Instant>,
    /// Those whose timers are due.
    due: Vec<usize>,
    stats: Stats,
}

/// The queue of a leaf.
struct Queue<P> {
    child: Child<P>,
    class: usize,
    /// Its backlog, as far as it is counted in that of all leaves.
    counted: Backlog,
    /// Until when it held its packets back when it was last asked.
    held: Option<Instant>,
}

/// With more leaves than these, gauges are those of all together.
const MOST_SHOWN: usize = 256;

impl<P: Packet + 'static> Htb<P> {
    fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let plan = Plan::new(params, link)?;
        let queue = |leaf: &Leaf| {
            let child =
                Child::new(&leaf.aqm, &leaf.link, now).map_err(|e| e.within(&format!("classes[{}]", leaf.entry)));
            Ok(Queue { child: child?, class: leaf.class, counted: Backlog::default(), held: None })
        };
        let queues: Vec<Queue<P>> = plan.leaves.iter().map(queue).collect::<Result<_, ParamError>>()?;
        let tree = Tree::new(plan.nodes(now));
        let mut queue_of = vec![usize::MAX; tree.nodes.len()];
        queues.iter().enumerate().for_each(|(q, of)| queue_of[of.class] = q);
        let mut htb = Htb {
            plan,
            times: Times::new(&tree.nodes),
            tree,
            due: Vec::with_capacity(queues.len()),
            queues,
            queue_of,
            direct: Ring::default(),
            backlog: Backlog::default(),
            timers: IndexedHeap::default(),
            stats: Stats::default(),
        };
        (0..htb.queues.len()).for_each(|q| htb.account(q));
        Ok(htb)
    }

    /// Counts the backlog of a leaf after a call to its queue, and takes note of its timer.
    fn account(&mut self, q: usize) {
        let queue = &mut self.queues[q];
        let (after, before) = (queue.child.backlog(), queue.counted);
        self.backlog.packets = self.backlog.packets + after.packets - before.packets;
        self.backlog.bytes = self.backlog.bytes + after.bytes - before.bytes;
        queue.counted = after;
        if (before.packets == 0) != (after.packets == 0) {
            self.times.changed(queue.class);
        }
        match queue.child.wakeup() {
            Some(at) => self.timers.set(q, at),
            None => _ = self.timers.remove(q),
        }
    }

    /// Serves the leaves whose lender is in this row.
    fn row(&mut self, level: usize, prio: usize, cx: &mut Cx<'_, P>) -> Option<P> {
        // A leaf that holds its packets back passes its turn on; when all have, the row is done.
        for _ in 0..=self.tree.nodes.len() {
            let leaf = self.tree.turn(level, prio).filter(|_| self.tree.serves(level, prio))?;
            let q = self.queue_of[leaf];
            let answer = self.queues[q].child.dequeue(&mut self.stats, cx);
            self.account(q);
            match answer {
                Dequeued::Packet(packet) => {
                    self.queues[q].held = None;
                    let empty = self.queues[q].counted.packets == 0;
                    self.sent(leaf, level, prio, packet.len(), empty, cx.now);
                    return Some(packet);
                }
                Dequeued::NotBefore(at) => {
                    self.queues[q].held = Some(at);
                    self.times.changed(leaf);
                    self.tree.pass(leaf, level, prio);
                }
                Dequeued::Empty => self.tree.deactivate(leaf),
            }
        }
        None
    }

    fn sent(&mut self, leaf: usize, level: usize, prio: usize, len: u32, empty: bool, now: Instant) {
        let node = &mut self.tree.nodes[leaf];
        let deficit = &mut node.deficits[level];
        *deficit -= f64::from(len);
        if *deficit < 0.0 {
            *deficit += node.quantum;
            self.tree.pass(leaf, level, prio);
        }
        if empty {
            self.tree.deactivate(leaf);
        }
        self.tree.charge(leaf, level, len.into(), now);
        self.times.changed(leaf);
        self.stats.dequeued += 1;
    }

    /// When the first leaf may send, of those with packets.
    fn next_time(&mut self) -> Option<Instant> {
        let (queues, queue_of) = (&self.queues, &self.queue_of);
        let free = |leaf: usize| {
            let queue = &queues[queue_of[leaf]];
            (queue.counted.packets > 0).then(|| queue.held.unwrap_or(Instant::ZERO))
        };
        self.times.first(&self.tree.nodes, free)
    }
}

impl<P: Packet + 'static> Qdisc<P> for Htb<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let Some(leaf) = self.plan.leaf(&packet) else {
            if !self.direct.fits(packet.len(), self.plan.direct_qlen) {
                return cx.discard(packet, Why::Overflow, &mut self.stats);
            }
            return self.direct.push(packet, cx.now);
        };
        let queue = &mut self.queues[leaf];
        queue.child.enqueue(packet, &mut self.stats, cx);
        if queue.held.take().is_some() {
            self.times.changed(queue.class);
        }
        self.account(leaf);
        if self.queues[leaf].counted.packets > 0 {
            self.tree.activate(self.queues[leaf].class);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        if let Some((packet, _)) = self.direct.pop(cx.now) {
            self.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        for level in 0..LEVELS {
            self.tree.refresh_level(level, cx.now);
            for prio in 0..PRIORITIES {
                if !self.tree.serves(level, prio) {
                    continue;
                }
                if let Some(packet) = self.row(level, prio, cx) {
                    return Dequeued::Packet(packet);
                }
            }
        }
        self.next_time().map_or(Dequeued::Empty, Dequeued::NotBefore)
    }

    fn wakeup(&self) -> Option<Instant> {
        self.timers.peek().map(|(at, _)| at)
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        while let Some((_, q)) = self.timers.peek().filter(|(at, _)| *at <= cx.now) {
            self.timers.remove(q);
            self.due.push(q);
        }
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        for q in due.drain(..) {
            self.queues[q].child.on_wakeup(&mut self.stats, cx);
            self.account(q);
        }
        self.due = due;
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.backlog;
        let direct = self.direct.backlog();
        Backlog { packets: packets + direct.packets, bytes: bytes + direct.bytes }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let plan = Plan::new(params.of::<Params>()?, link)?;
        self.plan.same_tree(&plan)?;
        check_changes::<P>(self.plan.children(), plan.children(), cx.now)?;
        for (q, leaf) in plan.leaves.iter().enumerate() {
            let queue = &mut self.queues[q];
            queue.child.reconfigure(&leaf.aqm, &leaf.link, &mut self.stats, cx)?;
            queue.held = None;
            self.times.changed(self.queues[q].class);
            self.account(q);
        }
        self.tree.change(&plan.nodes(cx.now), cx.now);
        self.plan = plan;
        while self.direct.over(self.plan.direct_qlen) {
            if let Some((packet, _)) = self.direct.pop_tail(cx.now) {
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("queue.direct", self.direct.len() as f64);
        if self.queues.len() > MOST_SHOWN {
            let busy = self.queues.iter().filter(|queue| queue.counted.packets > 0).count();
            out("queue.leaves", self.backlog.packets as f64);
            return out("leaves.busy", busy as f64);
        }
        for (queue, leaf) in self.queues.iter().zip(&self.plan.leaves) {
            out(&format!("queue.{}", leaf.name), queue.child.backlog().packets as f64);
            queue.child.probe(&leaf.name, out);
        }
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.direct.packets().for_each(|packet| see(InnerQueue::Named("direct"), packet));
        for (queue, leaf) in self.queues.iter().zip(&self.plan.leaves) {
            queue.child.waiting(&leaf.name, see);
        }
    }
}
