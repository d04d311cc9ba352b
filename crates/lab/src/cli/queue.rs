//! The queue that the arguments of `replay`, `bridge` and `link` ask for.

use aqmkit_aqm::registry::{self, Spec};
use aqmkit_base::read::Value;
use aqmkit_base::{Amount, BitRate, Duration, ParamError};
use aqmkit_experiment::{Problem, out_of_reach};
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;
use aqmkit_packets::wire::classes::{Named, NoClass};
use serde::Deserialize as _;
use toml::Table;

use super::args::wire::Queue;
use super::compare::written;
use super::describe::literal;
use super::fail::{Failure, wrong};
use super::say;

/// The parameters of a discipline written as `red:min=5,max=40`.
///
/// # Errors
/// When there is no such discipline, or a parameter cannot be read.
pub(super) fn spec(text: &str, limit: Option<Amount>) -> Result<Spec, Failure> {
    let (name, mut table) = written(text)?;
    if let Some(limit) = limit {
        table.entry("limit").or_insert_with(|| literal(&limit.to_string()));
    }
    Ok(parameters(name, &table)?)
}

/// The parameters of the discipline `name` in a table.
///
/// # Errors
/// When a key or a value is wrong, in the words of an experiment file.
pub(super) fn parameters(name: &str, table: &Table) -> Result<Spec, Problem> {
    let table = value(table)?;
    Spec::of_table(name, table.clone()).map_err(|e| Problem::from(e.as_written(&table).of(name)))
}

fn value(table: &Table) -> Result<Value, Problem> {
    Value::deserialize(table.clone()).map_err(|e| Problem::new(e.to_string()))
}

/// The classes of `--class`; by protocol where it is left out.
///
/// # Errors
/// When one cannot be read.
pub(super) fn classes(list: &[String]) -> Result<Classes, Failure> {
    let named = list.iter().map(|c| c.parse::<Named>()).collect::<Result<Vec<_>, _>>();
    match named {
        Ok(named) if named.is_empty() => Ok(Classes::default()),
        Ok(named) => Ok(Classes::new(named)),
        Err(e) => wrong(e.to_string(), NoClass::RIGHT),
    }
}

/// A direction with this queue.
///
/// # Errors
/// When the discipline, a parameter or a class is wrong.
pub(super) fn setup(name: &str, rate: BitRate, aqm: &str, queue: &Queue) -> Result<Setup, Failure> {
    let classes = classes(&queue.class)?.names().to_vec();
    let setup = Setup::new(name, rate, Duration::ZERO, spec(aqm, queue.limit)?);
    usable(Setup { classes, overhead: queue.overhead, seed: queue.seed, ..setup }, aqm)
}

/// The direction, if the parameters of its queue, which are written as `aqm`, can be used on its link.
///
/// # Errors
/// When one cannot.
pub(super) fn usable(setup: Setup, aqm: &str) -> Result<Setup, Failure> {
    let (rate, mean_packet, classes) = (setup.rate, setup.mean_packet, setup.classes.clone());
    let link = registry::Link { rate, mean_packet, classes };
    match setup.aqm.effective(&link) {
        Ok(_) => {
            out_of_reach(&setup.aqm, &link).iter().for_each(|text| say::tell(&format!("warning: {text}")));
            Ok(setup)
        }
        Err(e) => Err(misfit(setup.aqm.name(), &written(aqm)?.1, e)),
    }
}

/// A parameter of `discipline` that cannot be used on the link; `table` has the parameters as the user wrote them.
#[must_use]
pub(super) fn misfit(discipline: &str, table: &Table, error: ParamError) -> Failure {
    match value(table) {
        Ok(table) => Failure::Problem(error.as_written(&table).of(discipline).into()),
        Err(problem) => Failure::Problem(problem),
    }
}
