//! ARED's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::ared::{Params, Variant};
use aqmkit_aqm::law::adaptive::Adaptation;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Duration;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::fixed::Fixed;

use super::red::{no_wait, of_red};
use crate::number::{factor, fixed, inverse};

/// ARED's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::ared::Config, ParamError> {
    no_wait(params.wait)?;
    let (alpha, beta) = (params.alpha.unwrap_or_default(), params.beta.unwrap_or_default());
    let feng = params.variant == Variant::Feng;
    let adaptation = if feng {
        Adaptation { interval: Duration::ZERO, ..Adaptation::default() }
    } else {
        Adaptation { interval: params.interval, alpha, beta, top: params.top, bottom: params.bottom }
    };
    let red = params.red();
    let most = red.thresholds().1.value() * params.harddrop_from.unwrap_or(2.0);
    Ok(disciplines::ared::Config {
        red: of_red(&red, &adaptation, link)?,
        no_marks_from: if params.harddrop { fixed("max", most)? } else { Fixed(i64::MAX) },
        feng: u64::from(feng),
        per_alpha: inverse("alpha", alpha)?,
        beta: factor("beta", beta)?,
    })
}
