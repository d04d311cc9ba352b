//! # WFQ: weighted fair queueing
//!
//! Each conversation has a queue, and packets are sent in the order in which bit-by-bit round robin would
//! finish them. Packets of a conversation below its share are sent almost at once, whatever the others do;
//! on overflow the conversation with the longest queue loses its last packet.
//!
//! ## Law
//!
//! With `R(t)` the number of rounds of bit-by-bit service, in bytes of a conversation of weight 1, and
//! packet `i` of `P_i` bytes from a conversation of weight `w`:
//!
//! ```text
//! dR/dt = mu / N_ac       N_ac: weights of the conversations with F > R(t)      [demers89 section 2.2]
//! S_i   = max(F_(i-1), R(t_i))
//! F_i   = S_i + P_i / w
//! B_i   = max(F_(i-1), R(t_i) - delta) + P_i / w                                [demers89 section 2.3]
//! link is ready: send the packet with the smallest B
//! no buffer left: drop the last packet of the conversation with most buffer; F stays
//! clock = "self":  R = F of the packet in service                               [golestani94]
//! ```
//!
//! With `delta = 0`, no drops and a link that never idles, a packet is sent at most one largest packet time
//! after bit-by-bit service would have finished it. [greenberg92; parekh93]
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of all queues together, in packets or bytes |
//! | `delta` (`promptness`) | delta | size | 0b | advance of a conversation that was idle, in bytes of a round: less delay for low-rate conversations, more bursts for the others |
//! | `clock` | R(t) | | `"rounds"` | `"rounds"` follows R(t) in real time, `"self"` takes the finish number of the packet in service: cheaper and needs no rate, but a packet may wait for a packet of every other conversation |
//! | `flows` | | | 1024 | conversations with stored state; see *Limits* |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//! | `classes` | | | | weights, with the fields below; without any, every conversation has weight 1 |
//! | `class` | | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `weight` | w | 1 | 1 | weight of each conversation of the class |
//!
//! ## Deviations
//!
//! 1. A conversation is one flow key, not a pair of hosts. The paper has weights as an extension: one
//!    conversation counts as several.
//! 2. The paper does not resolve equal bids: here the earlier packet goes first.
//! 3. On overflow the arriving packet, already enqueued and numbered, may be the one dropped. With a limit
//!    in bytes, the longest queue is that with most bytes (to within 256); among equals, the one that
//!    reached this length last.
//! 4. The F of a dropped packet counts, as in the paper: a conversation that overflows is served late
//!    afterwards, for as long as bit-by-bit service would have needed, or until its state is removed
//!    (*Limits*).
//! 5. `mu` is the configured rate of the link; if the link is slower, R(t) runs ahead and the order
//!    approaches that of arrival. `clock = "self"` needs no rate; it restarts when the link goes idle, as
//!    in Golestani's scheme.
//! 6. In the paper the scheme is called FQ, and here it was `fq` until Linux's `fq`, DRR with pacing, took that name.
//!
//! ## Limits
//!
//! The state of a conversation is kept while it has packets or its `F` is above `R(t) - delta`, for at most
//! `flows` conversations: beyond that, the one whose queue has been empty longest is removed, and if none
//! is empty the arriving packet is dropped. Because the F of dropped packets counts, a conversation that
//! keeps sending above its share is starved while others wait: shares are exact only for flows that respond
//! to drops. Many conversations of one packet each get one share each: WFQ is fair to keys. The set of
//! classes cannot change while packets wait. State: a queue, three numbers and an entry in two heaps for
//! each conversation. Per packet: one look-up, and `log2 n` steps in each heap for `n` conversations. This
//! is **not constant**: the exact bound requires sorting by finish number, which DRR avoids (`docs/cost.md`
//! has the measured cost).
//!
//! ## Evidence
//!
//! `tests/oracle/wfq.rs` transcribes the law above literally, for both clocks, with equal decisions on
//! random and bursty traces; `tests/aqm/fair.rs` checks that it stays within one packet of bit-by-bit service,
//! computed independently, and the weights; `tests/aqm/fair_worked.rs` checks finish numbers step by step.
//!
//! ## References
//!
//! * demers89: A. Demers, S. Keshav, S. Shenker, Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM
//!   1989.
//! * golestani94: S. Golestani, A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994.
//! * greenberg92: A. Greenberg, N. Madras, How Fair is Fair Queueing?, Journal of the ACM 39(3), 1992.
//! * parekh93: A. Parekh, R. Gallager, A Generalized Processor Sharing Approach to Flow Control, IEEE/ACM `ToN`
//!   1(3), 1993.

use aqmkit_base::{Amount, Bytes, ClassId, Instant};
use serde::{Deserialize, Serialize};

