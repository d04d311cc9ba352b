//! # ERD: early random drop
//!
//! Drops arriving packets at random while the instantaneous queue is longer than a threshold: the
//! predecessor of RED, without an average and with a single probability.
//!
//! ## Law
//!
//! ```text
//! q = limit:      drop
//! q > threshold:  drop with `probability`                                       [parris01 III.2.1]
//! ```
//!
//! `q` is the queue before the arriving packet.
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 60 | capacity of the queue |
//! | `threshold` | drop level | queue length | 30 | queue above which packets are dropped at random, in packets or bytes independently of `limit`; too small: short bursts are dropped |
//! | `probability` | drop probability | 1 | 0.02 | drop probability above the threshold; too small: the queue still fills |
//! | `ecn` | | | false | mark ECN-capable packets instead of dropping them early |
//!
//! ## Deviations
//!
//! 1. Marking instead of an early drop is not in the sources.
//! 2. The defaults are not Hashem's: the threshold is half the limit, and the probability is RED's 1/50 of
//!    that time.
//!
//! ## Limits
//!
//! Bursts are treated as congestion, and slight congestion like heavy congestion; RED's average and ramp
//! address these two problems. State: none. Per packet: one draw above the threshold.
//!
//! ## Evidence
//!
//! `tests/aqm/worked.rs` checks the law step by step, `tests/aqm/closed_forms.rs` the drop fraction.
//!
//! ## References
//!
//! * hashem89: E. Hashem, Analysis of Random Drop for Gateway Congestion Control, MIT LCS TR-465, 1989.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.2.1.

use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, usable_limit};
use crate::verdict::{Verdict, Why};

/// The parameters of ERD as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Length above which arriving packets are dropped at random.
    pub threshold: Amount,
    /// Chance of each.
    pub probability: f64,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(60.0), threshold: Amount::Packets(30.0), probability: 0.02, ecn: false }
    }
}

impl Discipline for Params {
    discipline!("erd", Erd);

    const THRESHOLDS: &'static [&'static str] = &["threshold"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Erd::config(self, link)
    }
}

/// ERD has no state.
#[derive(Clone, Copy, Debug)]
pub struct Erd;

impl Aqm for Erd {
    type Params = Params;
    type Config = Params;

    fn config(params: &Params, _link: &Link) -> Result<Params, ParamError> {
        usable_limit("limit", params.limit)?;
        in_range("threshold", params.threshold.value(), 0.0, f64::INFINITY)?;
        in_range("probability", params.probability, 0.0, 1.0)?;
        Ok(params.clone())
    }

    fn limit(config: &Params) -> Amount {
        config.limit
    }

    fn new(_config: &Params, _now: Instant) -> Self {
        Erd
    }

    fn on_arrival(&mut self, config: &Params, pkt: PacketView, queue: QueueView, env: &mut Env<'_>) -> Verdict {
        if queue.full {
            Verdict::Drop(Why::Overflow)
        } else if queue.length(config.threshold.unit()) > config.threshold.value()
            && env.rng.uniform() < config.probability
        {
            pkt.signal(config.ecn, Why::Early)
        } else {
            Verdict::Pass
        }
    }
}
