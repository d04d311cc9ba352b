//! # CHOKe: choose and keep, choose and kill
//!
//! RED that compares each arriving packet with a random packet of the queue. If both belong to the same
//! flow, both are dropped: flows with many queued packets match often. There is no per-flow state.
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
//! | `limit` | | queue length | 300 | capacity of the queue; its unit is the unit of the average |
//! | `min` | `min_th` | queue length | a third of `limit` | average up to which all packets are admitted; too small: a flow is compared only with itself |
//! | `max` | `max_th` | queue length | two thirds of `limit` | average above which all packets are dropped; if only one of `min` and `max` is given, the other is as in RED |
//! | `burst` | | packets | | instead of `weight`, as RED's |
//! | `weight` | w | 1 | 1/512, or by `burst` | weight of the newest sample |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.02 | RED's probability when the average reaches `max` |
//! | `avpkt` | | size | the link's mean | typical packet size: sets the drain rate, and the scale of byte mode |
//! | `bandwidth` | | rate | the link's | how fast an idle queue's average decays |
//! | `candidates` (`m`) | m | | 1 | packets drawn; m of them restrain about m unresponsive flows |
//! | `regions` | k | | 0 | with k above 0, the average sets the number of candidates instead |
//! | `draw` | | | `"random"` | where the candidates come from: `"random"`, `"front"` or `"back"` |
//! | `gentle` | | | false | RED's ramp from `max` to twice `max` |
//! | `byte_mode` (`bytemode`) | | | false | RED's probability in proportion to the packet's size |
//! | `ecn` | | | false | mark ECN-capable packets where RED's part says drop; matched packets are dropped |
//! | `harddrop` | | | false | with `ecn`: drop even ECN-capable packets above `max` |
//! | `nodrop` | | | false | with `ecn`: admit packets that should be marked but are not ECN-capable |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Candidates are drawn one after the other from all packets then waiting; one that did not match may be
//!    drawn again. With `front` and `back` they are the m packets nearest to that end.
//! 2. A matched pair neither increments nor resets RED's count of packets between drops; the paper does not
//!    specify this, and Linux does the same.
//! 3. RED's test needs more than one packet waiting, and its first arrival above `min` is not dropped (see
//!    RED). A lone packet can still be drawn and matched.
//! 4. Linux draws a position, which may be a hole that an earlier victim left, and takes the head after
//!    three holes; here each waiting packet is as likely. Linux compares headers where there is no hash.
//! 5. ECN, also above `max`, is Linux's; the paper has none. The thresholds are those of the paper's
//!    network, 300 packets at 1 Mb/s; `weight` and `max_p` are RED's of the time. `tc`'s are a quarter of `limit`
//!    and a third of that, its `burst` is `(2 min + max) / 3`; it has no `gentle`, `byte_mode`, `nodrop`.
//!
//! 6. The law is that of Linux's `sch_choke`, and so are the results if averaging and unit are the same: four flows of cubic, 40 Mbit/s, 20 ms,
//!    `limit` 100, `min` 10, `max` 30, `burst` 17 have a mean delay of 1.90 ms, a 99th percentile of 3.35 ms and 0.87 % of losses in Linux 6.1, 1.87, 3.40
//!    and 0.90 here; at 10 Mbit/s 10.1 ms, 14.8 ms and 4.6 %, here 10.5, 14.8 and 4.5; at 100 Mbit/s 0.52 ms, 1.26 ms and 0.26 %, here 0.52, 1.34 and 0.23
//!    (`bench/linux/run.sh 40000 25 choke`, `aqmkit run bench/linux/simulated.toml --set 'sweep.aqm=["choke"]'`, for the others with
//!    10000 and 100000, and `topology.rate` of 10093kbit and 100933kbit). So neither Linux's draws among the holes of its table nor its rounding of the average (4; see
//!    RED) matter there.
//! 7. What makes a comparison differ: `tc` derives the weight from `burst`, which for `min 10 max 30` gives 1/8 where the default here is RED's 1/512; and
//!    Linux's queue counts a super-packet of several segments (GSO) as one packet, unless the shaper in front cuts it. One change at a time, `linux-6`,
//!    mean delay in ms and packets lost in %: 2.42 and 1.9 with a weight of 1/512, 2.09 and 1.2 with 1/64, 1.82 and 0.8 with 1/8; 1.57 and 0.9
//!    with the thresholds one lower too; with packets of two segments (`mss` 2896) 5.3 and 3.7 (weight 1/512), 4.3 and 2.1 (1/8).
//!    (`aqmkit compare choke:limit=100,min=10,max=30,weight=0.125 --rate 40mbit --rtt 20ms --bulk 4 --cc cubic --transport linux-6`.)
//!
//! ## Limits
//!
//! CHOKe does not limit an unresponsive flow to a fair share: in theory its share of a link with many TCP
//! flows peaks at 1/(e + 1), about 27 %, and falls again as it sends more (tang04); several such flows need
//! as many candidates. Drops come in pairs, which hurts TCP with small windows. Delay as RED. State: that
//! of RED, and links between queued packets. Per packet: RED's work and m draws; removing a packet from the
//! middle costs the same as from the head.
//!
//! ## Evidence
//!
//! `tests/oracle/choke.rs` transcribes the paper's flow chart literally, with equal decisions on random and
//! bursty traces; `tests/aqm/published_flows.rs` checks the probability of a match for one and for three
//! candidates. They fail with matching at `min`, with one region too few, and if the gap of a removed
//! packet affects the next draw.
//!
//! ## References
//!
//! * pan00: R. Pan, B. Prabhakar, K. Psounis, CHOKe: A Stateless Active Queue Management Scheme for
//!   Approximating Fair Bandwidth Allocation, INFOCOM 2000.
//! * tang04: A. Tang, J. Wang, S. Low, Understanding CHOKe: Throughput and Spatial Characteristics,
//!   IEEE/ACM `ToN` 12(4), 2004.

