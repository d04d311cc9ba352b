//! CBT's parameters for the kernel.

use aqmkit_aqm::ParamError;
use aqmkit_aqm::disciplines::cbt::{ClassParams, Params};
use aqmkit_aqm::registry::Link;
use aqmkit_base::Amount;
use aqmkit_base::size::Counting;
use aqmkit_kernel_laws::average::Averaging;
use aqmkit_kernel_laws::disciplines;
use aqmkit_kernel_laws::disciplines::cbt::ClassConfig;

use super::{entries, listed, of_classes, ramp};
use crate::number::{factor, powers};

/// CBT's parameters in fixed point; `params` are effective.
///
/// # Errors
/// When there are more classes than the program supports, or a number exceeds fixed point.
pub fn config(params: &Params, link: &Link) -> Result<disciplines::cbt::Config, ParamError> {
    Ok(disciplines::cbt::Config {
        limit: listed(params.limit)?,
        in_bytes: u64::from(params.counting == Counting::Bytes),
        ecn: u64::from(params.ecn),
        entry: entries(link, params.classes.iter().map(|c| c.class.as_str()))?,
        classes: of_classes(&params.classes, of_class)?,
    })
}

fn of_class(class: &ClassParams) -> Result<ClassConfig, ParamError> {
    let length = |length: Option<Amount>| length.map_or(0.0, Amount::value);
    let drain_rate = factor("drain_rate", class.drain_rate.unwrap_or_default() / 1e9)?;
    Ok(ClassConfig {
        ramp: ramp(length(class.min), length(class.max), class.max_p, false)?,
        averaging: Averaging { keep: powers(1.0 - class.weight), drain_rate },
    })
}
