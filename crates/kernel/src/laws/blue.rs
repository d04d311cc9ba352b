//! BLUE's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::blue::Params;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Amount;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::fixed::{FINER, Fixed};

use crate::number::{fixed, limit, nanos};

/// BLUE's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, _link: &Link) -> Result<disciplines::blue::Config, ParamError> {
    let step = |field, d: f64| Ok::<_, ParamError>(Fixed(fixed(field, d * f64::from(1 << FINER))?.0));
    Ok(disciplines::blue::Config {
        limit: limit(params.limit)?,
        d1: step("d1", params.d1)?,
        d2: step("d2", params.d2)?,
        freeze: nanos(params.freeze),
        trigger: limit(params.trigger.unwrap_or(Amount::Bytes(u64::MAX)))?,
        ecn: u64::from(params.ecn),
    })
}
