//! # Curvy RED: the square of an average delay
//!
//! Drops or marks departing packets with a probability that is the square of their average delay. The
//! probability is near zero while the queue is short and rises ever more steeply as it grows: a soft limit
//! on the delay, with one slope instead of RED's two thresholds and maximum probability.
//!
//! ## Law
//!
//! On departure of a packet with sojourn time `q`, in seconds:
//!
//! ```text
//! Q <- Q + (q - Q) 2^-f                                                         [deschepper15 eq 13]
//! p  = (2^S Q)^u, with u = 2                                                    [deschepper15 eq 15]
//! act where 2^S Q > max(rnd(), rnd())          as many numbers as u             [deschepper15 alg 1]
//! ```
//!
//! To act is to mark an ECN-capable packet if `ecn` is on, and otherwise to drop it and dequeue the next.
//! The probability is 1 from `Q = 2^-S` seconds on.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | buffer | queue length | 1000 | capacity of the queue |
//! | `s_c` (`s`) | `S_C` | log2 of 1/s | 1 | slope: the probability is 1 at `2^-s_c` seconds; too steep: losses instead of delay |
//! | `f` | f | log2 | 5 | weight `2^-f` of the newest delay; too large: the average lags behind the queue by many round trips |
//! | `u` (`curviness`) | u | numbers | 2 | curviness, from 1 (a straight line) to 16 (nearly a step) |
//! | `ecn` | | | true | mark ECN-capable packets in place of dropping them |
//!
//! ## Deviations
//!
//! 1. The paper uses Curvy RED only as the Classic half of its dual queue (see `dualq`); this is the
//!    stand-alone form.
//! 2. The paper shifts integers; slopes and weights are powers of two in floating point here, so fractions of
//!    `s_c` and `f` are allowed and nothing is rounded.
//! 3. RFC 9332, appendix B, has the same law with `2 U` numbers for Classic traffic: `u` is `2 U`.
//!
//! ## Limits
//!
//! There is no delay target: the equilibrium delay grows with the number of flows. The average changes only
//! on departures, so the first packets after an idle period see the old average. A drop may empty the
//! queue. State: one average. Per packet: one multiply and `u` draws.
//!
//! ## Evidence
//!
//! `tests/oracle/curvy_red.rs` transcribes lines 7 to 14 of Algorithm 1 literally, with equal decisions on
//! random and bursty traces; one draw instead of two, or the delay instead of its average, fails the test.
//! Tests of the law check the scales of Table 1 and the fraction of drops; `tests/aqm/worked_control.rs` checks
//! the average by hand.
//!
//! ## References
//!
//! * deschepper15: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, "Data Centre to the Home": Ultra-Low
//!   Latency for All, 2015.
//! * briscoe15: B. Briscoe, Insights from Curvy RED, BT report TR-TUB8-2015-003, 2015.
//! * rfc9332: Dual-Queue Coupled AQM for L4S, 2023, appendix B.

use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::law::curvy::{DelayAverage, Slope, weight};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, usable_limit};
use crate::verdict::{Verdict, Why};

/// The parameters of Curvy RED as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// The probability is 1 at `2^-s_c` seconds.
    #[serde(alias = "s")]
    pub s_c: f64,
    /// The weight of the newest delay is `2^-f`.
    pub f: f64,
    /// How many random numbers the average must exceed.
    #[serde(alias = "curviness")]
    pub u: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(1000.0), s_c: 1.0, f: 5.0, u: 2, ecn: true }
    }
}

impl Discipline for Params {
    discipline!("curvy-red", CurvyRed);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        CurvyRed::config(self, link)?;
        Ok(self.clone())
    }
}

/// The parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    slope: Slope,
    /// `2^-f`.
    weight: f64,
    ecn: bool,
}

/// Curvy RED's state.
#[derive(Clone, Debug)]
pub struct CurvyRed {
    avg: DelayAverage,
}

impl Aqm for CurvyRed {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        Ok(Config {
            limit: usable_limit("limit", params.limit)?,
            slope: Slope::new(("s_c", params.s_c), ("u", params.u))?,
            weight: weight("f", params.f)?,
            ecn: params.ecn,
        })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        CurvyRed { avg: DelayAverage::default() }
    }

    /// Lines 7 to 14 of Algorithm 1.
    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, env: &mut Env<'_>) -> Verdict {
        let q_c = self.avg.sample(config.weight, pkt.sojourn);
        if config.slope.exceeds(q_c, env.rng) { pkt.signal(config.ecn, Why::Early) } else { Verdict::Pass }
    }

    fn probe(&self, config: &Config, out: &mut dyn FnMut(&str, f64)) {
        out("avg_delay", self.avg.get());
        out("p", config.slope.probability(self.avg.get()));
    }
}
