//! # PIE: proportional integral controller enhanced
//!
//! Keeps the queuing delay at `target` by random drops on arrival. Every `tupdate` a proportional-integral
//! controller adjusts the drop probability by the distance of the delay from the target and by the change
//! of the delay. Bursts shorter than `max_burst` after an idle period pass.
//!
//! ## Law
//!
//! Every `tupdate`, with `qdelay` the delay now and `qdelay_old` that of the last update:
//!
//! ```text
//! p = alpha (qdelay - target) + beta (qdelay - qdelay_old)                        [rfc8033 sec 4.2]
//! drop_prob   < 1e-6   < 1e-5   < 1e-4   < 1e-3   < 0.01   < 0.1   else
//! p is over    2048      512      128       32        8       2      1
//! p <= 0.02 where drop_prob >= 0.1                       (`cap`)                  [rfc8033 sec 5.5]
//! drop_prob <- min(max(drop_prob + p, 0), 1); * 0.98 where the congestion is over (`decay`)
//! burst_allowance <- max(burst_allowance - tupdate, 0);  qdelay_old <- qdelay
//! ```
//!
//! On arrival, with `backlog` the bytes waiting:
//!
//! ```text
//! drop_prob = 0, qdelay < target/2, qdelay_old < target/2:  burst_allowance = max_burst
//! let through when burst_allowance > 0, or qdelay_old < target/2 and drop_prob < 0.2,
//!             or backlog <= 2 avpkt
//! accu_prob += drop_prob; let through below 0.85, drop from 8.5, else by chance   [rfc8033 sec 5.4]
//! ```
//!
//! `qdelay` is the sojourn time of the last departed packet, or zero if the queue is empty; with
//! `dq_rate_estimator` it is `backlog` over the departure rate, measured over `dq_threshold` bytes [rfc8033
//! sec 5.2].
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | `TAIL_DROP` | queue length | 1000 | capacity of the queue |
//! | `target` | `QDELAY_REF` | time | 15ms | target delay |
//! | `tupdate` | `T_UPDATE` | time | 15ms | time between updates; if halved, halve `alpha` |
//! | `alpha` | alpha | 1/s | 0.125 | weight of the error; too large: the queue oscillates. `tc` writes it times 16 (2), from 0 to 32 |
//! | `beta` | beta | 1/s | 1.25 | weight of the change. `tc` writes it times 16 (20) |
//! | `max_burst` | `MAX_BURST` | time | 150ms | burst allowance: no drops for this long after an idle period |
//! | `ecn` | | | false | mark ECN-capable packets while `drop_prob` is below `ecn_prob` |
//! | `ecn_prob` (`mark_ecnth`) | `MAX_ECNTH` | 1 | 0.1 | `tc` writes it in percent (10) |
//! | `bytemode` (`byte_mode`) | | | false | drop in proportion to a packet's size over `avpkt` |
//! | `avpkt` | `MEAN_PKTSIZE` | size | the link's mean | no drop if at most two of these wait |
//! | `derandomize` | | | true | space drops with `accu_prob`; without it each packet is dropped with `drop_prob` |
//! | `cap` | | | true | limit increments to 0.02 |
//! | `decay` | | | idle | when `drop_prob` decays: `idle`, both delays zero (RFC appendix A, `tc`); `low`, both below half the target (appendix B) |
//! | `active_from` | | queue length | | inactive until this much waits, and again once delays and `drop_prob` are zero; appendix B: a third of `limit` |
//! | `dq_rate_estimator` | | | false | estimate the delay from the rate of departures instead of time stamps |
//! | `dq_threshold` | `DQ_THRESHOLD` | size | 16kb | bytes over which that rate is measured, and minimum backlog for a measurement |
//!
//! ## Deviations
//!
//! 1. `derandomize` and `cap` are optional in the RFC (sections 5.4 and 5.5); they are on as in `tc`.
//! 2. In appendix A `qdelay` keeps its value while the queue is empty, and `drop_prob` would grow; here an
//!    empty queue has zero delay, as in `tc`.
//! 3. `tc` adds 0.02 at each update with a delay above 250 ms; the RFC and this implementation do not.
//! 4. A mark resets `accu_prob` as a drop does; without it all packets would be marked from 8.5 on, until
//!    one that cannot be marked is dropped.
//! 5. `accu_prob` does not grow while the burst allowance lasts.
//! 6. With `active_from`, PIE becomes inactive at an update, and only with less than that waiting: right
//!    after activation all values in the test are zero.
//! 7. In byte mode a packet larger than `avpkt` is dropped more often, at most with certainty; `tc` scales
//!    only packets below the MTU.
//! 8. Before a drop, `tc` compares the current delay with half the target, and may drop at a queue of
//!    exactly two MTU; the RFC and this implementation use the delay of the last update and do not drop at
//!    such a queue. `tc` decays `drop_prob` by 1/64 and reduces the burst allowance on departures, not at
//!    updates.
//! 9. The period is exact. Linux rounds it to its timer: with HZ = 250, `tupdate` 15 ms is 20 ms (four jiffies, and the timer wheel adds one), so
//!    that `drop_prob` moves a quarter more slowly there; the effect on the delay is small.
//!
//! ## Limits
//!
//! There is no fairness: a burst of one flow delays all. Until `drop_prob` has grown (seconds, starting
//! from zero) only `limit` bounds the delay. With time stamps the delay of a stopped link is not seen.
//! Unresponsive traffic has the same drop probability as other traffic. State: about a hundred bytes. Per
//! packet: some comparisons, a draw from 0.85 on; per update, ten operations.
//!
//! ## Evidence
//!
//! `tests/oracle/pie.rs` transcribes appendix A with the optional parts of section 5 literally, with equal
//! decisions on random and bursty traces. `tests/aqm/closed_forms.rs` checks the bounds on the gaps between
//! drops, which the rule without `accu_prob` violates; `tests/aqm/worked.rs` checks three updates by hand.
//!
//! ## References
//!
//! * pan13: R. Pan et al., PIE: A Lightweight Control Scheme to Address the Bufferbloat Problem, HPSR 2013.
//! * rfc8033: R. Pan, P. Natarajan, F. Baker, G. White, Proportional Integral Controller Enhanced (PIE), 2017.

