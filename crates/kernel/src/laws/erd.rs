//! ERD's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::erd::Params;
use aqmkit_aqm::registry::Link;
use aqmkit_kernel_laws::disciplines;

use crate::number::{fixed, limit};

/// ERD's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, _link: &Link) -> Result<disciplines::erd::Config, ParamError> {
    Ok(disciplines::erd::Config {
        limit: limit(params.limit)?,
        threshold: limit(params.threshold)?,
        probability: fixed("probability", params.probability)?,
        ecn: u64::from(params.ecn),
    })
}
