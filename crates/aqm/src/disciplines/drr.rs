//! # DRR: deficit round robin
//!
//! A queue for each flow, served in turn: in each turn a flow may send a quantum of bytes, and keeps the
//! remainder for its next turn if its next packet is larger. Flows get equal shares for any packet sizes,
//! at a constant cost per packet.
//!
//! ## Law
//!
//! ```text
//! arrival for flow i:  i not in ActiveList: append it, DC_i = 0                 [shreedhar96]
//!                      no buffer left: take one from the longest queue
//!                      append the packet to queue i
//! turn of flow i:      DC_i <- DC_i + Q_i
//!                      while the head of queue i is not longer than DC_i: send it, DC_i <- DC_i - length
//!                      queue i empty: DC_i = 0, leave ActiveList; else go to its end
//! Q_i = Q w_i / min_j w_j                                                        weights
//! DRR+: arrival for a latency-critical flow i that has sent no more than `contract` bytes in a `period`:
//!                      i not in ActiveList: put it at its head, DC_i = 0
//!       that has:      i in ActiveList: put it at its end; else as any other, until it is silent for a `period`
//! ```
//!
//! With `Max` the longest packet: `0 <= DC_i < Max`; a backlogged flow sends between `m Q - Max` and
//! `m Q + Max` bytes in `m` turns; the bytes sent by two backlogged flows of the same weight over any time
//! differ by at most `2 Max + Q`. (shreedhar96)
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of all queues together, in packets or bytes |
//! | `quantum` | Q | size | 1500b | bytes of a turn, for the smallest weight; below the largest packet the cost per packet is not constant, far above it flows send in bursts |
//! | `buckets` | n | | | number of queues for each entry of `classes`, to which flows are hashed; without it every flow has its own queue. Flows in one queue share its turns: use several times the number of busy flows |
//! | `flow_limit` | | queue length | | capacity of a single queue; packets above it are dropped |
//! | `headdrop` | | | false | on overflow, drop at the head of the longest queue instead of the tail: TCP detects the loss sooner |
//! | `latency_critical` | | | | names of classes, or `"*"`, whose flows are served first while within the contract |
//! | `contract` | x | size | 1500b | bytes that such a flow may send in a `period` |
//! | `period` | T | time | | period of the contract; required with `latency_critical`. Must be longer than a turn of all other flows plus a packet of each such flow |
//! | `contracts` | | | 1024 | maximum number of flows with a contract; the one that was idle longest is forgotten |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//! | `classes` | | | | weights, with the fields below; without any, every flow has weight 1 |
//! | `class` | | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `weight` | | 1 | 1 | weight of each flow of the class |
//!
//! ## Deviations
//!
//! 1. The paper hashes flows to a fixed number of queues. Without `buckets` each flow with a packet has its
//!    own queue.
//! 2. A queue whose last packet is dropped for another flow leaves `ActiveList` at once. In the paper's
//!    pseudo-code it stays there, empty, until its turn.
//! 3. The paper counts free buffers, that is packets; with a limit in bytes the longest queue is the one
//!    with most bytes (to within 256), and as many packets are dropped as the arriving one needs. Among
//!    queues of equal length, the one that reached it last loses a packet; the paper does not say.
//! 4. The paper does not say which packet of the longest queue is dropped: here the last, as in
//!    `McKenney`'s scheme. ns-2 drops the head, like `headdrop`; its defaults are 10 buckets, 25000 bytes
//!    and a quantum of 250 bytes.
//! 5. Linux's `drr` has classes selected by filters instead of flows, each with its own queue discipline, a
//!    quantum of the device's MTU, and drops at each class. The limit of 240 packets is chosen here: the
//!    paper's figures assume that all arrivals fit into the buffers.
//! 6. The paper polices one packet per period, with a bit and a timer; here it is `contract` bytes. A flow
//!    that violates its contract during its turn finishes the turn. A latency-critical flow interrupts the
//!    turn of another flow after the current packet, as the paper's bound of `n' s + Max` requires; that
//!    turn then continues.
//!
//! ## Limits
//!
//! In DRR+, with `n'` flows that keep a contract of `s` bytes, each waits at most `(n' s + Max) / B`; there
//! is no admission control. In DRR a packet may wait for a turn of every other flow, up to `n Q` bytes, and
//! flows that send little have no precedence. With `buckets`, fairness holds between queues. The set of
//! classes and the number of buckets cannot change while packets wait. State: a number for each queue, and
//! a queue for each bucket or for each flow with a packet in it, so at most `limit`. Per packet: one
//! look-up or one hash, and one turn if the quantum is at least the largest packet; otherwise up to
//! `Max / Q` turns of every flow, so a quantum below 64 bytes is refused. A flow with one packet at a time
//! costs a table insertion per packet; `buckets` avoids that. DRR+ adds a look-up for packets of its
//! classes.
//!
//! ## Evidence
//!
//! `tests/oracle/drr.rs` transcribes the paper's pseudo-code literally, with equal decisions on random and
//! bursty traces, also for DRR+; `tests/aqm/fair.rs` checks the three bounds and the weights;
//! `tests/aqm/fair_worked.rs` checks turns step by step.
//!
//! ## References
//!
//! * mckenney90: P. `McKenney`, Stochastic Fairness Queueing, INFOCOM 1990: buffer stealing.
//! * shreedhar96: M. Shreedhar, G. Varghese, Efficient Fair Queuing Using Deficit Round-Robin, IEEE/ACM `ToN`
//!   4(3), 1996.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::classes::{ClassWeight, Weights};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowNumbers, FlowQueues, Links, List, fits, over};
use crate::verdict::Why;