use aqmkit_base::{Amount, Duration, Instant, Rng};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::dq_rate::DqRate;
use crate::law::pi::{PROB_HIGH, PROB_LOW, PiController, auto_tune};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range, in_unit, positive_time, usable_limit};
use crate::timer::unmoved;
use crate::verdict::{Verdict, Why};

/// When the drop probability decays by 2 % per update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// At two updates in a row without delay.
    #[default]
    Idle,
    /// At two updates in a row with a delay below half the target.
    Low,
}

/// Defines the `Params` of a discipline that contains PIE: its own fields, and those that all of them share.
macro_rules! params_with_pie {
    ($(#[$about:meta])* { $($own:tt)* } $(active_from { $($active_from:tt)* })?) => {
        $crate::params::params! {
            $(#[$about])*
            {
                $($own)*
                /// Target queue delay.
                target: aqmkit_base::Duration = aqmkit_base::Duration::from_millis(15),
                /// Time between updates of the drop probability.
                tupdate: aqmkit_base::Duration = aqmkit_base::Duration::from_millis(15),
                /// Gain on the difference from `target`, per second.
                alpha: f64 = 0.125,
                /// Gain on the change since the last update, per second.
                beta: f64 = 1.25,
                /// No early drops for this long after an idle period.
                max_burst: aqmkit_base::Duration = aqmkit_base::Duration::from_millis(150),
                /// Marks ECN-capable packets instead of dropping them, up to `ecn_prob`.
                ecn: bool = false,
                /// From this drop probability on, ECN-capable packets are dropped too.
                #[serde(alias = "mark_ecnth")]
                ecn_prob: f64 = 0.1,
                /// Scales the probability with the packet's size.
                #[serde(alias = "byte_mode")]
                bytemode: bool = false,
                /// Size of a typical packet; the link's if absent.
                #[serde(skip_serializing_if = "Option::is_none")]
                avpkt: Option<aqmkit_base::Bytes> = None,
                /// Spaces drops more evenly than independent draws would.
                derandomize: bool = true,
                /// Bounds each increase of a probability above 0.1 to 0.02.
                cap: bool = true,
                /// When the drop probability decays.
                decay: $crate::disciplines::pie::Decay = $crate::disciplines::pie::Decay::Idle,
                $($($active_from)*)?
                /// Estimates the delay from the departure rate instead of timestamps.
                dq_rate_estimator: bool = false,
                /// Bytes per measurement of the departure rate.
                dq_threshold: aqmkit_base::Bytes = aqmkit_base::Bytes(16_384),
            }
        }
    };
}
pub(crate) use params_with_pie;

params_with_pie! {
    /// The parameters of PIE as a user writes them.
    {
        /// Capacity of the queue.
        limit: Amount = Amount::Packets(1000.0),
    }
    active_from {
        /// Queue length at which PIE becomes active; always active if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        active_from: Option<Amount> = None,
    }
}

impl Discipline for Params {
    discipline!("pie", Pie);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Pie::config(self, link).map(|config| config.params)
    }
}

/// PIE's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    params: Params,
    law: PiController,
    mean_packet: f64,
}

