//! # REM: random exponential marking
//!
//! Computes a price of the link that rises while arrivals exceed the capacity or the queue exceeds its
//! target, and marks or drops with a probability exponential in the price. Along a path the probabilities
//! combine to that of the sum of the prices, the signal intended for sources.
//!
//! ## Law
//!
//! ```text
//! every `interval`:  mu <- max(0, mu + gamma (alpha (q - target) + x - c))      [athuraliya01]
//!                    x <- (1 - weight) x + weight count, count <- 0
//! price = "backlog": mu <- max(0, mu + gamma (q - (1 - alpha) q_old - alpha target))   [athuraliya01]
//! probability:       p = 1 - phi^-mu                                            [athuraliya01]
//! arrival:           count it;  queue full: drop;  else drop or mark with p
//! ```
//!
//! `count` is the number of arrivals in the interval, including drops, and `c` the capacity per interval,
//! both in typical packets. `x` is updated before `mu`. While the queue is neither empty nor full it
//! changes by `x - c`, and the two forms of the price differ only in whether they use the current or the
//! previous queue.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | buffer | queue length | 240 | capacity of the queue, in packets or bytes |
//! | `target` (`pbo`) | b* | queue length | 20 | target queue length, in the unit of `limit` |
//! | `gamma` | γ | 1 | 0.001 | step of the price; too large: oscillation, too small: the queue fills before the price changes |
//! | `alpha` | α | 1 | 0.1 | weight of the queue relative to the rate: small values favour utilisation, large values a short queue |
//! | `phi` | φ | 1 | 1.001 | base of the probability; above 1 |
//! | `interval` (`pupdtime`) | | time | 2ms | time between updates of the price, at least 100us; gamma depends on it |
//! | `weight` (`inw`) | | 1 | 1 | weight of the newest interval in the rate x; 1 means no smoothing |
//! | `price` | | | `"rate"` | `"rate"`: counts arrivals; `"backlog"`: needs only the queue |
//! | `avpkt` (`pktsize`) | | size | the link's mean | typical packet size: unit of the price |
//! | `byte_mode` (`bytemode`) | | | false | count bytes over `avpkt` instead of packets, and scale p with the packet's size |
//! | `ecn` (`markpkts`) | | | false | mark ECN-capable packets instead of dropping them |
//! | `mark_at` | | | `"arrival"` | when to mark: on `"arrival"`, or on `"departure"` as in ns-2; drops are always on arrival |
//!
//! ## Deviations
//!
//! 1. The defaults are ns-2's, whose α is a constant; the comparison of 2003 used them with targets 24 and 240.
//! 2. ns-2 decides marks at departure and drops on arrival: `mark_at = "departure"`. It does not scale the
//!    probability by size when marking; byte mode does both here.
//! 3. With `limit` in bytes the queue is counted in bytes over `avpkt`, whatever `byte_mode`.
//!
//! ## Limits
//!
//! The queue settles at the target only if sources treat marks as prices; with TCP the price for a given p
//! is large, so it adapts slowly to a change of load. Under unresponsive overload the price grows without
//! bound, and takes as long to fall again. State: four numbers. Per packet: one draw; per interval one
//! `pow`.
//!
//! ## Evidence
//!
//! `tests/oracle/rem.rs` transcribes the law literally, with equal decisions on random and bursty traces.
//! `tests/aqm/worked_control.rs` checks the price by hand, the agreement of its two forms, and that prices add
//! along a path.
//!
//! ## References
//!
//! * athuraliya01: S. Athuraliya, V. Li, S. Low, Q. Yin, REM: Active Queue Management, IEEE Network 15(3), 2001.
//! * le03: L. Le, J. Aikat, K. Jeffay, F. Smith, The Effects of Active Queue Management on Web Performance,
//!   SIGCOMM 2003.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::ewma::Ewma;
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, SHORTEST_PERIOD, at_least, in_range, in_unit, usable_limit};
use crate::timer::unmoved;
use crate::verdict::{Verdict, Why};

/// The terms of the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Price {
    /// The mismatch of arrival rate and link rate, and the queue.
    #[default]
    Rate,
    /// The queue and its change.
    Backlog,
}

/// When marks are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkAt {
    /// As the packet arrives.
    #[default]
    Arrival,
    /// As it leaves.
    Departure,
}