mod contract;

use contract::{Police, Terms};

/// A fixed salt: two runs must hash alike, and a live link's keys are salted hashes already.
const SALT: u64 = 0x6171_6d6b_6974_0003;

/// The parameters of DRR as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of all queues together.
    pub limit: Amount,
    /// Bytes per turn for the smallest weight.
    pub quantum: Bytes,
    /// Queues that flows are hashed to; a queue for each flow if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// Limit of a single queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<Amount>,
    /// Whether an overflow drops from the head of the longest queue.
    pub headdrop: bool,
    /// Classes whose flows have a contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_critical: Vec<String>,
    /// Bytes that such a flow may send per period.
    pub contract: Bytes,
    /// The period of the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// Maximum number of flows whose contract is checked.
    pub contracts: u32,
    /// Weights of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassWeight>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            quantum: Bytes(1500),
            buckets: None,
            flow_limit: None,
            headdrop: false,
            latency_critical: Vec::new(),
            contract: Bytes(1500),
            period: None,
            contracts: 1024,
            classes: Vec::new(),
        }
    }
}

impl Discipline for Params {
    discipline!("drr");
    const MARKS: bool = false;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Config::new(self, link)?;
        Ok(self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Drr::<P>::new(self, link, now)?))
    }
}

/// DRR's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    limit: Amount,
    flow_limit: Option<Amount>,
    buckets: Option<u32>,
    headdrop: bool,
    terms: Option<Terms>,
    weights: Weights,
    /// By entry of `classes`.
    quanta: Vec<u64>,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        // With less than the smallest packet of any network, a packet would take endless turns.
        in_range("quantum", params.quantum.as_f64(), 64.0, f64::from(u32::MAX)).map_err(|e| {
            e.cite("Shreedhar and Varghese 1996: constant work per packet needs at least the largest packet")
        })?;
        if let Some(buckets) = params.buckets {
            in_range("buckets", f64::from(buckets), 1.0, 1_048_576.0)?;
        }
        let weights = Weights::new(link, &params.classes)?;
        let least = weights.all().iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            flow_limit: params.flow_limit.map(|limit| usable_limit("flow_limit", limit)).transpose()?,
            buckets: params.buckets,
            headdrop: params.headdrop,
            terms: Terms::new(params, link)?,
            quanta: weights.all().iter().map(|w| (params.quantum.as_f64() * w / least + 0.5) as u64).collect(),
            weights,
        })
    }
}

/// Bytes that a queue in `ActiveList` may send.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// DC.
    deficit: u64,
    /// Whether it has received the quantum of this turn.
    granted: bool,
    /// The entry of the class.
    entry: usize,
}

/// A queue for each flow, and the round robin.
#[derive(Clone, Debug)]
pub struct Drr<P> {
    config: Config,
    /// Without hashing: the queue of each flow that has packets.
    flows: FlowNumbers,
    queues: FlowQueues<P>,
    turns: Vec<Turn>,
    links: Links,
    /// `ActiveList`: exactly the queues with packets; the first is being served.
    active: List,
    police: Option<Police>,
    stats: Stats,
}

