//! FRED's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::fred::Params;
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::fred::PACKETS;

use super::{averaging, ramp};
use crate::number::{fixed, limit};

/// FRED's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When the queue or a number exceeds what the program supports.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::fred::Config, ParamError> {
    in_range("limit", params.limit.value(), 1.0, PACKETS as f64)?;
    let avpkt = params.avpkt.unwrap_or(link.mean_packet);
    Ok(disciplines::fred::Config {
        limit: limit(params.limit)?,
        ramp: ramp(params.min.value(), params.max.value(), params.max_p, false)?,
        averaging: averaging(params.weight, avpkt, link.rate.bytes_per_sec())?,
        minq: fixed("minq", f64::from(params.minq))?,
        many_flows: u64::from(params.many_flows),
        ecn: u64::from(params.ecn),
    })
}
