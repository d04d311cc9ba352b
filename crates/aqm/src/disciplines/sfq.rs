//! # SFQ: stochastic fairness queueing
//!
//! Flows are hashed to a fixed number of queues that are served round robin, one packet each. On overflow a
//! packet of the longest queue is dropped. Two flows in one queue share its turns; the hash changes
//! periodically, so that they do not share permanently.
//!
//! ## Law
//!
//! ```text
//! arrival of flow f:  q = H(f, p) mod divisor                                   [mckenney90]
//!                     queue q empty: it becomes the last of the round
//!                     append; no buffer left: drop the last packet of the longest queue
//! link is ready:      the first queue of the round sends one packet and becomes the last of it
//! every `perturb`:    another p; every packet goes to its new queue
//! with `redflowlimit`, arrival at a queue with packets, `b` its bytes:           [linux]
//!                     avg <- (1 - w) avg + w b;  RED's decision (page `red`), each queue with its own
//! with `quantum`:     the first queue sends while allot > 0, allot -= length;    [linux]
//!                     else allot += quantum and it becomes the last of the round
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 127 | capacity of all queues together, in packets or bytes |
//! | `divisor` | | | 1024 | number of queues: use several times the number of busy flows, otherwise they share |
//! | `depth` | | packets | 127 | capacity of a single queue |
//! | `flows` | | | `divisor` | maximum number of non-empty queues; a packet that would need another is dropped |
//! | `perturb` | | time | | time between changes of the hash; without it, or at 0, the hash never changes, and flows that share a queue continue to share it |
//! | `rehash` | | | true | move queued packets to their new queues when the hash changes; **otherwise packets of a flow are reordered** |
//! | `quantum` | | size | | bytes of a turn, as in Linux; without it a turn is one packet, and flows with large packets get larger shares |
//! | `headdrop` | | | false | drop the first packet of the longest queue instead of the last: TCP detects the loss sooner. With RED, drop or mark the first packet of the queue, not the arriving one |
//! | `redflowlimit` | | size | | enables RED on each queue, and sets its capacity in bytes |
//! | `min` | | size | `max`/3 | average of a queue below which there are no early drops |
//! | `max` | | size | `redflowlimit`/4 | average above which all packets are dropped |
//! | `avpkt` | | size | the link's mean | typical packet size: with `burst` it sets the weight |
//! | `burst` | | packets | `(2 min + max)/(3 avpkt)` | length of a burst that passes; at least `min` |
//! | `weight` | w | 1 | by `burst` | weight of the newest sample, instead of `burst` |
//! | `probability` (`max_p`) | | 1 | 0.02 | drop probability when the average reaches `max` |
//! | `ecn` | | | false | RED marks ECN-capable packets; without `redflowlimit` there is no RED, and nothing is marked, as in `tc` |
//! | `harddrop` | | | false | RED drops them above `max` |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. `McKenney`'s turn is a packet, and so it is here; Linux's is a quantum, by default the device's MTU.
//!    `quantum = "1500b"` is Linux's SFQ on Ethernet.
//! 2. The arriving packet is enqueued first and then counted: if its own queue is the longest, it is
//!    dropped. Among queues of equal length, the one that reached it last loses a packet, as in Linux.
//!    (DRR's pseudo-code makes room first.)
//! 3. ns-2's SFQ does not drop from the longest queue: with `left` buffers free it drops an arriving packet
//!    whose queue holds at least `left / 2`, or more than `limit / buckets` where `left < buckets`; its
//!    defaults are 40 packets and 16 buckets. Its shares differ when queues fill.
//! 4. When the hash changes, queues are refilled in order of arrival, and the round begins with the oldest
//!    packet. Linux refills queue by queue, and drops what does not fit under `depth`; here a queue may
//!    hold more than `depth` or `redflowlimit` after that, until it has drained, or with `headdrop` until
//!    its next arrival. In `McKenney`'s scheme packets stay in their queues (`rehash = false`), so packets
//!    of a flow may be reordered.
//! 5. Hashes follow a fixed sequence, not random salts: on a live link the flow keys are already salted
//!    hashes.
//! 6. Linux has 128 flows by default, and 127 packets for all of them. Its RED ignores `redflowlimit`, which its manual page calls the hard
//!    limit of a queue; here it is one: with `headdrop` as many first packets are dropped as the arriving
//!    one needs, and none for a packet larger than the limit. A packet dropped to make room is not marked
//!    first. RED decides as in `red`, so it never drops with fewer than two packets queued.
//! 7. With a limit in bytes the longest queue is the one with most bytes, to within 256.
//!
//! ## Limits
//!
//! Fair between queues, not flows: with `n` busy flows a flow shares its queue with probability
//! `1 - (1 - 1/divisor)^(n-1)`. Packet turns favour large packets. A flow's share does not bound its delay.
//! The number of queues cannot change while packets wait. State: a fixed number of queues, and the packets.
//! Per packet: one hash; when the hash changes, a sort of the queued packets. A quantum below 64 bytes is
//! refused, because a packet could need too many turns.
//!
//! ## Evidence
//!
//! `tests/oracle/sfq.rs` transcribes the law above literally, for both kinds of turn, with equal decisions
//! on random and bursty traces, also for RED on each queue; `tests/aqm/tc.rs` checks values derived as in `tc`;
//! `tests/aqm/fair.rs` checks the shares, and that flows separate when the hash changes; `tests/aqm/fair_worked.rs`
//! checks rounds and drops from the longest queue step by step.
//!
//! ## References
//!
//! * linux: `sch_sfq`, and tc-sfq(8): names, `depth`, `headdrop`, quantum turns.
//! * mckenney90: P. `McKenney`, Stochastic Fairness Queueing, INFOCOM 1990.

