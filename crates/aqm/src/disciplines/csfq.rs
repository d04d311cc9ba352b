//! # CSFQ: core-stateless fair queueing
//!
//! Fair shares of a FIFO without per-flow state in the core. Routers at the edge of a network estimate the
//! rate of each flow and write it into the packets as a label; core routers estimate the fair share of
//! their link and drop packets of flows above it with the probability that limits them to it.
//!
//! ## Law
//!
//! With `l` a packet's bits and `T` the time since the one before:
//!
//! ```text
//! edge:  r_i <- (1 - e^(-T/K)) l/T + e^(-T/K) r_i;  label = r_i / w_i           [stoica98 eq 3]
//! core:  p = max(0, 1 - alpha/label); drop with probability p, else enqueue    [stoica98 fig 3]
//!        p > 0: label <- alpha                                                  [stoica98 fig 3]
//!        A, F: rates of all and of accepted packets, as r_i with K_alpha
//! A >= C: for K_c:       alpha <- alpha C / F                                   [stoica98 fig 3]
//! A <  C: for K_c:       alpha <- the largest label seen meanwhile
//! the buffer overflows:  alpha <- 0.99 alpha, at most to 75 % in K_c            [stoica98 section 2.2]
//! q < threshold:         an uncongested link stays so, and nothing is dropped early
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `role` | | | `"edge-core"` | `"edge"` writes labels and is a drop-tail FIFO otherwise; `"core"` reads them; `"edge-core"` does both, for a single link |
//! | `limit` | | queue length | 64kb | capacity of the queue, in packets or bytes |
//! | `k` | K | time | 100ms | averaging constant of a flow's rate; should be well above its packet gaps and the jitter before the edge, otherwise rates are overestimated |
//! | `k_alpha` | `K_alpha` | time | 200ms | averaging constant of A and F; larger than a round trip |
//! | `k_c` | `K_c` | time | 200ms | how long a link must be congested, or not, before alpha changes |
//! | `threshold` | | queue length | half of `limit` | queue below which the link does not become congested; 0 is the paper's Figure 3 |
//! | `flows` | | | 4096 | flows whose rates an edge stores, rounded up to a power of two |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them; only the buffer limits flows that ignore marks |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//! | `classes` | | | | weights at the edge, with the fields below; without any, every flow weighs 1 |
//! | `class` | | | `"*"` | name of a class, or `"*"` for all classes without an entry |
//! | `weight` | w | 1 | 1 | weight of each flow of the class |
//!
//! ## Deviations
//!
//! 1. For packets that arrive at the same instant equation 3 divides by zero; their bits count with the
//!    next packet, and the label does not change.
//! 2. An unknown flow counts as idle for K before its first packet.
//! 3. Figure 3 can set alpha to zero after an idle time, and would then drop everything for `K_c`: here
//!    zero means that alpha is unknown, and nothing is dropped, as in the authors' simulator.
//! 4. On becoming congested alpha is at least the largest label seen since it was set, as in the authors'
//!    simulator; Figure 3 leaves it unchanged. It starts as C, and never rises above C while congested.
//! 5. A packet that finds the buffer full is accepted by Figure 3 and counted in F, then dropped.
//! 6. A core treats all packets without a label (0, negative or not finite) as **one flow** and estimates
//!    its rate: unlabelled traffic gets one share in total and stays unlabelled. In the paper every core is
//!    behind an edge.
//! 7. Marking is not in the paper; a marked packet counts as accepted.
//! 8. The authors' simulator takes one gap `T` for A and F; here, as in Figure 3, F's is the time since the last
//!    accepted packet. The threshold of half the buffer is the paper's text.
//!
//! ## Limits
//!
//! Shares hold over times much longer than `K_alpha` and `K_c`, and only roughly for TCP. Cores trust the
//! labels of edges. An edge stores flows in sets of four; a flow that is evicted counts as new, and its
//! rate is underestimated for about K. The set of classes cannot change while packets wait. State: a table
//! of fixed size in an edge; in a core three rates and alpha. Per packet: one look-up in an edge, two or
//! three exponentials, one draw for flows above alpha.
//!
//! ## Evidence
//!
//! `tests/oracle/csfq.rs` transcribes Figure 3 with the amendments literally, with equal decisions on
//! random and bursty traces; `tests/aqm/csfq.rs` checks the paper's 32 flows, of which flow i sends i + 1 times
//! its share, labels through an edge and two cores, weights and unlabelled traffic, and labels worked by
//! hand.
//!
//! ## References
//!
//! * stoica98: I. Stoica, S. Shenker, H. Zhang, Core-Stateless Fair Queueing, SIGCOMM 1998.

