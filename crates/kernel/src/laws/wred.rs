//! WRED's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::wred::Params;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Amount;
use aqmkit_kernel_laws::disciplines;

use super::{averaging, entries, of_classes, ramp, rules};
use crate::number::limit;

/// WRED's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When there are more classes than the program supports, or a number exceeds fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::wred::Config, ParamError> {
    let avpkt = params.avpkt.unwrap_or(link.mean_packet);
    let bandwidth = params.bandwidth.unwrap_or(link.rate);
    Ok(disciplines::wred::Config {
        limit: limit(params.limit)?,
        averaging: averaging(params.weight.unwrap_or(1.0), avpkt, bandwidth.bytes_per_sec())?,
        rules: rules(params.ecn, params.harddrop, false),
        entry: entries(link, params.classes.iter().map(|c| c.class.as_str()))?,
        ramps: of_classes(&params.classes, |class| {
            ramp(class.min.map_or(0.0, Amount::value), class.max.value(), class.max_p, params.gentle)
        })?,
    })
}