/// PIE's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Pie {
    active: bool,
    drop_prob: f64,
    accu_prob: f64,
    qdelay: Duration,
    qdelay_old: Duration,
    burst_allowance: Duration,
    rate: DqRate,
}

impl Pie {
    /// A fresh state, with the whole burst allowance.
    fn start(config: &Config, active: bool) -> Self {
        Pie {
            active,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            burst_allowance: config.params.max_burst,
            rate: DqRate::default(),
        }
    }

    fn low(&self, config: &Config) -> bool {
        let half = config.params.target / 2;
        self.qdelay < half && self.qdelay_old < half
    }

    /// `drop_early` of the RFC.
    fn drop_early(&mut self, config: &Config, pkt: PacketView, queue: QueueView, rng: &mut Rng) -> bool {
        let calm = self.qdelay_old < config.params.target / 2 && self.drop_prob < 0.2;
        if calm || queue.bytes as f64 <= 2.0 * config.mean_packet {
            return false;
        }
        let scale = if config.params.bytemode { f64::from(pkt.len) / config.mean_packet } else { 1.0 };
        let p = (self.drop_prob * scale).min(1.0);
        if !config.params.derandomize {
            return rng.uniform() < p;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += p;
        self.accu_prob >= PROB_LOW && (self.accu_prob >= PROB_HIGH || rng.uniform() < p)
    }

    /// `calculate_drop_prob` of the RFC.
    fn update_drop_prob(&mut self, config: &Config) {
        let step = config.law.step(self.qdelay, self.qdelay_old, config.params.target);
        let mut p = step * auto_tune(self.drop_prob);
        if config.params.cap && self.drop_prob >= 0.1 {
            p = p.min(0.02);
        }
        self.drop_prob += p;
        let over = match config.params.decay {
            Decay::Idle => self.qdelay.is_zero() && self.qdelay_old.is_zero(),
            Decay::Low => self.low(config),
        };
        if over {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
    }

    fn measure_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        if config.params.dq_rate_estimator {
            self.rate.on_departure(config.params.dq_threshold, u64::from(pkt.len), queue.bytes, now);
        } else {
            self.qdelay = if queue.packets == 0 { Duration::ZERO } else { pkt.sojourn };
        }
    }
}

impl Aqm for Pie {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let source = "RFC 8033, section 4.2; tc's numbers are 16 times as large";
        for (field, gain) in [("alpha", params.alpha), ("beta", params.beta)] {
            in_range(field, gain, 0.0, 2.0).map_err(|e| e.cite(source))?;
        }
        usable_limit("limit", params.limit)?;
        positive_time("target", params.target)?;
        at_least("tupdate", params.tupdate, SHORTEST_PERIOD)?;
        in_range("ecn_prob", params.ecn_prob, 0.0, 1.0).map_err(|e| e.cite("a probability; tc's is in percent"))?;
        in_range("dq_threshold", params.dq_threshold.as_f64(), 1.0, 65_536.0)
            .map_err(|e| e.cite("RFC 8033, section 5.2: its weight is dq_threshold / 2^16"))?;
        if let Some(length) = params.active_from {
            in_unit("active_from", length, params.limit.unit())?;
        }
        let mean_packet = link.avpkt(params.avpkt)?;
        Ok(Config {
            params: Params { avpkt: Some(mean_packet), ..params.clone() },
            law: PiController { alpha_hz: params.alpha, beta_hz: params.beta },
            mean_packet: mean_packet.as_f64(),
        })
    }

