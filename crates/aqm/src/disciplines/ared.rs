//! # ARED: adaptive RED
//!
//! RED that derives its thresholds from a target delay and adapts `max_p` slowly, so that the average queue
//! stays midway between the thresholds at any load.
//!
//! ## Law
//!
//! RED's, always with the gentle ramp (see `red`), and
//!
//! ```text
//! every `interval`, with lo = min + 0.4 (max - min), hi = min + 0.6 (max - min):         [floyd01]
//!     avg > hi and max_p <= top:       max_p <- max_p + min(alpha, max_p / 4)
//!     avg < lo and max_p >= bottom:    max_p <- max_p beta
//! min    = max(5 packets, target_delay C / 2)                                   [floyd01]
//! max    = 3 min
//! weight = 1 - exp(-1 / (C time_constant))                                      [floyd01]
//! ```
//!
//! With `variant = "feng"`, Feng's self-configuring RED, `max_p` moves on arrivals instead, once each time the
//! average leaves the band: `max_p <- max_p / alpha` as it falls below `min`, `max_p beta` as it rises above
//! `max`, with alpha 3 and beta 2.                                               `[feng99]`
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 240 | capacity of the queue; its unit, packets or bytes, is also that of the average |
//! | `target_delay` (`targetdelay`) | | time | 5ms | sets `min`: the average settles at twice `min`, so at `C target_delay` |
//! | `min` | `th_min` | queue length | by `target_delay` | average below which nothing is dropped |
//! | `max` | `th_max` | queue length | 3 `min` | average from which the gentle ramp starts |
//! | `weight` | `w_q` | 1 | by `time_constant` | weight of the newest sample |
//! | `time_constant` | | time | 1s | time in which the average covers two thirds of a step of the queue; ten round trips are enough |
//! | `max_p` (`probability`) | `max_p` | 1 | 0.1 | initial `max_p` |
//! | `interval` | | time | 500ms | time between adaptations, at least 100us; shorter than a few round trips: `max_p` oscillates |
//! | `alpha` | α | 1 | 0.01 (Feng: 3) | largest increase of `max_p` per step (Feng: divisor of a decrease) |
//! | `beta` | β | 1 | 0.9 (Feng: 2) | factor of a decrease (Feng: of an increase) |
//! | `top` | | 1 | 0.5 | above it `max_p` rises no further |
//! | `bottom` | | 1 | 0.01 | below it `max_p` falls no further |
//! | `variant` | | | `"floyd"` | `"floyd"` or `"feng"` |
//! | `avpkt` | | size | the link's mean | typical packet size: C in packets per second, and the scale of byte mode |
//! | `byte_mode` (`bytemode`) | | | false | drop probability in proportion to the packet's size |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//! | `harddrop` | | | true | with `ecn`: drop even ECN-capable packets where the average is above `harddrop_from` |
//! | `harddrop_from` | | `max` | 2 | average, in multiples of `max`, from which `harddrop` drops: 1 to 2 |
//! | `wait` (`wait_`) | | | false | after a drop, no early drop for the next `1/p_b` packets, as in ns-2 (see RED): `top` is then reached under a third of the load |
//!
//! ## Deviations
//!
//! 1. The underlying RED is `red`, with its readings of Parris's figures.
//! 2. The average of an idle queue is decayed to the instant of adaptation, as in Linux; ns-2 adapts only
//!    on arrivals. The test against `top` and `bottom` precedes the change, so `max_p` may exceed them by
//!    one step.
//! 3. ns-2's automatic weights are time constants: its 0 is 1 s, its -2 is 100 ms, its -1 ten round trips; its
//!    automatic `bottom` is the lower of 0.01 and 80 kbit/s over the link's rate, its `top` the same 0.5.
//! 4. Linux's `red adaptive` has no automatic thresholds and no gentle ramp; its gains and bounds are the same. It
//!    is `red` with `adaptive = true` here.
//! 5. RFC 3168 (section 7) lets a router drop in place of marking above an upper threshold of the average, against senders that ignore marks. RED's
//!    upper threshold is `max`; with the gentle ramp, ns-2 (before its `mark_p_`) takes twice `max`. `harddrop_from` chooses.
//! 6. ns-2's RED waits between drops (`wait`), which `max_p` makes up for until it is at `top`: 4, 60 and 360 transfers with SACK at 10 Mbit/s,
//!    20 to 100 ms, `limit` 500, keep 7.6, 9.8 and 10.0 packets in the mean without it, 9.8, 10.0 and 16.1 with it.
//! 7. Feng's variant is also gentle here and bounded only by 1; its `max_p` is never 0, because it would
//!    stay there.
//!
//! ## Limits
//!
//! ARED controls the average, not the queue: bursts and oscillations within a second pass. It adapts over
//! tens of seconds. On a slow link `min` is five packets whatever the delay. State: that of RED and
//! `max_p`. Per packet: as RED.
//!
//! ## Evidence
//!
//! `tests/oracle/ared.rs` transcribes the law over a literal RED with the gentle ramp, for both variants,
//! with equal decisions on random and bursty traces; a band at 0.5 instead of 0.4 to 0.6 fails the test.
//! `tests/aqm/worked_control.rs` checks the automatic parameters and the steps of `max_p`.
//!
//! ## References
//!
//! * floyd01: S. Floyd, R. Gummadi, S. Shenker, Adaptive RED: An Algorithm for Increasing the Robustness of
//!   RED's Active Queue Management, 2001.
//! * feng99: W. Feng, D. Kandlur, D. Saha, K. Shin, A Self-Configuring RED Gateway, INFOCOM 1999.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::disciplines::red::{self, Red, RedParams};
use crate::law::adaptive::Adaptation;
use crate::law::ewma::AveragingParams;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range};
use crate::verdict::Verdict;

