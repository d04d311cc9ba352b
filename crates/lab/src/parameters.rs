//! Parses parameters of disciplines as users write them: `red:min=5,max=40`, `min=5`.

use std::path::Path;

use aqmkit_aqm::Catalogue;
use aqmkit_aqm::registry::Spec;
use aqmkit_base::ParamError;
use aqmkit_base::near::suggest;
use aqmkit_base::read::Value;
use aqmkit_experiment::Problem;
use aqmkit_files::bounded;
use serde::Deserialize as _;
use toml::Table;

use crate::error::{LabError, wrong};

/// Parses assignments such as `min=5` into a table.
///
/// # Errors
/// When one has no value.
pub fn settings(set: &[String]) -> Result<Table, LabError> {
    let mut table = Table::new();
    for text in set {
        let Some((name, value)) = text.split_once('=') else {
            return wrong(format!("{text:?} has no value"), "give a name and a value, for example min=5");
        };
        table.insert(name.trim().to_owned(), literal(value.trim()));
    }
    Ok(table)
}

/// Parses a TOML value; text that is not valid TOML is a string.
#[must_use]
pub fn literal(text: &str) -> toml::Value {
    let parsed = format!("x = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("x"));
    parsed.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Checks that there is a discipline with this name.
///
/// # Errors
/// When there is none; the error suggests the closest name.
pub fn known(name: &str, disciplines: &Catalogue) -> Result<(), LabError> {
    if disciplines.has(name) {
        return Ok(());
    }
    let parts: Vec<&str> = name.split(',').map(str::trim).collect();
    if parts.len() > 1 && parts.iter().all(|part| disciplines.has(part)) {
        return wrong(format!("there is no discipline {name:?}"), format!("write {}, with spaces", parts.join(" ")));
    }
    wrong(format!("there is no discipline {name:?}"), suggest(name, disciplines.names()))
}

/// Splits `red:min=5,max=40` into a name, which is not checked, and parameters. Valueless words have the meaning that
/// they have in `tc`: `ecn`, `noecn`, `besteffort`. `pfifo` is an alias of `fifo`. A name that ends in `.toml` is a file: see [`from_file`].
///
/// # Errors
/// When a parameter other than these has no value, `bfifo` has no limit, or the file cannot be read.
pub fn written(text: &str, disciplines: &Catalogue) -> Result<(String, Table), LabError> {
    let (named, parameters) = text.split_once(':').unwrap_or((text, ""));
    let (name, mut entry) = match named {
        "pfifo" | "bfifo" => ("fifo".to_owned(), Table::new()),
        file if file.ends_with(FILE) => from_file(Path::new(file))?,
        name => (name.to_owned(), Table::new()),
    };
    let name = name.as_str();
    for parameter in split(parameters) {
        let (key, value) = match parameter.split_once('=') {
            Some((key, value)) => (key.trim().to_owned(), literal(value.trim())),
            None => match word(name, parameter.trim(), disciplines) {
                Some(set) => set,
                None => {
                    let help = format!("for example {name}:limit=100");
                    return wrong(format!("{parameter:?} in {text:?} has no value"), help);
                }
            },
        };
        entry.insert(key, value);
    }
    if named == "bfifo" {
        in_bytes(&mut entry)?;
    }
    Ok((name.to_owned(), entry))
}

/// The end of the name of a file with a discipline.
pub const FILE: &str = ".toml";

/// Reads a discipline from a file, which has what `[topology.aqm]` of an experiment has: its name, its parameters, and in a tree its classes. A file with
/// `[topology.aqm]`, such as an experiment, is read as that.
///
/// # Errors
/// When the file cannot be read, is not TOML, or has no discipline.
pub fn from_file(file: &Path) -> Result<(String, Table), LabError> {
    let shown = file.display();
    let right = format!(
        "write into it what [topology.aqm] has, for example: name = \"tbf\", rate = \"10mbit\" and aqm = \"fq-codel\", a line each; {EXAMPLES}"
    );
    let text = match bounded::text(file, &bounded::EXPERIMENT) {
        Ok(text) => text,
        Err(e) => return wrong(format!("{shown} cannot be read as a discipline: {e}"), right),
    };
    let mut table = match text.parse::<Table>() {
        Ok(table) => table,
        Err(e) => return wrong(format!("{shown} is not TOML: {e}"), right),
    };
    if let Some(toml::Value::Table(mut topology)) = table.remove("topology")
        && let Some(toml::Value::Table(inner)) = topology.remove("aqm")
    {
        table = inner;
    }
    table.remove("label");
    match table.remove("name") {
        Some(toml::Value::String(name)) => Ok((name, table)),
        _ => wrong(format!("{shown} has no name of a discipline"), right),
    }
}

/// Where trees are explained.
const EXAMPLES: &str = "aqmkit describe htb has an example";

/// Converts the limit of `bfifo`, a number without a unit, to bytes.
fn in_bytes(entry: &mut Table) -> Result<(), LabError> {
    match entry.get("limit") {
        Some(toml::Value::Integer(bytes)) => {
            let bytes = toml::Value::String(format!("{bytes}b"));
            entry.insert("limit".to_owned(), bytes);
            Ok(())
        }
        Some(_) => Ok(()),
        None => wrong("bfifo has no limit", "give its room in bytes: fifo:limit=90kb"),
    }
}

/// The parameter that a valueless word of `tc` sets: a boolean, a boolean prefixed with `no`, or the only parameter
/// that accepts the word as its value.
fn word(name: &str, word: &str, disciplines: &Catalogue) -> Option<(String, toml::Value)> {
    let accepts = |key: &str, value: toml::Value| {
        let table = Table::from_iter([(key.to_owned(), value.clone())]);
        let read = Value::deserialize(table).is_ok_and(|table| disciplines.spec(name, table).is_ok());
        read.then(|| (key.to_owned(), value))
    };
    let switched = |key: &str, on: bool| accepts(key, toml::Value::Boolean(on));
    let chosen = || {
        let defaults = Value::deserialize(Table::new()).ok()?;
        let all = Table::try_from(&disciplines.spec(name, defaults).ok()?).ok()?;
        let texts = all.iter().filter(|(_, value)| value.as_str().is_some());
        let mut taking = texts.filter_map(|(key, _)| accepts(key, toml::Value::String(word.to_owned())));
        let only = taking.next()?;
        taking.next().is_none().then_some(only)
    };
    switched(word, true).or_else(|| switched(word.strip_prefix("no")?, false)).or_else(chosen)
}

/// Splits at commas outside brackets and quotes.
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

/// Reads the parameters of the discipline `name` from a table.
///
/// # Errors
/// When a key or a value is invalid, with the same messages as for experiment files.
pub fn parameters(name: &str, table: &Table, disciplines: &Catalogue) -> Result<Spec, Problem> {
    let table = value(table)?;
    disciplines.spec(name, table.clone()).map_err(|e| Problem::from(e.as_written(&table).of(name)))
}

fn value(table: &Table) -> Result<Value, Problem> {
    Value::deserialize(table.clone()).map_err(|e| Problem::new(e.to_string()))
}

/// The error for a parameter that is invalid on the link. `table` has the parameters as the user wrote them.
#[must_use]
pub fn misfit(discipline: &str, table: &Table, error: ParamError) -> LabError {
    match value(table) {
        Ok(table) => LabError::Problem(error.as_written(&table).of(discipline).into()),
        Err(problem) => LabError::Problem(problem),
    }
}

/// Rounds numbers in a TOML value to eight significant digits: 0.15, not 0.14999999999999997.
#[must_use]
pub fn rounded(value: &toml::Value) -> toml::Value {
    match value {
        toml::Value::Float(number) => {
            format!("{number:.7e}").parse().map_or_else(|_| value.clone(), toml::Value::Float)
        }
        other => other.clone(),
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

    fn parameters_of(text: &str) -> (String, String) {
        let (name, table) = written(text, &Catalogue::default()).unwrap();
        (name.to_owned(), table.to_string().replace('\n', " ").trim().to_owned())
    }

    #[test]
    fn words_of_tc_mean_what_they_mean_there() {
        for (text, name, table) in [
            ("red:ecn", "red", "ecn = true"),
            ("codel:noecn,target=5msec", "codel", "ecn = false target = \"5msec\""),
            ("cake:besteffort", "cake", "diffserv = \"besteffort\""),
            ("pfifo:limit=50", "fifo", "limit = 50"),
            ("bfifo:limit=90000", "fifo", "limit = \"90000b\""),
        ] {
            assert_eq!(parameters_of(text), (name.to_owned(), table.to_owned()), "{text}");
        }
    }

    #[test]
    fn words_that_mean_nothing_are_refused_with_a_line_that_works() {
        let told = |text: &str| written(text, &Catalogue::default()).unwrap_err().to_string();
        assert!(told("red:fast").contains("\"fast\" in \"red:fast\" has no value"), "{}", told("red:fast"));
        assert!(told("bfifo").contains("fifo:limit=90kb"));
        assert_eq!(parameters_of("fifo:limit=90kb").0, "fifo");
        let joined = known("fifo,red", &Catalogue::default()).unwrap_err().to_string();
        assert!(joined.contains("write fifo red, with spaces"), "{joined}");
    }

    #[test]
    fn a_file_is_a_discipline() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let tree = "name = \"prio\"\n[[class]]\nname = \"voice\"\naqm = \"codel\"\n";
        let own = write("home.toml", tree);
        let inside = write(
            "exp.toml",
            "title = \"x\"\n[topology]\nrate = \"1mbit\"\naqm = { name = \"tbf\", label = \"y\", aqm = \"codel\" }\n",
        );
        for (file, name, key) in [(&own, "prio", "class"), (&inside, "tbf", "aqm")] {
            let (found, table) = written(file, &Catalogue::default()).unwrap();
            assert_eq!((found.as_str(), table.keys().map(String::as_str).collect::<Vec<_>>()), (name, vec![key]));
        }
        let (name, table) = written(&format!("{inside}:rate=2mbit"), &Catalogue::default()).unwrap();
        assert_eq!((name.as_str(), table["rate"].as_str()), ("tbf", Some("2mbit")));
        for (file, part) in [
            (write("no.toml", "limit = 5"), "no.toml has no name of a discipline"),
            (write("bad.toml", "name = "), "bad.toml is not TOML"),
            (dir.path().join("none.toml").display().to_string(), "none.toml cannot be read as a discipline"),
        ] {
            let told = written(&file, &Catalogue::default()).unwrap_err().to_string();
            assert!(told.contains(part) && told.contains("aqmkit describe htb"), "{told}");
        }
    }

    #[test]
    fn parameters_may_hold_commas() {
        assert_eq!(split("a=1,b=[1, 2],c={ x = \"y,z\" }"), ["a=1", "b=[1, 2]", "c={ x = \"y,z\" }"]);
        assert!(split("").is_empty());
    }
}
