//! DualPI2's parameters as a user writes them.

use aqmkit_base::{Amount, Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Config, Dualpi2};
use crate::discipline::{Discipline, discipline};
use crate::law::pi::PiController;
use crate::link::Link;
use crate::packet::Packet;
use crate::params::ParamError;
use crate::qdisc::Qdisc;
use crate::storage::Classifier;

/// The reaction when marking saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overload {
    /// Packets of both queues are dropped, ECN-capable or not.
    #[serde(alias = "drop")]
    DropOnOverload,
    /// The probability stops at saturation, and the queue grows to its limit.
    Overflow,
}

/// Where the base probability is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropAt {
    /// To departing packets.
    DropDequeue,
    /// To arriving packets.
    DropEnqueue,
}

/// A threshold for the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a time such as \"1ms\" or a number of packets such as \"5p\"")]
pub enum Threshold {
    /// A threshold on the packet's delay.
    Delay(Duration),
    /// A threshold on the queue length.
    Length(Amount),
}

/// The parameters of DualPI2 as a user writes them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Capacity of both queues together.
    pub limit: Amount,
    /// The same in bytes.
    #[serde(alias = "memory_limit", skip_serializing_if = "Option::is_none")]
    pub memlimit: Option<Bytes>,
    /// Ratio of the marking probability to the root of the drop probability.
    #[serde(alias = "k")]
    pub coupling_factor: f64,
    /// Target delay of the Classic queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Duration>,
    /// Time between updates of the probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tupdate: Option<Duration>,
    /// Integral gain in Hz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Proportional gain in Hz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Longest round trip for which the controller is stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<Duration>,
    /// The usual round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_rtt: Option<Duration>,
    /// L delay at which marking starts.
    pub min_th: Duration,
    /// Delay range above `min_th` over which marking rises to all packets.
    pub range: Duration,
    /// A step threshold instead of the ramp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_thresh: Option<Threshold>,
    /// Packets are not marked for L's delay if no more than this many remain in L; 0 marks always.
    #[serde(alias = "th_len")]
    pub min_qlen_step: u32,
    /// The packets that go into the L queue.
    pub classifier: Classifier,
    /// The reaction when marking saturates.
    pub overload: Overload,
    /// Where the base probability is applied.
    pub drop_at: DropAt,
    /// The Classic queue's share of the link while L is busy.
    pub classic_protection: f64,
    /// Whether a time-shifted FIFO replaces weighted round robin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tshift: Option<Duration>,
    /// Whether marks are drawn at random rather than spaced by an accumulator.
    pub random: bool,
    /// The largest packet.
    pub mtu: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: Amount::Packets(10_000.0),
            memlimit: None,
            coupling_factor: 2.0,
            target: None,
            tupdate: None,
            alpha: None,
            beta: None,
            max_rtt: None,
            typical_rtt: None,
            min_th: Duration::from_micros(800),
            range: Duration::from_micros(400),
            step_thresh: None,
            min_qlen_step: 1,
            classifier: Classifier::L4sEct,
            overload: Overload::DropOnOverload,
            drop_at: DropAt::DropDequeue,
            classic_protection: 1.0 / 16.0,
            tshift: None,
            random: false,
            mtu: Bytes(1500),
        }
    }
}

impl Discipline for Params {
    discipline!("dualpi2");

    fn effective(&self, _link: &Link) -> Result<Self, ParamError> {
        Config::new(self)?;
        let gains = self.gains();
        Ok(Params {
            target: Some(gains.target),
            tupdate: Some(gains.tupdate),
            alpha: Some(gains.pi.alpha_hz),
            beta: Some(gains.pi.beta_hz),
            max_rtt: Some(gains.max_rtt),
            typical_rtt: Some(gains.typical_rtt),
            ..self.clone()
        })
    }

    fn build<P: Packet + 'static>(&self, _link: &Link, now: Instant) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Box::new(Dualpi2::<P>::new(self, now)?))
    }
}

/// The controller's parameters, all filled in.
pub(super) struct Gains {
    pub(super) max_rtt: Duration,
    pub(super) typical_rtt: Duration,
    pub(super) target: Duration,
    pub(super) tupdate: Duration,
    pub(super) pi: PiController,
}

impl Params {
    /// RFC 9332, appendix A.1, from the round trips as `tc` relates them.
    pub(super) fn gains(&self) -> Gains {
        let (max_rtt, typical_rtt) = match (self.max_rtt, self.typical_rtt) {
            (None, None) => (Duration::from_millis(100), Duration::from_millis(15)),
            (Some(max), None) => (max, max / 6),
            (None, Some(typical)) => (typical * 6, typical),
            (Some(max), Some(typical)) => (max, typical),
        };
        let target = self.target.unwrap_or(typical_rtt);
        let tupdate = self.tupdate.unwrap_or(target.min(max_rtt / 3));
        let longest = max_rtt.as_secs_f64();
        let alpha_hz = self.alpha.unwrap_or(0.1 * tupdate.as_secs_f64() / (longest * longest));
        let beta_hz = self.beta.unwrap_or(0.3 / longest);
        Gains { max_rtt, typical_rtt, target, tupdate, pi: PiController { alpha_hz, beta_hz } }
    }
}
