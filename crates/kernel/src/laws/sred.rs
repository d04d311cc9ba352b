//! SRED's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::sred::Params;
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::sred::ZOMBIES;

use crate::number::{factor, fixed, limit};

/// SRED's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When the zombie list or a number exceeds what the program supports.
pub fn config(params: &Params, _link: &Link) -> Result<disciplines::sred::Config, ParamError> {
    in_range("zombies", f64::from(params.zombies), 1.0, ZOMBIES as f64)?;
    let most = params.limit.value();
    Ok(disciplines::sred::Config {
        limit: limit(params.limit)?,
        sixth: fixed("limit", most / 6.0)?,
        third: fixed("limit", most / 3.0)?,
        zombies: u64::from(params.zombies),
        overwrite: fixed("overwrite", params.overwrite)?,
        weight: factor("weight", params.weight.unwrap_or_default())?,
        max_p: fixed("max_p", params.max_p)?,
        full: u64::from(params.full),
        ecn: u64::from(params.ecn),
    })
}
