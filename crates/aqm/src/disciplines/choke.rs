//! # CHOKe: choose and keep, choose and kill
//!
//! RED that compares each arriving packet with one drawn from the queue. Where both are of one flow, both
//! are dropped: a flow with much in the queue is drawn often, and pays twice. No flow is remembered.
//!
//! ## Law
//!
//! On arrival, after RED's average is updated:
//!
//! ```text
//! avg <= min:   let it in                                                       [pan00]
//! else draw m packets from the queue; drop each that is of the arriving packet's flow
//!      one matched:  drop the arriving packet too
//!      avg <= max:   drop it with RED's p(avg)
//!      else          drop it
//! ```
//!
//! A flow with n of q packets in the queue is matched with probability `1 - (1 - n/q)^m`. With `regions`
//! = k, the band from `min` to `max` is cut into k equal regions, and in the i-th of them m = 2 i; above
//! `max` m = 2 k.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 300 | what the queue may hold; its unit is the unit of the average |
//! | `min` | `min_th` | queue length | 100 | average up to which everything is let in; small, and a flow is compared with itself alone |
//! | `max` | `max_th` | queue length | 200 | average above which everything is dropped |
//! | `weight` | w | 1 | 1/512 | weight of the newest sample |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.02 | RED's probability as the average reaches `max` |
//! | `avpkt` | | size | the link's mean | typical packet: sets the drain rate |
//! | `candidates` (`m`) | m | | 1 | packets drawn; one holds a single bad flow, several as many |
//! | `regions` | k | | 0 | with k above 0, `candidates` follows the average instead |
//! | `draw` | | | `"random"` | where the candidates come from: `"random"`, `"front"` or `"back"` |
//! | `gentle` | | | false | RED's ramp from `max` to twice `max` |
//! | `ecn` | | | false | mark ECN-capable packets where RED's part says drop; matched packets are dropped |
//! | `harddrop` | | | false | with `ecn`: drop even ECN-capable packets above `max` |
//!
//! ## Deviations
//!
//! 1. Candidates are drawn one after the other, each from all that wait then: one that did not match may
//!    be drawn again. With `front` and `back` they are the m nearest to that end.
//! 2. RED's count of packets between drops neither counts nor is reset by a matched pair; the paper does
//!    not say, Linux does the same.
//! 3. RED's test needs more than one packet waiting, and its first arrival above `min` is not dropped (see
//!    RED). A lone packet is drawn and matched all the same.
//! 4. Linux draws a position, which may be a hole that an earlier victim left, and takes the head after
//!    three holes; here each waiting packet is as likely. Linux compares headers where there is no hash.
//! 5. ECN, also above `max`, is Linux's; the paper has none. The thresholds are those of the paper's
//!    network, 300 packets at 1 Mb/s; `weight` and `max_p` are RED's of the time.
//!
//! ## Limits
//!
//! What one flow that does not answer can take is not bounded by a share: in theory its share of a link with
//! many TCP flows peaks at 1/(e + 1), about 27 %, and falls again as it sends more (tang04); several such
//! flows need as many candidates. Drops come in pairs, which hurts TCP with small windows. Delay as RED.
//! State: RED's, and links between the packets waiting. Per packet: RED's work and m draws; a packet leaves
//! the middle at the same cost as the head.
//!
//! ## Evidence
//!
//! `tests/oracle/choke.rs` is the paper's flow chart, literally, with equal decisions on random and bursty
//! traces; `tests/published_flows.rs` has the probability of a match for one and for three candidates. They
//! fail with a match at `min`, with a region too few, and where a taken packet's gap misleads the next draw.
//!
//! ## References
//!
//! * pan00: R. Pan, B. Prabhakar, K. Psounis, CHOKe: A Stateless Active Queue Management Scheme for
//!   Approximating Fair Bandwidth Allocation, INFOCOM 2000.
//! * tang04: A. Tang, J. Wang, S. Low, Understanding CHOKe: Throughput and Spatial Characteristics,
//!   IEEE/ACM `ToN` 12(4), 2004.

#![allow(clippy::doc_markdown, reason = "CHOKe is a name")]

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{QueueView, Verdict};
use crate::law::early::{DropMode, Ramp};
use crate::law::ewma::QueueAverage;
use crate::packet::{Packet, PacketView};
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::{Backlog, Cx, Dequeued, Qdisc, Stats, Why};
use crate::registry::{Discipline, Link, Spec, discipline};
use crate::storage::Crowd;

/// Where candidates are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Anywhere in the queue.
    #[default]
    Random,
    /// The packets that have waited longest.
    Front,
    /// The packets that came last.
    Back,
}

/// The parameters of CHOKe as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the queue may hold.
    pub limit: Amount,
    /// Average up to which everything is let in.
    pub min: Amount,
    /// Average above which everything is dropped.
    pub max: Amount,
    /// Weight of the newest sample of the queue.
    pub weight: f64,
    /// RED's drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Size of a typical packet; the link's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Packets drawn for each arrival.
    #[serde(alias = "m")]
    pub candidates: u32,
    /// Regions of the band, for a number of candidates that follows the average; 0 for a fixed number.
    pub regions: u32,
    /// Where the candidates come from.
    pub draw: Draw,
    /// Whether the probability ramps from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked where RED's part says drop.
    pub ecn: bool,
    /// Whether even ECN-capable packets are dropped where a forced drop is due.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(300.0),
            min: Amount::Packets(100.0),
            max: Amount::Packets(200.0),
            weight: 1.0 / 512.0,
            max_p: 0.02,
            avpkt: None,
            candidates: 1,
            regions: 0,
            draw: Draw::Random,
            gentle: false,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Discipline for Params {
    discipline!("choke", Choke);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Config::new(self, link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Choke::<P>::new(self, link, now)?))
    }
}

