//! PIE's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::pie::{Decay, Params};
use aqmkit_aqm::registry::Link;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::fixed::Fixed;

use crate::number::{factor, finer, finer_fixed, inverse, limit, nanos};

/// PIE's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When a parameter is not supported in the kernel, or exceeds fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::pie::Config, ParamError> {
    let missing = |field: &str, what: &str| Err(ParamError::sentence(field, what, format!("leave {field} out")));
    if params.active_from.is_some() {
        return missing("active_from", "the law in the kernel is always active");
    }
    if params.dq_rate_estimator {
        return missing("dq_rate_estimator", "in the kernel the delay is computed from the rate of the link");
    }
    let avpkt = params.avpkt.unwrap_or(link.mean_packet);
    // A delay in nanoseconds is used as the raw bits of a fixed-point number.
    let per_nano = |hz: f64| hz / 1e9 * Fixed::ONE.0 as f64;
    Ok(disciplines::pie::Config {
        limit: limit(params.limit)?,
        byte_time: factor("rate", 1e9 / link.rate.bytes_per_sec())?,
        target: nanos(params.target),
        tupdate: nanos(params.tupdate),
        alpha: finer("alpha", per_nano(params.alpha))?,
        beta: finer("beta", per_nano(params.beta))?,
        max_burst: nanos(params.max_burst),
        per_byte: inverse("avpkt", avpkt.as_f64())?,
        two_packets: 2 * avpkt.0,
        bytemode: u64::from(params.bytemode),
        derandomize: u64::from(params.derandomize),
        cap: u64::from(params.cap),
        decays_low: u64::from(params.decay == Decay::Low),
        ecn: u64::from(params.ecn),
        ecn_prob: finer_fixed(params.ecn_prob),
    })
}
