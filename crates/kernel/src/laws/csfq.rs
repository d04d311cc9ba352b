//! CSFQ's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::classes::Weights;
use aqmkit_aqm::disciplines::csfq::{Params, Role};
use aqmkit_aqm::params::in_range;
use aqmkit_aqm::registry::Link;
use aqmkit_base::ClassId;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::csfq::FLOWS;
use aqmkit_kernel_laws::fixed::Factor;
use aqmkit_kernel_laws::law::CLASSES;

use crate::number::{averaging, fixed, inverse, limit, nanos};

/// CSFQ's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When the role is edge or core alone, or the flows or a number exceed what the program supports.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::csfq::Config, ParamError> {
    if params.role != Role::EdgeCore {
        let what = "in the kernel no packet carries a label from one router to another";
        return Err(ParamError::sentence("role", what, "use edge-core, which is both on one link"));
    }
    in_range("flows", f64::from(params.flows), 4.0, FLOWS as f64)?;
    let weights = Weights::new(link, &params.classes)?;
    let mut per_weight = [Factor::ZERO; CLASSES];
    for (class, factor) in (0..).zip(&mut per_weight) {
        *factor = inverse("weight", weights.of(ClassId(class)))?;
    }
    Ok(disciplines::csfq::Config {
        limit: limit(params.limit)?,
        threshold: fixed("threshold", params.threshold.map_or(0.0, aqmkit_base::Amount::value))?,
        capacity: fixed("rate", link.rate.as_bps() as f64 / 1e6)?,
        of_flow: averaging(params.k),
        of_link: averaging(params.k_alpha),
        k_c: nanos(params.k_c),
        flows: u64::from(params.flows),
        per_weight,
        ecn: u64::from(params.ecn),
    })
}
