//! # PI: a proportional-integral controller of the queue's length
//!
//! Samples the queue at a fixed rate and adjusts one probability so that the queue settles at a reference
//! length at any load. Control theory gives the gains from the number of flows, their round-trip time and
//! the link.
//!
//! ## Law
//!
//! ```text
//! every 1/w s:  p <- p + a (q - q_ref) - b (q_old - q_ref), kept from 0 to 1    [hollot01]
//!               q_old <- q
//! arrival:      queue full: drop;  else drop or mark with p
//! design:       w_g = 2 N / (R^2 C),  p_q = 1 / R                               [hollot01]
//!               K   = w_g |1 + j w_g / p_q| / ((R C)^3 / (2 N)^2)
//!               a   = K / w_g + K / (2 w),  b = K / w_g - K / (2 w)             bilinear transform
//! ```
//!
//! `q` is the instantaneous queue, `C` the link in packets per second, `N` the number of flows, `R` their
//! round-trip time. Sixty flows, 246 ms and 3750 packets/s give at 160 Hz a = 1.853e-5 and b = 1.847e-5;
//! with `K` and `w_g` rounded as the paper prints them (9.64e-6 and 0.53) they are its a = 1.822e-5 and b =
//! 1.816e-5.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | buffer | queue length | 800 | capacity of the queue, in packets or bytes |
//! | `q_ref` (`qref`) | `q_ref` | queue length | 200 | target queue length, in the unit of `limit` |
//! | `a` | a | 1/packet | 1.822e-5, or by `design` | gain on the newest sample; too large: the queue oscillates |
//! | `b` | b | 1/packet | 1.816e-5, or by `design` | gain on the previous sample; must be below `a`, otherwise the queue drifts away from `q_ref` |
//! | `w` | `f_s` | Hz | 160 | samples per second, at most 10 000; the gains depend on it |
//! | `design` | N, R | | | `{ flows = 60, rtt = "246ms" }`: gains by the design rule for this link; stability is not guaranteed with fewer flows or longer round trips |
//! | `avpkt` (`mean_pktsize`) | | size | the link's mean | typical packet size: converts bytes to packets and the link rate to packets per second |
//! | `byte_mode` (`bytemode`) | | | false | probability in proportion to the packet's size |
//! | `ecn` (`setbit`) | | | false | mark ECN-capable packets instead of dropping them |
//!
//! ## Deviations
//!
//! 1. ns-2 samples at 170 Hz with the gains designed for 160, sets `q_ref` to 50 and acts where `u <= p`; the
//!    SIGCOMM 2003 comparison used its gains with `q_ref` 24 and 240. The defaults are the paper's.
//! 2. With `limit` in bytes the queue is counted in bytes over `avpkt`, so that the gains stay per packet.
//! 3. An explicit `a` or `b` overrides `design`.
//! 4. Marking instead of dropping is the paper's; byte mode is ns-2's.
//!
//! ## Limits
//!
//! PI controls the queue length, not the delay: another link speed needs another `q_ref` and other gains.
//! `p` decays slowly: from 1 it takes `1 / ((a - b) w q_ref)` s (8 minutes by default) of an empty queue to
//! reach 0. A burst between two samples has no effect until the buffer is full. State: two numbers. Per
//! packet: one draw.
//!
//! ## Evidence
//!
//! `tests/oracle/pi.rs` transcribes the law literally, with equal decisions on random and bursty traces;
//! `a` and `b` exchanged fail the test. `tests/aqm/worked_control.rs` checks the design numbers and the steps
//! by hand.
//!
//! ## References
//!
//! * hollot01: C. Hollot, V. Misra, D. Towsley, W. Gong, On Designing Improved Controllers for AQM Routers
//!   Supporting TCP Flows, INFOCOM 2001.
//! * le03: L. Le, J. Aikat, K. Jeffay, F. Smith, The Effects of Active Queue Management on Web Performance,
//!   SIGCOMM 2003.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::timer::unmoved;
use crate::verdict::{Verdict, Why};

/// The paper's gains, which belong to [`PAPER_HZ`].
const PAPER_GAINS: (f64, f64) = (1.822e-5, 1.816e-5);
const PAPER_HZ: f64 = 160.0;

/// The parameters of PI as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Target queue length.
    #[serde(alias = "qref")]
    pub q_ref: Amount,
    /// Gain on the newest sample, per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    /// Gain on the previous sample, per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<f64>,
    /// Samples per second.
    pub w: f64,
    /// Quantities from which the gains are derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<Design>,
    /// Size of a typical packet; the link's if absent.
    #[serde(alias = "mean_pktsize", skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// Whether the probability is proportional to the packet's size.
    #[serde(alias = "bytemode")]
    pub byte_mode: bool,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(alias = "setbit")]
    pub ecn: bool,
}

