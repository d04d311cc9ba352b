//! PI's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::pi::Params;
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Duration;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::disciplines;

use crate::number::{finer, fixed, inverse, limit, nanos};

/// PI's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When one is too large for fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::pi::Config, ParamError> {
    let avpkt = params.avpkt.unwrap_or(link.mean_packet).as_f64();
    let unit = if params.limit.unit() == Counting::Bytes { 1.0 / avpkt } else { 1.0 };
    let (a, b) = (params.a.unwrap_or_default() * unit, params.b.unwrap_or_default() * unit);
    // A step of the probability has six integer bits.
    let longest = params.limit.value().max(params.q_ref.value());
    in_range("a", a, 0.0, 30.0 / longest)?;
    Ok(disciplines::pi::Config {
        limit: limit(params.limit)?,
        q_ref: fixed("q_ref", params.q_ref.value())?,
        a: finer("a", a)?,
        b: finer("b", b)?,
        period: nanos(Duration::from_secs_f64(1.0 / params.w)),
        per_byte: inverse("avpkt", avpkt)?,
        byte_mode: u64::from(params.byte_mode),
        ecn: u64::from(params.ecn),
    })
}
