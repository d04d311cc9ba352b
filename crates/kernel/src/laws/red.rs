//! RED's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::red::{Params, RedParams};
use aqmkit_aqm::law::adaptive::Adaptation;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Duration;
use aqmkit_kernel_laws::{adaptive, disciplines};

use super::{ramp, red_averaging, rules};
use crate::number::{factor, fixed, inverse, limit, nanos};

/// RED's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::red::Config, ParamError> {
    no_wait(params.wait)?;
    let interval = if params.adaptive { params.interval } else { Duration::ZERO };
    of_red(&params.red(), &Adaptation { interval, ..Adaptation::default() }, link)
}

/// Rejects `wait`, which the kernel's law does not implement.
pub(crate) fn no_wait(wait: bool) -> Result<(), ParamError> {
    match wait {
        true => {
            Err(ParamError::sentence("wait", "the law in the kernel does not wait between drops", "leave wait out"))
        }
        false => Ok(()),
    }
}

/// RED's parameters with this adaptation.
pub(crate) fn of_red(
    red: &RedParams,
    adaptation: &Adaptation,
    link: &Link,
) -> Result<disciplines::red::Config, ParamError> {
    let (min, max) = red.thresholds();
    let (min, max) = (min.value(), max.value());
    let avpkt = red.averaging.avpkt.unwrap_or(link.mean_packet);
    Ok(disciplines::red::Config {
        limit: limit(red.limit)?,
        ramp: ramp(min, max, red.max_p, red.gentle)?,
        averaging: red_averaging(red, link)?,
        per_byte: inverse("avpkt", avpkt.as_f64())?,
        byte_mode: u64::from(red.byte_mode),
        rules: rules(red.ecn, red.harddrop, red.nodrop),
        adaptation: self::adaptation(adaptation, min, max)?,
    })
}

fn adaptation(of: &Adaptation, min: f64, max: f64) -> Result<adaptive::Adaptation, ParamError> {
    Ok(adaptive::Adaptation {
        interval: nanos(of.interval),
        low: fixed("min", min + 0.4 * (max - min))?,
        high: fixed("max", min + 0.6 * (max - min))?,
        alpha: fixed("alpha", of.alpha)?,
        beta: factor("beta", of.beta)?,
        top: fixed("top", of.top)?,
        bottom: fixed("bottom", of.bottom)?,
    })
}
