//! The parameters of RED, shared by the disciplines that contain a RED.

use aqmkit_base::Amount;
use aqmkit_base::size::Counting;

use crate::law::ewma::AveragingParams;
use crate::link::Link;
use crate::params::{ParamError, in_unit};

/// The default weight of the newest sample, close to the 0.002 of Floyd and Jacobson.
const WEIGHT: f64 = 1.0 / 512.0;

/// RED's part of a discipline's parameters, as a user writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct RedParams {
    /// Capacity of the queue.
    pub limit: Amount,
    /// Average below which nothing is dropped.
    pub min: Option<Amount>,
    /// Average above which everything is dropped.
    pub max: Option<Amount>,
    /// Drop probability as the average reaches `max`.
    pub max_p: f64,
    /// The settings of the average.
    pub averaging: AveragingParams,
    /// Whether the probability ramps from `max_p` to 1 between `max` and twice `max`.
    pub gentle: bool,
    /// Whether the probability is proportional to the packet's size.
    pub byte_mode: bool,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Whether forced drops also apply to ECN-capable packets.
    pub harddrop: bool,
    /// With `ecn`: whether packets that are not ECN-capable are admitted instead of dropped early.
    pub nodrop: bool,
}

impl Default for RedParams {
    fn default() -> Self {
        RedParams {
            limit: Amount::Packets(240.0),
            min: None,
            max: None,
            max_p: 0.1,
            averaging: AveragingParams::default(),
            gentle: false,
            byte_mode: false,
            ecn: false,
            harddrop: true,
            nodrop: false,
        }
    }
}

impl RedParams {
    /// Fills in the thresholds if both are missing.
    pub fn or_thresholds(self, min: Amount, max: Amount) -> Self {
        match (self.min, self.max) {
            (None, None) => RedParams { min: Some(min), max: Some(max), ..self },
            _ => self,
        }
    }

    /// The thresholds. If only one threshold is given, `max = 3 min`. The defaults are 5 and 15 packets, or
    /// a twelfth and a quarter of a limit in bytes.
    pub fn thresholds(&self) -> (Amount, Amount) {
        match (self.min, self.max, self.limit) {
            (Some(min), Some(max), _) => (min, max),
            (Some(Amount::Packets(min)), None, _) => (Amount::Packets(min), Amount::Packets(3.0 * min)),
            (Some(Amount::Bytes(min)), None, _) => (Amount::Bytes(min), Amount::Bytes(min.saturating_mul(3))),
            (None, Some(Amount::Packets(max)), _) => (Amount::Packets(max / 3.0), Amount::Packets(max)),
            (None, Some(Amount::Bytes(max)), _) => (Amount::Bytes(max / 3), Amount::Bytes(max)),
            (None, None, Amount::Packets(_)) => (Amount::Packets(5.0), Amount::Packets(15.0)),
            (None, None, Amount::Bytes(limit)) => (Amount::Bytes(limit / 12), Amount::Bytes(limit / 4)),
        }
    }

    /// The thresholds as numbers in the unit of the limit. A threshold derived from the other has the other's unit, so
    /// an error names the one that was given.
    pub(super) fn in_unit(&self, unit: Counting) -> Result<(f64, f64), ParamError> {
        for (field, given) in [("min", self.min), ("max", self.max)] {
            given.map(|length| in_unit(field, length, unit)).transpose()?;
        }
        let (min, max) = self.thresholds();
        Ok((in_unit("min", min, unit)?, in_unit("max", max, unit)?))
    }

    /// Converts an error about a derived threshold to one about the threshold that was given.
    pub(super) fn given<T>(&self, checked: Result<T, ParamError>) -> Result<T, ParamError> {
        checked.map_err(|e| match (e.field.as_str(), self.min, self.max) {
            ("min", None, Some(max)) => e.about("max", max),
            ("max", Some(min), None) => e.about("min", min),
            _ => e,
        })
    }