use aqmkit_base::flow::salt;
use aqmkit_base::{Amount, Bytes, Duration, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowQueues, Links, List, fits, over};
use crate::verdict::{Verdict, Why};

/// The number of the first perturbation; later ones count up from it.
const FIRST: u64 = 0x6171_6d6b_6974_0004;

mod red;

use red::FlowRed;

/// The parameters of SFQ as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of all queues together.
    pub limit: Amount,
    /// Number of queues.
    pub divisor: u32,
    /// Packets that a single queue may hold.
    pub depth: u32,
    /// Maximum number of queues with packets; `divisor` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// How often the hash changes; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Duration>,
    /// Whether waiting packets are rehashed when the hash changes.
    pub rehash: bool,
    /// Bytes per turn; one packet if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Bytes>,
    /// Whether an overflow drops the first packet of the longest queue.
    pub headdrop: bool,
    /// Limit in bytes of a queue with RED; without it queues have no RED.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redflowlimit: Option<Bytes>,
    /// RED's lower threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Bytes>,
    /// RED's upper threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Bytes>,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Burst that RED admits, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// RED's weight of the newest sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// RED's drop probability as the average reaches `max`.
    #[serde(alias = "max_p")]
    pub probability: f64,
    /// Whether RED marks ECN-capable packets.
    pub ecn: bool,
    /// Whether RED drops ECN-capable packets above `max`.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(127.0),
            divisor: 1024,
            depth: 127,
            flows: None,
            perturb: None,
            rehash: true,
            quantum: None,
            headdrop: false,
            redflowlimit: None,
            min: None,
            max: None,
            avpkt: None,
            burst: None,
            weight: None,
            probability: 0.02,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Discipline for Params {
    discipline!("sfq");

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        usable_limit("limit", self.limit)?;
        in_range("divisor", f64::from(self.divisor), 1.0, 1_048_576.0)?;
        in_range("depth", f64::from(self.depth), 1.0, f64::INFINITY)?;
        let flows = self.flows.unwrap_or(self.divisor);
        in_range("flows", f64::from(flows), 1.0, f64::from(self.divisor))?;
        if let Some(quantum) = self.quantum {
            in_range("quantum", quantum.as_f64(), 64.0, f64::from(u32::MAX))?;
        }
        let full = self.with_red(link)?;
        full.red()?;
        Ok(Params { flows: Some(flows), perturb: self.perturb.filter(|t| !t.is_zero()), ..full })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Sfq::<P>::new(self, link, now)?))
    }
}

/// The queues with their round robin.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    /// As returned by `effective`.
    params: Params,
    /// The RED configuration of the queues, if any, and the state of each.
    red: Option<red::Config>,
    reds: Vec<FlowRed>,
    /// Each packet with its number in the order of arrival.
    queues: FlowQueues<P, u64>,
    links: Links,
    /// The queues with packets; the first is served next.
    round: List,
    busy: u32,
    /// Bytes that each queue may still send in this turn.
    allot: Vec<i64>,
    arrivals: u64,
    /// How often the hash has changed, and its current salt.
    perturbations: u64,
    salt: u64,
    next_perturbation: Option<Instant>,
    /// Packets being moved to another queue.
    moving: Vec<(u64, P)>,
    stats: Stats,
}

