//! CoDel's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::codel::{Params, Reentry};
use aqmkit_aqm::law::control::control_law;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Instant;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::codel::ROWS;

use crate::number::{factor, limit, nanos};

/// CoDel's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When a parameter is not supported in the kernel, or exceeds fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::codel::Config, ParamError> {
    if params.ce_threshold_selector.is_some() {
        let what = "the law in the kernel marks every ECN-capable packet above ce_threshold";
        return Err(ParamError::sentence("ce_threshold_selector", what, "leave ce_threshold_selector out"));
    }
    let gap = |count: usize| control_law(Instant::ZERO, params.interval, count as u32).as_nanos();
    Ok(disciplines::codel::Config {
        limit: limit(params.limit)?,
        at_head: 0,
        max_drops: u64::from(params.max_drops),
        byte_time: factor("rate", 1e9 / link.rate.bytes_per_sec())?,
        target: nanos(params.target),
        interval: nanos(params.interval),
        per_root: std::array::from_fn(|row| std::array::from_fn(|i| gap(row * ROWS + i))),
        ce_threshold: params.ce_threshold.map_or(u64::MAX, nanos),
        mtu: params.mtu.0,
        as_in_2012: u64::from(params.reentry == Reentry::Nichols2012),
        ecn: u64::from(params.ecn),
    })
}