use aqmkit_base::{Amount, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::classes::{ClassWeight, Weights};
use crate::discipline::{Discipline, discipline};
use crate::law::rate::RateEstimate;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{AnyParams, ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::{FlowCache, Ring};
use crate::verdict::Why;

/// Factor of alpha when the buffer overflows.
const CUT: f64 = 0.99;

/// Maximum number of such cuts per `K_c`: `0.99^28 = 0.755`, the last value above three quarters.
const CUTS: u32 = 28;

/// The role of a router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Writes labels.
    Edge,
    /// Reads labels, and drops.
    Core,
    /// Both.
    #[default]
    EdgeCore,
}

/// The parameters of CSFQ as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The role of the router.
    pub role: Role,
    /// Capacity of the queue.
    pub limit: Amount,
    /// Averaging constant of a flow's rate.
    pub k: Duration,
    /// Averaging constant of A and F.
    pub k_alpha: Duration,
    /// How long a link must be congested, or uncongested, before alpha is updated.
    pub k_c: Duration,
    /// Below this queue length the link does not become congested; half of `limit` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Amount>,
    /// Maximum number of flows whose rate an edge tracks.
    pub flows: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Weights of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassWeight>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            role: Role::EdgeCore,
            limit: Amount::Bytes(65_536),
            k: Duration::from_millis(100),
            k_alpha: Duration::from_millis(200),
            k_c: Duration::from_millis(200),
            threshold: None,
            flows: 4096,
            ecn: false,
            classes: Vec::new(),
        }
    }
}

impl Discipline for Params {
    discipline!("csfq");

    const THRESHOLDS: &'static [&'static str] = &["threshold"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let limit = usable_limit("limit", self.limit)?;
        for (field, time) in [("k", self.k), ("k_alpha", self.k_alpha), ("k_c", self.k_c)] {
            if time.is_zero() {
                return Err(
                    ParamError::new(field, time, "the averaging time must be above zero").cite("Stoica 1998, eq 3")
                );
            }
        }
        in_range("flows", f64::from(self.flows), 1.0, 16_777_216.0)?;
        let half = match limit {
            Amount::Packets(packets) => Amount::Packets(packets / 2.0),
            Amount::Bytes(bytes) => Amount::Bytes(bytes / 2),
        };
        let threshold = self.threshold.unwrap_or(half);
        in_unit("threshold", threshold, limit.unit())?;
        Weights::new(link, &self.classes)?;
        let flows = self.flows.next_power_of_two().max(4);
        Ok(Params { threshold: Some(threshold), flows, ..self.clone() })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Csfq::<P>::new(self, link, now)?))
    }
}

/// CSFQ's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    /// As returned by `effective`.
    params: Params,
    weights: Weights,
    threshold: f64,
    /// C, in bits per second.
    capacity: f64,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let full = params.effective(link)?;
        Ok(Config {
            weights: Weights::new(link, &full.classes)?,
            threshold: full.threshold.map_or(0.0, Amount::value),
            capacity: link.rate.as_bps() as f64,
            params: full,
        })
    }
}

/// A packet as the core sees it.
#[derive(Clone, Copy, Debug)]
struct Labelled {
    bits: f64,
    label: f64,
}

/// How to treat a packet that Figure 3 admits, if it fits into the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Admitted {
    marked: bool,
    /// Its new label.
    label: Option<f64>,
}

/// The fair share of the link.
#[derive(Clone, Debug)]
struct FairShare {
    alpha: f64,
    arriving: RateEstimate,
    /// F.
    accepted: RateEstimate,
    congested: bool,
    start_time: Instant,
    /// The largest label since alpha was updated.
    tmp_alpha: f64,
    /// Cuts of alpha left in the current `K_c`.
    cuts: u32,
}

impl FairShare {
    fn new(config: &Config, now: Instant) -> Self {
        FairShare {
            alpha: config.capacity,
            arriving: RateEstimate::new(now),
            accepted: RateEstimate::new(now),
            congested: false,
            start_time: now,
            tmp_alpha: 0.0,
            cuts: CUTS,
        }
    }

    /// The drop probability of a packet; `short`: the queue is below the threshold.
    fn drop_probability(&self, label: f64, short: bool) -> f64 {
        let skipped = self.alpha <= 0.0 || (short && !self.congested);
        if skipped { 0.0 } else { (1.0 - self.alpha / label).max(0.0) }
    }

    /// `estimate_alpha` of Figure 3.
    fn estimate(&mut self, config: &Config, p: Labelled, dropped: bool, short: bool, now: Instant) {
        self.arriving.packet(p.bits, config.params.k_alpha, now);
        if !dropped {
            self.accepted.packet(p.bits, config.params.k_alpha, now);
        }
        let overloaded = self.arriving.get() >= config.capacity && (self.congested || !short);
        match (overloaded, self.congested) {
            (true, false) => self.become_congested(p, now),
            (true, true) => self.while_congested(config, now),
            (false, true) => {
                self.congested = false;
                self.start_time = now;
                self.tmp_alpha = 0.0;
            }
            (false, false) => self.while_uncongested(config, p, now),
        }
    }

    fn become_congested(&mut self, p: Labelled, now: Instant) {
        self.congested = true;
        self.start_time = now;
        self.alpha = self.alpha.max(self.tmp_alpha).max(p.label);
        self.cuts = CUTS;
    }

