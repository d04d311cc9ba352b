//! # BLUE: a drop probability moved by overflow and by idleness
//!
//! Does not use the queue length: overflow shows that too few packets are dropped, an idle link that too
//! many are. One probability adapts to the rate at which sources must be notified.
//!
//! ## Law
//!
//! ```text
//! on overflow (or queue > L):  if now - last_update > freeze:  p_m <- min(p_m + d1, 1), last_update = now
//! on an idle link:             if now - last_update > freeze:  p_m <- max(p_m - d2, 0), last_update = now
//! each arrival is marked or dropped with p_m                                             [feng99]
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of the queue; too small: bursts count as overload |
//! | `d1` (`increment`) | d1 | 1 | 0.0025 | step up; should be much larger than `d2`, because overload costs more than idleness |
//! | `d2` (`decrement`) | d2 | 1 | 0.00025 | step down; too large: the probability oscillates |
//! | `freeze` (`freeze_time`, `hold_time`) | `freeze_time` | time | 100ms | minimum time between steps; below the round-trip time it steps again before the sources can respond |
//! | `trigger` | L | queue length | none | a queue above this also steps up, which leaves room for bursts |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//!
//! ## Deviations
//!
//! 1. The algorithm has one event per idle period. Here a link that stays idle steps down after every
//!    `freeze`, computed at the end of the idle period, so the result does not depend on how often an idle
//!    link polls the queue. ALTQ steps once when the next packet arrives, and resets the probability after
//!    a second.
//! 2. The first step is not delayed by `freeze`.
//! 3. The "packet loss" of the algorithm is overflow only: BLUE's own drops do not step the probability.
//! 4. ALTQ steps up by an eighth and down by a thousandth of full scale, with 50 ms; some ports step down
//!    at each departure, or drop where they should mark. The defaults are one of the parameter pairs of the
//!    paper.
//!
//! ## Limits
//!
//! The delay has no bound below `limit`: without `trigger` the queue must overflow for the probability to
//! rise. Flows are not distinguished, so an unresponsive flow raises the probability for all. State: a
//! probability and two times. Per packet: one draw.
//!
//! ## Evidence
//!
//! `tests/oracle/blue.rs` transcribes the algorithm with these readings literally, with equal decisions on
//! random and bursty traces; `tests/aqm/worked_flows.rs` checks the steps by hand, `tests/aqm/published_flows.rs`
//! that the probability settles where the load matches the link. They fail if a step may follow after
//! exactly `freeze`, if L is ignored, or if an arrival does not end the idle period.
//!
//! ## References
//!
//! * feng99: W. Feng, D. Kandlur, D. Saha, K. Shin, BLUE: A New Class of Active Queue Management
//!   Algorithms, University of Michigan CSE-TR-387-99, 1999.

use aqmkit_base::{Amount, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::verdict::{Verdict, Why};

/// The parameters of BLUE as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Step of the probability on overflow.
    #[serde(alias = "increment")]
    pub d1: f64,
    /// Step of the probability on an idle link.
    #[serde(alias = "decrement")]
    pub d2: f64,
    /// Minimum time between two steps.
    #[serde(alias = "freeze_time", alias = "hold_time")]
    pub freeze: Duration,
    /// A queue longer than this counts as an overflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Amount>,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            d1: 0.0025,
            d2: 0.00025,
            freeze: Duration::from_millis(100),
            trigger: None,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("blue", Blue);

    const THRESHOLDS: &'static [&'static str] = &["trigger"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Blue::config(self, link)
    }
}

/// BLUE's state.
#[derive(Clone, Debug)]
pub struct Blue {
    p_m: f64,
    last_update: Option<Instant>,
    /// Whether the link has gone idle since the last arrival.
    idle: bool,
}

impl Blue {
    /// One step, unless the last one was too recent.
    fn step(&mut self, delta: f64, freeze: Duration, now: Instant) {
        if self.last_update.is_none_or(|last| now.since(last) > freeze) {
            self.p_m = (self.p_m + delta).clamp(0.0, 1.0);
            self.last_update = Some(now);
        }
    }

    /// Makes the decrements due while the link stays idle.
    fn while_idle(&mut self, config: &Params, now: Instant) {
        if let Some(last) = self.last_update.filter(|_| self.idle) {
            let steps = now.since(last).whole(config.freeze);
            self.p_m = (self.p_m - steps as f64 * config.d2).max(0.0);
            self.last_update = Some(last + config.freeze * steps);
        }
    }
}

impl Aqm for Blue {
    type Params = Params;
    type Config = Params;

    fn config(params: &Params, _link: &Link) -> Result<Params, ParamError> {
        usable_limit("limit", params.limit)?;
        in_range("d1", params.d1, 0.0, 1.0)?;
        in_range("d2", params.d2, 0.0, 1.0)?;
        if let Some(trigger) = params.trigger {
            let trigger = in_unit("trigger", trigger, params.limit.unit())?;
            in_range("trigger", trigger, 0.0, params.limit.value()).map_err(|e| e.cite("Feng et al. 1999: L"))?;
        }
        Ok(params.clone())
    }

    fn limit(config: &Params) -> Amount {
        config.limit
    }

    fn new(_config: &Params, _now: Instant) -> Self {
        Blue { p_m: 0.0, last_update: None, idle: false }
    }

    fn on_arrival(&mut self, config: &Params, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.while_idle(config, env.now);
        self.idle = false;
        let long = config.trigger.is_some_and(|l| queue.length(l.unit()) > l.value());
        if queue.full || long {
            self.step(config.d1, config.freeze, env.now);
        }
        if queue.full {
            Verdict::Drop(Why::Overflow)
        } else if env.rng.uniform() < self.p_m {
            pkt.signal(config.ecn, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_empty(&mut self, config: &Params, now: Instant) {
        self.while_idle(config, now);
        if !self.idle {
            self.idle = true;
            self.step(-config.d2, config.freeze, now);
        }
    }

    fn probe(&self, _config: &Params, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.p_m);
    }
}