#![allow(clippy::doc_markdown, reason = "CHOKe is a name")]

use aqmkit_base::{Amount, Duration, Instant};
use serde::{Deserialize, Serialize};

use super::red::{self, Red, RedParams, params_with_red};
use crate::aqm::{Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::early::Ramp;
use crate::link::Link;
use crate::packet::{Packet, PacketView};
use crate::params::{AnyParams, ParamError, in_range};
use crate::qdisc::{Backlog, Cx, Dequeued, InnerQueue, Qdisc, Stats};
use crate::storage::Crowd;
use crate::verdict::{Verdict, Why};

/// Where candidates are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Draw {
    /// Anywhere in the queue.
    #[default]
    Random,
    /// The packets that have waited longest.
    Front,
    /// The packets that arrived last.
    Back,
}

params_with_red! {
    /// The parameters of CHOKe as a user writes them.
    pub struct Params {}
    red = RedParams { limit: Amount::Packets(300.0), max_p: 0.02, harddrop: false, ..RedParams::default() },
    then {
        /// Packets drawn for each arrival.
        #[serde(alias = "m")]
        pub candidates: u32 = 1,
        /// Number of regions between the thresholds, if the number of candidates follows the average; 0 for a fixed
        /// number.
        pub regions: u32 = 0,
        /// Where the candidates come from.
        pub draw: Draw = Draw::Random,
    }
}

impl Params {
    /// RED's part; if both thresholds are omitted, they have the paper's proportion to the limit.
    fn red_of_limit(&self) -> RedParams {
        let (min, max) = match self.limit {
            Amount::Packets(limit) => (Amount::Packets(limit / 3.0), Amount::Packets(limit * 2.0 / 3.0)),
            Amount::Bytes(limit) => (Amount::Bytes(limit / 3), Amount::Bytes(limit / 3 * 2)),
        };
        self.red().or_thresholds(min, max)
    }
}

impl Discipline for Params {
    discipline!("choke");

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Config::new(self, link)?;
        Ok(self.clone().with_red(self.red_of_limit().complete(link)?))
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Choke::<P>::new(self, link, now)?))
    }
}

/// CHOKe's parameters, checked.
#[derive(Clone, Debug)]
struct Config {
    red: red::Config,
    candidates: u32,
    regions: u32,
    draw: Draw,
}

