//! The step marker's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::step::{NotEct, Params};
use aqmkit_aqm::registry::Link;
use aqmkit_base::{Amount, Duration};
use aqmkit_kernel_laws::disciplines;

use crate::number::{factor, limit, nanos};

/// The step marker's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::step::Config, ParamError> {
    Ok(disciplines::step::Config {
        limit: limit(params.limit)?,
        threshold: limit(params.threshold.unwrap_or(Amount::Packets(20.0)))?,
        sojourn: nanos(params.sojourn.map_or(Duration::ZERO, |s| s.max(Duration::from_nanos(1)))),
        byte_time: factor("rate", 1e9 / link.rate.bytes_per_sec())?,
        pass_not_ect: u64::from(params.not_ect == NotEct::Pass),
    })
}
