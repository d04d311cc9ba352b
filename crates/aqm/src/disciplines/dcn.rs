//! # DCN: differential congestion notification
//!
//! Signals congestion only to high-bandwidth flows. A flow whose packets arrive close together enters a
//! table of high-bandwidth flows; its packets are dropped or marked in proportion to its excess over a
//! share, and a controller adapts the share to the queue length. All other packets pass.
//!
//! ## Law
//!
//! A flow in HB (the table of high-bandwidth flows), on arrival of one of its packets:
//!
//! ```text
//! m <- pktcount + 1: what it has if this packet is forwarded
//! mark or drop with 1 - p_ref / m, never below zero                              [le04 3.2]
//! pktcount <- m, unless the packet is dropped: a marked one is forwarded         [le04 3.1]
//! each T_dec since it came into HB: pktcount <- pktcount - p_ref; below zero it leaves
//! ```
//!
//! For a flow that sends `r > p_ref` packets in `T_dec`, `r p_ref / pktcount` packets are forwarded. Its
//! count decreases by `p_ref` in the same time, so the equilibrium is a count of `r` with `p_ref` packets
//! forwarded: exactly its fair share.
//!
//! Any other flow has a slot of SB (the scoreboard); its packets are never dropped:
//!
//! ```text
//! slot empty or another flow's:             it takes the slot over, pktcount <- 1 [le04 fig 3]
//! last packet less than `clearing` ago:     pktcount <- pktcount + 1
//! else                                      pktcount <- 0
//! pktcount >= threshold:                    copied into HB
//! ```
//!
//! Every `T_update`, with `q` the queue of the instant and `q'` the one at the last sample:
//!
//! ```text
//! p_ref <- p_ref + a (q' - q_ref) - b (q - q_ref), within [p_min, p_max]         [le04 3.2, arranged as in AFD]
//! ```
//!
//! The share starts at `capacity T_dec / n` for `n` expected flows.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 2400 | capacity of the queue; large enough in the paper to avoid tail drops |
//! | `q_ref` (`target`, `qref`) | `q_ref` | queue length | 24 | target queue length |
//! | `flows` | n | 1 | 200 | expected high-bandwidth flows; sets `p_init` if that is not given |
//! | `a`, `b` | a, b | packets per packet | 1.7, 1.8 | gains, `a < b`; below about 0.1 the share stays at `p_init` for minutes |
//! | `t_update` (`tupdate`) | `T_update` | time | 6.25ms | sampling period, as PI's and AFD's |
//! | `t_dec` | `T_dec` | time | 800ms | period of a flow's count: twice the largest round trip |
//! | `clearing` (`clearing_interval`) | | time | 500ms | pause after which the count of a flow restarts from zero; must exceed a round trip, otherwise no flow is ever detected |
//! | `threshold` | | packets | 4 | recent packets that make a flow high-bandwidth |
//! | `p_init` | `p_ref(0)` | packets | from `flows` | share at the start |
//! | `p_min` | | packets | 1 | minimum share, so that no flow is cut off |
//! | `p_max` | | packets | packets that the link sends in `t_dec` | maximum share |
//! | `sb_slots` | | 1 | 8192 | slots of the scoreboard; too few: slow flows push fast ones out before they are seen |
//! | `hb_limit` | | flows | 4096 | maximum number of high-bandwidth flows; the paper saw 2000 |
//! | `pktcount` | | | `"forwarded"` | packets counted per flow: those `"forwarded"`, or all that `"arrived"`, including drops, which starves a flow that ignores drops |
//! | `counting` | | | `"packets"` | `"bytes"` counts bytes, in units of `avpkt`, so that shares do not depend on packet sizes |
//! | `avpkt` | | size | the link's mean | typical packet size: the unit of shares in bytes, and of gains where `limit` is in bytes |
//! | `as_printed` | | | false | the controller as the paper prints it: `a` with the new sample, `b` with the old one |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. As printed, `a` multiplies the new sample and `b` the old one; with `a < b` the share then *rises*
//!    with a growing queue, before it falls. The paper says that it uses the equation of AFD and PI, where
//!    the terms are the other way round; so does this implementation, unless `as_printed`.
//! 2. The paper gives no gains, `T_update`, clearing interval, sizes of tables nor bounds of `p_ref`. The
//!    defaults are those of the schemes from which it took the controller (gains of AFD), or chosen here.
//!    With 20 and with 200 Reno flows any gains from 0.1 to 1.7 hold the queue at `q_ref` and the link
//!    full; those of a linear design with a crossover of 0.4 rad/s, 0.32 / n, do not move in minutes.
//! 3. The flow chart tests on arrival of a packet whether `T_dec` has passed; the text decrements after
//!    each interval. Here each flow in HB has its own timer from its insertion, so that a flow that stopped
//!    sending also leaves, and a new one is not removed at once.
//! 4. Section 3.1 says that HB has "the count of the number of forwarded packets", and SB "'recent'
//!    forwarded packet count"; 3.2 says that `pktcount` is "the number of packets from that flow that have
//!    arrived at the router within a period of `T_dec`". Forwarded packets are counted, because section 3
//!    wants no flow in "undue starvation", and because the count then equals, on average, the arrivals in
//!    `T_dec` (see Law), so both sentences hold. `pktcount = "arrived"` follows 3.2 literally: the count of
//!    a flow that sends more than `p_ref` grows without limit, and its drop probability goes to one.
//! 5. The paper does not say whether the count in the drop test includes the tested packet. Here it does
//!    (`m` above): `p_ref` packets pass in `T_dec`, and the next is the first at risk; otherwise one more
//!    would pass. The stored count changes after the test, as in the chart. A flow with a count of exactly
//!    zero stays.
//! 6. A flow that takes over a slot has a count of one. A flow that returns after a pause restarts from
//!    zero, as in text and chart, so it needs one more packet.
//! 7. "Exceeds a threshold" in the text is `pktcount >= 4` in the chart; the chart is followed.
//! 8. HB is a bounded hash table with probing instead of the chart's chaining.
//!
//! ## Limits
//!
//! DCN bounds neither the delay nor the queue if congestion comes from flows too short to be detected, or
//! from more than `hb_limit` flows: if HB is full, a flow passes and is tried again with its next packet.
//! Many slow flows can hide a fast one by taking its slot in the scoreboard repeatedly. A flow that ignores
//! drops gets `p_ref` packets in `T_dec`; a flow that ignores marks gets all that it sends. Memory: both
//! tables are allocated at the start. Per packet: one look-up in each, at most one draw; each flow in HB
//! costs a step every `t_dec`.
//!
//! ## Evidence
//!
//! `tests/oracle/dcn.rs` transcribes Figure 3 and the text literally, with equal decisions on random and
//! bursty traces; `tests/aqm/history.rs` follows a flow through both tables to its first drops by hand, and
//! shows that a flow that ignores drops gets `p_ref` packets in `T_dec` (nearly none if arrivals count),
//! and that the controller as printed first moves in the wrong direction.
//! `experiments/dcn/unresponsive.toml` has such a flow among 20 TCP flows.
//!
//! ## References
//!
//! * le04: L. Le, J. Aikat, K. Jeffay, F. D. Smith, Differential Congestion Notification: Taming the
//!   Elephants, ICNP 2004.

