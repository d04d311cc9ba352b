//! # ERD: early random drop
//!
//! Drops arriving packets by chance once the queue, as it stands at that instant, is longer than a
//! threshold: the forerunner of RED, without its average and with one probability for every length.
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
//! | `limit` | | queue length | 60 | what the queue may hold |
//! | `threshold` | drop level | queue length | 30 | above it packets are dropped by chance; in the unit, packets or bytes, of its own, and short bursts suffer where it is small |
//! | `probability` | drop probability | 1 | 0.02 | chance of each arrival above the threshold; too small and the queue fills all the same |
//! | `ecn` | | | false | mark ECN-capable packets where an early drop is due |
//!
//! ## Deviations
//!
//! 1. Marking is not in the sources: a mark takes the place of an early drop.
//! 2. Neither default is Hashem's: the threshold is half the limit, the probability the 1/50 of his
//!    time's RED.
//!
//! ## Limits
//!
//! A burst is treated as congestion, and slight congestion like heavy congestion: RED's average and ramp
//! came to mend both. State: none. Per packet: one draw above the threshold.
//!
//! ## Evidence
//!
//! `tests/worked.rs` has the law step by step; `tests/closed_forms.rs` has the share of drops.
//!
//! ## References
//!
//! * hashem89: E. Hashem, Analysis of Random Drop for Gateway Congestion Control, MIT LCS TR-465, 1989.
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, chapter III.2.1.

use aqmkit_base::{Amount, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView, Verdict};
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, usable_limit};
use crate::qdisc::Why;
use crate::registry::{Discipline, Link, discipline};

/// The parameters of ERD as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// What the queue may hold.
    pub limit: Amount,
    /// Length above which arriving packets are dropped by chance.
    pub threshold: Amount,
    /// Chance of each.
    pub probability: f64,
    /// Whether ECN-capable packets are marked where an early drop is due.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(60.0), threshold: Amount::Packets(30.0), probability: 0.02, ecn: false }
    }
}

impl Discipline for Params {
    discipline!("erd", Erd, Erd);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        Erd::config(self, link)
    }
}

/// The rule of ERD: it needs no state.
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
