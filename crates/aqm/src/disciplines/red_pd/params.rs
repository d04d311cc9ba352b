//! RED-PD's parameters as a user writes them.

use aqmkit_base::{Amount, Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::RedPd;
use crate::aqm::Aqm;
use crate::disciplines::red;
use crate::law::preferential::Pace;
use crate::params::{ParamError, in_range};
use crate::registry::{Discipline, Link, discipline};

/// What makes a flow identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identify {
    /// Drops in `k` lists.
    #[default]
    Multiple,
    /// `k` drops in all lists together.
    Single,
}

/// The parameters as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Round trip of the reference TCP.
    #[serde(alias = "target_rtt", alias = "R")]
    pub rtt: Duration,
    /// Lists that a flow must be in.
    #[serde(alias = "K")]
    pub k: u32,
    /// Lists that count.
    #[serde(alias = "M")]
    pub m: u32,
    /// What makes a flow identified.
    pub identify: Identify,
    /// Drops that identify a flow in fewer lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_drops: Option<f64>,
    /// Weight of the newest interval's drop rate.
    pub alpha: f64,
    /// Shortest interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_min: Option<Duration>,
    /// Longest interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_max: Option<Duration>,
    /// Flows kept of each list.
    pub max_flows: u32,
    /// Flows with a probability of their own.
    pub max_monitored: u32,
    /// A decrease divides by this.
    pub beta: f64,
    /// A decrease takes no more than this.
    pub p_d: f64,
    /// Probability at which a flow is released.
    pub p_min: f64,
    /// Intervals before a decrease.
    pub l: u32,
    /// `beta` of an unresponsive flow.
    pub u_beta: f64,
    /// `p_d` of an unresponsive flow.
    pub u_p_d: f64,
    /// `p_min` of an unresponsive flow.
    pub u_p_min: f64,
    /// `l` of an unresponsive flow.
    pub u_l: u32,
    /// Whether there are unresponsive flows.
    pub unresponsive_test: bool,
    /// Factor on the probability of unresponsive flows.
    pub unresponsive_penalty: f64,
    /// Whether the filter passes what finds fewer than two packets waiting.
    pub noidle: bool,
    /// Drop probability of the queue in the place of RED's.
    #[serde(alias = "P_testFRp", skip_serializing_if = "Option::is_none")]
    pub drop_rate: Option<f64>,
    /// What the queue may hold.
    pub limit: Amount,
    /// RED's lower threshold.
    pub min: Amount,
    /// RED's upper threshold.
    pub max: Amount,
    /// RED's weight of the newest sample.
    pub weight: f64,
    /// RED's drop probability as the average reaches `max`.
    #[serde(alias = "probability")]
    pub max_p: f64,
    /// Size of a typical packet; the link's where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<Bytes>,
    /// RED's ramp from `max` to twice `max`.
    pub gentle: bool,
    /// Whether RED's drops are in proportion to size, and counted in bytes.
    #[serde(alias = "bytemode")]
    pub byte_mode: bool,
    /// Whether RED marks.
    pub ecn: bool,
    /// Whether RED drops ECN-capable packets where a forced drop is due.
    pub harddrop: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            rtt: Duration::from_millis(40),
            k: 3,
            m: 5,
            identify: Identify::Multiple,
            burst_drops: None,
            alpha: 0.5,
            interval_min: None,
            interval_max: None,
            max_flows: 50,
            max_monitored: 256,
            beta: 2.0,
            p_d: 0.05,
            p_min: 0.005,
            l: 3,
            u_beta: 1.5,
            u_p_d: 0.05,
            u_p_min: 0.0025,
            u_l: 5,
            unresponsive_test: true,
            unresponsive_penalty: 1.0,
            noidle: true,
            drop_rate: None,
            limit: Amount::Packets(50.0),
            min: Amount::Packets(10.0),
            max: Amount::Packets(33.0),
            weight: 1.0 / 512.0,
            max_p: 0.1,
            avpkt: None,
            gentle: true,
            byte_mode: false,
            ecn: false,
            harddrop: true,
        }
    }
}

impl Discipline for Params {
    discipline!("red-pd", RedPd, RedPd);

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = RedPd::config(self, link)?;
        Ok(Params {
            interval_min: Some(config.interval_min),
            interval_max: Some(config.interval_max),
            avpkt: Some(link.avpkt(self.avpkt)?),
            ..self.clone()
        })
    }
}

impl Params {
    /// RED's part of them.
    pub(super) fn red(&self) -> red::Params {
        red::Params {
            limit: self.limit,
            min: self.min,
            max: self.max,
            weight: self.weight,
            max_p: self.max_p,
            avpkt: self.avpkt,
            gentle: self.gentle,
            byte_mode: self.byte_mode,
            ecn: self.ecn,
            harddrop: self.harddrop,
        }
    }

    /// The rules for responsive flows and for unresponsive ones.
    pub(super) fn paces(&self) -> Result<[Pace; 2], ParamError> {
        let above_one = |field, beta| in_range(field, beta, 1.0 + 1e-6, f64::INFINITY);
        above_one("beta", self.beta)?;
        above_one("u_beta", self.u_beta)?;
        for (field, p) in [("p_d", self.p_d), ("u_p_d", self.u_p_d), ("p_min", self.p_min), ("u_p_min", self.u_p_min)] {
            in_range(field, p, 1e-6, 1.0)?;
        }
        let (l, u_l) = (u64::from(self.l), u64::from(self.u_l));
        Ok([
            Pace { gain: 1.0, beta: self.beta, p_d: self.p_d, p_min: self.p_min, wait: l },
            Pace { gain: 2.0, beta: self.u_beta, p_d: self.u_p_d, p_min: self.u_p_min, wait: u_l },
        ])
    }
}