/// CHOKe's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    limit: Amount,
    ramp: Ramp,
    weight: f64,
    /// Typical packets that the link drains in a second.
    drain_rate: f64,
    candidates: u32,
    regions: u32,
    draw: Draw,
    ecn: bool,
    harddrop: bool,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let unit = params.limit.unit();
        let (min, max) = (in_unit("min", params.min, unit)?, in_unit("max", params.max, unit)?);
        in_range("weight", params.weight, f64::MIN_POSITIVE, 1.0)?;
        in_range("candidates", params.candidates.into(), 1.0, 1000.0).map_err(|e| e.cite("Pan et al. 2000: m"))?;
        in_range("regions", params.regions.into(), 0.0, 500.0)?;
        let mean_packet = link.avpkt(params.avpkt)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            ramp: Ramp { min, max, max_p: params.max_p, gentle: params.gentle }.check()?,
            weight: params.weight,
            drain_rate: link.packets_per_sec(mean_packet),
            candidates: params.candidates,
            regions: params.regions,
            draw: params.draw,
            ecn: params.ecn,
            harddrop: params.harddrop,
        })
    }

    /// How many packets to draw at an average above `min`.
    fn candidates(&self, avg: f64) -> u32 {
        if self.regions == 0 {
            return self.candidates;
        }
        let Ramp { min, max, .. } = self.ramp;
        // Where min is max there is no region but the last.
        let into = f64::from(self.regions) * (avg - min) / (max - min);
        2 * self.regions.min(if into.is_finite() { 1 + into as u32 } else { self.regions })
    }
}

/// CHOKe: RED's state and the packets.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    config: Config,
    avg: QueueAverage,
    mode: DropMode,
    queue: Crowd<P>,
    stats: Stats,
}

impl<P: Packet> Choke<P> {
    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        Ok(Choke {
            config: Config::new(params, link)?,
            avg: QueueAverage::new(now),
            mode: DropMode::default(),
            queue: Crowd::default(),
            stats: Stats::default(),
        })
    }

    fn view(&self, len: u32) -> QueueView {
        let Backlog { packets, bytes } = self.queue.backlog();
        QueueView { packets: packets as u32, bytes, full: !self.queue.fits(len, self.config.limit) }
    }

    /// The place of the candidate that follows the one at `at`, away from the end where drawing began.
    fn next(&self, at: usize) -> usize {
        let order = self.queue.order();
        if self.config.draw == Draw::Back { order.before(at) } else { order.after(at) }
    }

    /// Draws candidates and drops those of the arriving packet's flow; whether there was one.
    fn kill(&mut self, pkt: PacketView, cx: &mut Cx<'_, P>) -> bool {
        let order = self.queue.order();
        let mut at = if self.config.draw == Draw::Back { order.last() } else { order.first() };
        let mut matched = false;
        for _ in 0..self.config.candidates(self.avg.get()) {
            if self.config.draw == Draw::Random {
                at = cx.rng.below(self.queue.len() as u64) as usize;
            }
            let Some(flow) = self.queue.flow(at) else { break };
            let next = self.next(at);
            if flow == pkt.flow {
                matched = true;
                if let Some((victim, _)) = self.queue.take(at, cx.now) {
                    cx.discard(victim, Why::Matched, &mut self.stats);
                }
            }
            // Where one was taken, the packet of the last place has moved into the gap.
            at = if next == self.queue.len() { at } else { next };
        }
        if self.queue.is_empty() {
            self.avg.on_empty(cx.now);
        }
        matched
    }

    /// The paper's flow chart.
    fn on_arrival(&mut self, pkt: PacketView, cx: &mut Cx<'_, P>) -> Verdict {
        let config = &self.config;
        let queue = self.view(pkt.len);
        self.avg.on_arrival(config.weight, queue.length(config.limit.unit()), config.drain_rate, cx.now);
        if self.avg.get() > config.ramp.min && self.kill(pkt, cx) {
            return Verdict::Drop(Why::Matched);
        }
        if queue.full {
            self.mode.on_overflow();
            return Verdict::Drop(Why::Overflow);
        }
        let Config { ecn, harddrop, .. } = self.config;
        let decision = self.mode.on_arrival(&self.config.ramp, self.avg.get(), queue.packets, 1.0, cx.rng);
        pkt.early(decision, ecn, harddrop)
    }
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        self.stats.enqueued += 1;
        match self.on_arrival(PacketView::of(&packet, Duration::ZERO), cx) {
            Verdict::Drop(why) => return cx.discard(packet, why, &mut self.stats),
            Verdict::Mark(why) => cx.mark(&mut packet, why, &mut self.stats),
            Verdict::Pass => {}
        }
        self.queue.push(packet, cx.now);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Dequeued<P> {
        let Some((packet, _)) = self.queue.pop(cx.now) else {
            return Dequeued::Empty;
        };
        if self.queue.is_empty() {
            self.avg.on_empty(cx.now);
        }
        self.stats.dequeued += 1;
        Dequeued::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn reconfigure(&mut self, spec: &Spec, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(Params::of(spec)?, link)?;
        if config.limit.unit() != self.config.limit.unit() {
            // An average of packets says nothing about bytes.
            (self.avg, self.mode) = (QueueAverage::new(cx.now), DropMode::default());
        }
        self.config = config;
        while self.queue.over(self.config.limit) {
            if let Some((packet, _)) = self.queue.pop_tail(cx.now) {
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
        if self.queue.is_empty() {
            self.avg.on_empty(cx.now);
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.avg.get());
        let drawn = if self.avg.get() > self.config.ramp.min { self.config.candidates(self.avg.get()) } else { 0 };
        out("candidates", drawn.into());
    }
}
