//! The experiments of a card with its disciplines.

use aqmkit_experiment::{Problem, find};
use toml::{Table, Value};

use crate::contestant::Contestant;
use crate::parameters;
pub use crate::planned::Planned;
use crate::planned::limit;
use crate::sections::{SECTIONS, Source};

/// The study that the experiments belong to.
const STUDY: &str = "rfc7928";
/// Repeats of a quick card: with fewer, the spread is too uncertain for verdicts.
const QUICK_REPEATS: i64 = 5;

/// The experiments of a card with these disciplines, in the order of its sections.
///
/// # Errors
/// When an experiment of the study is missing or cannot be read.
pub fn experiments(contestants: &[Contestant]) -> Result<Vec<Planned>, Problem> {
    let mut all: Vec<Planned> = Vec::new();
    for section in SECTIONS {
        match section.source {
            Source::Experiment(name) if !all.iter().any(|planned| planned.name == name) => {
                let id = format!("{STUDY}/{name}");
                let (_, text) = find(&id)?;
                let text = with_disciplines(&read(&id, &text)?, contestants).to_string();
                all.push(Planned { name: name.to_owned(), number: section.number, id, text });
            }
            Source::Parameters if !all.iter().any(|planned| planned.name.starts_with(parameters::NAME)) => {
                let id = format!("{STUDY}/{}", parameters::BASE);
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

/// Replaces the disciplines in the experiment's sweep by these.
fn with_disciplines(file: &Table, contestants: &[Contestant]) -> Table {
    let limit = limit(file);
    let list = contestants.iter().map(|c| Value::Table(c.entry(&limit))).collect();
    let mut file = file.clone();
    if let Some(Value::Table(sweep)) = file.get_mut("sweep") {
        sweep.insert("aqm".to_owned(), Value::Array(list));
    }
    file
}