impl<P: Packet> Drr<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, _now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params, link)?;
        Ok(Drr {
            flows: FlowNumbers::default(),
            queues: FlowQueues::new(0, config.limit.unit()),
            turns: Vec::new(),
            links: Links::default(),
            active: List::default(),
            police: config.terms.as_ref().map(Police::new),
            stats: Stats::default(),
            config,
        })
    }

    /// The queue of a packet, if it has one.
    fn queue_of(&self, packet: &P, entry: usize) -> Option<usize> {
        match self.config.buckets {
            None => self.flows.get(packet.flow()),
            Some(n) => Some(entry * n as usize + (packet.flow().hash(SALT) % u64::from(n)) as usize),
        }
    }

    /// `InsertActiveList`; a flow that keeps its contract goes to the head.
    fn activate(&mut self, i: usize, entry: usize, first: bool) {
        if i >= self.turns.len() {
            self.turns.resize(i + 1, Turn::default());
        }
        self.turns[i] = Turn { deficit: 0, granted: false, entry };
        if first {
            self.links.push_front(&mut self.active, i);
        } else {
            self.links.push_back(&mut self.active, i);
        }
    }

    /// Removes an empty queue from `ActiveList`.
    fn retire(&mut self, i: usize) {
        self.links.remove(&mut self.active, i);
        self.turns[i] = Turn::default();
        if self.config.buckets.is_none() {
            self.flows.release(i);
        }
    }

    /// Whether the packet's flow keeps its contract; `None` if it has none.
    fn keeps_contract(&mut self, packet: &P, now: Instant) -> Option<bool> {
        let terms = self.config.terms.as_ref().filter(|terms| terms.critical.contains(packet.class()))?;
        Some(self.police.as_mut()?.meets(terms, packet.flow(), packet.len(), now))
    }

    /// Moves a queue whose flow has violated its contract to the best-effort flows, unless it is being served.
    fn demote(&mut self, i: usize) {
        if !self.turns[i].granted {
            self.links.remove(&mut self.active, i);
            self.links.push_back(&mut self.active, i);
        }
    }

    /// `FreeBuffer`.
    fn steal(&mut self, why: Why, cx: &mut Cx<'_, P>) {
        if let Some(longest) = self.queues.longest() {
            self.steal_from(longest, why, cx);
        }
    }

    /// Drops a packet of queue `i`, which is not empty.
    fn steal_from(&mut self, i: usize, why: Why, cx: &mut Cx<'_, P>) {
        if let Some((packet, ())) = self.queues.steal(i, self.config.headdrop) {
            cx.discard(packet, why, &mut self.stats);
        }
        if self.queues.is_empty(i) {
            self.retire(i);
        }
    }

    /// Drops packets beyond the limits: first each queue's, then the common one.
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        if let Some(limit) = self.config.flow_limit {
            for i in 0..self.turns.len() {
                while over(self.queues.length(i), limit) {
                    self.steal_from(i, Why::Reconfigured, cx);
                }
            }
        }
        while over(self.queues.backlog(), self.config.limit) {
            self.steal(Why::Reconfigured, cx);
        }
    }
}

impl<P: Packet> Qdisc<P> for Drr<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let (len, entry) = (packet.len(), self.config.weights.entry(packet.class()));
        if !fits(Backlog::default(), len, self.config.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        let keeps_contract = self.keeps_contract(&packet, cx.now);
        let mut queue = self.queue_of(&packet, entry);
        let waiting = queue.map_or(Backlog::default(), |i| self.queues.length(i));
        if self.config.flow_limit.is_some_and(|limit| !fits(waiting, len, limit)) {
            return cx.discard(packet, Why::Unfair, &mut self.stats);
        }
        while !fits(self.queues.backlog(), len, self.config.limit) {
            self.steal(Why::Evicted, cx);
            // The flow may have lost its last packet, and with it its queue.
            queue = self.queue_of(&packet, entry);
        }
        let i = queue.unwrap_or_else(|| self.flows.assign(packet.flow()));
        if self.queues.is_empty(i) {
            self.activate(i, entry, keeps_contract == Some(true));
        } else if keeps_contract == Some(false) {
            self.demote(i);
        }
        self.queues.push(i, packet, ());
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Dequeued<P> {
        while let Some(i) = self.active.front() {
            let turn = &mut self.turns[i];
            if !turn.granted {
                turn.deficit += self.config.quanta[turn.entry];
                turn.granted = true;
            }
            let size = self.queues.head(i).map_or(0, |(packet, ())| u64::from(packet.len()));
            if size > turn.deficit {
                turn.granted = false;
                self.links.rotate(&mut self.active);
                continue;
            }
            turn.deficit -= size;
            let Some((packet, ())) = self.queues.pop(i) else {
                break;
            };
            if self.queues.is_empty(i) {
                self.retire(i);
            }
            self.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(params.of::<Params>()?, link)?;
        config.weights.same_classes(&self.config.weights)?;
        if config.buckets != self.config.buckets {
            return Err(ParamError::new("buckets", "another number", "it cannot change while packets wait"));
        }
        let watched = |of: &Config| of.terms.as_ref().map(Terms::flows);
        if watched(&config) != watched(&self.config) {
            self.police = config.terms.as_ref().map(Police::new);
        }
        self.config = config;
        self.queues.set_counting(self.config.limit.unit());
        self.shrink(cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        // Only carried-over deficits: queues in service have their quantum in addition.
        let carried = self.turns.iter().filter(|turn| !turn.granted).map(|turn| turn.deficit);
        out("deficit", carried.max().unwrap_or(0) as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queues.packets().for_each(|(queue, packet)| see(InnerQueue::Number(queue), packet));
    }
}
