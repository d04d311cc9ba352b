//! Parameters of disciplines without their type, and checks of them.

use std::any::Any;

pub use aqmkit_base::param::{ParamError, in_range};
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Duration};

/// The parameters of some discipline, whose type only the discipline itself knows. A queue receives them when it is
/// reconfigured, so that queues need not know which disciplines exist.
pub trait AnyParams {
    /// The name of the discipline.
    fn name(&self) -> &'static str;

    /// The discipline's own [`Discipline`](crate::Discipline) value.
    fn as_any(&self) -> &dyn Any;
}

/// Rejects a queue length that is not in `unit`; returns its value.
///
/// # Errors
/// When it is in the other unit.
pub fn in_unit(field: &str, length: Amount, unit: Counting) -> Result<f64, ParamError> {
    if length.unit() == unit {
        return Ok(length.value());
    }
    let as_limit = if field == "limit" { "" } else { ", as limit is" };
    let want = match unit {
        Counting::Packets => format!("it must be a number of packets such as 60{as_limit}"),
        Counting::Bytes => format!("it must be a number of bytes such as \"90kb\"{as_limit}"),
    };
    Err(ParamError::new(field, length, want))
}

/// Rejects a limit too small for any packet.
///
/// # Errors
/// When it is below one packet or one byte.
pub fn usable_limit(field: &str, limit: Amount) -> Result<Amount, ParamError> {
    in_range(field, limit.value(), 1.0, f64::INFINITY).map(|()| limit)
}

/// The minimum period of a repeating timer: a typing error must not stall a link.
pub const SHORTEST_PERIOD: Duration = Duration::from_micros(100);

/// Rejects a period below [`SHORTEST_PERIOD`] other than 0, which means never; returns it.
///
/// # Errors
/// When it is neither.
pub fn period_or_none(field: &str, period: Duration) -> Result<Duration, ParamError> {
    if period.is_zero() { Ok(period) } else { at_least(field, period, SHORTEST_PERIOD) }
}

/// Rejects a duration that is too short, such as the period of a repeating timer; returns it.
///
/// # Errors
/// When it is shorter than `least`.
pub fn at_least(field: &str, time: Duration, least: Duration) -> Result<Duration, ParamError> {
    if time >= least { Ok(time) } else { Err(ParamError::new(field, time, format!("it must be at least {least}"))) }
}

/// Rejects a zero duration.
///
/// # Errors
/// When it is zero.
pub fn positive_time(field: &str, time: Duration) -> Result<Duration, ParamError> {
    if time.is_zero() { Err(ParamError::new(field, time, "it must be above zero")) } else { Ok(time) }
}

/// Defines a discipline's `Params`, each with its default. Macros such as `params_with_codel!` add the fields that
/// several disciplines share.
macro_rules! params {
    (
        $(#[$about:meta])*
        { $($(#[$of_field:meta])* $field:ident: $type:ty = $default:expr,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Params {
            $($(#[$of_field])* pub $field: $type,)*
        }

        impl Default for Params {
            fn default() -> Self {
                Params { $($field: $default,)* }
            }
        }
    };
}
pub(crate) use params;