use std::collections::VecDeque;

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Bytes, Duration, FlowKey, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::storage::FlowTable;
use crate::verdict::{Verdict, Why};

/// Which packets of a flow are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pktcount {
    /// Forwarded ones, including marked ones: section 3.1.
    #[default]
    Forwarded,
    /// All arrivals, including dropped ones: section 3.2 taken literally.
    Arrived,
}

/// The parameters of DCN as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Target queue length of the controller.
    #[serde(alias = "target", alias = "qref")]
    pub q_ref: Amount,
    /// Expected number of high-bandwidth flows.
    pub flows: u32,
    /// Gain of the older sample (of the newer one if `as_printed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    /// Gain of the newer sample (of the older one if `as_printed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<f64>,
    /// Sampling period of the queue.
    #[serde(alias = "tupdate")]
    pub t_update: Duration,
    /// Period of a flow's count.
    pub t_dec: Duration,
    /// Pause after which a flow's count restarts at zero.
    #[serde(alias = "clearing_interval")]
    pub clearing: Duration,
    /// Recent packets that make a flow a high-bandwidth one.
    pub threshold: f64,
    /// Initial share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_init: Option<f64>,
    /// Smallest share.
    pub p_min: f64,
    /// Largest share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_max: Option<f64>,
    /// Slots of the scoreboard.
    pub sb_slots: u32,
    /// Maximum number of high-bandwidth flows.
    pub hb_limit: u32,
    /// Which packets of a flow are counted.
    pub pktcount: Pktcount,
    /// Whether packets or bytes are counted.
    pub counting: Counting,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the controller's terms are as printed in the paper.
    pub as_printed: bool,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(2400.0),
            q_ref: Amount::Packets(24.0),
            flows: 200,
            a: None,
            b: None,
            t_update: Duration::from_micros(6250),
            t_dec: Duration::from_millis(800),
            clearing: Duration::from_millis(500),
            threshold: 4.0,
            p_init: None,
            p_min: 1.0,
            p_max: None,
            sb_slots: 8192,
            hb_limit: 4096,
            pktcount: Pktcount::Forwarded,
            counting: Counting::Packets,
            avpkt: None,
            as_printed: false,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("dcn", Dcn);

    const THRESHOLDS: &'static [&'static str] = &["q_ref"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = Dcn::config(self, link)?;
        Ok(Params {
            a: Some(config.controller.a),
            b: Some(config.controller.b),
            p_init: Some(config.p_init),
            p_max: Some(config.p_max),
            avpkt: Some(link.avpkt(self.avpkt)?),
            ..self.clone()
        })
    }
}

