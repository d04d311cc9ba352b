//! # PI2: PI with a squared output
//!
//! A linear PI controller whose output `p'` marks Scalable traffic in proportion, and whose square drops or
//! marks Classic traffic. The square matches the window law of Classic flows, so constant gains work over
//! the whole range of load, and Scalable and Classic flows in the same queue get about equal rates.
//!
//! ## Law
//!
//! Every `tupdate`, with `qdelay` the delay now and `qdelay_old` that of the last update; on arrival:
//!
//! ```text
//! p' <- p' + alpha (qdelay - target) + beta (qdelay - qdelay_old),  0 <= p' <= max_p   [schepper16]
//! Classic (Not-ECT, ECT(0)):  drop or mark with p'^2: when max(Y1, Y2) < p'            [schepper16]
//! Scalable (ECT(1), CE):      mark with k p':         when Y < k p'                    [schepper16]
//! ```
//!
//! `Y` are uniform on 0 to 1. `qdelay` is the sojourn time of the last departed packet, or zero if the
//! queue is empty.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 1000 | capacity of the queue |
//! | `target` | tau0 | time | 20ms | target delay |
//! | `tupdate` | T | time | 32ms | time between updates; if halved, halve `alpha` |
//! | `alpha` | alpha | 1/s | 0.3125 | weight of the error; too large: the queue oscillates |
//! | `beta` | beta | 1/s | 3.125 | weight of the change |
//! | `k` (`coupling_factor`) | k | 1 | 2 | ratio of the Scalable marking probability to `p'`; too small: Scalable flows starve Classic flows |
//! | `max_p` | | 1 | 1 / k | the largest `p'`: with k = 2, Classic packets are dropped at most every fourth time |
//! | `ecn` | | | true | mark packets; without it every packet is Classic and dropped |
//!
//! ## Deviations
//!
//! 1. Packets are dropped or marked on arrival, as in the implementation that the paper measured (PIE
//!    without its heuristics); later implementations decide at the head.
//! 2. Gains and target are those of the authors' code: 80/256 and 800/256 for T = 32 ms.
//! 3. The delay is the sojourn time of the last packet, not an estimate from the departure rate.
//! 4. CE counts as Scalable, since it may have been ECT(1) (RFC 9331); Classic packets marked upstream are
//!    therefore marked as Scalable.
//! 5. `max_p` bounds the output as in RFC 9332: at this bound `p_C` is at most `1 / k^2`, and Scalable
//!    packets are all marked.
//!
//! ## Limits
//!
//! One queue: Scalable traffic has the Classic delay. There is no burst allowance and no fairness. At
//! `max_p` the controller saturates, and unresponsive traffic fills the queue up to `limit`. State: one
//! probability, two delays. Per packet: one or two draws.
//!
//! ## Evidence
//!
//! `tests/oracle/pi2.rs` transcribes the controller and both rules literally, with equal decisions on random and
//! bursty traces; `tests/aqm/closed_forms.rs` counts `p'^2` and `k p'`: one draw for Classic packets fails the test.
//!
//! ## References
//!
//! * schepper16: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, PI2: A Linearized AQM for both Classic and
//!   Scalable TCP, `CoNEXT` 2016.

use aqmkit_base::{Amount, Duration, Ecn, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::pi::PiController;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range, positive_time, usable_limit};
use crate::timer::unmoved;
use crate::verdict::{Verdict, Why};

/// The parameters of PI2 as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Target queue delay.
    pub target: Duration,
    /// Time between updates.
    pub tupdate: Duration,
    /// Gain on the difference from the target, per second.
    pub alpha: f64,
    /// Gain on the change since the last update, per second.
    pub beta: f64,
    /// Ratio of Scalable marks to the root of Classic drops.
    #[serde(alias = "coupling_factor")]
    pub k: f64,
    /// Maximum output of the controller; `1 / k` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_p: Option<f64>,
    /// Whether ECN-capable packets are marked.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(1000.0),
            target: Duration::from_millis(20),
            tupdate: Duration::from_millis(32),
            alpha: 0.3125,
            beta: 3.125,
            k: 2.0,
            max_p: None,
            ecn: true,
        }
    }
}

impl Discipline for Params {
    discipline!("pi2", Pi2);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let max_p = Some(Pi2::config(self, link)?.max_p);
        Ok(Params { max_p, ..self.clone() })
    }
}

/// PI2's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    target: Duration,
    tupdate: Duration,
    law: PiController,
    k: f64,
    max_p: f64,
    ecn: bool,
}

/// PI2's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Pi2 {
    /// The linear output, p'.
    p: f64,
    qdelay: Duration,
    qdelay_old: Duration,
}

impl Aqm for Pi2 {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        for (field, gain) in [("alpha", params.alpha), ("beta", params.beta)] {
            in_range(field, gain, 0.0, 1e6)?;
        }
        in_range("k", params.k, 1.0, 1e6).map_err(|e| e.cite("De Schepper et al. 2016"))?;
        let max_p = params.max_p.unwrap_or(1.0 / params.k);
        in_range("max_p", max_p, f64::MIN_POSITIVE, 1.0)?;
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            target: positive_time("target", params.target)?,
            tupdate: at_least("tupdate", params.tupdate, SHORTEST_PERIOD)?,
            law: PiController { alpha_hz: params.alpha, beta_hz: params.beta },
            k: params.k,
            max_p,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        Pi2 { p: 0.0, qdelay: Duration::ZERO, qdelay_old: Duration::ZERO }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            return Verdict::Drop(Why::Overflow);
        }
        let congested = if config.ecn && matches!(pkt.ecn, Ecn::Ect1 | Ecn::Ce) {
            env.rng.uniform() < config.k * self.p
        } else {
            // Both numbers are always drawn, so each Classic packet advances the random stream by two.
            env.rng.uniform().max(env.rng.uniform()) < self.p
        };
        if congested { pkt.signal(config.ecn, Why::Early) } else { Verdict::Pass }
    }

    fn on_departure(&mut self, _config: &Config, pkt: PacketView, queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        self.qdelay = if queue.packets == 0 { Duration::ZERO } else { pkt.sojourn };
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, _now: Instant) {
        if queue.packets == 0 {
            self.qdelay = Duration::ZERO;
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.tupdate)
    }

    fn on_tick(&mut self, config: &Config, _queue: QueueView, _now: Instant) {
        self.p = config.law.update(self.p, self.qdelay, self.qdelay_old, config.target).min(config.max_p);
        self.qdelay_old = self.qdelay;
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        unmoved(self, config, queue, first)
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.p);
        out("p_classic", self.p * self.p);
        out("p_scalable", (config.k * self.p).min(1.0));
    }
}
