//! # DualQ: two queues with coupled marking and dropping
//!
//! The original Dual Queue Coupled AQM. Packets of scalable congestion controls (DCTCP) have their own
//! queue with strict priority. The delay of the Classic queue sets their marking probability, and its
//! square the drop probability of Classic packets, so that flows get about the same rate in both queues.
//!
//! ## Law
//!
//! ```text
//! arrival:  ECN field not zero -> L, else -> C                                  [deschepper15 sec 5]
//! departure from L, if it holds a packet:                                       [deschepper15 alg 1]
//!     mark where L.len > T, or 2^S_L q_C > rnd()        p_L = 2^S_L q_C         [eq 14]
//! departure from C, if L is empty:
//!     Q_C <- Q_C + (q_C - Q_C) 2^-f                                             [eq 13]
//!     drop where 2^S_C Q_C > max(rnd(), rnd())          p_C = (2^S_C Q_C)^2     [eq 15]
//! p_C = (p_L / 2^k)^2, k = S_L - S_C                                            [eq 12, 16]
//! ```
//!
//! In the rule for L, `q_C` is the unsmoothed waiting time of the head of the Classic queue: "think once to
//! mark, twice to drop". `L.len` is the queue behind the departing packet.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | buffer | queue length | 1000 | capacity of both queues together |
//! | `s_c` | `S_C` | log2 of 1/s | 1 | slope of the Classic queue: all packets are dropped from `2^-s_c` s (0.5 s) on |
//! | `s_l` | `S_L` | log2 of 1/s | 4 | slope of the L queue: all packets are marked from `2^-s_l` s (62.5 ms) on; `s_l - s_c` is the coupling k: 3 compensates a Classic queue of four base round trips, 1 compensates none |
//! | `f` | f | log2 | 5 | weight `2^-f` of the newest Classic delay |
//! | `t` | T | queue length | 5 | L queue length above which every packet is marked; too short: a single L flow leaves the link idle |
//! | `u_c` | | numbers | 2 | random numbers per drop: the exponent of the Classic curve |
//! | `u_l` | | numbers | 1 | random numbers per mark; 2, with `s_l = 3`, is the paper's Experiment 6, for ECN-Cubic in the L queue |
//! | `classifier` | | | `"any_ect"` | packets for L: `"any_ect"` (ECN field not zero) or `"l4s_ect"` (ECT(1) and CE) |
//!
//! ## Deviations
//!
//! 1. With `"l4s_ect"`, the paper's alternative, ECT(0) packets are in the Classic queue, which marks them
//!    instead of dropping them, as in RFC 9332.
//! 2. The paper gives no units: here S converts seconds to probabilities and T is in packets (`lq.len()` of
//!    Algorithm 1) or bytes. Slopes and weights are floating point, not shifts of integers.
//! 3. The paper says "buffer 1000 packets" without naming a queue: here it is one limit for both.
//! 4. Section 5 says that `Q_C` is calculated each time a packet leaves any of the queues, Algorithm 1
//!    (line 8) only for those that leave the Classic queue. The pseudo-code is followed. According to the
//!    text the average would follow the delay faster with more L traffic.
//! 5. RFC 9332, appendix B, compares the delay of the L packet with a threshold instead of T packets, and
//!    serves L by conditional priority; both are in `dualpi2`.
//!
//! ## Limits
//!
//! Priority is strict: L traffic that does not respond to marks starves the Classic queue, protected only
//! by drops at the common limit (the paper leaves overload to policy). The Classic delay has no target. A
//! flow whose packets change codepoint may be reordered across the queues. State: one average. Per packet:
//! one or two draws and a multiply.
//!
//! ## Evidence
//!
//! `tests/oracle/dualq.rs` transcribes Algorithm 1 literally, with equal decisions and marks on random and
//! bursty traces of all codepoints; the average instead of the head's delay for L, or L's length including
//! the departing packet, fails the test. `tests/aqm/worked_control.rs` checks both rules by hand, and that the
//! drop fraction is the square of an eighth of the mark fraction, at three delays.
//!
//! ## References
//!
//! * deschepper15: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "Data Centre to the Home": Ultra-Low
//!   Latency for All, 2015.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::discipline::{Discipline, discipline};
use crate::law::curvy::{DelayAverage, Slope, weight};
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{Classifier, Dual};
use crate::verdict::Why;