/// The parameters of REM as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Target queue length.
    #[serde(alias = "pbo")]
    pub target: Amount,
    /// Step of the price.
    pub gamma: f64,
    /// Weight of the queue relative to the rate.
    pub alpha: f64,
    /// Base of the probability.
    pub phi: f64,
    /// Time between updates of the price.
    #[serde(alias = "pupdtime")]
    pub interval: Duration,
    /// Weight of the newest interval in the rate.
    #[serde(alias = "inw")]
    pub weight: f64,
    /// The terms of the price.
    pub price: Price,
    /// Size of a typical packet; the link's if absent.
    #[serde(alias = "pktsize", skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether bytes are counted, and the probability is proportional to the packet's size.
    #[serde(alias = "bytemode")]
    pub byte_mode: bool,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(alias = "markpkts")]
    pub ecn: bool,
    /// When marks are decided.
    pub mark_at: MarkAt,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(240.0),
            target: Amount::Packets(20.0),
            gamma: 0.001,
            alpha: 0.1,
            phi: 1.001,
            interval: Duration::from_millis(2),
            weight: 1.0,
            price: Price::Rate,
            avpkt: None,
            byte_mode: false,
            ecn: false,
            mark_at: MarkAt::Arrival,
        }
    }
}

impl Discipline for Params {
    discipline!("rem", Rem);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Rem::config(self, link)?;
        Ok(Params { avpkt: Some(link.avpkt(self.avpkt)?), ..self.clone() })
    }
}

/// REM's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    params: Params,
    /// In packets.
    target: f64,
    mean_packet: f64,
    /// Packets in one unit of `limit`.
    unit: f64,
    /// Packets that the link sends in an interval.
    capacity: f64,
}

/// REM's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Rem {
    price: f64,
    /// `1 - phi^-price`.
    p: f64,
    /// Packets that have arrived in this interval.
    count: f64,
    rate: Ewma,
    q_old: f64,
}

impl Rem {
    fn probability(&self, config: &Config, pkt: PacketView) -> f64 {
        if config.params.byte_mode { self.p * f64::from(pkt.len) / config.mean_packet } else { self.p }
    }
}

impl Aqm for Rem {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let target = in_unit("target", params.target, params.limit.unit())?;
        in_range("target", target, 0.0, f64::INFINITY)?;
        in_range("gamma", params.gamma, 0.0, 1e6)?;
        in_range("alpha", params.alpha, 0.0, 1.0)?;
        in_range("phi", params.phi, 1.0 + f64::EPSILON, 1e6)
            .map_err(|_| ParamError::new("phi", params.phi, "it must be above 1").cite("Athuraliya et al. 2001"))?;
        in_range("weight", params.weight, f64::MIN_POSITIVE, 1.0)?;
        at_least("interval", params.interval, SHORTEST_PERIOD)?;
        let mean_packet = link.avpkt(params.avpkt)?;
        usable_limit("limit", params.limit)?;
        let unit = match params.limit {
            Amount::Packets(_) => 1.0,
            Amount::Bytes(_) => 1.0 / mean_packet.as_f64(),
        };
        Ok(Config {
            params: params.clone(),
            target: target * unit,
            mean_packet: mean_packet.as_f64(),
            unit,
            capacity: link.packets_per_sec(mean_packet) * params.interval.as_secs_f64(),
        })
    }

    fn limit(config: &Config) -> Amount {
        config.params.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        Rem { price: 0.0, p: 0.0, count: 0.0, rate: Ewma::default(), q_old: 0.0 }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        self.count += if config.params.byte_mode { f64::from(pkt.len) / config.mean_packet } else { 1.0 };
        if queue.full {
            return Verdict::Drop(Why::Overflow);
        }
        let later = config.params.mark_at == MarkAt::Departure && config.params.ecn && pkt.ecn.is_capable();
        if !later && env.rng.uniform() < self.probability(config, pkt) {
            pkt.signal(config.params.ecn, Why::Early)
        } else {
            Verdict::Pass
        }
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let here = config.params.mark_at == MarkAt::Departure && config.params.ecn && pkt.ecn.is_capable();
        if here && env.rng.uniform() < self.probability(config, pkt) {
            Verdict::Mark(Why::Early)
        } else {
            Verdict::Pass
        }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.params.interval)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, _now: Instant) {
        let params = &config.params;
        let q = queue.length(params.limit.unit()) * config.unit;
        self.rate.sample(params.weight, self.count);
        self.count = 0.0;
        let excess = match params.price {
            Price::Rate => params.alpha * (q - config.target) + self.rate.get() - config.capacity,
            Price::Backlog => q - (1.0 - params.alpha) * self.q_old - params.alpha * config.target,
        };
        self.q_old = q;
        self.price = (self.price + params.gamma * excess).max(0.0);
        self.p = 1.0 - libm::pow(params.phi, -self.price);
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        unmoved(self, config, queue, first)
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("price", self.price);
        out("p", self.p);
    }
}
