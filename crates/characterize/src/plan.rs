//! The experiments of a card with its subjects.

use aqmkit_experiment::{Problem, find};
use toml::{Table, Value};

use crate::contestant::Contestant;
use crate::guide::{Guide, Source};
use crate::parameters;
pub use crate::planned::Planned;
use crate::planned::limit;

/// Repeats of a quick card: with fewer, the spread is too uncertain for verdicts.
const QUICK_REPEATS: i64 = 5;

/// The experiments of a card with these subjects, in the order of its sections.
///
/// # Errors
/// When an experiment of the study is missing or cannot be read.
pub fn experiments(guide: &Guide, contestants: &[Contestant]) -> Result<Vec<Planned>, Problem> {
    let mut all: Vec<Planned> = Vec::new();
    for section in guide.sections {
        match section.source {
            Source::Experiment(name) if !all.iter().any(|planned| planned.name == name) => {
                let id = format!("{}/{name}", guide.study);
                let (_, text) = find(&id)?;
                let text = with_subjects(&read(&id, &text)?, guide.axis, contestants).to_string();
                all.push(Planned { name: name.to_owned(), number: section.number, id, text });
            }
            Source::Parameters if !all.iter().any(|planned| planned.name.starts_with(parameters::NAME)) => {
                let id = format!("{}/{}", guide.study, parameters::BASE);
                let (_, text) = find(&id)?;
                let base = read(&id, &text)?;
                all.extend(contestants.iter().filter_map(|c| parameters::experiment(c, &base, section.number)));
            }
            _ => {}
        }
    }
    Ok(all)
}

fn read(id: &str, text: &str) -> Result<Table, Problem> {
    let mut file: Table =
        text.parse().map_err(|e: toml::de::Error| Problem::new(format!("{id} does not read: {}", e.message())))?;
    if let Some(Value::Table(quick)) = file.get_mut("quick") {
        quick.insert("repeat".to_owned(), Value::Integer(QUICK_REPEATS));
    }
    Ok(file)
}

/// Replaces the subjects in the experiment's sweep by these. A connection gets the keys that the first value of the file sets.
fn with_subjects(file: &Table, axis: &str, contestants: &[Contestant]) -> Table {
    let limit = limit(file);
    let first = file.get("sweep").and_then(|sweep| sweep.get(axis)?.as_array()?.first()?.as_table());
    let keys: Vec<String> =
        first.into_iter().flatten().map(|(key, _)| key).filter(|key| *key != "label").cloned().collect();
    let ecn = file.get("transport").and_then(|hosts| hosts.get("ecn")?.as_bool()).unwrap_or(false);
    let value = |contestant: &Contestant| match axis {
        "aqm" => contestant.entry(&limit),
        _ => contestant.choice(&keys, ecn),
    };
    let list = contestants.iter().map(|contestant| Value::Table(value(contestant))).collect();
    let mut file = file.clone();
    if let Some(Value::Table(sweep)) = file.get_mut("sweep") {
        sweep.insert(axis.to_owned(), Value::Array(list));
    }
    file
}