/// How `max_p` moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Floyd, Gummadi and Shenker: additive increase and multiplicative decrease, once per interval.
    #[default]
    Floyd,
    /// Feng: multiplicative in both directions, each time the average leaves the band.
    Feng,
}

/// The parameters of ARED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// The delay from which `min` is derived.
    #[serde(alias = "targetdelay")]
    pub target_delay: Duration,
    /// Average below which nothing is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average at which the gentle ramp starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Weight of the newest sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The time from which the weight is derived.
    pub time_constant: Duration,
    /// Where `max_p` starts.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Between adaptations.
    pub interval: Duration,
    /// Maximum increase of `max_p` per step; in Feng's variant, its divisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Decrease factor of `max_p`; in Feng's variant, its increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Above this `max_p` is not increased.
    pub top: f64,
    /// Below this `max_p` is not decreased.
    pub bottom: f64,
    /// How `max_p` moves.
    pub variant: Variant,
    /// Size of a typical packet; the link's if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the probability is proportional to the packet's size.
    #[serde(alias = "bytemode")]
    pub byte_mode: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
    /// Average, in multiples of `max`, at which `harddrop` starts to drop; 2 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harddrop_from: Option<f64>,
    /// As ns-2's `wait_`: whether drops are at least `1/p_b` packets apart.
    pub wait: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            target_delay: Duration::from_millis(5),
            min: None,
            max: None,
            weight: None,
            time_constant: Duration::from_secs(1),
            max_p: 0.1,
            interval: Duration::from_millis(500),
            alpha: None,
            beta: None,
            top: 0.5,
            bottom: 0.01,
            variant: Variant::Floyd,
            avpkt: None,
            byte_mode: false,
            ecn: false,
            harddrop: true,
            harddrop_from: None,
            wait: false,
        }
    }
}

impl Discipline for Params {
    discipline!("ared", Ared);

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let full = self.filled(link);
        Ared::config(&full, link)?;
        Ok(full)
    }
}

impl Params {
    /// The parameters with everything omitted derived.
    fn filled(&self, link: &Link) -> Params {
        let size = self.avpkt.unwrap_or(link.mean_packet);
        let capacity = link.packets_per_sec(size);
        let packets = (self.target_delay.as_secs_f64() * capacity / 2.0).max(5.0);
        let min = self.min.unwrap_or(match self.limit {
            Amount::Packets(_) => Amount::Packets(packets),
            Amount::Bytes(_) => Amount::Bytes((packets * size.as_f64() + 0.5) as u64),
        });
        let max = match min {
            Amount::Packets(min) => Amount::Packets(3.0 * min),
            Amount::Bytes(min) => Amount::Bytes(min.saturating_mul(3)),
        };
        let (alpha, beta) = match self.variant {
            Variant::Floyd => (0.01, 0.9),
            Variant::Feng => (3.0, 2.0),
        };
        let weight = -libm::expm1(-1.0 / (capacity * self.time_constant.as_secs_f64()));
        Params {
            min: Some(min),
            max: Some(self.max.unwrap_or(max)),
            weight: Some(self.weight.unwrap_or(weight)),
            alpha: Some(self.alpha.unwrap_or(alpha)),
            beta: Some(self.beta.unwrap_or(beta)),
            avpkt: Some(size),
            harddrop_from: Some(self.harddrop_from.unwrap_or(2.0)),
            ..self.clone()
        }
    }

