//! The disciplines of a comparison.

use std::path::Path;

use aqmkit_aqm::Catalogue;
use aqmkit_base::{Amount, Duration};
use serde::Deserialize as _;
use toml::{Table, Value};

use super::Comparison;
use super::room::{Queue, Room};
use super::sweep::{Sweep, Swept};
use super::text::{string, table};
use crate::error::{LabError, wrong};
use crate::parameters::{FILE, known, literal, written};

/// The default limit of every queue in a comparison. Linux applies it to `pfifo` and, through the device's
/// `txqueuelen`, to most of its other queues. The disciplines' own defaults come from their papers and range from 60 to
/// 10,240 packets, so that disciplines would differ mainly by their buffers.
pub const LIMIT: Amount = Amount::Packets(1000.0);

/// The sweep entries for a discipline such as `red:min=5,max=40`: a single one, or one for each value of a swept
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
    let name = name.as_str();
    known(name, catalogue)?;
    let mut plain = table([("name", string(name)), ("label", string(label(text)))]);
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

/// How results call a discipline: as it was written, or as its file without directory and end.
fn label(text: &str) -> String {
    let (file, parameters) = text.split_once(':').unwrap_or((text, ""));
    let Some(stem) = file.strip_suffix(FILE) else { return text.to_owned() };
    let stem = Path::new(stem).file_name().map_or(stem.into(), std::ffi::OsStr::to_string_lossy);
    if parameters.is_empty() { stem.into_owned() } else { format!("{stem}:{parameters}") }
}

/// The values of a swept limit, as written and as converted for the discipline.
fn rooms(sweep: &Sweep, queue: &Queue<'_>, rtt: Duration) -> Result<Vec<(String, Option<Value>)>, LabError> {
    let read = |text: &String| match text.parse::<Room>() {
        Ok(room) => Ok((text.clone(), room.limit(queue, rtt))),
        Err(what) => wrong(format!("--sweep limit: {what}"), "for example --sweep limit=50,100,200 or limit=1bdp,2bdp"),
    };
    sweep.values.iter().map(read).collect()
}

/// A table with the parameter if the discipline accepts it, or else an empty one: `cbq` has a limit per class instead
/// of a common one, and some disciplines never mark.
fn accepted(catalogue: &Catalogue, name: &str, parameter: &str, value: Value) -> Table {
    let parameters = table([(parameter, value)]);
    let takes = aqmkit_base::read::Value::deserialize(parameters.clone())
        .is_ok_and(|table| catalogue.spec(name, table).is_ok());
    if takes { parameters } else { Table::new() }
}
