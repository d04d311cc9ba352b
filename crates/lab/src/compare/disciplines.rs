//! The disciplines of a comparison.

use aqmkit_aqm::Catalogue;
use aqmkit_base::{Amount, Duration};
use serde::Deserialize as _;
use toml::{Table, Value};

use super::Comparison;
use super::room::{Queue, Room};
use super::sweep::{Sweep, Swept};
use super::text::{string, table};
use crate::error::{LabError, wrong};
use crate::parameters::{known, literal, written};

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
    asked: &Comparison,
    sweeps: &[Sweep],
    rtt: Duration,
    catalogue: &Catalogue,
) -> Result<Vec<Value>, LabError> {
    let (name, parameters) = written(text, catalogue)?;
    known(name, catalogue)?;
    let mut plain = table([("name", string(name)), ("label", string(text))]);
    let queue = Queue { name, parameters: &parameters, catalogue };
    let room = asked.limit.unwrap_or(Room::Amount(LIMIT));
    plain.extend(room.limit(&queue, rtt).map(|limit| ("limit".to_owned(), limit)));
    if asked.marks() {
        plain.extend(accepted(catalogue, name, "ecn", Value::Boolean(true)));
    }
    plain.extend(parameters.clone());
    let mut all = vec![plain];
    for sweep in sweeps {
        let values: Vec<(String, Option<Value>)> = match &sweep.what {
            Swept::Parameter { discipline, .. } if discipline == name => {
                sweep.values.iter().map(|value| (value.clone(), Some(literal(value)))).collect()
            }
            Swept::Limit => rooms(sweep, &queue, rtt)?,
            _ => continue,
        };
        let parameter = sweep.what.key();
        let with = |entry: &Table, (written, value): &(String, Option<Value>)| {
            let mut entry = entry.clone();
            let label = entry.get("label").and_then(Value::as_str).unwrap_or(name).to_owned();
            entry.insert("label".to_owned(), string(format!("{label} {parameter}={written}")));
            entry.extend(value.clone().map(|value| (parameter.to_owned(), value)));
            entry
        };
        all = all.iter().flat_map(|entry| values.iter().map(|value| with(entry, value))).collect();
    }
    Ok(all.into_iter().map(Value::Table).collect())
}

/// The limits of a sweep, as written and as the discipline takes them.
fn rooms(sweep: &Sweep, queue: &Queue<'_>, rtt: Duration) -> Result<Vec<(String, Option<Value>)>, LabError> {
    let read = |text: &String| match text.parse::<Room>() {
        Ok(room) => Ok((text.clone(), room.limit(queue, rtt))),
        Err(what) => wrong(format!("--sweep limit: {what}"), "for example --sweep limit=50,100,200 or limit=1bdp,2bdp"),
    };
    sweep.values.iter().map(read).collect()
}

/// A parameter with its value, if the discipline has it: `cbq` has a limit for each class instead of a common one, and
/// some disciplines never mark.
fn accepted(catalogue: &Catalogue, name: &str, parameter: &str, value: Value) -> Table {
    let parameters = table([(parameter, value)]);
    let takes = aqmkit_base::read::Value::deserialize(parameters.clone())
        .is_ok_and(|table| catalogue.spec(name, table).is_ok());
    if takes { parameters } else { Table::new() }
}
