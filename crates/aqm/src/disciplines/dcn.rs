//! # DCN: differential congestion notification
//!
//! Tells only the elephants of congestion. A flow whose packets come close together is taken into a table
//! of high-bandwidth flows; its packets are dropped or marked in proportion to what it sends above its
//! share, and the share follows the length of the queue. All other packets pass.
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
//! A flow that sends `r` packets in `T_dec`, above `p_ref` and whatever is dropped, is forwarded
//! `r p_ref / pktcount`; as its count falls by `p_ref` in the same time, it settles where both are equal: at
//! a count of `r`, with `p_ref` packets forwarded. So it gets its fair share, neither more nor less.
//!
//! Any other flow, in its slot of SB (the scoreboard); its packets are never dropped:
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
//! | `limit` | | queue length | 2400 | what the queue may hold; the paper's is large enough that tails are never dropped |
//! | `q_ref` (`target`, `qref`) | `q_ref` | queue length | 24 | the queue that the controller aims at |
//! | `flows` | n | 1 | 200 | high-bandwidth flows to expect; sets `p_init` where it is not given |
//! | `a`, `b` | a, b | packets per packet | 1.7, 1.8 | gains; `a < b`. Below about 0.1 the share stays at `p_init` for minutes |
//! | `t_update` (`tupdate`) | `T_update` | time | 6.25ms | sampling period, as PI's and AFD's |
//! | `t_dec` | `T_dec` | time | 800ms | period of a flow's count: twice the largest round trip |
//! | `clearing` (`clearing_interval`) | | time | 500ms | pause after which a flow starts from zero; more than a round trip, or a flow is never seen as fast |
//! | `threshold` | | packets | 4 | recent packets that make a flow high-bandwidth |
//! | `p_init` | `p_ref(0)` | packets | from `flows` | share at the start |
//! | `p_min` | | packets | 1 | the share never falls below it, so no flow is cut off |
//! | `p_max` | | packets | what the link sends in `t_dec` | the share never rises above it |
//! | `sb_slots` | | 1 | 8192 | slots of the scoreboard; too few and slow flows push fast ones out before they are seen |
//! | `hb_limit` | | flows | 4096 | the most high-bandwidth flows; the paper saw 2000 |
//! | `pktcount` | | | `"forwarded"` | the packets of a flow that its count has: those `"forwarded"`, or all that `"arrived"`, dropped ones too, which starves a flow that ignores its drops |
//! | `counting` | | | `"packets"` | `"bytes"` counts bytes, in units of `avpkt`, so that a flow's share does not depend on its packets' size |
//! | `avpkt` | | size | the link's mean | typical packet: the unit of shares in bytes, and of gains where `limit` is in bytes |
//! | `as_printed` | | | false | the controller as the paper prints it: `a` with the new sample, `b` with the old one |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them |
//! | `flow` | | | connection | what the packets of a flow have in common: `connection`, `hosts` (both addresses), `source` or `destination` |
//!
//! ## Deviations
//!
//! 1. As printed, `a` multiplies the new sample and `b` the old one; with `a < b` the share then *rises*
//!    with a growing queue, before it falls. The paper says it uses AFD's and PI's equation, where the
//!    terms stand the other way round: so here, unless `as_printed`.
//! 2. The paper gives no gains, `T_update`, clearing interval, sizes of tables nor bounds of `p_ref`. The
//!    defaults are those of the schemes that it took the controller from (the gains are AFD's), or chosen. They
//!    are not the paper's. With 20 and with 200 Reno flows any gains from 0.1 to 1.7 hold the queue at `q_ref`
//!    and the link full; those of a linear design with a crossover of 0.4 rad/s, 0.32 / n, do not move in minutes.
//! 3. The chart tests on a packet's arrival whether `T_dec` has passed; the text counts it after each
//!    interval. Here each flow in HB has a timer of its own from when it came in, so that one that has
//!    stopped sending leaves too, and a new one is not removed at once.
//! 4. Of HB, section 3.1 says that it has "the count of the number of forwarded packets", and of SB "'recent'
//!    forwarded packet count"; 3.2 says that `pktcount` is "the number of packets from that flow that have
//!    arrived at the router within a period of `T_dec`". Forwarded packets are counted, because section 3 wants
//!    no flow in "undue starvation", and because the count then *is* what arrives in `T_dec`, in the mean (see
//!    Law): both sentences hold. `pktcount = "arrived"` takes 3.2 by the letter: the count of a flow that sends more
//!    than `p_ref` grows for ever, and its drop probability goes to one.
//! 5. Whether the drop test's count has the packet that it tests is open. It has it here, in `m` above: so
//!    `p_ref` packets pass in `T_dec`, and the next is the first at risk; without it one more would pass. What is
//!    kept changes only after the test, as in the chart. A count of exactly zero stays.
//! 6. A flow that takes over a slot has sent one packet. One that comes back after a pause starts from
//!    zero, as text and chart have it, so it needs one packet more.
//! 7. "Exceeds a threshold" in the text is `pktcount >= 4` in the chart: the chart's.
//! 8. HB is an open hash here, with the chart's chaining replaced by probing, and bounded.
//!
//! ## Limits
//!
//! It bounds neither the delay nor the queue when congestion comes from flows too short to be seen, or from
//! more than `hb_limit` flows: a flow that finds HB full passes freely and is tried again with its next
//! packet. Many slow flows can hide a fast one in the scoreboard, by taking its slot again and again. A flow that
//! ignores its drops gets `p_ref` packets in `T_dec`; one that ignores its marks gets all that it sends.
//! Memory: both tables are allocated at the start. Per packet: one look-up in each, at most one draw; each
//! flow in HB costs a step every `t_dec`.
//!
//! ## Evidence
//!
//! `tests/oracle/dcn.rs` is Figure 3 and the text, literally, with equal decisions on random and bursty
//! traces; `tests/history.rs` works a flow's way through both tables and its first drops by hand, shows that
//! a flow which ignores its drops is forwarded `p_ref` packets in `T_dec` (and nearly none where arrivals count),
//! and that the controller as printed goes the wrong way first. `experiments/dcn/unresponsive.toml` has such a
//! flow among 20 of TCP.
//!
//! ## References
//!
//! * le04: L. Le, J. Aikat, K. Jeffay, F. D. Smith, Differential Congestion Notification: Taming the
//!   Elephants, ICNP 2004.

