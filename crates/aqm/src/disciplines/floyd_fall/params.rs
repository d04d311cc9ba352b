//! Floyd-Fall's parameters, as a user writes them and checked.

use aqmkit_base::{Amount, BitRate, Bytes, Duration, Instant};

use super::FloydFall;
use crate::discipline::{Discipline, discipline};
use crate::disciplines::red::{self, RedParams, params_with_red};
use crate::law::misbehaving::Thresholds;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::{ParamError, in_range, in_unit, usable_limit};
use crate::qdisc::Qdisc;

params_with_red! {
    /// The parameters as a user writes them.
    pub struct Params {
        /// Minimum round trip of the flows.
        #[serde(alias = "R")]
        pub rtt: Duration = Duration::from_millis(60),
        /// Largest packet.
        #[serde(alias = "B")]
        pub mtu: Bytes = Bytes(1500),
        /// Time over which flows are judged.
        pub interval: Duration = Duration::from_secs(5),
        /// Whether flows must be TCP-friendly.
        pub friendly: bool = true,
        /// Whether flows must respond.
        pub unresponsive: bool = true,
        /// Whether flows must not be disproportionate.
        pub disproportionate: bool = true,
        /// Maximum ratio of a flow's rate to TCP's.
        pub safety: f64 = 1.2,
        /// A drop rate higher by this factor calls for a response.
        pub loss_factor: f64 = 2.0,
        /// A response is a rate below this fraction of the former one.
        pub rate_factor: f64 = 0.8,
        /// The same for a flow that has failed before.
        pub again: f64 = 0.98,
        /// Rate times the root of the drop rate, up to which a flow is not disproportionate.
        pub c: BitRate = BitRate::from_bps(96_000),
        /// Fraction of its guideline that a restricted flow receives.
        pub half: f64 = 0.5,
        /// Maximum share of the link for the class.
        pub max_share: f64 = 0.25,
        /// Minimum share of the link for the class.
        pub min_share: f64 = 0.001,
        /// Whether the class may use bandwidth that others leave.
        pub borrow: bool = false,
        /// Largest flows remembered.
        pub history: u32 = 10,
        /// Maximum number of flows whose drops are counted.
        pub max_flows: u32 = 1000,
        /// Maximum number of restricted flows.
        pub max_restricted: u32 = 100,
        /// Limit of the class's queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub restricted_limit: Option<Amount> = None,
    }
    red = RedParams::default()
}

impl Discipline for Params {
    discipline!("floyd-fall");

    const THRESHOLDS: &'static [&'static str] = &["min", "max"];

    fn effective(&self, link: &Link) -> Result<Self, ParamError> {
        let config = Config::new(self, link)?;
        let full = Params { restricted_limit: Some(config.restricted_limit), ..self.clone() };
        Ok(full.with_red(self.red().complete(link)?))
    }

    fn build<P: Packet + 'static>(&self, link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(FloydFall::<P>::new(Config::new(self, link)?, now)))
    }
}

/// The parameters, checked.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) params: Params,
    pub(super) red: red::Config,
    pub(super) restricted_limit: Amount,
    pub(super) tests: Thresholds,
    /// The link's rate in bytes per second.
    pub(super) link: f64,
    pub(super) interval: f64,
}

impl Config {
    pub(super) fn new(params: &Params, link: &Link) -> Result<Self, ParamError> {
        let red = red::Config::new(&params.red(), link)?;
        let quarter = match params.limit {
            Amount::Packets(packets) => Amount::Packets((packets / 4.0).max(1.0)),
            Amount::Bytes(bytes) => Amount::Bytes((bytes / 4).max(1)),
        };
        let restricted_limit = usable_limit("restricted_limit", params.restricted_limit.unwrap_or(quarter))?;
        in_unit("restricted_limit", restricted_limit, params.limit.unit())?;
        in_range("rtt", params.rtt.as_secs_f64(), 1e-9, f64::INFINITY)?;
        in_range("interval", params.interval.as_secs_f64(), 1e-3, f64::INFINITY)?;
        in_range("mtu", params.mtu.as_f64(), 1.0, f64::INFINITY)?;
        in_range("safety", params.safety, 1.0, f64::MAX).map_err(|e| e.cite("Floyd & Fall 1999, section IV"))?;
        in_range("loss_factor", params.loss_factor, 1.0, f64::MAX)?;
        in_range("rate_factor", params.rate_factor, 0.0, f64::MAX)?;
        in_range("again", params.again, 0.0, f64::MAX)?;
        in_range("half", params.half, 0.0, f64::MAX)?;
        in_range("min_share", params.min_share, 1e-6, 0.5)?;
        in_range("max_share", params.max_share, params.min_share, 0.999)?;
        for (field, count) in
            [("history", params.history), ("max_flows", params.max_flows), ("max_restricted", params.max_restricted)]
        {
            in_range(field, f64::from(count), 1.0, 1_048_576.0)?;
        }
        let tests = Thresholds {
            mtu: params.mtu.as_f64(),
            rtt: params.rtt.as_secs_f64(),
            safety: params.safety,
            loss_factor: params.loss_factor,
            rate_factor: params.rate_factor,
            again: params.again,
            c: params.c.bytes_per_sec(),
        };
        let (link, interval) = (link.rate.bytes_per_sec(), params.interval.as_secs_f64());
        Ok(Config { params: params.clone(), red, restricted_limit, tests, link, interval })
    }
}