/// The probability that a packet of a high-bandwidth flow is marked or dropped, if its flow's count is `pktcount`, this
/// packet included, and its share is `p_ref`: Le et al. 2004, section 3.2.
#[must_use]
pub fn drop_probability(p_ref: f64, pktcount: f64) -> f64 {
    (1.0 - p_ref / pktcount).max(0.0)
}

/// A high-bandwidth flow's count after `T_dec`; below zero the flow is removed from HB: Le et al. 2004, section 3.2.
#[must_use]
pub fn after_t_dec(pktcount: f64, p_ref: f64) -> f64 {
    pktcount - p_ref
}

/// The controller of the share: Le et al. 2004, section 3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    /// Gain of the older sample (of the newer one if `as_printed`).
    pub a: f64,
    /// Gain of the newer sample (of the older one if `as_printed`).
    pub b: f64,
    /// Whether the terms are as printed in the paper.
    pub as_printed: bool,
}

impl Controller {
    /// The share after a sample of the queue `error` packets above the target, if the previous one was `old_error`
    /// above it; not yet clamped.
    #[must_use]
    pub fn next_share(&self, p_ref: f64, error: f64, old_error: f64) -> f64 {
        let (with_a, with_b) = if self.as_printed { (error, old_error) } else { (old_error, error) };
        p_ref + self.a * with_a - self.b * with_b
    }
}

/// DCN's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    q_ref: f64,
    controller: Controller,
    t_update: Duration,
    t_dec: Duration,
    clearing: Duration,
    threshold: f64,
    p_init: f64,
    p_min: f64,
    p_max: f64,
    sb_slots: usize,
    hb_limit: usize,
    /// One packet, in the unit of the queue.
    queue_unit: f64,
    /// The bytes that count as one packet; `None` if packets are counted.
    count_unit: Option<f64>,
    pktcount: Pktcount,
    ecn: bool,
}