use std::collections::VecDeque;

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Bytes, Duration, FlowKey, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView, Verdict};
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::Why;
use crate::registry::{Discipline, Link, discipline};
use crate::storage::FlowTable;

/// Which packets of a flow its count has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pktcount {
    /// Those that were forwarded, marked ones too: section 3.1.
    #[default]
    Forwarded,
    /// All that arrived, dropped ones too: section 3.2 by the letter.
    Arrived,
}

/// The parameters of DCN as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the queue may hold.
    pub limit: Amount,
    /// The queue that the controller aims at.
    #[serde(alias = "target", alias = "qref")]
    pub q_ref: Amount,
    /// High-bandwidth flows to expect.
    pub flows: u32,
    /// Gain of the older sample (of the newer one where `as_printed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    /// Gain of the newer sample (of the older one where `as_printed`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<f64>,
    /// Sampling period of the queue.
    #[serde(alias = "tupdate")]
    pub t_update: Duration,
    /// Period of a flow's count.
    pub t_dec: Duration,
    /// Pause after which a flow starts from zero.
    #[serde(alias = "clearing_interval")]
    pub clearing: Duration,
    /// Recent packets that make a flow high-bandwidth.
    pub threshold: f64,
    /// Share at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_init: Option<f64>,
    /// Smallest share.
    pub p_min: f64,
    /// Largest share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_max: Option<f64>,
    /// Slots of the scoreboard.
    pub sb_slots: u32,
    /// The most high-bandwidth flows.
    pub hb_limit: u32,
    /// Which packets of a flow its count has.
    pub pktcount: Pktcount,
    /// Whether the count is of packets or of bytes.
    pub counting: Counting,
    /// Size of a typical packet; the link's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the controller's terms stand as the paper prints them.
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
    discipline!("dcn", Dcn, Dcn);

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

/// The chance that a packet of a high-bandwidth flow is marked or dropped, where `pktcount` packets of it count, this one
/// included, and its share is `p_ref`: Le et al. 2004, section 3.2.
#[must_use]
pub fn drop_probability(p_ref: f64, pktcount: f64) -> f64 {
    (1.0 - p_ref / pktcount).max(0.0)
}

/// What is left of a high-bandwidth flow's count after `T_dec`; below zero the flow leaves HB: Le et al. 2004,
/// section 3.2.
#[must_use]
pub fn after_t_dec(pktcount: f64, p_ref: f64) -> f64 {
    pktcount - p_ref
}

/// The controller of the share: Le et al. 2004, section 3.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Controller {
    /// Gain of the older sample (of the newer one where `as_printed`).
    pub a: f64,
    /// Gain of the newer sample (of the older one where `as_printed`).
    pub b: f64,
    /// Whether the terms stand as the paper prints them.
    pub as_printed: bool,
}

impl Controller {
    /// The share after a sample of the queue that is `error` packets above the target, where the one before was
    /// `old_error` above it; not yet within its bounds.
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
    /// What one packet of the gains is in the unit of the queue.
    queue_unit: f64,
    /// The bytes that count as one packet; none where packets count.
    count_unit: Option<f64>,
    pktcount: Pktcount,
    ecn: bool,
}

impl Config {
    /// What a packet adds to its flow's count.
    fn count(&self, len: u32) -> f64 {
        self.count_unit.map_or(1.0, |unit| f64::from(len) / unit)
    }

    /// Whether a packet counts that met this verdict, at a queue that was full or not.
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
    /// When each of them is next decreased, soonest first: all have one period.
    due: VecDeque<(Instant, FlowKey)>,
    sb: Vec<Option<Slot>>,
}

impl Dcn {
    /// The share after a sample with this error.
    fn next_share(&self, config: &Config, error: f64) -> f64 {
        config.controller.next_share(self.p_ref, error, self.old_error).clamp(config.p_min, config.p_max)
    }

    /// Decreases every count whose time has come, and forgets the flows that fall below zero.
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

    /// The right half of Figure 3: is this flow becoming a high-bandwidth one?
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
            let want = format!("it must be above a = {a}, or the share rises while the queue is too long");
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

    /// Flows and share stay; a scoreboard of another size starts afresh.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.sb_slots != new.sb_slots {
            self.sb = vec![None; new.sb_slots];
        }
        if (old.q_ref, old.queue_unit) != (new.q_ref, new.queue_unit) {
            self.old_error = -new.q_ref / new.queue_unit;
        }
        // Soonest first even where the period has become shorter.
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
