//! AFD's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::afd::{Params, Replace};
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::afd::SAMPLES;

use crate::number::{factor, fixed, limit, nanos};

/// AFD's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When the shadow buffer or a number exceeds what the program supports.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::afd::Config, ParamError> {
    in_range("buffer", f64::from(params.buffer), 1.0, SAMPLES as f64)?;
    let typical = if params.limit.unit() == Counting::Bytes { link.mean_packet.as_f64() } else { 1.0 };
    let q_target = params.q_target.map_or(0.0, aqmkit_base::Amount::value);
    Ok(disciplines::afd::Config {
        limit: limit(params.limit)?,
        buffer: u64::from(params.buffer),
        sampled: fixed("sampling", 1.0 / params.sampling)?,
        q_target: fixed("q_target", q_target)?,
        alpha: factor("alpha", params.alpha)?,
        beta: factor("beta", params.beta)?,
        interval: nanos(params.interval),
        replace_oldest: u64::from(params.replace == Replace::Oldest),
        most: fixed("buffer", f64::from(params.buffer) * typical)?,
        ecn: u64::from(params.ecn),
    })
}
