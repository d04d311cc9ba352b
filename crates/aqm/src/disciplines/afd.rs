//! # AFD: approximate fair dropping
//!
//! A FIFO that drops the part of each flow above the fair share. It estimates the rates of flows from a
//! sample of recent arrivals, in which fast flows appear often and slow flows rarely; a controller sets the
//! fair share so that the queue stays at its target.
//!
//! ## Law
//!
//! With `m_f` the amount of flow `f` in the sample:
//!
//! ```text
//! arrival of f:   with probability 1/s put it into the shadow buffer of b entries, in another's place
//!                 drop with D_f = (1 - m_fair / m_f)+;  flows without a sample pass        [pan03]
//! 160 times a second:
//!   m_fair <- m_fair + alpha (q(t-1) - q_target) - beta (q(t) - q_target)                 [pan03]
//! ```
//!
//! A flow at x times the fair share loses the fraction `1 - 1/x` and keeps the fair share.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of the queue; its unit applies to the queue and the sample |
//! | `buffer` (`b`) | b | packets | 1000 | length of the shadow buffer; too short: rates are noisy |
//! | `sampling` (`s`) | s | packets | 5 | one arrival in `s` is sampled; b s packets should be a few round-trip times of traffic: fewer are noisy, more react slowly |
//! | `q_target` (`q_ref`) | `q_target` | queue length | `limit`/5 | target queue length |
//! | `alpha` | alpha | 1 | 1.7 | gain on the previous queue; below `beta` |
//! | `beta` | beta | 1 | 1.8 | gain on the current queue; `beta - alpha` sets how fast an offset is removed |
//! | `interval` | | time | 6.25ms | time between updates of `m_fair` |
//! | `replace` | | | `"random"` | the entry that a new sample replaces: `"random"` or the `"oldest"` |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them |
//! | `flow` | | | connection | which packets form a flow: those of one `connection`, between two `hosts`, from one `source` or to one `destination` |
//!
//! ## Deviations
//!
//! 1. Counts are in packets if `limit` is in packets, in bytes if it is in bytes; only bytes are fair to
//!    flows with different packet sizes.
//! 2. `m_fair` is bounded by 0 and the whole sample (b packets, or b typical packets in bytes), its initial
//!    value; the paper does not bound it, and it would grow without limit while the link is idle. At 0
//!    every packet of a sampled flow is dropped.
//! 3. A Linux implementation samples one packet in 500, keeps 100 flows and treats the rest as slow; here
//!    the table holds every flow of the sample.
//! 4. Marking instead of dropping is an addition. Marks do not restrain unresponsive flows.
//!
//! ## Limits
//!
//! The sample limits fairness: rates below about one packet in b s are not seen, and the estimate for a
//! flow with m samples has a relative error of about `1/sqrt(m)`. A new fast flow passes until it is
//! sampled. The delay is controlled towards the target and bounded by `limit`. State: b samples and at most
//! b table entries. Per packet: one draw for sampling, one look-up, one draw for flows above the share.
//!
//! ## Evidence
//!
//! `tests/oracle/afd.rs` transcribes the law above literally, with equal decisions on random and bursty
//! traces; `tests/aqm/published_flows.rs` checks drop rates of 0, 1/2 and 3/4 for flows below, at twice and at
//! four times the fair share, with the queue at its target. Both fail with alpha and beta exchanged.
//!
//! ## References
//!
//! * pan03: R. Pan, L. Breslau, B. Prabhakar, S. Shenker, Approximate Fairness through Differential
//!   Dropping, ACM CCR 33(2), 2003.

use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Duration, FlowKey, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range, in_unit, usable_limit};
use crate::storage::FlowTable;
use crate::verdict::{Verdict, Why};

/// Which sample a new one replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replace {
    /// Any.
    #[default]
    Random,
    /// The oldest.
    Oldest,
}

/// The parameters of AFD as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Length of the shadow buffer.
    #[serde(alias = "b")]
    pub buffer: u32,
    /// One arrival in this many is sampled.
    #[serde(alias = "s")]
    pub sampling: f64,
    /// Target queue length; a fifth of `limit` if absent.
    #[serde(alias = "q_ref", skip_serializing_if = "Option::is_none")]
    pub q_target: Option<Amount>,
    /// Gain on the previous queue length.
    pub alpha: f64,
    /// Gain on the current queue length.
    pub beta: f64,
    /// Time between updates of the fair share.
    pub interval: Duration,
    /// Which sample a new one replaces.
    pub replace: Replace,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            buffer: 1000,
            sampling: 5.0,
            q_target: None,
            alpha: 1.7,
            beta: 1.8,
            interval: Duration::from_nanos(1_000_000_000 / 160),
            replace: Replace::Random,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("afd", Afd);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Afd::config(self, link)?;
        Ok(Params { q_target: Some(self.target()), ..self.clone() })
    }
}