impl Config {
    /// How much a packet adds to its flow's count.
    fn count(&self, len: u32) -> f64 {
        self.count_unit.map_or(1.0, |unit| f64::from(len) / unit)
    }

    /// Whether a packet counts, given its verdict and whether the queue was full.
    fn counts(&self, verdict: Verdict, full: bool) -> bool {
        let forwarded = !full && !matches!(verdict, Verdict::Drop(_));
        forwarded || self.pktcount == Pktcount::Arrived
    }

    /// How far the queue is above its target, in packets.
    fn error(&self, queue: QueueView) -> f64 {
        (queue.length(self.limit.unit()) - self.q_ref) / self.queue_unit
    }
}

/// AFD's gains, the only ones published for this controller.
const GAINS: (f64, f64) = (1.7, 1.8);

/// A slot of the scoreboard.
#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: FlowKey,
    count: f64,
    last: Instant,
}

/// A fixed salt: two runs must have the same collisions.
const SALT: u64 = 0x6463_6e5f_7362_0001;

/// DCN's state.
#[derive(Clone, Debug)]
pub struct Dcn {
    p_ref: f64,
    /// The last sample's distance from the target, in packets.
    old_error: f64,
    /// The count of each high-bandwidth flow.
    hb: FlowTable<f64>,
    /// Flows in the order of their next decrease: all have the same period.
    due: VecDeque<(Instant, FlowKey)>,
    sb: Vec<Option<Slot>>,
}

impl Dcn {
    /// The share after a sample with this error.
    fn next_share(&self, config: &Config, error: f64) -> f64 {
        config.controller.next_share(self.p_ref, error, self.old_error).clamp(config.p_min, config.p_max)
    }

    /// Decreases every count that is due, and removes flows below zero.
    fn decrease(&mut self, config: &Config, now: Instant) {
        while let Some((at, flow)) = self.due.pop_front_if(|(at, _)| *at <= now) {
            let mut stays = false;
            self.hb.change(flow, |count| {
                *count = after_t_dec(*count, self.p_ref);
                stays = *count >= 0.0;
                stays
            });
            if stays {
                self.due.push_back((at + config.t_dec, flow));
            }
        }
    }

    /// The right half of Figure 3: whether this flow becomes a high-bandwidth one.
    fn score(&mut self, config: &Config, pkt: PacketView, now: Instant) {
        let one = config.count(pkt.len);
        let slot = &mut self.sb[(pkt.flow.hash(SALT) % config.sb_slots as u64) as usize];
        let count = match slot {
            Some(s) if s.flow == pkt.flow && now.since(s.last) < config.clearing => s.count + one,
            Some(s) if s.flow == pkt.flow => 0.0,
            _ => one,
        };
        *slot = Some(Slot { flow: pkt.flow, count, last: now });
        if count >= config.threshold && self.hb.len() < config.hb_limit {
            *self.hb.or_default(pkt.flow) = count;
            self.due.push_back((now + config.t_dec, pkt.flow));
        }
    }
}