    fn while_congested(&mut self, config: &Config, now: Instant) {
        if now > self.start_time + config.params.k_c {
            let adapted = self.alpha * config.capacity / self.accepted.get();
            // F is zero only before the first two packets.
            self.alpha = if self.accepted.get() > 0.0 { adapted.min(config.capacity) } else { self.alpha };
            self.start_time = now;
            self.cuts = CUTS;
        }
    }

    fn while_uncongested(&mut self, config: &Config, p: Labelled, now: Instant) {
        if now < self.start_time + config.params.k_c {
            self.tmp_alpha = self.tmp_alpha.max(p.label);
        } else {
            self.alpha = self.tmp_alpha;
            self.start_time = now;
            self.tmp_alpha = 0.0;
            self.cuts = CUTS;
        }
    }

    /// The buffer has overflowed.
    fn cut(&mut self) {
        if self.cuts > 0 {
            self.cuts -= 1;
            self.alpha *= CUT;
        }
    }
}

/// A FIFO, an edge's state of flows, and a core's state of its link.
#[derive(Clone, Debug)]
pub struct Csfq<P> {
    config: Config,
    ring: Ring<P>,
    rates: FlowCache<RateEstimate>,
    /// The rate of all packets without a label.
    unlabelled: RateEstimate,
    share: FairShare,
    stats: Stats,
}

impl<P: Packet> Csfq<P> {
    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params, link)?;
        // A core has no table.
        let flows = if config.params.role == Role::Core { 1 } else { config.params.flows };
        Ok(Csfq {
            ring: Ring::default(),
            rates: FlowCache::new(flows as usize),
            unlabelled: RateEstimate::new(now),
            share: FairShare::new(&config, now),
            stats: Stats::default(),
            config,
        })
    }

    /// Writes the label, as an edge does; returns it.
    fn write_label(&mut self, packet: &mut P, now: Instant) -> f64 {
        let k = self.config.params.k;
        let flow = self.rates.get_or(packet.flow(), RateEstimate::unknown);
        flow.packet(bits(packet), k, now);
        let label = flow.get() / self.config.weights.of(packet.class());
        packet.set_label(label as f32);
        label
    }

    /// Reads the label, as a core does; returns it, and whether there was one.
    fn read_label(&mut self, packet: &P, now: Instant) -> (f64, bool) {
        let label = f64::from(packet.label());
        if label > 0.0 && label.is_finite() {
            return (label, true);
        }
        self.unlabelled.packet(bits(packet), self.config.params.k, now);
        (self.unlabelled.get(), false)
    }

    /// Figure 3 for one packet; `None` if it is to be dropped.
    fn admit(&mut self, packet: &mut P, cx: &mut Cx<'_, P>) -> Option<Admitted> {
        let (label, labelled) = match self.config.params.role {
            Role::Edge => {
                self.write_label(packet, cx.now);
                return Some(Admitted::default());
            }
            Role::Core => self.read_label(packet, cx.now),
            Role::EdgeCore => (self.write_label(packet, cx.now), true),
        };
        let queue = self.ring.queue_view(false).length(self.config.params.limit.unit());
        let short = queue < self.config.threshold;
        let prob = self.share.drop_probability(label, short);
        let hit = cx.rng.chance(prob);
        let marked = hit && self.config.params.ecn && packet.ecn().is_capable();
        let p = Labelled { bits: bits(packet), label };
        self.share.estimate(&self.config, p, hit && !marked, short, cx.now);
        let relabelled = (prob > 0.0 && labelled).then_some(self.share.alpha);
        (marked || !hit).then_some(Admitted { marked, label: relabelled })
    }
}

fn bits<P: Packet>(packet: &P) -> f64 {
    8.0 * f64::from(packet.len())
}

impl<P: Packet> Qdisc<P> for Csfq<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        let Some(Admitted { marked, label }) = self.admit(&mut packet, cx) else {
            return cx.discard(packet, Why::Unfair, &mut self.stats);
        };
        if !self.ring.fits(packet.len(), self.config.params.limit) {
            self.share.cut();
            return cx.discard(packet, Why::Overflow, &mut self.stats);
        }
        if marked {
            cx.mark(&mut packet, Why::Unfair, &mut self.stats);
        }
        if let Some(label) = label {
            packet.set_label(label as f32);
        }
        self.ring.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        match self.ring.pop(cx.now) {
            Some((packet, _)) => {
                self.stats.dequeued += 1;
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(params.of::<Params>()?, link)?;
        config.weights.same_classes(&self.config.weights)?;
        let (old, new) = (&self.config.params, &config.params);
        if new.role != old.role || new.flows != old.flows {
            return Err(ParamError::new("role", "another", "role and flows cannot change while packets wait"));
        }
        self.config = config;
        while self.ring.over(self.config.params.limit) {
            if let Some((packet, _)) = self.ring.pop_tail(cx.now) {
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("alpha", self.share.alpha);
        out("arriving", self.share.arriving.get());
        out("accepted", self.share.accepted.get());
        out("congested", f64::from(u8::from(self.share.congested)));
        out("flows", self.rates.len() as f64);
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.ring.packets().for_each(|packet| see(InnerQueue::Only, packet));
    }
}
