//! The queue that the arguments of `replay`, `bridge` and `link` ask for.

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{Amount, BitRate, Duration};
use aqmkit_packets::Setup;
use aqmkit_packets::wire::Classes;
use aqmkit_packets::wire::classes::{Named, NoClass};
use toml::Value;

use super::args::wire::Queue;
use super::compare::written;
use super::describe::literal;
use super::fail::{Failure, wrong};
use crate::experiment::Problem;

/// The parameters of a discipline written as `red:min=5,max=40`.
///
/// # Errors
/// When there is no such discipline, or a parameter cannot be read.
pub fn spec(text: &str, limit: Option<Amount>) -> Result<Spec, Failure> {
    let (name, mut table) = written(text)?;
    if let Some(limit) = limit {
        table.entry("limit").or_insert_with(|| literal(&limit.to_string()));
    }
    match Spec::read(name, Value::Table(table)) {
        Ok(spec) => Ok(spec),
        Err(e) => wrong(format!("{text}: {}", e.message().trim()), format!("see aqmkit describe {name}")),
    }
}

/// The classes of `--class`; by protocol where it is left out.
///
/// # Errors
/// When one cannot be read.
pub fn classes(list: &[String]) -> Result<Classes, Failure> {
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
pub fn setup(name: &str, rate: BitRate, aqm: &str, queue: &Queue) -> Result<Setup, Failure> {
    let classes = classes(&queue.class)?.names().to_vec();
    let setup = Setup::new(name, rate, Duration::ZERO, spec(aqm, queue.limit)?);
    Ok(Setup { classes, overhead: queue.overhead, seed: queue.seed, ..setup })
}

/// A parameter that does not go with the link.
pub fn misfit(error: &aqmkit_aqm::ParamError) -> Failure {
    Failure::Problem(Problem::new(error.to_string()).right("aqmkit describe shows the parameters of a discipline"))
}
