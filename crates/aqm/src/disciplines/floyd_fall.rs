//! # Floyd-Fall: RED that finds and restricts misbehaving flows
//!
//! RED for all flows; every few seconds the flow with the largest share of the drops is tested. A flow that
//! is not TCP-friendly, is unresponsive, or uses a disproportionate part of a congested link is restricted:
//! all restricted flows share a second RED queue with a small part of the link.
//!
//! ## Law
//!
//! In each interval, of the flows in the unrestricted queue, with its drop rate `p` and arrivals `A` (bytes/s):
//!
//! ```text
//! metric = e (early drops_i / early drops) + (1 - e) (forced bytes_i / forced bytes)   [fall97]
//! e      = early drops / drops;  rate_i = metric_i A;  i: the flow with the largest metric
//! T      = 1.5 sqrt(2/3) B / (R sqrt(p))                     [floyd99, parris01 eq 3.1]
//! not TCP-friendly:   rate > safety T
//! unresponsive:       p > loss_factor p' and rate > rate_factor rate', twice: p', rate' from when
//!                     the flow was last the largest at the lowest p; then again with factor `again`
//! disproportionate:   rate > ln(3n)/n A and rate sqrt(p) > c    n flows had drops
//! ```
//!
//! A flow that fails is restricted. The class then has `half (T or rate) n_r` for `n_r` restricted flows,
//! at most `max_share` of the link. At the end of an interval, a restricted flow is released if its
//! measured rate passes the test that it failed and is TCP-friendly at the drop rate of the class; the
//! class shrinks in proportion. While the drop rate of the class is below twice that of the others, its
//! rate is halved.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `rtt` (`R`) | R | time | 60ms | smallest round-trip time of the flows; too small: no flow fails the test, too large: TCP flows with short round trips fail it |
//! | `mtu` (`B`) | B | size | 1500b | largest packet |
//! | `interval` | | time | 5s | interval between tests; several congestion epochs |
//! | `friendly`, `unresponsive`, `disproportionate` | | | true | which tests are run |
//! | `safety` | | 1 | 1.2 | factor by which a flow may exceed T |
//! | `loss_factor` | | 1 | 2 | if the drop rate rises by this factor |
//! | `rate_factor` | | 1 | 0.8 | the rate of a flow should fall below this fraction of its former value |
//! | `again` | | 1 | 0.98 | the same for a flow that failed once |
//! | `c` | c | rate | 12000bps | threshold of rate times root of the drop rate: T for 512 bytes and 50 ms |
//! | `half` | | 1 | 0.5 | fraction of T (or of its rate) that a restricted flow gets |
//! | `max_share`, `min_share` | | 1 | 0.25, 0.001 | bounds of the class's part of the link |
//! | `borrow` | | | false | whether the class may use capacity that the others leave |
//! | `history` | | 1 | 10 | number of largest flows stored for the unresponsiveness test, and of flows that failed it once |
//! | `max_flows` | | 1 | 1000 | flows whose drops are counted per interval; later ones are not tested |
//! | `max_restricted` | | 1 | 100 | maximum number of restricted flows |
//! | `limit` | | queue length | 240 | capacity of both queues together |
//! | `restricted_limit` | | queue length | a quarter of `limit` | capacity of the class's queue, part of `limit` |
//! | `min`, `max` | | queue length | as RED's | RED's thresholds, of each queue |
//! | `burst`, `weight` | w | packets; 1 | none, 1/512 | RED's weight of the newest sample, or the burst from which it is derived |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | RED's drop probability when the average reaches `max` |
//! | `avpkt`, `bandwidth` | | size; rate | the link's | typical packet size, and the rate that drains an idle queue's average |
//! | `gentle`, `byte_mode` (`bytemode`), `ecn`, `harddrop`, `nodrop` | | | false, false, false, true, false | as RED; marks count as drops |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. The paper does not define the scheduling and size of the class and gives few numbers: those of the
//!    authors' scripts for ns-2 (CBQ, two REDs) are used. The scripts compute the halving of the class but
//!    never use it, and the unresponsiveness test of a release uses undefined variables; here both work.
//! 2. Detection and release have one interval and one clock. A flow is tested for release after a whole
//!    interval in the class, and every restricted flow is tested, not only the one with fewest drops.
//! 3. Early drops count in packets where RED drops by size and in bytes where it does not: in both cases
//!    they are proportional to the bytes of a flow.
//! 4. To keep packets of a flow in order, its packets in the class wait until its last packet in the other
//!    queue has left; when the flow is released they move to the end of the other queue. In ns-2 they stay,
//!    and later packets may overtake them.
//!
//! ## Limits
//!
//! It tests one flow per interval, so n misbehaving flows take n intervals; until then only RED acts on
//! them. A TCP flow with a round trip shorter than `rtt` may be restricted. Restricted flows are not
//! protected from each other. Delay is RED's; in the class it can be `restricted_limit` packets at its
//! small rate. Memory: all tables are allocated at the start. Per packet: one look-up (two for drops and
//! restricted flows) and RED; per interval a scan of the tables, and of the class's queue where a flow is
//! released.
//!
//! ## Evidence
//!
//! `tests/oracle/floyd_fall.rs` transcribes the scripts' detection and release literally, with two queues and
//! equal decisions on random and bursty traces; `tests/aqm/history.rs` restricts and releases a flow by hand.
//!
//! ## References
//!
//! * floyd99: S. Floyd, K. Fall, Promoting the Use of End-to-End Congestion Control in the Internet,
//!   IEEE/ACM `ToN` 7(4), 1999.
//! * fall97: S. Floyd, K. Fall, Router Mechanisms to Support End-to-End Congestion Control, LBL 1997.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.2.3.2.