    /// RED's part of complete parameters.
    #[must_use]
    pub fn red(&self) -> RedParams {
        RedParams {
            limit: self.limit,
            min: self.min,
            max: self.max,
            max_p: self.max_p,
            averaging: AveragingParams { weight: self.weight, avpkt: self.avpkt, ..AveragingParams::default() },
            gentle: true,
            byte_mode: self.byte_mode,
            ecn: self.ecn,
            harddrop: self.harddrop,
            nodrop: false,
        }
    }
}

/// ARED's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// With Floyd's adaptation, if selected.
    red: red::Config,
    /// Average below which nothing is marked.
    no_marks_from: f64,
    feng: Option<Crossings>,
}

/// Feng's factors: `max_p` is divided by the first below the band, and multiplied by the second above it.
#[derive(Clone, Copy, Debug)]
struct Crossings {
    alpha: f64,
    beta: f64,
}

/// On which side the average last left the band, in Feng's variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Above,
    Between,
    Below,
}

/// ARED's state.
#[derive(Clone, Debug)]
pub struct Ared {
    red: Red,
    status: Status,
}

impl Ared {
    /// Feng's adaptation, at every arrival.
    fn adapt_at_crossings(&mut self, rules: Crossings) {
        let avg = self.red.avg();
        let ramp = self.red.ramp();
        if ramp.min < avg && avg < ramp.max {
            self.status = Status::Between;
        } else if avg < ramp.min && self.status != Status::Below {
            self.status = Status::Below;
            ramp.max_p = (ramp.max_p / rules.alpha).max(f64::MIN_POSITIVE);
        } else if avg > ramp.max && self.status != Status::Above {
            self.status = Status::Above;
            ramp.max_p = (ramp.max_p * rules.beta).min(1.0);
        }
    }
}

impl Aqm for Ared {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        in_range("time_constant", params.time_constant.as_secs_f64(), 1e-6, f64::INFINITY)?;
        let full = params.filled(link);
        let (alpha, beta) = (full.alpha.unwrap_or(0.0), full.beta.unwrap_or(0.0));
        let (floyd, feng) = match params.variant {
            Variant::Floyd => {
                let Params { interval, top, bottom, .. } = full;
                (Some(Adaptation { interval, alpha, beta, top, bottom }.check()?), None)
            }
            Variant::Feng => {
                in_range("alpha", alpha, 1.0, 1e6)?;
                in_range("beta", beta, 1.0, 1e6)?;
                (None, Some(Crossings { alpha, beta }))
            }
        };
        let from = full.harddrop_from.unwrap_or(2.0);
        in_range("harddrop_from", from, 1.0, 2.0)?;
        let red = red::Config::new(&full.red(), link)?.adaptive(floyd).waiting(full.wait);
        let no_marks_from = if params.harddrop { from * red.ramp().max } else { f64::INFINITY };
        Ok(Config { no_marks_from, red, feng })
    }

    fn limit(config: &Config) -> Amount {
        Red::limit(&config.red)
    }

    fn new(config: &Config, now: Instant) -> Self {
        Ared { red: Red::new(&config.red, now), status: Status::Between }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.red.average(&config.red, queue, env.now);
        if let Some(rules) = config.feng {
            self.adapt_at_crossings(rules);
        }
        match self.red.decide(&config.red, pkt, queue, env) {
            Verdict::Mark(why) if self.red.avg() >= config.no_marks_from => Verdict::Drop(why),
            verdict => verdict,
        }
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.red.on_departure(&config.red, pkt, queue, env)
    }

    fn on_discard(&mut self, config: &Config, pkt: PacketView, queue: QueueView, now: Instant) {
        self.red.on_discard(&config.red, pkt, queue, now);
    }

    fn tick(config: &Config) -> Option<Duration> {
        Red::tick(&config.red)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, now: Instant) {
        self.red.on_tick(&config.red, queue, now);
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, ticks: u64) -> bool {
        self.red.skip_ticks(&config.red, queue, first, ticks)
    }

    fn on_change(&mut self, old: &Config, new: &Config, now: Instant) -> Result<(), ParamError> {
        self.red.change(&old.red, &new.red, now);
        Ok(())
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg", self.red.avg());
        out("max_p", self.red.max_p());
    }
}
