//! # RIO-PS: RIO with preferential treatment for short flows
//!
//! The first packets of each flow are IN, the rest OUT. So short flows, and the start of long flows, where
//! a loss costs a timeout, are dropped last. Flow lengths need not be known in advance.
//!
//! ## Law
//!
//! ```text
//! each packet:  n_f <- n_f + 1;  IN where n_f <= L_t, else OUT;  then as RIO      [guo01]
//! flows idle for longer than T_u are removed
//! every T_c:    with s and l the flows with n_f <= L_t and n_f > L_t:
//!               s > SLR l:   L_t <- max(L_t - 1, 1)
//!               s < SLR l:   L_t <- L_t + 1
//! ```
//!
//! In the paper the edge of the network counts packets and sets IN or OUT, and the core drops; here one
//! queue does both.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | B | queue length | 240 | capacity of the queue; its unit is the unit of the averages |
//! | `threshold` (`lt`) | `L_t` | packets | 8 | initial number of packets of a flow that are IN; too large: long flows are IN too |
//! | `slr` | SLR | 1 | 3 | target ratio of short to long flows, controlled through `L_t` |
//! | `t_c` | `T_c` | time | 10s | time between changes of `L_t`; 0 never |
//! | `t_u` | `T_u` | time | 1s | idle time after which a flow counts as new; below a retransmission timeout, long flows become IN after a timeout |
//! | `flows` | | | 4096 | maximum number of stored flows |
//! | `in_min` (`short_min`) | `min_in` | queue length | 0.15 B | average of short flows' packets below which none of them is dropped |
//! | `in_max` (`short_max`) | `max_in` | queue length | 0.5 B | the same average, above which all of them are dropped |
//! | `in_max_p` (`short_max_p`) | `P_max_in` | 1 | 1/20 | drop probability when that average reaches `in_max` |
//! | `out_min` (`long_min`) | `min_out` | queue length | 0.15 B | the same for long flows, with the average of the whole queue |
//! | `out_max` (`long_max`) | `max_out` | queue length | 0.5 B | likewise |
//! | `out_max_p` (`long_max_p`) | `P_max_out` | 1 | 1/10 | likewise |
//! | `weight` | w | 1 | 1/512 | weight of the newest sample, for both |
//! | `avpkt` | | size | the link's mean | typical packet size: sets the drain rate |
//! | `gentle` | | | false | both ramps from their maximum to twice that |
//! | `ecn` | | | true | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets above the maximum |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. The paper changes `L_t` in additive steps; a step of one packet is chosen here. Without flows, or at
//!    the ratio, it does not change.
//! 2. The paper removes idle flows every `T_u`, so after one to two `T_u`; here a flow is removed exactly
//!    `T_u` after its last packet.
//! 3. The paper's flow table has no bound. Here the least recently seen flow is evicted: it restarts as a
//!    short one.
//! 4. The thresholds are from a secondary source; they are parameters.
//! 5. Packets are counted on arrival, dropped ones too.
//!
//! ## Limits
//!
//! A sender that splits a transfer into many short flows, or pauses longer than `T_u`, stays IN. With more
//! than `flows` active flows, all tend to be IN, and this is RED for IN. Delay as RIO. State: RIO's, one
//! entry for each flow seen in the last `T_u`, at most `flows`, and a bit for each packet waiting. Per
//! packet: RIO's work and one or two look-ups; every `T_c` one pass over the flows.
//!
//! ## Evidence
//!
//! `tests/oracle/rio.rs` transcribes the paper's rule over RIO's algorithm literally, with equal decisions on random
//! and bursty traces; `tests/aqm/worked_flows.rs` has the first packets and the steps of `L_t` by hand,
//! `tests/aqm/published_flows.rs` short flows without loss beside long ones.
//!
//! ## References
//!
//! * guo01: L. Guo, I. Matta, The War Between Mice and Elephants, ICNP 2001.

use std::collections::VecDeque;

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use super::rio::{self, Core, CoreConfig};
use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, period_or_none};
use crate::storage::RecentFlows;
use crate::verdict::Verdict;

/// The parameters of RIO-PS as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// The initial threshold: packets of a flow that are IN.
    #[serde(alias = "lt")]
    pub threshold: u32,
    /// Target ratio of short to long flows.
    pub slr: f64,
    /// How often the threshold is updated.
    pub t_c: Duration,
    /// Idle time after which a flow is forgotten.
    pub t_u: Duration,
    /// Maximum number of flows remembered.
    pub flows: u32,
    /// Average of IN below which no IN packet is dropped.
    #[serde(alias = "short_min", skip_serializing_if = "Option::is_none")]
    pub in_min: Option<Amount>,
    /// Average of IN above which every IN packet is dropped.
    #[serde(alias = "short_max", skip_serializing_if = "Option::is_none")]
    pub in_max: Option<Amount>,
    /// Drop probability of IN as its average reaches `in_max`.
    #[serde(alias = "short_max_p")]
    pub in_max_p: f64,
    /// Average below which no OUT packet is dropped.
    #[serde(alias = "long_min", skip_serializing_if = "Option::is_none")]
    pub out_min: Option<Amount>,
    /// Average above which every OUT packet is dropped.
    #[serde(alias = "long_max", skip_serializing_if = "Option::is_none")]
    pub out_max: Option<Amount>,
    /// Drop probability of OUT as the average reaches `out_max`.
    #[serde(alias = "long_max_p")]
    pub out_max_p: f64,
    /// Weight of the newest sample of the queue.
    pub weight: f64,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the probabilities ramp to 1 between the maximum and twice that.
    pub gentle: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            threshold: 8,
            slr: 3.0,
            t_c: Duration::from_secs(10),
            t_u: Duration::from_secs(1),
            flows: 4096,
            in_min: None,
            in_max: None,
            in_max_p: 1.0 / 20.0,
            out_min: None,
            out_max: None,
            out_max_p: 1.0 / 10.0,
            weight: 1.0 / 512.0,
            avpkt: None,
            gentle: false,
            ecn: true,
            harddrop: true,
        }
    }
}