use crate::classes::{ClassWeight, Weights};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowNumbers, FlowQueues, IndexedHeap, Links, List, Real, fits, over};
use crate::verdict::Why;

/// The definition of the virtual time R(t).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The rounds of bit-by-bit service at the link's rate.
    #[default]
    Rounds,
    /// The finish number of the packet in service.
    #[serde(rename = "self")]
    SelfClocked,
}

/// The parameters of WFQ as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of all queues together.
    pub limit: Amount,
    /// How far ahead an idle conversation is placed.
    #[serde(alias = "promptness")]
    pub delta: Bytes,
    /// The definition of R(t).
    pub clock: Clock,
    /// Maximum number of conversations remembered.
    pub flows: u32,
    /// Weights of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassWeight>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            delta: Bytes::ZERO,
            clock: Clock::Rounds,
            flows: 1024,
            classes: Vec::new(),
        }
    }
}

impl Discipline for Params {
    discipline!("wfq");
    const MARKS: bool = false;

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Config::new(self, link)?;
        Ok(self.clone())
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Wfq::<P>::new(self, link, now)?))
    }
}

/// WFQ's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    limit: Amount,
    delta: f64,
    clock: Clock,
    flows: usize,
    weights: Weights,
    /// The link's rate in bytes per second.
    mu: f64,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        in_range("flows", f64::from(params.flows), 1.0, 16_777_216.0)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            delta: params.delta.as_f64(),
            clock: params.clock,
            flows: params.flows as usize,
            weights: Weights::new(link, &params.classes)?,
            mu: link.rate.bytes_per_sec(),
        })
    }
}

/// A packet's position in the sending order: its bid, and among equal bids its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bid {
    bid: Real,
    arrival: u64,
}

/// A packet's finish number and bid.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    bid: Bid,
    finish: f64,
}

/// The state of a conversation.
#[derive(Clone, Copy, Debug)]
struct Conversation {
    /// F of its last packet.
    finish: f64,
    weight: f64,
}

/// The state of the emulated bit-by-bit round robin.
#[derive(Clone, Debug)]
struct BitByBit {
    /// R(t).
    round: f64,
    /// When R(t) had that value.
    at: Instant,
    /// The conversations in service, by their F.
    busy: IndexedHeap<Real>,
    /// The sum of their weights.
    weight: f64,
}

/// A queue for each conversation, and the sending order of their packets.
#[derive(Clone, Debug)]
pub struct Wfq<P> {
    config: Config,
    flows: FlowNumbers,
    conversations: Vec<Conversation>,
    queues: FlowQueues<P, Stamp>,
    /// Conversations with packets, by the bid of the first one.
    sending: IndexedHeap<Bid>,
    /// Conversations without packets, in the order in which their queues became empty.
    emptied: List,
    links: Links,
    service: BitByBit,
    arrivals: u64,
    stats: Stats,
}