impl Config {
    fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        in_range("candidates", params.candidates.into(), 1.0, 1000.0).map_err(|e| e.cite("Pan et al. 2000: m"))?;
        in_range("regions", params.regions.into(), 0.0, 500.0)?;
        let &Params { candidates, regions, draw, .. } = params;
        Ok(Config { red: red::Config::new(&params.red_of_limit(), link)?, candidates, regions, draw })
    }

    /// Number of candidates at an average above `min`.
    fn candidates(&self, avg: f64) -> u32 {
        if self.regions == 0 {
            return self.candidates;
        }
        let Ramp { min, max, .. } = *self.red.ramp();
        // If min equals max, only the last region exists.
        let into = f64::from(self.regions) * (avg - min) / (max - min);
        2 * self.regions.min(if into.is_finite() { (into as u32).saturating_add(1) } else { self.regions })
    }
}

/// CHOKe: RED's state and the packets.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    config: Config,
    red: Red,
    queue: Crowd<P>,
    stats: Stats,
}

impl<P: Packet> Choke<P> {
    /// An empty queue at `now`.
    ///
    /// # Errors
    /// When a parameter cannot be used on this link.
    pub fn new(params: &Params, link: &Link, now: Instant) -> Result<Self, ParamError> {
        let config = Config::new(params, link)?;
        let red = Red::at(&config.red, now);
        Ok(Choke { config, red, queue: Crowd::default(), stats: Stats::default() })
    }

    fn view(&self, len: u32) -> QueueView {
        let Backlog { packets, bytes } = self.queue.backlog();
        QueueView { packets: packets as u32, bytes, full: !self.queue.fits(len, self.config.red.limit()) }
    }

    /// The candidate after the one at `at`, going away from the end where drawing began.
    fn next(&self, at: usize) -> usize {
        let order = self.queue.order();
        if self.config.draw == Draw::Back { order.before(at) } else { order.after(at) }
    }

    /// Draws candidates and drops those of the arriving packet's flow; returns whether there was one.
    fn kill(&mut self, pkt: PacketView, cx: &mut Cx<'_, P>) -> bool {
        let order = self.queue.order();
        let mut at = if self.config.draw == Draw::Back { order.last() } else { order.first() };
        let mut matched = false;
        for _ in 0..self.config.candidates(self.red.avg()) {
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
            // If one was removed, the packet of the last index has moved into the gap.
            at = if next == self.queue.len() { at } else { next };
        }
        if self.queue.is_empty() {
            self.red.on_idle(cx.now);
        }
        matched
    }

    /// The paper's flow chart.
    fn on_arrival(&mut self, pkt: PacketView, cx: &mut Cx<'_, P>) -> Verdict {
        let config = &self.config.red;
        let queue = self.view(pkt.len);
        self.red.average(config, queue, cx.now);
        if self.red.avg() > config.ramp().min && self.kill(pkt, cx) {
            return Verdict::Drop(Why::Matched);
        }
        self.red.decide(&self.config.red, pkt, queue, &mut Env { now: cx.now, rng: cx.rng })
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
            self.red.on_idle(cx.now);
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

    fn reconfigure(&mut self, params: &dyn AnyParams, link: &Link, cx: &mut Cx<'_, P>) -> Result<(), ParamError> {
        let config = Config::new(params.of::<Params>()?, link)?;
        self.red.change(&self.config.red, &config.red, cx.now);
        self.config = config;
        let had_packets = !self.queue.is_empty();
        while self.queue.over(self.config.red.limit()) {
            if let Some((packet, _)) = self.queue.pop_tail(cx.now) {
                cx.discard(packet, Why::Reconfigured, &mut self.stats);
            }
        }
        if had_packets && self.queue.is_empty() {
            self.red.on_idle(cx.now);
        }
        Ok(())
    }

    fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        let avg = self.red.avg();
        out("avg", avg);
        let drawn = if avg > self.config.red.ramp().min { self.config.candidates(avg) } else { 0 };
        out("candidates", drawn.into());
    }

    fn waiting(&self, see: &mut dyn FnMut(InnerQueue<'_>, &P)) {
        self.queue.packets().for_each(|packet| see(InnerQueue::Only, packet));
    }
}