/// The traffic for which the gains are designed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The fewest flows.
    pub flows: f64,
    /// The longest round trip, with the queue at its reference.
    pub rtt: Duration,
}

impl Design {
    /// `a` and `b` for a link of `capacity` packets per second sampled at `hz`.
    #[must_use]
    pub fn gains(&self, capacity: f64, hz: f64) -> (f64, f64) {
        let (n, r, c) = (self.flows, self.rtt.as_secs_f64(), capacity);
        let w_g = 2.0 * n / (r * r * c);
        let plant = (r * c) * (r * c) * (r * c) / ((2.0 * n) * (2.0 * n));
        let k = w_g * (1.0 + (w_g * r) * (w_g * r)).sqrt() / plant;
        discrete(k, w_g, hz)
    }
}

/// The bilinear transform of `K (s / w_g + 1) / s`.
#[must_use]
pub fn discrete(k: f64, w_g: f64, hz: f64) -> (f64, f64) {
    (k / w_g + k / (2.0 * hz), k / w_g - k / (2.0 * hz))
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(800.0),
            q_ref: Amount::Packets(200.0),
            a: None,
            b: None,
            w: PAPER_HZ,
            design: None,
            avpkt: None,
            byte_mode: false,
            ecn: false,
        }
    }
}

impl Discipline for Params {
    discipline!("pi", Pi);

    const THRESHOLDS: &'static [&'static str] = &["q_ref"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = Pi::config(self, link)?;
        let avpkt = link.avpkt(self.avpkt)?;
        Ok(Params { a: Some(config.a), b: Some(config.b), avpkt: Some(avpkt), ..self.clone() })
    }
}

/// PI's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    q_ref: f64,
    a: f64,
    b: f64,
    period: Duration,
    mean_packet: f64,
    /// Packets in one unit of `limit`.
    unit: f64,
    byte_mode: bool,
    ecn: bool,
}

/// PI's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Pi {
    p: f64,
    q_old: f64,
}

impl Aqm for Pi {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, link: &Link) -> Result<Config, ParamError> {
        let q_ref = in_unit("q_ref", params.q_ref, params.limit.unit())?;
        in_range("q_ref", q_ref, 0.0, f64::INFINITY)?;
        in_range("w", params.w, 0.001, 10_000.0)?;
        let mean_packet = link.avpkt(params.avpkt)?;
        let (a, b) = gains(params, link.packets_per_sec(mean_packet))?;
        let unit = match params.limit {
            Amount::Packets(_) => 1.0,
            Amount::Bytes(_) => 1.0 / mean_packet.as_f64(),
        };
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            q_ref: q_ref * unit,
            a,
            b,
            period: Duration::from_secs_f64(1.0 / params.w),
            mean_packet: mean_packet.as_f64(),
            unit,
            byte_mode: params.byte_mode,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        Pi { p: 0.0, q_old: 0.0 }
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            return Verdict::Drop(Why::Overflow);
        }
        let scale = if config.byte_mode { f64::from(pkt.len) / config.mean_packet } else { 1.0 };
        if env.rng.uniform() < self.p * scale { pkt.signal(config.ecn, Why::Early) } else { Verdict::Pass }
    }

    fn tick(config: &Config) -> Option<Duration> {
        Some(config.period)
    }

    fn on_tick(&mut self, config: &Config, queue: QueueView, _now: Instant) {
        let q = queue.length(config.limit.unit()) * config.unit;
        let p = self.p + config.a * (q - config.q_ref) - config.b * (self.q_old - config.q_ref);
        self.p = p.clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn skip_ticks(&mut self, config: &Config, queue: QueueView, first: Instant, _ticks: u64) -> bool {
        unmoved(self, config, queue, first)
    }

    fn probe(&self, _config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("p", self.p);
    }
}

/// The gains as given, designed, or the paper's.
fn gains(params: &Params, capacity: f64) -> Result<(f64, f64), ParamError> {
    let (a, b) = match &params.design {
        Some(design) => {
            in_range("design.flows", design.flows, f64::MIN_POSITIVE, 1e12)?;
            in_range("design.rtt", design.rtt.as_secs_f64(), 1e-6, 1e6)?;
            design.gains(capacity, params.w)
        }
        None => PAPER_GAINS,
    };
    let (a, b) = (params.a.unwrap_or(a), params.b.unwrap_or(b));
    in_range("a", a, 0.0, 1e6)?;
    in_range("b", b, 0.0, 1e6)?;
    if b > a {
        let want = format!("it must not be above a = {a}: otherwise the queue drifts away from q_ref");
        return Err(ParamError::new("b", b, want).cite("Hollot et al. 2001"));
    }
    Ok((a, b))
}
