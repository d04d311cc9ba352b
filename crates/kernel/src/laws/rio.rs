//! RIO's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::classes::ClassSet;
use aqmkit_aqm::disciplines::rio::Params;
use aqmkit_aqm::registry::Link;
use aqmkit_kernel_laws::disciplines;

use super::{averaging, by_class, listed, ramp, rules};

/// RIO's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When a number is too large for fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::rio::Config, ParamError> {
    let inside = ClassSet::new("in", link, &params.inside)?;
    let avpkt = params.avpkt.unwrap_or(link.mean_packet);
    Ok(disciplines::rio::Config {
        limit: listed(params.limit)?,
        inside: by_class(|class| u64::from(inside.contains(class))),
        ramps: [
            ramp(params.out_min.value(), params.out_max.value(), params.out_max_p, params.gentle)?,
            ramp(params.in_min.value(), params.in_max.value(), params.in_max_p, params.gentle)?,
        ],
        averaging: averaging(params.weight, avpkt, link.rate.bytes_per_sec())?,
        coupled: u64::from(params.coupled),
        rules: rules(params.ecn, params.harddrop, false),
    })
}
