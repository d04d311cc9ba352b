//! Converts each discipline's effective parameters to fixed point.

pub mod afd;
pub mod ared;
pub mod blue;
pub mod cbt;
pub mod codel;
pub mod csfq;
pub mod dcn;
pub mod erd;
pub mod fred;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod rio;
pub mod sfb;
pub mod sred;
pub mod step;
pub mod wred;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::classes::ClassMap;
use aqmkit_aqm::disciplines::red::RedParams;
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::size::Counting;
use aqmkit_base::{Amount, Bytes, ClassId};
use aqmkit_kernel_laws::average::Averaging;
use aqmkit_kernel_laws::early::{ECN, HARDDROP, NODROP, Ramp};
use aqmkit_kernel_laws::law::{CLASSES, Limit};
use aqmkit_kernel_laws::waiting::PLACES;

use crate::number::{factor, fixed, inverse, powers};

/// Checks that the limit does not exceed what a law with a packet list supports.
pub(crate) fn listed(limit: Amount) -> Result<Limit, ParamError> {
    if limit.unit() == Counting::Packets {
        in_range("limit", limit.value(), 1.0, PLACES as f64)?;
    }
    crate::number::limit(limit)
}

/// A number per class of the link, and the same default for classes it does not have.
pub(crate) fn by_class(number: impl Fn(ClassId) -> u64) -> [u64; CLASSES] {
    std::array::from_fn(|class| number(ClassId(class as u8)))
}

/// The index of each class in a list of parameters.
pub(crate) fn entries<'a>(link: &Link, names: impl Iterator<Item = &'a str>) -> Result<[u64; CLASSES], ParamError> {
    let map = ClassMap::new(link, names)?;
    Ok(by_class(|class| map.entry(class) as u64))
}

/// Parameters by class, padded to the number of classes in the kernel.
pub(crate) fn of_classes<T: Copy + Default, P>(
    classes: &[P],
    config: impl Fn(&P) -> Result<T, ParamError>,
) -> Result<[T; CLASSES], ParamError> {
    in_range("classes", classes.len() as f64, 1.0, CLASSES as f64)?;
    let mut all = [T::default(); CLASSES];
    for (i, (to, class)) in all.iter_mut().zip(classes).enumerate() {
        *to = config(class).map_err(|e| e.within(&format!("classes[{i}]")))?;
    }
    Ok(all)
}

/// Averaging with this EWMA weight, where packets of `avpkt` bytes depart at `bytes_per_sec`.
pub(crate) fn averaging(weight: f64, avpkt: Bytes, bytes_per_sec: f64) -> Result<Averaging, ParamError> {
    let drain_rate = factor("bandwidth", bytes_per_sec / avpkt.as_f64() / 1e9)?;
    Ok(Averaging { keep: powers(1.0 - weight), drain_rate })
}

/// RED's drop probability as a function of the average.
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

/// RED's flags.
pub(crate) fn rules(ecn: bool, harddrop: bool, nodrop: bool) -> u64 {
    [(ecn, ECN), (harddrop, HARDDROP), (nodrop, NODROP)].into_iter().filter_map(|(on, bit)| on.then_some(bit)).sum()
}

/// Averaging by RED's effective parameters.
pub(crate) fn red_averaging(red: &RedParams, link: &Link) -> Result<Averaging, ParamError> {
    let avpkt = red.averaging.avpkt.unwrap_or(link.mean_packet);
    let bandwidth = red.averaging.bandwidth.unwrap_or(link.rate);
    averaging(red.averaging.weight.unwrap_or(1.0), avpkt, bandwidth.bytes_per_sec())
}