    fn limit(config: &Config) -> Amount {
        config.params.limit
    }

    fn new(config: &Config, _now: Instant) -> Self {
        Pie::start(config, config.params.active_from.is_none())
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            self.accu_prob = 0.0;
            return Verdict::Drop(Why::Overflow);
        }
        if self.drop_prob == 0.0 && self.low(config) {
            self.burst_allowance = config.params.max_burst;
        }
        if self.active && self.burst_allowance.is_zero() && self.drop_early(config, pkt, queue, env.rng) {
            self.accu_prob = 0.0;
            return pkt.signal(config.params.ecn && self.drop_prob < config.params.ecn_prob, Why::Early);
        }
        if !self.active && config.params.active_from.is_some_and(|from| reaches(with(pkt, queue), from)) {
            *self = Pie::start(config, true);
        }
        Verdict::Pass
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.measure_departure(config, pkt, queue, env.now);
        Verdict::Pass
    }

    fn on_discard(&mut self, _config: &Config, _pkt: PacketView, queue: QueueView, _now: Instant) {
        if queue.packets == 0 {
            self.qdelay = Duration::ZERO;
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.params.tupdate)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, _now: Instant) {
        if !self.active {
            return;
        }
        if config.params.dq_rate_estimator {
            self.qdelay = self.rate.delay(config.params.dq_threshold, queue.bytes);
        }
        self.update_drop_prob(config);
        let idle = self.drop_prob == 0.0 && self.qdelay.is_zero() && self.qdelay_old.is_zero();
        self.qdelay_old = self.qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(config.params.tupdate);
        self.active = !idle || config.params.active_from.is_none_or(|from| reaches(queue, from));
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        unmoved(self, config, queue, first)
    }

    /// Without a threshold it is always active.
    fn on_change(&mut self, _old: &Config, new: &Config, _now: Instant) -> Result<(), ParamError> {
        self.active |= new.params.active_from.is_none();
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.drop_prob);
        out("qdelay", self.qdelay.as_secs_f64());
        out("burst_allowance", self.burst_allowance.as_secs_f64());
    }
}

/// The queue once `pkt` is in it.
fn with(pkt: PacketView, queue: QueueView) -> QueueView {
    QueueView { packets: queue.packets + 1, bytes: queue.bytes + u64::from(pkt.len), ..queue }
}

fn reaches(queue: QueueView, from: Amount) -> bool {
    queue.length(from.unit()) >= from.value()
}

#[cfg(test)]
mod tests {
    use aqmkit_base::{BitRate, ClassId, Ecn, FlowKey};

    use super::*;

    /// RFC 8033, section 4.1: with a sum of 8.5 or more a packet is dropped whatever is drawn, below 0.85 none is, and between them each with the
    /// probability.
    #[test]
    fn a_sum_of_eight_and_a_half_is_a_drop() {
        let config =
            Pie::config(&Params::default(), &Link::new(BitRate::from_mbps(10))).unwrap_or_else(|e| panic!("{e}"));
        let pkt =
            PacketView { flow: FlowKey(1), sojourn: Duration::ZERO, len: 1000, class: ClassId(0), ecn: Ecn::NotEct };
        let queue = QueueView { packets: 50, bytes: 50_000, full: false };
        let drops = |before: f64| {
            let drop = |seed| {
                let mut pie = Pie::start(&config, true);
                (pie.drop_prob, pie.accu_prob, pie.qdelay_old) = (0.5, before, Duration::from_secs(1));
                pie.drop_early(&config, pkt, queue, &mut Rng::stream(seed, "pie"))
            };
            (0..200).filter(|seed| drop(*seed)).count()
        };
        // A half more is added: 8.5, 8.25, 1 and 0.75.
        assert_eq!([8.0, 0.25].map(drops), [200, 0]);
        assert!([7.75, 0.5].map(drops).iter().all(|n| (70..130).contains(n)));
    }
}