    /// Fills in all omitted parameters.
    ///
    /// # Errors
    /// When the averaging cannot be used on this link.
    pub fn complete(&self, link: &Link) -> Result<Self, ParamError> {
        let (min, max) = self.thresholds();
        let averaging = self.averaging.complete(link, min, WEIGHT)?;
        Ok(RedParams { min: Some(min), max: Some(max), averaging, ..self.clone() })
    }
}

/// Defines a discipline's `Params`: its own fields, each with its default, and RED's, with the defaults of a
/// [`RedParams`], in display order.
macro_rules! params_with_red {
    (
        $(#[$about:meta])*
        pub struct Params {
            $($(#[$of_field:meta])* pub $field:ident: $type:ty = $default:expr,)*
        }
        red = $red:expr
        $(, then { $($(#[$of_last:meta])* pub $last:ident: $last_type:ty = $last_default:expr,)* })?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Params {
            $($(#[$of_field])* pub $field: $type,)*
            /// Capacity of the queue.
            pub limit: aqmkit_base::Amount,
            /// RED's lower threshold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub min: Option<aqmkit_base::Amount>,
            /// RED's upper threshold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub max: Option<aqmkit_base::Amount>,
            /// Burst to admit, in packets; replaces `weight`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub burst: Option<u32>,
            /// RED's weight of the newest sample of the queue.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub weight: Option<f64>,
            /// RED's drop probability as the average reaches `max`.
            #[serde(alias = "probability")]
            pub max_p: f64,
            /// Size of a typical packet; the link's if absent.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub avpkt: Option<aqmkit_base::Bytes>,
            /// How fast an idle queue's average decays; the link's rate if absent.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub bandwidth: Option<aqmkit_base::BitRate>,
            /// Whether RED's probability ramps from `max_p` to 1 between `max` and twice `max`.
            pub gentle: bool,
            /// Whether RED's probability is proportional to the packet's size.
            #[serde(alias = "bytemode")]
            pub byte_mode: bool,
            /// Whether ECN-capable packets are marked instead of dropped early.
            pub ecn: bool,
            /// Whether forced drops also apply to ECN-capable packets.
            pub harddrop: bool,
            /// With `ecn`: whether packets that are not ECN-capable are admitted instead of dropped early.
            pub nodrop: bool,
            $($($(#[$of_last])* pub $last: $last_type,)*)?
        }

        impl Default for Params {
            fn default() -> Self {
                let open = Params {
                    $($field: $default,)*
                    limit: aqmkit_base::Amount::Packets(0.0),
                    min: None,
                    max: None,
                    burst: None,
                    weight: None,
                    max_p: 0.0,
                    avpkt: None,
                    bandwidth: None,
                    gentle: false,
                    byte_mode: false,
                    ecn: false,
                    harddrop: false,
                    nodrop: false,
                    $($($last: $last_default,)*)?
                };
                open.with_red($red)
            }
        }

        impl Params {
            /// RED's part of the parameters.
            #[must_use]
            pub fn red(&self) -> $crate::disciplines::red::RedParams {
                $crate::disciplines::red::RedParams {
                    limit: self.limit,
                    min: self.min,
                    max: self.max,
                    max_p: self.max_p,
                    averaging: $crate::law::ewma::AveragingParams {
                        weight: self.weight,
                        burst: self.burst,
                        avpkt: self.avpkt,
                        bandwidth: self.bandwidth,
                    },
                    gentle: self.gentle,
                    byte_mode: self.byte_mode,
                    ecn: self.ecn,
                    harddrop: self.harddrop,
                    nodrop: self.nodrop,
                }
            }

            /// The same with another RED part.
            fn with_red(self, red: $crate::disciplines::red::RedParams) -> Self {
                Params {
                    limit: red.limit,
                    min: red.min,
                    max: red.max,
                    burst: red.averaging.burst,
                    weight: red.averaging.weight,
                    max_p: red.max_p,
                    avpkt: red.averaging.avpkt,
                    bandwidth: red.averaging.bandwidth,
                    gentle: red.gentle,
                    byte_mode: red.byte_mode,
                    ecn: red.ecn,
                    harddrop: red.harddrop,
                    nodrop: red.nodrop,
                    ..self
                }
            }
        }
    };
}
pub(crate) use params_with_red;