impl<P: Packet> Sfq<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used.
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let params = params.effective(link)?;
        let divisor = params.divisor as usize;
        let red = params.red()?;
        Ok(Sfq {
            reds: vec![FlowRed::default(); if red.is_some() { divisor } else { 0 }],
            red,
            queues: FlowQueues::new(divisor, params.limit.unit()),
            links: Links::default(),
            round: List::default(),
            busy: 0,
            allot: vec![0; divisor],
            arrivals: 0,
            perturbations: 0,
            salt: salt(FIRST),
            next_perturbation: params.perturb.map(|period| now + period),
            moving: Vec::new(),
            stats: Stats::default(),
            params,
        })
    }

    fn hash(&self, packet: &P) -> usize {
        let hash = packet.flow().hash(self.salt);
        (hash % u64::from(self.params.divisor)) as usize
    }

    /// Performs the hash changes that are due. Queues depend only on the last hash, so intermediate ones are skipped.
    fn catch_up(&mut self, now: Instant) {
        let (Some(due), Some(period)) = (self.next_perturbation.filter(|&due| due <= now), self.params.perturb) else {
            return;
        };
        let times = now.since(due).whole(period) + 1;
        self.perturbations = self.perturbations.wrapping_add(times);
        self.salt = salt(FIRST.wrapping_add(self.perturbations));
        self.next_perturbation = Some(due + period * times);
        if self.params.rehash {
            self.rehash();
        }
    }

    fn rehash(&mut self) {
        let mut moving = std::mem::take(&mut self.moving);
        while let Some(q) = self.links.pop_front(&mut self.round) {
            moving.extend(std::iter::from_fn(|| self.queues.pop(q)).map(|(packet, arrival)| (arrival, packet)));
        }
        self.busy = 0;
        moving.sort_unstable_by_key(|(arrival, _)| *arrival);
        for (arrival, packet) in moving.drain(..) {
            let q = self.hash(&packet);
            if let Some(red) = &self.red
                && !self.queues.is_empty(q)
            {
                self.reds[q].average(red, self.queues.length(q));
            }
            self.append(q, packet, arrival);
        }
        self.moving = moving;
    }

    fn append(&mut self, q: usize, packet: P, arrival: u64) {
        if self.queues.is_empty(q) {
            self.links.push_back(&mut self.round, q);
            self.busy += 1;
            self.allot[q] = self.params.quantum.map_or(0, |quantum| quantum.0 as i64);
            if self.red.is_some() {
                self.reds[q] = FlowRed::default();
            }
        }
        self.queues.push(q, packet, arrival);
    }

    /// Removes a packet from queue `q`, and the queue from the round if that was the last.
    fn take(&mut self, q: usize, from_head: bool) -> Option<(P, u64)> {
        let taken = self.queues.steal(q, from_head)?;
        if self.queues.is_empty(q) {
            self.links.remove(&mut self.round, q);
            self.busy -= 1;
        }
        Some(taken)
    }

    /// Whether one more packet fits into queue `q` alone.
    fn has_room(&self, q: usize, len: u32) -> bool {
        let Backlog { packets, bytes } = self.queues.length(q);
        self.queue_holds(Backlog { packets: packets + 1, bytes: bytes + u64::from(len) })
    }

    fn queue_holds(&self, Backlog { packets, bytes }: Backlog) -> bool {
        packets <= u64::from(self.params.depth) && self.red.as_ref().is_none_or(|red| bytes <= red.limit)
    }

    /// Decides about packet number `this`, which arrives at queue `q`, by the queue's RED and its limits. Also returns
    /// the number of the packet to mark: this one, or with `headdrop` the queue's first if it is ECN-capable.
    fn decide(&mut self, q: usize, packet: &P, this: u64, rng: &mut Rng) -> (Verdict, u64) {
        let queue = self.queues.length(q);
        let full = !self.has_room(q, packet.len());
        let Some(red) = self.red.as_ref().filter(|_| queue.packets > 0) else {
            return (if full { Verdict::Drop(Why::Unfair) } else { Verdict::Pass }, this);
        };
        let decision = self.reds[q].decide(red, queue, rng);
        let verdict = |of: &P| PacketView::of(of, Duration::ZERO).early(decision, red.marks);
        let head = self.queues.head(q).filter(|_| self.params.headdrop);
        let head = head.filter(|(head, _)| matches!(verdict(head), Verdict::Mark(_)));
        let (of, number) = head.map_or((packet, this), |(head, number)| (head, *number));
        match verdict(of) {
            Verdict::Pass | Verdict::Mark(_) if full => (Verdict::Drop(Why::Unfair), number),
            verdict => (verdict, number),
        }
    }

    /// Drops packets from the head of queue `q` until one of `len` bytes fits.
    fn drop_first(&mut self, q: usize, len: u32, mut why: Why, cx: &mut Cx<'_, P>) {
        while let Some((head, _)) = self.take(q, true) {
            cx.discard(head, why, &mut self.stats);
            if self.has_room(q, len) {
                break;
            }
            why = Why::Unfair;
        }
    }

    /// Marks packet number `number`, the first or the last of queue `q`, unless it was dropped meanwhile to make room.
    fn mark(&mut self, q: usize, number: u64, why: Why, cx: &mut Cx<'_, P>) {
        let first = self.queues.head(q).is_some_and(|(_, of)| *of == number);
        let found = if first { self.queues.head_mut(q) } else { self.queues.tail_mut(q) };
        if let Some((packet, _)) = found.filter(|(_, of)| *of == number) {
            cx.mark(packet, why, &mut self.stats);
        }
    }

    /// Drops packets that exceed the limit of their queue.
    fn trim(&mut self, cx: &mut Cx<'_, P>) {
        for q in 0..self.params.divisor as usize {
            while !self.queue_holds(self.queues.length(q)) {
                let Some((packet, _)) = self.take(q, self.params.headdrop) else { break };
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
    }

    /// Drops from the longest queue until the limit is met.
    fn shrink(&mut self, why: impl Fn(u64) -> Why, cx: &mut Cx<'_, P>) {
        while over(self.queues.backlog(), self.params.limit) {
            let longest = self.queues.longest();
            let Some((packet, arrival)) = longest.and_then(|q| self.take(q, self.params.headdrop)) else {
                return;
            };
            cx.discard(packet, why(arrival), &mut self.stats);
        }
    }
}

impl<P: Packet> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        self.stats.enqueued += 1;
        let q = self.hash(&packet);
        let one_more_queue = self.queues.is_empty(q) && self.params.flows.is_some_and(|flows| self.busy >= flows);
        if one_more_queue || !fits(Backlog::default(), packet.len(), self.params.limit) {
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        // It would not fit even into an empty queue, so nothing is dropped to make room.
        if !self.queue_holds(Backlog { packets: 1, bytes: u64::from(packet.len()) }) {
            return cx.discard(packet, Why::Unfair, &mut self.stats);
        }
        self.arrivals += 1;
        let this = self.arrivals;
        let (verdict, number) = self.decide(q, &packet, this, cx.rng);
        match verdict {
            Verdict::Drop(why) if self.params.headdrop => self.drop_first(q, packet.len(), why, cx),
            Verdict::Drop(why) => return cx.discard(packet, why, &mut self.stats),
            Verdict::Pass | Verdict::Mark(_) => {}
        }
        self.append(q, packet, this);
        self.shrink(|arrival| if arrival == this { Why::Overflow } else { Why::Evicted }, cx);
        // Marks only now, so that no packet is marked and then dropped.
        if let Verdict::Mark(why) = verdict {
            self.mark(q, number, why, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        self.catch_up(cx.now);
        while let Some(q) = self.round.front() {
            if let Some(quantum) = self.params.quantum
                && self.allot[q] <= 0
            {
                self.allot[q] += quantum.0 as i64;
                self.links.rotate(&mut self.round);
                continue;
            }
            let Some((packet, _)) = self.take(q, true) else {
                break;
            };
            if self.params.quantum.is_some() {
                self.allot[q] -= i64::from(packet.len());
            } else if !self.queues.is_empty(q) {
                self.links.rotate(&mut self.round);
            }
            self.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let params = params.of::<Params>()?.effective(link)?;
        if params.divisor != self.params.divisor {
            return Err(ParamError::new("divisor", params.divisor, "it cannot change while packets wait"));
        }
        self.catch_up(cx.now);
        if params.perturb != self.params.perturb {
            self.next_perturbation = params.perturb.map(|period| cx.now + period);
        }
        let old_limit = self.red.as_ref().map(|red| red.limit);
        self.red = params.red()?;
        let same_capacity = (params.depth, self.red.as_ref().map(|red| red.limit)) == (self.params.depth, old_limit);
        self.reds.resize(if self.red.is_some() { params.divisor as usize } else { 0 }, FlowRed::default());
        self.params = params;
        self.queues.set_counting(self.params.limit.unit());
        // After a hash change a queue may exceed its limit until it has drained (deviations).
        if !same_capacity {
            self.trim(cx);
        }
        self.shrink(|_| Why::Reconfigured, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("flows", f64::from(self.busy));
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queues.packets().for_each(|(queue, packet)| see(InnerQueue::Number(queue), packet));
    }
}
