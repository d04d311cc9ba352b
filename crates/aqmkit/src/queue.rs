//! Builds the settings of a queue from the arguments of `replay`, `bridge` and `link`.

use aqmkit_aqm::Catalogue;
use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::{Amount, BitRate, Duration};
use aqmkit_experiment::doubts;
use aqmkit_lab::parameters::{known, literal, misfit, parameters, written};
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;
use aqmkit_packets::wire::classes::{Named, NoClass};

use super::args::wire::Queue;
use super::fail::{Failure, wrong};
use super::say;

/// Parses a discipline with parameters, such as `red:min=5,max=40`.
///
/// # Errors
/// When there is no such discipline, or a parameter is invalid.
pub(super) fn spec(text: &str, limit: Option<Amount>, disciplines: &Catalogue) -> Result<Spec, Failure> {
    let (name, mut table) = written(text, disciplines)?;
    known(&name, disciplines)?;
    if let Some(limit) = limit {
        table.entry("limit").or_insert_with(|| literal(&limit.to_string()));
    }
    Ok(parameters(&name, &table, disciplines)?)
}

/// Parses `--class`; the default is classes by protocol.
///
/// # Errors
/// When a class is invalid.
pub(super) fn classes(list: &[String]) -> Result<Classes, Failure> {
    let named = list.iter().map(|c| c.parse::<Named>()).collect::<Result<Vec<_>, _>>();
    match named {
        Ok(named) if named.is_empty() => Ok(Classes::default()),
        Ok(named) => Ok(Classes::new(named)),
        Err(e) => wrong(e.to_string(), NoClass::RIGHT),
    }
}

/// Builds the settings of one direction.
///
/// # Errors
/// When the discipline, a parameter or a class is invalid.
pub(super) fn setup(
    name: &str,
    rate: BitRate,
    aqm: &str,
    queue: &Queue,
    disciplines: &Catalogue,
) -> Result<Setup, Failure> {
    let classes = classes(&queue.class)?.names().to_vec();
    let setup = Setup::new(name, rate, Duration::ZERO, spec(aqm, queue.limit, disciplines)?);
    usable(Setup { classes, framing: queue.framing.framing(), seed: queue.seed, ..setup }, aqm)
}

/// Checks the parameters of a direction's queue on its link; `aqm` is how the user wrote them.
///
/// # Errors
/// When a parameter is invalid on this link.
pub(super) fn usable(setup: Setup, aqm: &str) -> Result<Setup, Failure> {
    let (rate, mean_packet, classes) = (setup.rate, setup.mean_packet, setup.classes.clone());
    let link = registry::Link { rate, mean_packet, classes };
    match setup.aqm.effective(&link) {
        Ok(_) => {
            doubts(&setup.aqm, &link).iter().for_each(|text| say::message(&format!("warning: {text}")));
            Ok(setup)
        }
        Err(e) => {
            let table = written(aqm, &Catalogue::default()).map(|of| of.1).unwrap_or_default();
            Err(misfit(setup.aqm.name(), &table, e).into())
        }
    }
}
