//! REM's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::rem::{MarkAt, Params, Price};
use aqmkit_aqm::registry::Link;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::disciplines;

use crate::number::{factor, fixed, inverse, limit, nanos, powers};

/// REM's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When a number exceeds fixed point, or marking on departure is requested.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::rem::Config, ParamError> {
    if params.mark_at == MarkAt::Departure {
        return Err(ParamError::new("mark_at", "departure", "in the kernel it must be \"arrival\""));
    }
    let avpkt = params.avpkt.unwrap_or(link.mean_packet);
    let unit = if params.limit.unit() == Counting::Bytes { 1.0 / avpkt.as_f64() } else { 1.0 };
    Ok(disciplines::rem::Config {
        limit: limit(params.limit)?,
        target: fixed("target", params.target.value() * unit)?,
        per_byte: inverse("avpkt", avpkt.as_f64())?,
        gamma: factor("gamma", params.gamma)?,
        alpha: factor("alpha", params.alpha)?,
        capacity: fixed("interval", link.packets_per_sec(avpkt) * params.interval.as_secs_f64())?,
        interval: nanos(params.interval),
        keep: powers(1.0 - params.weight),
        kept_after: factor("weight", (1.0 - params.weight) / params.weight)?,
        per_phi: powers(1.0 / params.phi),
        per_root: powers(libm::pow(params.phi, -1.0 / f64::from(1 << 24))),
        backlog: u64::from(params.price == Price::Backlog),
        byte_mode: u64::from(params.byte_mode),
        ecn: u64::from(params.ecn),
    })
}
