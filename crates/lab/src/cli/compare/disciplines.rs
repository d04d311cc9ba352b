//! The disciplines of a comparison.

use aqmkit_aqm::Catalogue;
use aqmkit_base::Amount;
use serde::Deserialize as _;
use toml::{Table, Value};

use super::sweep::{Sweep, Swept};
use super::text::{string, table};
use crate::cli::args::Compare;
use crate::cli::fail::Failure;
use crate::cli::parameters::{known, literal, written};

/// The default limit of every queue in a comparison. Linux gives this limit to `pfifo` and, through the transmit queue
/// length of a device, to most of its other queues. With the disciplines' own defaults, which come from their papers
/// (60 to 10,240 packets), disciplines would differ mainly by their buffers.
pub const LIMIT: Amount = Amount::Packets(1000.0);

/// The entries of the sweep for a discipline such as `red:min=5,max=40`: one, or one for each value of a swept
/// parameter.
///
/// # Errors
/// When there is no such discipline, or a parameter has no value.
pub(super) fn entries(
    text: &str,
    args: &Compare,
    sweeps: &[Sweep],
    catalogue: &Catalogue,
) -> Result<Vec<Value>, Failure> {
    let (name, parameters) = written(text)?;
    known(name, catalogue)?;
    let mut plain = table([("name", string(name)), ("label", string(text))]);
    plain.extend(accepted(catalogue, name, "limit", literal(&args.limit.unwrap_or(LIMIT).to_string())));
    if args.mix.ecn {
        plain.extend(accepted(catalogue, name, "ecn", Value::Boolean(true)));
    }
    plain.extend(parameters);
    let mut all = vec![plain];
    for sweep in sweeps {
        let Swept::Parameter { discipline, name: parameter } = &sweep.what else { continue };
        if discipline != name {
            continue;
        }
        let with = |entry: &Table, value: &String| {
            let mut entry = entry.clone();
            let label = entry.get("label").and_then(Value::as_str).unwrap_or(name).to_owned();
            entry.insert("label".to_owned(), string(format!("{label} {parameter}={value}")));
            entry.insert(parameter.clone(), literal(value));
            entry
        };
        all = all.iter().flat_map(|entry| sweep.values.iter().map(|value| with(entry, value))).collect();
    }
    Ok(all.into_iter().map(Value::Table).collect())
}

/// A parameter with its value, if the discipline has it: `cbq` has a limit for each class instead of a common one, and
/// some disciplines never mark.
fn accepted(catalogue: &Catalogue, name: &str, parameter: &str, value: Value) -> Table {
    let parameters = table([(parameter, value)]);
    let takes = aqmkit_base::read::Value::deserialize(parameters.clone())
        .is_ok_and(|table| catalogue.spec(name, table).is_ok());
    if takes { parameters } else { Table::new() }
}
