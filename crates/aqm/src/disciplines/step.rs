//! # step: the step marker of DCTCP
//!
//! Marks every packet that finds more than a fixed threshold queued, or that waited longer than a fixed
//! time. Senders react in proportion to the marks.
//!
//! ## Law
//!
//! ```text
//! mark an arriving packet when  q > threshold,  q the queue before it            [alizadeh10 sec 3.1]
//! or, with `sojourn`, a departing packet when it has waited longer than that     [rfc9332 app A]
//! ```
//!
//! ## Parameters
//!
//! | field | symbol | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|---|
//! | `limit` | | queue length | 1000 | capacity of the queue |
//! | `threshold` | K | queue length | 20 | queue above which packets are marked; below a seventh of the bandwidth-delay product the link idles |
//! | `sojourn` (`step_thresh`) | | time | | instead of `threshold`: mark packets that waited longer |
//! | `not_ect` | | | drop | treatment of packets above the threshold that are not ECN-capable: `drop`, like a switch with RED at `min = max = K`, or `pass` |
//!
//! ## Deviations
//!
//! 1. K is 20 packets at 1 Gb/s and 65 at 10 Gb/s in alizadeh10; the default is 20 at any link rate.
//! 2. DCTCP senders are all ECN-capable; the treatment of other packets (`not_ect`) is chosen here. With
//!    `drop`, the first packets of a connection, which are not ECN-capable, are lost behind a standing
//!    queue.
//! 3. A threshold in bytes counts the bytes waiting; a switch may count cells.
//!
//! ## Limits
//!
//! Only senders that react in proportion to the marks keep the queue near K; a Reno flow with ECN halves
//! its window and leaves the link idle. Only `limit` bounds unresponsive traffic and, with `pass`, traffic
//! that is not ECN-capable. State: none. Per packet: one comparison.
//!
//! ## Evidence
//!
//! `tests/oracle/step.rs` transcribes both rules literally, with equal decisions on random and bursty
//! traces; `tests/aqm/worked.rs` counts packets at the threshold: `>=` instead of `>` fails the test.
//!
//! ## References
//!
//! * alizadeh10: M. Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010.
//! * rfc8257: S. Bensley et al., Data Center TCP (DCTCP), 2017.
//! * rfc9332: K. De Schepper, B. Briscoe, G. White, Dual-Queue Coupled AQM for L4S, 2023.

use aqmkit_base::{Amount, Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::aqm::{Aqm, Env, QueueView};
use crate::discipline::{Discipline, discipline};
use crate::link::Link;
use crate::packet::PacketView;
use crate::params::{ParamError, in_range, usable_limit};
use crate::verdict::{Verdict, Why};

/// Treatment of a packet above the threshold that is not ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotEct {
    /// It is dropped.
    #[default]
    Drop,
    /// It is admitted.
    Pass,
}

/// The parameters of the step marker as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Queue length above which packets are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Amount>,
    /// Sojourn time above which packets are marked; replaces `threshold`.
    #[serde(alias = "step_thresh", skip_serializing_if = "Option::is_none")]
    pub sojourn: Option<Duration>,
    /// Treatment above the threshold of packets that are not ECN-capable.
    pub not_ect: NotEct,
}

impl Default for Params {
    fn default() -> Self {
        Params { limit: Amount::Packets(1000.0), threshold: None, sojourn: None, not_ect: NotEct::Drop }
    }
}

impl Discipline for Params {
    discipline!("step", Step);

    const THRESHOLDS: &'static [&'static str] = &["threshold"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let threshold = match Step::config(self, link)?.step {
            Threshold::Length(threshold) => Some(threshold),
            Threshold::Sojourn(_) => None,
        };
        Ok(Params { threshold, ..self.clone() })
    }
}

#[derive(Clone, Copy, Debug)]
enum Threshold {
    Length(Amount),
    Sojourn(Duration),
}

/// The step marker's parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    limit: Amount,
    step: Threshold,
    not_ect: NotEct,
}

impl Config {
    fn above(&self, pkt: PacketView) -> Verdict {
        match self.not_ect {
            NotEct::Pass if !pkt.ecn.is_capable() => Verdict::Pass,
            NotEct::Pass | NotEct::Drop => pkt.signal(true, Why::Step),
        }
    }
}

/// The step marker's state: none.
#[derive(Clone, Debug)]
pub struct Step;

impl Aqm for Step {
    type Params = Params;
    type Config = Config;

    fn config(params: &Params, _link: &Link) -> Result<Config, ParamError> {
        let step = match (params.threshold, params.sojourn) {
            (Some(threshold), None) => Threshold::Length(threshold),
            (None, Some(sojourn)) => Threshold::Sojourn(sojourn),
            (None, None) => Threshold::Length(Amount::Packets(20.0)),
            (Some(threshold), Some(sojourn)) => {
                let want = format!("give either threshold or sojourn; threshold is {threshold}");
                return Err(ParamError::new("sojourn", sojourn, want));
            }
        };
        if let Threshold::Length(threshold) = step {
            in_range("threshold", threshold.value(), 0.0, f64::INFINITY)?;
        }
        Ok(Config { limit: usable_limit("limit", params.limit)?, step, not_ect: params.not_ect })
    }

    fn limit(config: &Config) -> Amount {
        config.limit
    }

    fn new(_config: &Config, _now: Instant) -> Self {
        Step
    }

    fn on_arrival(&mut self, config: &Config, pkt: PacketView, queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        match config.step {
            _ if queue.full => Verdict::Drop(Why::Overflow),
            Threshold::Length(max) if queue.length(max.unit()) > max.value() => config.above(pkt),
            Threshold::Length(_) | Threshold::Sojourn(_) => Verdict::Pass,
        }
    }

    fn on_departure(&mut self, config: &Config, pkt: PacketView, _queue: QueueView, _env: &mut Env<'_>) -> Verdict {
        match config.step {
            Threshold::Sojourn(max) if pkt.sojourn > max => config.above(pkt),
            Threshold::Length(_) | Threshold::Sojourn(_) => Verdict::Pass,
        }
    }
}
