//! Parameters on the command line: `red:min=5,max=40` and `--set min=5`.

use aqmkit_aqm::Catalogue;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::ParamError;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use aqmkit_experiment::Problem;
use serde::Deserialize as _;
use toml::Table;

use super::fail::{Failure, wrong};

/// The values of `--set`, as a table.
pub(super) fn settings(set: &[String]) -> Result<Table, Failure> {
    let mut table = Table::new();
    for text in set {
        let Some((name, value)) = text.split_once('=') else {
            return wrong(format!("{text:?} has no value"), "give a name and a value, for example min=5");
        };
        table.insert(name.trim().to_owned(), literal(value.trim()));
    }
    Ok(table)
}

/// A TOML value; text that is not valid TOML is a string.
pub(super) fn literal(text: &str) -> toml::Value {
    let parsed = format!("x = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("x"));
    parsed.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Checks that a discipline has this name.
///
/// # Errors
/// When none has it; with the closest name.
pub(super) fn known(name: &str, disciplines: &Catalogue) -> Result<(), Failure> {
    if disciplines.has(name) {
        return Ok(());
    }
    wrong(format!("there is no discipline {name:?}"), suggest(name, disciplines.names()))
}

/// Splits `red:min=5,max=40` into the name of a discipline, which is not checked, and its parameters.
pub(super) fn written(text: &str) -> Result<(&str, Table), Failure> {
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let mut entry = Table::new();
    for parameter in split(parameters) {
        let Some((key, value)) = parameter.split_once('=') else {
            return wrong(format!("{parameter:?} in {text:?} has no value"), format!("for example {name}:limit=100"));
        };
        entry.insert(key.trim().to_owned(), literal(value.trim()));
    }
    Ok((name, entry))
}

/// Splits at commas that are not inside brackets or quotes.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_i32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|p| !p.trim().is_empty());
    parts
}

/// The parameters of the discipline `name` in a table.
///
/// # Errors
/// When a key or a value is wrong, with the same messages as in experiment files.
pub(super) fn parameters(name: &str, table: &Table, disciplines: &Catalogue) -> Result<Spec, Problem> {
    let table = value(table)?;
    disciplines.spec(name, table.clone()).map_err(|e| Problem::from(e.as_written(&table).of(name)))
}

fn value(table: &Table) -> Result<Value, Problem> {
    Value::deserialize(table.clone()).map_err(|e| Problem::new(e.to_string()))
}

/// The error for a parameter that is invalid on the link; `table` has the parameters as the user wrote them.
#[must_use]
pub(super) fn misfit(discipline: &str, table: &Table, error: ParamError) -> Failure {
    match value(table) {
        Ok(table) => Failure::Problem(error.as_written(&table).of(discipline).into()),
        Err(problem) => Failure::Problem(problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_toml_or_text() {
        let table = settings(&["min=5".into(), "limit=90kb".into(), "gentle = true".into()]).unwrap();
        assert_eq!(table["min"], toml::Value::Integer(5));
        assert_eq!(table["limit"], toml::Value::String("90kb".into()));
        assert_eq!(table["gentle"], toml::Value::Boolean(true));
        assert!(settings(&["min".into()]).is_err());
    }

    #[test]
    fn parameters_may_hold_commas() {
        assert_eq!(split("a=1,b=[1, 2],c={ x = \"y,z\" }"), ["a=1", "b=[1, 2]", "c={ x = \"y,z\" }"]);
        assert!(split("").is_empty());
    }
}