mod judge;
mod params;

use aqmkit_base::{Amount, BitRate, Duration, Instant};

use self::judge::{Drops, Judge, Seen};
pub use self::params::{Config, Params};
use super::red::Red;
use crate::aqm::Env;
use crate::law::sharing::{Next, ROOT, Sharing};
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{AnyParams, ParamError};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{Ring, fits};
use crate::verdict::{Verdict, Why};

/// A queue with its RED.
#[derive(Clone, Debug)]
struct Lane<P> {
    ring: Ring<P>,
    red: Red,
    leaf: usize,
    seen: Seen,
}

/// The lane of unrestricted flows, and that of restricted ones.
const OPEN: usize = 0;
const CLASS: usize = 1;

/// Two queues with their scheduler, and the state of the flows.
#[derive(Clone, Debug)]
pub struct FloydFall<P> {
    config: Config,
    lanes: [Lane<P>; 2],
    tree: Sharing,
    /// Packets that have left the open lane.
    left: u64,
    next_check: Instant,
    judge: Judge,
    /// Rate of the class in bytes per second.
    class_rate: f64,
    stats: Stats,
}

impl<P: Packet> FloydFall<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(config: Config, now: Instant) -> Self {
        let mut tree = Sharing::default();
        let lane = |leaf| Lane { ring: Ring::default(), red: Red::at(&config.red, now), leaf, seen: Seen::default() };
        let lanes = [lane(tree.add(ROOT, 0.5, None)), lane(tree.add(ROOT, 0.5, None))];
        let next_check = now + config.params.interval;
        let judge = Judge::new(&config.params);
        let stats = Stats::default();
        let mut new = FloydFall { lanes, tree, left: 0, next_check, judge, class_rate: 0.0, stats, config };
        new.set_class_rate(0.0);
        new
    }

    /// Packets that have left the open lane or wait in it: the position of its last packet.
    fn entered(&self) -> u64 {
        self.left + self.lanes[OPEN].ring.len() as u64
    }

    /// Gives the class this many bytes per second, within its bounds, and the rest to the other flows.
    fn set_class_rate(&mut self, rate: f64) {
        let params = &self.config.params;
        let share = (rate / self.config.link).clamp(params.min_share, params.max_share);
        self.class_rate = share * self.config.link;
        let held_to = (!params.borrow).then(|| BitRate::from_bytes_per_sec(self.class_rate));
        self.tree.set_share(self.lanes[CLASS].leaf, share, held_to);
        self.tree.set_share(self.lanes[OPEN].leaf, 1.0 - share, None);
    }

    /// Ends all intervals that are over, as if each ended on time: nothing else happened since.
    fn catch_up(&mut self, now: Instant) {
        while self.next_check <= now {
            let seen = [OPEN, CLASS].map(|at| std::mem::take(&mut self.lanes[at].seen));
            let entered = self.entered();
            if let Some(rate) = self.judge.detect(&self.config, &seen[OPEN], entered) {
                self.set_class_rate(rate);
            }
            let restricted = self.judge.restricted.len();
            if let Some(factor) = self.judge.reward(&self.config, &seen[OPEN], &seen[CLASS]) {
                self.set_class_rate(factor * self.class_rate);
            }
            if self.judge.restricted.len() < restricted {
                self.bring_back(self.next_check);
            }
            self.judge.next_interval();
            self.next_check += self.config.params.interval;
            if self.judge.restricted.is_empty() && self.next_check <= now {
                // Without observed drops and restricted flows, all intervals are alike.
                let interval = self.config.params.interval;
                self.next_check += interval * (now.since(self.next_check).whole(interval) + 1);
            }
        }
    }

    /// Released flows take their packets with them to the end of the open lane, where later arrivals follow. If left in
    /// the class, which has shrunk, they would hold the flow back.
    fn bring_back(&mut self, now: Instant) {
        let [was_empty, had_none] = [OPEN, CLASS].map(|at| self.lanes[at].ring.is_empty());
        for _ in 0..self.lanes[CLASS].ring.len() {
            let Some((packet, waited)) = self.lanes[CLASS].ring.pop(now) else { break };
            let at = if self.judge.restricted.get(packet.flow()).is_some() { CLASS } else { OPEN };
            self.lanes[at].ring.push(packet, now - waited);
        }
        let [open, class] = &mut self.lanes;
        if was_empty && !open.ring.is_empty() {
            self.tree.wake(open.leaf, now);
        }
        if !had_none && class.ring.is_empty() {
            self.tree.sleep(class.leaf);
            class.red.departure(class.ring.queue_view(false), now);
        }
    }

    /// Whether a packet fits, both into its lane and under the common limit.
    fn fits(&self, lane: usize, len: u32) -> bool {
        let all = fits(self.backlog(), len, self.config.params.limit);
        all && (lane == OPEN || self.lanes[CLASS].ring.fits(len, self.config.restricted_limit))
    }

    /// Applies the decision of the lane's RED and records it.
    fn decide(&mut self, at: usize, pkt: PacketView, cx: &mut Cx<'_, P>) -> Verdict {
        let full = !self.fits(at, pkt.len);
        let lane = &mut self.lanes[at];
        let queue = lane.ring.queue_view(full);
        let verdict = lane.red.arrival(&self.config.red, pkt, queue, &mut Env { now: cx.now, rng: cx.rng });
        lane.seen.packets += 1;
        lane.seen.bytes += u64::from(pkt.len);
        let (Verdict::Drop(why) | Verdict::Mark(why)) = verdict else { return verdict };
        self.note_drop(at, pkt, why);
        if at == CLASS && matches!(verdict, Verdict::Drop(_)) { Verdict::Drop(Why::Penalty) } else { verdict }
    }

    fn note_drop(&mut self, at: usize, pkt: PacketView, why: Why) {
        let size = u64::from(pkt.len);
        let drop = match why {
            Why::Early => Drops { early: if self.config.params.byte_mode { 1 } else { size }, forced: 0 },
            _ => Drops { early: 0, forced: size },
        };
        let seen = &mut self.lanes[at].seen;
        seen.drops += 1;
        seen.early_packets += u64::from(why == Why::Early);
        seen.by_kind.add(drop);
        if at == OPEN {
            self.judge.note(&self.config.params, pkt.flow, drop);
        }
    }

    /// Whether the class's first packet must wait for an earlier one of its flow.
    fn class_is_behind(&self, now: Instant) -> bool {
        let first = self.lanes[CLASS].ring.view(0, now).and_then(|pkt| self.judge.restricted.get(pkt.flow));
        !self.lanes[OPEN].ring.is_empty() && first.is_some_and(|flow| flow.after > self.left)
    }

    /// Records that a packet has left a lane, by departure or drop.
    fn leave(&mut self, at: usize, now: Instant) {
        let lane = &mut self.lanes[at];
        if lane.ring.is_empty() {
            self.tree.sleep(lane.leaf);
        }
        lane.red.departure(lane.ring.queue_view(false), now);
    }

    /// Drops packets beyond the limits, the class's first.
    fn shrink(&mut self, cx: &mut Cx<'_, P>) {
        while !self.within_limits() || self.lanes[CLASS].ring.over(self.config.restricted_limit) {
            let at = if self.lanes[CLASS].ring.is_empty() { OPEN } else { CLASS };
            let Some((packet, _)) = self.lanes[at].ring.pop_tail(cx.now) else { break };
            self.leave(at, cx.now);
            cx.discard(packet, Why::Reconfigured, &mut self.stats);
        }
        let entered = self.entered();
        self.judge.restricted.retain(|_, flow| {
            flow.after = flow.after.min(entered);
            true
        });
    }

    fn within_limits(&self) -> bool {
        let Backlog { packets, bytes } = self.backlog();
        match self.config.params.limit {
            Amount::Packets(max) => packets as f64 <= max,
            Amount::Bytes(max) => bytes <= max,
        }
    }
}

