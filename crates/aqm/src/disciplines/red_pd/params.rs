//! RED-PD's parameters as a user writes them.

use aqmkit_base::{Amount, Duration};
use serde::{Deserialize, Serialize};

use super::{Ns2Rules, RedPd};
use crate::aqm::Aqm;
use crate::discipline::{Discipline, discipline};
use crate::disciplines::red::{self, RedParams, params_with_red};
use crate::law::preferential::Pace;
use crate::link::Link;
use crate::params::{ParamError, in_range};

/// The criterion that identifies a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Identify {
    /// Drops in `k` lists.
    #[default]
    Multiple,
    /// `k` drops in all lists together.
    Single,
}

params_with_red! {
    /// The parameters as a user writes them.
    pub struct Params {
        /// Round trip of the reference TCP.
        #[serde(alias = "target_rtt", alias = "R")]
        pub rtt: Duration = Duration::from_millis(40),
        /// Number of lists that a flow must be in.
        #[serde(alias = "K")]
        pub k: u32 = 3,
        /// Lists that count.
        #[serde(alias = "M")]
        pub m: u32 = 5,
        /// The criterion that identifies a flow.
        pub identify: Identify = Identify::Multiple,
        /// Drops that identify a flow in fewer lists.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub burst_drops: Option<f64> = None,
        /// Weight of the newest interval's drop rate.
        pub alpha: f64 = 0.5,
        /// Shortest interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub interval_min: Option<Duration> = None,
        /// Longest interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub interval_max: Option<Duration> = None,
        /// Flows kept per list.
        pub max_flows: u32 = 50,
        /// Maximum number of flows with a probability of their own.
        pub max_monitored: u32 = 256,
        /// Divisor of a decrease.
        pub beta: f64 = 2.0,
        /// Maximum amount of a decrease.
        pub p_d: f64 = 0.05,
        /// Probability at which a flow is released.
        pub p_min: f64 = 0.005,
        /// Intervals before a decrease.
        pub l: u32 = 3,
        /// `beta` of an unresponsive flow.
        pub u_beta: f64 = 1.5,
        /// `p_d` of an unresponsive flow.
        pub u_p_d: f64 = 0.05,
        /// `p_min` of an unresponsive flow.
        pub u_p_min: f64 = 0.0025,
        /// `l` of an unresponsive flow.
        pub u_l: u32 = 5,
        /// Whether unresponsive flows are treated differently.
        pub unresponsive_test: bool = true,
        /// Factor on the drop probability of unresponsive flows; above 1 they get less than their share.
        pub unresponsive_penalty: f64 = 1.0,
        /// Whether the filter passes packets that find fewer than two packets waiting.
        pub noidle: bool = true,
        /// As in the authors' code for ns-2: whether the filter's drops of a flow are spaced by a count of its packets.
        pub ns2_spacing: bool = false,
        /// As in the authors' code for ns-2: whether unresponsive flows are filtered below `min` too.
        pub ns2_below_min: bool = false,
        /// As in the authors' code for ns-2: whether the test for unresponsive flows considers only the last interval.
        pub ns2_last_interval: bool = false,
        /// Drop probability of the queue, which replaces RED's.
        #[serde(alias = "P_testFRp", skip_serializing_if = "Option::is_none")]
        pub drop_rate: Option<f64> = None,
    }
    red = RedParams {
        limit: Amount::Packets(50.0),
        min: Some(Amount::Packets(10.0)),
        max: Some(Amount::Packets(33.0)),
        gentle: true,
        ..RedParams::default()
    }
}

impl Discipline for Params {
    discipline!("red-pd", RedPd);

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = RedPd::config(self, link)?;
        let full =
            Params { interval_min: Some(config.interval_min), interval_max: Some(config.interval_max), ..self.clone() };
        Ok(full.with_red(self.red().complete(link)?))
    }
}

impl Params {
    /// RED's part of them, checked.
    pub(super) fn red_config(&self, link: &Link) -> Result<red::Config, ParamError> {
        red::Config::new(&self.red(), link)
    }

    /// Which rules follow the authors' code instead of the text.
    pub(super) fn ns2_rules(&self) -> Ns2Rules {
        Ns2Rules { spacing: self.ns2_spacing, below_min: self.ns2_below_min, last_interval: self.ns2_last_interval }
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