impl Discipline for Params {
    discipline!("rio-ps", RioPs);

    const THRESHOLDS: &'static [&'static str] = &["in_min", "in_max", "out_min", "out_max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        RioPs::config(self, link)?;
        let core = self.core();
        Ok(Params {
            in_min: Some(core.in_min),
            in_max: Some(core.in_max),
            out_min: Some(core.out_min),
            out_max: Some(core.out_max),
            avpkt: Some(link.avpkt(self.avpkt)?),
            ..self.clone()
        })
    }
}

impl Params {
    /// The parameters of the RIO that drops.
    fn core(&self) -> rio::Params {
        let part = |of: f64| match self.limit {
            Amount::Packets(limit) => Amount::Packets(of * limit),
            Amount::Bytes(limit) => Amount::Bytes((of * limit as f64) as u64),
        };
        rio::Params {
            limit: self.limit,
            inside: Vec::new(),
            in_min: self.in_min.unwrap_or(part(0.15)),
            in_max: self.in_max.unwrap_or(part(0.5)),
            in_max_p: self.in_max_p,
            out_min: self.out_min.unwrap_or(part(0.15)),
            out_max: self.out_max.unwrap_or(part(0.5)),
            out_max_p: self.out_max_p,
            weight: self.weight,
            avpkt: self.avpkt,
            coupled: true,
            gentle: self.gentle,
            ecn: self.ecn,
            harddrop: self.harddrop,
        }
    }
}

/// RIO-PS's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    core: CoreConfig,
    threshold: u32,
    slr: f64,
    t_c: Duration,
    t_u: Duration,
    flows: usize,
}

/// RIO-PS's state.
#[derive(Clone, Debug)]
pub struct RioPs {
    core: Core,
    /// The current `L_t`.
    threshold: u32,
    /// Packets of each flow.
    counts: RecentFlows<u32>,
    /// For each packet in the queue, whether it is IN.
    waiting: VecDeque<bool>,
}

impl Aqm for RioPs {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        in_range("threshold", params.threshold.into(), 1.0, f64::INFINITY)
            .map_err(|e| e.cite("Guo & Matta 2001: L_t"))?;
        in_range("slr", params.slr, 0.0, f64::INFINITY)?;
        in_range("flows", params.flows.into(), 1.0, 1e7)?;
        Ok(Config {
            core: CoreConfig::new(&params.core(), link)?,
            threshold: params.threshold,
            slr: params.slr,
            t_c: period_or_none("t_c", params.t_c)?,
            t_u: params.t_u,
            flows: params.flows as usize,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.core.limit()
    }

    fn new(config: &Config, now: Instant) -> Self {
        RioPs {
            core: Core::new(now),
            threshold: config.threshold,
            counts: RecentFlows::default(),
            waiting: VecDeque::new(),
        }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.counts.expire(config.t_u, env.now);
        let count = self.counts.seen(pkt.flow, config.flows, env.now);
        *count = count.saturating_add(1);
        let is_in = *count <= self.threshold;
        let verdict = self.core.on_arrival(&config.core, is_in, pkt, queue, env);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.waiting.push_back(is_in);
        }
        verdict
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if let Some(is_in) = self.waiting.pop_front() {
            self.core.left(&config.core, is_in, pkt.len, queue, env.now);
        }
        Verdict::Pass
    }

    /// Only the newest is ever removed: arrivals at a full queue are dropped.
    fn on_discard(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        if let Some(is_in) = self.waiting.pop_back() {
            self.core.left(&config.core, is_in, pkt.len, queue, now);
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.t_c).filter(|period| !period.is_zero())
    }

    /// Moves `L_t` towards the ratio.
    fn on_tick(&mut self, config: &Config, _queue: QueueView, now: Instant) {
        self.counts.expire(config.t_u, now);
        let short = self.counts.values().filter(|&&count| count <= self.threshold).count();
        let allowed = config.slr * (self.counts.len() - short) as f64;
        if short as f64 > allowed {
            self.threshold = (self.threshold - 1).max(1);
        } else if (short as f64) < allowed {
            self.threshold = self.threshold.saturating_add(1);
        }
    }

    /// Without flows `L_t` does not change.
    fn skip_ticks(&mut self, _config: &Config, _queue: QueueView, _first: Instant, _ticks: u64) -> bool {
        self.counts.is_empty()
    }

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        self.core.on_change(&old.core, &new.core, now);
        if old.threshold != new.threshold {
            self.threshold = new.threshold;
        }
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        self.core.probe(out);
        out("threshold", self.threshold.into());
        out("flows", self.counts.len() as f64);
    }
}