impl Params {
    fn target(&self) -> Amount {
        self.q_target.unwrap_or(match self.limit {
            Amount::Packets(limit) => Amount::Packets(limit / 5.0),
            Amount::Bytes(limit) => Amount::Bytes(limit / 5),
        })
    }
}

/// AFD's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    buffer: usize,
    /// 1/s.
    sampled: f64,
    q_target: f64,
    alpha: f64,
    beta: f64,
    interval: Duration,
    replace: Replace,
    /// Upper bound of `m_fair`.
    most: f64,
    ecn: bool,
}

/// An arrival in the sample.
#[derive(Clone, Copy, Debug)]
struct Sample {
    flow: FlowKey,
    /// One, or its length in bytes.
    amount: u64,
}

/// AFD's state.
#[derive(Clone, Debug)]
pub struct Afd {
    shadow: Vec<Sample>,
    /// Index of the oldest sample, once the shadow buffer is full.
    oldest: usize,
    /// Bytes of each flow in the shadow buffer.
    table: FlowTable<u64>,
    m_fair: f64,
    last_queue: f64,
}

impl Afd {
    /// Adds an arrival to the sample.
    fn sample(&mut self, config: &Config, pkt: PacketView, rng: &mut Rng) {
        let amount = match config.limit.unit() {
            Counting::Packets => 1,
            Counting::Bytes => u64::from(pkt.len),
        };
        let sample = Sample { flow: pkt.flow, amount };
        if self.shadow.len() < config.buffer {
            self.shadow.push(sample);
        } else {
            let place = match config.replace {
                Replace::Random => rng.below(self.shadow.len() as u64) as usize,
                Replace::Oldest => self.oldest,
            };
            self.oldest = (self.oldest + 1) % self.shadow.len();
            let gone = std::mem::replace(&mut self.shadow[place], sample);
            self.table.change(gone.flow, |m| {
                *m -= gone.amount;
                *m > 0
            });
        }
        *self.table.or_default(pkt.flow) += amount;
    }

    /// `m_fair` after an update with the queue length `q`.
    fn next_share(&self, config: &Config, q: f64) -> f64 {
        let change = config.alpha * (self.last_queue - config.q_target) - config.beta * (q - config.q_target);
        (self.m_fair + change).clamp(0.0, config.most)
    }

    /// `D_f`.
    fn excess(&self, flow: FlowKey) -> f64 {
        self.table.get(flow).map_or(0.0, |&m| 1.0 - self.m_fair / m as f64)
    }
}

impl Aqm for Afd {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let unit = params.limit.unit();
        in_range("buffer", params.buffer.into(), 1.0, 1e7)?;
        in_range("sampling", params.sampling, 1.0, f64::INFINITY)?;
        in_range("alpha", params.alpha, 0.0, f64::MAX)?;
        in_range("beta", params.beta, params.alpha, f64::MAX).map_err(|e| e.cite("Pan et al. 2003: alpha < beta"))?;
        let q_target = in_unit("q_target", params.target(), unit)?;
        in_range("q_target", q_target, 0.0, params.limit.value())?;
        at_least("interval", params.interval, SHORTEST_PERIOD)?;
        let typical = if unit == Counting::Bytes { link.mean_packet.as_f64() } else { 1.0 };
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            buffer: params.buffer as usize,
            sampled: 1.0 / params.sampling,
            q_target,
            alpha: params.alpha,
            beta: params.beta,
            interval: params.interval,
            replace: params.replace,
            most: f64::from(params.buffer) * typical,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(config: &Config, _now: Instant) -> Self {
        Afd { shadow: Vec::new(), oldest: 0, table: FlowTable::default(), m_fair: config.most, last_queue: 0.0 }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if env.rng.chance(config.sampled) {
            self.sample(config, pkt, env.rng);
        }
        if queue.full {
            Verdict::Drop(Why::Overflow)
        } else if env.rng.chance(self.excess(pkt.flow)) {
            pkt.signal(config.ecn, Why::Unfair)
        } else {
            Verdict::Pass
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.interval)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, _now: Instant) {
        let q = queue.length(config.limit.unit());
        self.m_fair = self.next_share(config, q);
        self.last_queue = q;
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, _first: Instant, _ticks: u64) -> bool {
        let q = queue.length(config.limit.unit());
        self.last_queue == q && self.next_share(config, q) == self.m_fair
    }

    /// A sample of another length or unit starts afresh.
    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        if old.buffer != new.buffer || old.limit.unit() != new.limit.unit() {
            *self = Afd::new(new, now);
        }
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("m_fair", self.m_fair);
        out("flows", self.table.len() as f64);
    }
}
