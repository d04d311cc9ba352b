//! Parameters of disciplines without their type, and checks of them.

use std::any::Any;

pub use aqmkit_base::param::{ParamError, in_range};
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Duration};

/// The parameters of some discipline: only the discipline itself knows their type. A queue is given them when it is
/// reconfigured, so that queues need not know which disciplines there are.
pub trait AnyParams {
    /// The name of the discipline.
    fn name(&self) -> &'static str;

    /// The discipline's own [`Discipline`](crate::Discipline) value.
    fn as_any(&self) -> &dyn Any;
}

/// Refuses a queue length that does not count in `unit`; gives its value.
///
/// # Errors
/// When it counts in the other unit.
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

/// Refuses a limit under which no packet would ever fit.
///
/// # Errors
/// When it is below one packet or one byte.
pub fn usable_limit(field: &str, limit: Amount) -> Result<Amount, ParamError> {
    in_range(field, limit.value(), 1.0, f64::INFINITY).map(|()| limit)
}

/// The shortest period of a timer that fires again and again: a typing error must not stop a link.
pub const SHORTEST_PERIOD: Duration = Duration::from_micros(100);

/// Refuses a period below [`SHORTEST_PERIOD`] that is not 0, which means never; gives it.
///
/// # Errors
/// When it is neither.
pub fn period_or_none(field: &str, period: Duration) -> Result<Duration, ParamError> {
    if period.is_zero() { Ok(period) } else { at_least(field, period, SHORTEST_PERIOD) }
}

/// Refuses a length of time that is too short, as the period of a timer that fires again and again; gives it.
///
/// # Errors
/// When it is shorter than `least`.
pub fn at_least(field: &str, time: Duration, least: Duration) -> Result<Duration, ParamError> {
    if time >= least { Ok(time) } else { Err(ParamError::new(field, time, format!("it must be at least {least}"))) }
}

/// Refuses a length of time of zero.
///
/// # Errors
/// When it is zero.
pub fn positive_time(field: &str, time: Duration) -> Result<Duration, ParamError> {
    if time.is_zero() { Err(ParamError::new(field, time, "it must be above zero")) } else { Ok(time) }
}