/// The parameters of DualQ as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of both queues together.
    pub limit: Amount,
    /// Classic delay at which every Classic packet is dropped: `2^-s_c` seconds.
    pub s_c: f64,
    /// Classic delay at which every L packet is marked: `2^-s_l` seconds.
    pub s_l: f64,
    /// The weight of the newest Classic delay is `2^-f`.
    pub f: f64,
    /// Length of the L queue above which every packet is marked.
    pub t: Amount,
    /// Random numbers drawn per drop decision.
    pub u_c: u32,
    /// Random numbers drawn per mark decision.
    pub u_l: u32,
    /// The packets that go into the L queue.
    pub classifier: Classifier,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(1000.0),
            s_c: 1.0,
            s_l: 4.0,
            f: 5.0,
            t: Amount::Packets(5.0),
            u_c: 2,
            u_l: 1,
            classifier: Classifier::AnyEct,
        }
    }
}

impl Discipline for Params {
    discipline!("dualq");

    const THRESHOLDS: &'static [&'static str] = &["t"];

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        Config::new(self)?;
        Ok(self.clone())
    }

    fn build<P: Packet + 'static>(&self, _link: &Link, _now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Dualq::<P>::new(self)?))
    }
}

impl Params {
    /// The Classic drop probability when this share of L packets is marked, at a constant Classic delay, so that its
    /// average is the delay itself: `(p_L / 2^k)^2` with `k = s_l - s_c`, where `u_l` is 1 and `u_c` is 2 (section 5,
    /// equations 12 to 16).
    ///
    /// # Errors
    /// When a parameter cannot be used.
    pub fn coupled_drop(&self, p_l: f64) -> Result<f64, ParamError> {
        let config = Config::new(self)?;
        Ok(config.c.probability(config.l.delay(p_l)))
    }
}

/// The parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    limit: Amount,
    c: Slope,
    l: Slope,
    /// `2^-f`.
    weight: f64,
    t: Amount,
    classifier: Classifier,
}

impl Config {
    fn new(params: &Params) -> Result<Self, ParamError> {
        in_range("t", params.t.value(), 0.0, f64::INFINITY)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            c: Slope::new(("s_c", params.s_c), ("u_c", params.u_c))?,
            l: Slope::new(("s_l", params.s_l), ("u_l", params.u_l))?,
            weight: weight("f", params.f)?,
            t: params.t,
            classifier: params.classifier,
        })
    }
}

/// Two queues and the average delay of one.
#[derive(Clone, Debug)]
pub struct Dualq<P> {
    config: Config,
    queues: Dual<P>,
    avg: DelayAverage,
}

impl<P: Packet> Dualq<P> {
    /// Empty queues.
    ///
    /// # Errors
    /// When a parameter cannot be used.
    pub fn new(params: &Params) -> Result<Self, ParamError> {
        Ok(Dualq { config: Config::new(params)?, queues: Dual::default(), avg: DelayAverage::default() })
    }

    /// Line 2: the reason to mark a packet that leaves the L queue, if any.
    fn mark_l(&self, cx: &mut Cx<'_, P>) -> Option<Why> {
        let len = match self.config.t.unit() {
            Counting::Packets => self.queues.l.len() as f64,
            Counting::Bytes => self.queues.l.bytes() as f64,
        };
        if len > self.config.t.value() {
            return Some(Why::Step);
        }
        let q_c = Dual::head_delay(&self.queues.c, cx.now).as_secs_f64();
        self.config.l.exceeds(q_c, cx.rng).then_some(Why::Coupled)
    }
}

impl<P: Packet> Qdisc<P> for Dualq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.queues.stats.enqueued += 1;
        if !self.queues.fits(packet.len(), self.config.limit) {
            return self.queues.discard(packet, Why::Overflow, cx);
        }
        self.queues.lane(self.config.classifier.lane(packet.ecn())).push(packet, cx.now);
    }

    /// Algorithm 1.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        if let Some((mut packet, _)) = self.queues.l.pop(cx.now) {
            if let Some(why) = self.mark_l(cx) {
                self.queues.mark(&mut packet, why, cx);
            }
            self.queues.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        while let Some((mut packet, sojourn)) = self.queues.c.pop(cx.now) {
            let q_c = self.avg.sample(self.config.weight, sojourn);
            if self.config.c.exceeds(q_c, cx.rng) {
                if !packet.ecn().is_capable() {
                    self.queues.discard(packet, Why::Early, cx);
                    continue;
                }
                self.queues.mark(&mut packet, Why::Early, cx);
            }
            self.queues.stats.dequeued += 1;
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.queues.stats
    }

    /// Packets stay in the queue they are in, whatever the new classifier.
    fn reconfigure(&mut self, params: &dyn AnyParams, _link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        self.config = Config::new(params.of::<Params>()?)?;
        self.queues.shrink(self.config.limit, cx);
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("avg_delay", self.avg.get());
        out("p_c", self.config.c.probability(self.avg.get()));
        out("l.packets", self.queues.l.len() as f64);
        out("c.packets", self.queues.c.len() as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queues.waiting(see);
    }
}
