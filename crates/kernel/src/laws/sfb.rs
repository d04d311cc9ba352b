//! SFB's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::sfb::Params;
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::sfb::{BINS, LEVELS, PACKETS};
use aqmkit_kernel_laws::fixed::Fixed;

use crate::number::{factor, finer_fixed, fixed, limit, nanos};

/// SFB's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When the queue, the sets of bins or a number exceed what the program supports.
pub fn config(params: &Params, _link: &Link) -> Result<disciplines::sfb::Config, ParamError> {
    if params.limit.unit() == Counting::Packets {
        in_range("limit", params.limit.value(), 1.0, PACKETS as f64)?;
    }
    in_range("levels", f64::from(params.levels), 1.0, LEVELS as f64)?;
    in_range("bins", f64::from(params.bins), 1.0, BINS as f64)?;
    let burst = f64::from(params.penalty_burst);
    let fills = if params.penalty_rate > 0.0 { burst / params.penalty_rate * 1e9 } else { f64::INFINITY };
    Ok(disciplines::sfb::Config {
        limit: limit(params.limit)?,
        levels: u64::from(params.levels),
        bins: u64::from(params.bins),
        bin_size: u64::from(params.target.unwrap_or_default()),
        max: u64::from(params.max.unwrap_or_default()),
        increment: finer_fixed(params.increment),
        decrement: finer_fixed(params.decrement),
        freeze: nanos(params.freeze),
        rehash: nanos(params.rehash),
        db: nanos(params.db),
        penalty_rate: factor("penalty_rate", params.penalty_rate / 1e9 * Fixed::ONE.0 as f64)?,
        penalty_burst: fixed("penalty_burst", burst)?,
        penalty_fills: fills as u64,
        ecn: u64::from(params.ecn),
    })
}