impl Aqm for Dcn {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let limit = usable_limit("limit", params.limit)?;
        let avpkt = link.avpkt(params.avpkt)?.as_f64();
        for (field, time) in [("t_update", params.t_update), ("t_dec", params.t_dec), ("clearing", params.clearing)] {
            // Timers must not outnumber the packets of any link.
            in_range(field, time.as_secs_f64(), 1e-5, f64::INFINITY)?;
        }
        for (field, count) in [("flows", params.flows), ("sb_slots", params.sb_slots), ("hb_limit", params.hb_limit)] {
            in_range(field, f64::from(count), 1.0, 16_777_216.0)?;
        }
        let flows = f64::from(params.flows);
        let a = params.a.unwrap_or(GAINS.0);
        let b = params.b.unwrap_or(a * (GAINS.1 / GAINS.0));
        in_range("a", a, 0.0, f64::MAX)?;
        if !(b > a && b.is_finite()) {
            let want = format!("it must be above a = {a}, otherwise the share rises while the queue is too long");
            return Err(ParamError::new("b", b, want).cite("Le et al. 2004, section 3.2"));
        }
        let capacity = link.rate.bytes_per_sec() / avpkt * params.t_dec.as_secs_f64();
        let p_max = params.p_max.unwrap_or(capacity.max(params.p_min));
        in_range("p_min", params.p_min, f64::MIN_POSITIVE, f64::MAX)?;
        in_range("p_max", p_max, params.p_min, f64::MAX)?;
        let p_init = params.p_init.unwrap_or((capacity / flows).clamp(params.p_min, p_max));
        in_range("p_init", p_init, params.p_min, p_max)?;
        in_range("threshold", params.threshold, 0.0, f64::INFINITY)?;
        let in_bytes = |unit: Counting| (unit == Counting::Bytes).then_some(avpkt);
        Ok(Config {
            limit,
            q_ref: in_unit("q_ref", params.q_ref, limit.unit())?,
            controller: Controller { a, b, as_printed: params.as_printed },
            t_update: params.t_update,
            t_dec: params.t_dec,
            clearing: params.clearing,
            threshold: params.threshold,
            p_init,
            p_min: params.p_min,
            p_max,
            sb_slots: params.sb_slots as usize,
            hb_limit: params.hb_limit as usize,
            queue_unit: in_bytes(limit.unit()).unwrap_or(1.0),
            count_unit: in_bytes(params.counting),
            pktcount: params.pktcount,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, _now: Instant) -> Self {
        Dcn {
            p_ref: config.p_init,
            // As if the queue had been empty before.
            old_error: -config.q_ref / config.queue_unit,
            hb: FlowTable::with_capacity(config.hb_limit),
            due: VecDeque::with_capacity(config.hb_limit),
            sb: vec![None; config.sb_slots],
        }
    }

    /// Figure 3.
    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.decrease(config, env.now);
        if let Some(count) = self.hb.get_mut(pkt.flow) {
            let with_this = *count + config.count(pkt.len);
            let signalled = env.rng.chance(drop_probability(self.p_ref, with_this));
            let verdict = if signalled { pkt.signal(config.ecn, Why::Unfair) } else { Verdict::Pass };
            if config.counts(verdict, queue.full) {
                *count = with_this;
            }
            return verdict;
        }
        if config.counts(Verdict::Pass, queue.full) {
            self.score(config, pkt, env.now);
        }
        Verdict::Pass
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.t_update)
    }

    /// Section 3.2: the share follows the queue.
    fn on_tick(&mut self, config: &Config, queue: QueueView, now: Instant) {
        self.decrease(config, now);
        let error = config.error(queue);
        self.p_ref = self.next_share(config, error);
        self.old_error = error;
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, _first: Instant, _ticks: u64) -> bool {
        let error = config.error(queue);
        self.due.is_empty() && self.old_error == error && self.next_share(config, error) == self.p_ref
    }

    /// Flows and share are kept; a scoreboard of another size is cleared.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.sb_slots != new.sb_slots {
            self.sb = vec![None; new.sb_slots];
        }
        if (old.q_ref, old.queue_unit) != (new.q_ref, new.queue_unit) {
            self.old_error = -new.q_ref / new.queue_unit;
        }
        // Soonest first, even if the period has become shorter.
        for (at, _) in &mut self.due {
            *at = (*at).min(now + new.t_dec);
        }
        self.p_ref = self.p_ref.clamp(new.p_min, new.p_max);
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p_ref", self.p_ref);
        out("flows", self.hb.len() as f64);
    }
}
