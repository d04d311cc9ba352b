//! The parameters of each discipline in fixed point, from its effective parameters.

pub mod afd;
pub mod ared;
pub mod blue;
pub mod dcn;
pub mod erd;
pub mod pi;
pub mod red;
pub mod rem;
pub mod sred;
pub mod step;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::red::RedParams;
use aqmkit_aqm::registry::Link;
use aqmkit_base::Bytes;
use aqmkit_kernel_laws::average::Averaging;
use aqmkit_kernel_laws::early::{ECN, HARDDROP, NODROP, Ramp};

use crate::number::{factor, fixed, inverse, powers};

/// How a queue is averaged with this weight, where packets of `avpkt` leave at `bytes_per_sec`.
pub(crate) fn averaging(weight: f64, avpkt: Bytes, bytes_per_sec: f64) -> Result<Averaging, ParamError> {
    let drain_rate = factor("bandwidth", bytes_per_sec / avpkt.as_f64() / 1e9)?;
    Ok(Averaging { keep: powers(1.0 - weight), drain_rate })
}

/// RED's ramp.
pub(crate) fn ramp(min: f64, max: f64, max_p: f64, gentle: bool) -> Result<Ramp, ParamError> {
    Ok(Ramp {
        min: fixed("min", min)?,
        max: fixed("max", max)?,
        ceiling: fixed("max", if gentle { 2.0 * max } else { max })?,
        max_p: fixed("max_p", max_p)?,
        per_width: inverse("max", max - min)?,
        per_max: inverse("max", max)?,
    })
}

/// When RED marks.
pub(crate) fn rules(ecn: bool, harddrop: bool, nodrop: bool) -> u64 {
    [(ecn, ECN), (harddrop, HARDDROP), (nodrop, NODROP)].into_iter().filter_map(|(on, bit)| on.then_some(bit)).sum()
}

/// The averaging of RED's effective parameters.
pub(crate) fn red_averaging(red: &RedParams, link: &Link) -> Result<Averaging, ParamError> {
    let avpkt = red.averaging.avpkt.unwrap_or(link.mean_packet);
    let bandwidth = red.averaging.bandwidth.unwrap_or(link.rate);
    averaging(red.averaging.weight.unwrap_or(1.0), avpkt, bandwidth.bytes_per_sec())
}