impl<P: Packet> Qdisc<P> for FloydFall<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
        self.stats.enqueued += 1;
        let pkt = PacketView::of(&packet, Duration::ZERO);
        let restricted = self.judge.restricted.get_mut(pkt.flow);
        let at = if restricted.is_some() { CLASS } else { OPEN };
        if let Some(flow) = restricted {
            flow.bytes += u64::from(pkt.len);
        }
        match self.decide(at, pkt, cx) {
            Verdict::Drop(why) => return cx.discard(packet, why, &mut self.stats),
            Verdict::Mark(why) => cx.mark(&mut packet, why, &mut self.stats),
            Verdict::Pass => {}
        }
        let lane = &mut self.lanes[at];
        if lane.ring.is_empty() {
            self.tree.wake(lane.leaf, cx.now);
        }
        lane.ring.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        self.catch_up(cx.now);
        let at = match self.tree.next(cx.now) {
            Next::Leaf(leaf) if leaf == self.lanes[CLASS].leaf && !self.class_is_behind(cx.now) => CLASS,
            Next::Leaf(_) => OPEN,
            Next::Held(until) => return Dequeued::NotBefore(until),
            Next::Nobody => return Dequeued::Empty,
        };
        let Some((packet, _)) = self.lanes[at].ring.pop(cx.now) else { return Dequeued::Empty };
        self.left += u64::from(at == OPEN);
        self.tree.charge(self.lanes[at].leaf, packet.len(), cx.now);
        self.leave(at, cx.now);
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
    }

    fn wakeup(&self) -> Option<Instant> {
        Some(self.next_check)
    }

    fn on_wakeup(&mut self, cx: &mut Cx<'_, P>) {
        self.catch_up(cx.now);
    }

    fn backlog(&self) -> Backlog {
        let [open, class] = [OPEN, CLASS].map(|at| self.lanes[at].ring.backlog());
        Backlog { packets: open.packets + class.packets, bytes: open.bytes + class.bytes }
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.catch_up(cx.now);
        let config = Config::new(params.of::<Params>()?, link)?;
        for lane in &mut self.lanes {
            lane.red.change(&self.config.red, &config.red, cx.now);
        }
        self.next_check = self.next_check.min(cx.now + config.params.interval);
        self.config = config;
        self.set_class_rate(self.class_rate);
        self.shrink(cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.lanes[OPEN].red.avg());
        out("avg.class", self.lanes[CLASS].red.avg());
        out("restricted", self.judge.restricted.len() as f64);
        out("class.rate", 8.0 * self.class_rate);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        for (at, name) in [(OPEN, "open"), (CLASS, "class")] {
            self.lanes[at].ring.packets().for_each(|packet| see(InnerQueue::Named(name), packet));
        }
    }
}