impl<P: Packet> Wfq<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params, link)?;
        Ok(Wfq {
            flows: FlowNumbers::default(),
            conversations: Vec::new(),
            queues: FlowQueues::new(0, config.limit.unit()),
            sending: IndexedHeap::default(),
            emptied: List::default(),
            links: Links::default(),
            service: BitByBit { round: 0.0, at: now, busy: IndexedHeap::default(), weight: 0.0 },
            arrivals: 0,
            stats: Stats::default(),
            config,
        })
    }

    /// Advances bit-by-bit service to `now`: at each finish number one conversation leaves.
    fn serve_until(&mut self, now: Instant) {
        let mut seconds = now.since(self.service.at).as_secs_f64();
        self.service.at = now;
        if self.config.clock == Clock::Rounds {
            while let Some((Real(finish), c)) = self.service.busy.peek() {
                let needed = (finish - self.service.round) * self.service.weight / self.config.mu;
                if needed > seconds {
                    self.service.round += seconds * self.config.mu / self.service.weight;
                    break;
                }
                seconds -= needed;
                self.service.round = finish;
                self.finished(c);
            }
        }
        self.forget_old();
    }

    /// Self-clocked: a packet with this finish number enters service.
    fn in_service(&mut self, finish: f64) {
        self.service.round = self.service.round.max(finish);
        while let Some((Real(least), c)) = self.service.busy.peek() {
            if least > self.service.round {
                return;
            }
            self.finished(c);
        }
    }

    /// Bit-by-bit service has finished conversation `c`.
    fn finished(&mut self, c: usize) {
        if self.service.busy.remove(c).is_some() {
            self.service.weight -= self.conversations[c].weight;
        }
        if self.service.busy.is_empty() {
            // Removes rounding errors from adding and removing weights.
            self.service.weight = 0.0;
        }
    }

    /// Forgets conversations that are indistinguishable from new ones, oldest first.
    fn forget_old(&mut self) {
        while let Some(c) = self.emptied.front() {
            let as_new = self.conversations[c].finish <= self.service.round - self.config.delta;
            if self.service.busy.contains(c) || !as_new {
                return;
            }
            self.forget(c);
        }
        if self.flows.is_empty() {
            // No conversation is left to compare with: restart, so that numbers stay small.
            self.service.round = 0.0;
        }
    }

    /// Forgets a conversation without packets.
    fn forget(&mut self, c: usize) {
        self.finished(c);
        self.links.remove(&mut self.emptied, c);
        self.flows.release(c);
    }

    /// The conversation of a packet, if there is room for it.
    fn conversation(&mut self, packet: &P) -> Option<usize> {
        if let Some(known) = self.flows.get(packet.flow()) {
            if self.queues.is_empty(known) {
                self.links.remove(&mut self.emptied, known);
            }
            return Some(known);
        }
        if self.flows.len() >= self.config.flows {
            self.forget(self.emptied.front()?);
        }
        let c = self.flows.assign(packet.flow());
        let new = Conversation { finish: f64::NEG_INFINITY, weight: self.weight(packet.class()) };
        if c == self.conversations.len() {
            self.conversations.push(new);
        }
        self.conversations[c] = new;
        Some(c)
    }

    fn weight(&self, class: ClassId) -> f64 {
        self.config.weights.of(class)
    }

    /// F and B of the next packet of conversation `c`.
    fn stamp(&mut self, c: usize, len: u32) -> Stamp {
        let Conversation { finish: last, weight } = self.conversations[c];
        let length = f64::from(len) / weight;
        let start = last.max(self.service.round);
        let finish = start + length;
        let bid = last.max(self.service.round - self.config.delta) + length;
        if !self.service.busy.contains(c) {
            self.service.weight += weight;
        }
        self.service.busy.set(c, Real(finish));
        self.conversations[c].finish = finish;
        self.arrivals += 1;
        Stamp { bid: Bid { bid: Real(bid), arrival: self.arrivals }, finish }
    }

    /// Reorders conversation `c` by its first packet after one was removed.
    fn taken(&mut self, c: usize) {
        match self.queues.head(c) {
            Some((_, stamp)) => self.sending.set(c, stamp.bid),
            None => {
                self.sending.remove(c);
                self.links.push_back(&mut self.emptied, c);
            }
        }
    }

    /// Drops the last packet of the conversation with the most buffer until the limit is met.
    fn shrink(&mut self, why: impl Fn(u64) -> Why, cx: &mut Cx<'_, P>) {
        while over(self.queues.backlog(), self.config.limit) {
            let Some(c) = self.queues.longest() else {
                return;
            };
            if let Some((packet, stamp)) = self.queues.pop_tail(c) {
                cx.discard(packet, why(stamp.bid.arrival), &mut self.stats);
            }
            self.taken(c);
        }
    }
}

impl<P: Packet> Qdisc<P> for Wfq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        self.serve_until(cx.now);
        if !fits(Backlog::default(), packet.len(), self.config.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        let Some(c) = self.conversation(&packet) else {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        };
        let stamp = self.stamp(c, packet.len());
        if self.queues.is_empty(c) {
            self.sending.set(c, stamp.bid);
        }
        self.queues.push(c, packet, stamp);
        let this = stamp.bid.arrival;
        self.shrink(|arrival| if arrival == this { Why::Overflow } else { Why::Evicted }, cx);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let next = self.sending.peek().and_then(|(_, c)| Some((c, self.queues.pop(c)?)));
        let Some((c, (packet, stamp))) = next else {
            if self.config.clock == Clock::SelfClocked {
                // The link goes idle: everything is reset.
                self.in_service(f64::INFINITY);
                self.forget_old();
            }
            return Dequeued::Empty;
        };
        self.taken(c);
        if self.config.clock == Clock::SelfClocked {
            self.in_service(stamp.finish);
        }
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
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
        if config.clock != self.config.clock {
            return Err(ParamError::new("clock", "another", "it cannot change while packets wait"));
        }
        if config.mu != self.config.mu {
            // The time until now passes at the old rate.
            self.serve_until(cx.now);
        }
        self.config = config;
        self.queues.set_counting(self.config.limit.unit());
        self.shrink(|_| Why::Reconfigured, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("round", self.service.round);
        out("active", self.service.busy.len() as f64);
        out("flows", self.flows.len() as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queues.packets().for_each(|(queue, packet)| see(InnerQueue::Number(queue), packet));
    }
}
