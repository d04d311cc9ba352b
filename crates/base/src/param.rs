//! Errors of parameters: one type for disciplines, traffic models and transports, and for reading their tables.

use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use crate::near::suggest;
use crate::read::Value;
use crate::units;

/// Names of keys or values.
type Names = &'static [&'static str];

/// The kind of error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The value was read, but is not valid.
    Value,
    /// The value has the wrong type; `got` and `want` describe the types.
    Type,
    /// The value cannot be read; `got` is a sentence with the reason.
    Sentence,
    /// There is no such key.
    Key {
        /// The known keys.
        known: Names,
        /// Further known keys, which another reader takes.
        also: Names,
    },
    /// There is no such value; the known ones are listed.
    Choice(Names),
    /// This required key is missing.
    Missing(&'static str),
    /// Two names of this parameter were given.
    Twice(&'static str),
}

/// An invalid parameter: field, value, valid values and their source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The field, as a path from the table of its owner (`max`, `classes[2].share`), or a data file and its line.
    pub field: String,
    /// The invalid value, as text.
    pub got: String,
    /// Description of the valid values.
    pub want: String,
    /// The paper or RFC that requires it; empty if it is plain arithmetic.
    pub source_text: &'static str,
    /// The kind of error.
    pub fault: Fault,
}

/// A message for users: the error, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The problem.
    pub what: String,
    /// The remedy; may be empty.
    pub right: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.right.is_empty() { Ok(()) } else { write!(f, ": {}", self.right) }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::Value => write!(f, "{} = {} is not valid: {}", self.field, self.got, self.right()),
            _ => self.explain("a parameter", "").fmt(f),
        }
    }
}

impl std::error::Error for ParamError {}

impl ParamError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, got: impl fmt::Display, want: impl Into<String>) -> Self {
        ParamError {
            field: field.into(),
            got: got.to_string(),
            want: want.into(),
            source_text: "",
            fault: Fault::Value,
        }
    }

    /// An error about line `line` (from 1) of the data file `file`; at most 60 characters of the line are shown.
    #[must_use]
    pub fn line(file: &str, line: usize, got: &str, want: impl Into<String>) -> Self {
        let short: String = got.chars().take(60).collect();
        ParamError::new(format!("{file} line {line}"), format!("{short:?}"), want)
    }

    /// An error given as a sentence, with the sentence that says what would be right.
    #[must_use]
    pub fn sentence(field: impl Into<String>, what: impl Into<String>, right: impl Into<String>) -> Self {
        ParamError { field: field.into(), ..ParamError::reading(Fault::Sentence, what, right) }
    }

    /// Shows the value as written in `table`, the table of the field: `5kb` rather than `5120b`. Unchanged if the table
    /// does not have the field, or if the error shows another value.
    #[must_use]
    pub fn as_written(mut self, table: &Value) -> Self {
        let written = (self.fault == Fault::Value).then(|| table.at(&self.field)).flatten().and_then(Value::as_written);
        if let Some(text) = written.filter(|text| is_same_quantity(text, &self.got)) {
            self.got = text;
        }
        self
    }

    /// Adds the source of the requirement.
    #[must_use]
    pub fn cite(mut self, source: &'static str) -> Self {
        self.source_text = source;
        self
    }

    /// Prefixes the field with `parent`: `share` becomes `classes[2].share`.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        let dot = if self.field.is_empty() || self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{parent}{dot}{}", self.field);
        self
    }

    /// Prefixes the field with a key, which is quoted if necessary.
    #[must_use]
    pub(crate) fn within_key(self, key: &str) -> Self {
        if key.contains(['.', '[']) { self.within(&format!("\"{key}\"")) } else { self.within(key) }
    }

    /// Prefixes the field with an index, counted from zero.
    #[must_use]
    pub(crate) fn within_element(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }

    /// Adds further known keys, unless the unknown key is in a nested table.
    #[must_use]
    pub fn also_known(mut self, keys: &'static [&'static str]) -> Self {
        if let (Fault::Key { also, .. }, true) = (&mut self.fault, self.field == self.got) {
            *also = keys;
        }
        self
    }

    /// Converts to another error type, for a value that another reader reads as a whole.
    pub fn raise<E: Error>(self) -> E {
        match self.fault {
            Fault::Type => E::invalid_type(Unexpected::Other(&self.got), &self.want.as_str()),
            Fault::Key { known, .. } => E::unknown_field(&self.got, known),
            Fault::Choice(known) => E::unknown_variant(&self.got, known),
            Fault::Missing(field) => E::missing_field(field),
            Fault::Twice(field) => E::duplicate_field(field),
            Fault::Value => E::custom(self),
            Fault::Sentence => E::custom(Explanation { what: self.got, right: self.want }),
        }
    }

    /// Replaces the field by the alias that the user wrote.
    #[must_use]
    pub fn about(mut self, field: &str, got: impl fmt::Display) -> Self {
        (self.field, self.got) = (field.to_owned(), got.to_string());
        self
    }

    /// The valid values, with the source that requires them.
    #[must_use]
    pub fn right(&self) -> String {
        match self.source_text {
            "" => self.want.clone(),
            source => format!("{} ({source})", self.want),
        }
    }

    /// The message for users. `noun` names a key of the table (`a parameter of red`), `owner` the owner of the
    /// parameters (`red`); it may be empty.
    #[must_use]
    pub fn explain(&self, noun: &str, owner: &str) -> Explanation {
        let subject = self.subject(owner);
        let near = |known: Names, also: Names| suggest(&self.got, known.iter().chain(also).copied());
        let (what, right) = match &self.fault {
            Fault::Value => (format!("{subject} cannot be {}", self.got), self.right()),
            Fault::Type => (format!("{subject} is {}", self.got), format!("it must be {}", self.want)),
            Fault::Sentence if self.field.is_empty() => (self.got.clone(), self.want.clone()),
            Fault::Sentence => (format!("{subject}: {}", self.got), self.want.clone()),
            Fault::Key { known, also } => (self.unknown_key(noun), near(known, also)),
            Fault::Choice(known) => {
                let what = format!("{:?} is not a known value of {}", self.got, self.subject(""));
                (what, near(known, &[]))
            }
            Fault::Missing(key) => (format!("{key} is missing"), format!("write {key} = …")),
            Fault::Twice(key) => (format!("{key} is given twice, under two names"), "remove one of them".to_owned()),
        };
        Explanation { what, right }
    }

    /// The message for users, about a parameter of `name`, a discipline or a traffic model.
    #[must_use]
    pub fn of(&self, name: &str) -> Explanation {
        self.explain(&format!("a parameter of {name}"), name)
    }

    fn subject(&self, owner: &str) -> String {
        match (self.field.as_str(), owner) {
            ("", "") => "this".to_owned(),
            ("", owner) => owner.to_owned(),
            (field, "") => field.to_owned(),
            (field, owner) => format!("{field} of {owner}"),
        }
    }

    fn unknown_key(&self, noun: &str) -> String {
        match self.field.strip_suffix(&self.got).map(|parent| parent.trim_end_matches('.')) {
            Some("") | None => format!("{} is not {noun}", self.got),
            Some(parent) => format!("{} is not a known key of {parent}", self.got),
        }
    }

    /// An error of reading a value.
    fn reading(fault: Fault, got: impl Into<String>, want: impl Into<String>) -> Self {
        ParamError { field: String::new(), got: got.into(), want: want.into(), source_text: "", fault }
    }
}

/// The errors that a deserialiser reports.
impl Error for ParamError {
    /// Messages of the quantities of this crate: `"5" is not a time: write …`.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = message.to_string();
        match message.split_once(": ") {
            Some((what, right)) if what.contains(" is not a ") => ParamError::reading(Fault::Sentence, what, right),
            _ => ParamError::reading(Fault::Sentence, message, ""),
        }
    }

    fn invalid_type(got: Unexpected<'_>, want: &dyn Expected) -> Self {
        ParamError::reading(Fault::Type, plain_value(&got), plain_type(&want.to_string()))
    }

    fn invalid_value(got: Unexpected<'_>, want: &dyn Expected) -> Self {
        let want = want.to_string();
        let right = in_type(&got, &want).unwrap_or_else(|| plain_type(&want).to_owned());
        ParamError::reading(Fault::Type, plain_value(&got), right)
    }

    fn invalid_length(length: usize, want: &dyn Expected) -> Self {
        ParamError::reading(Fault::Type, format!("of length {length}"), plain_type(&want.to_string()))
    }

    fn unknown_variant(got: &str, known: &'static [&'static str]) -> Self {
        ParamError::reading(Fault::Choice(known), got, "")
    }

    fn unknown_field(got: &str, known: &'static [&'static str]) -> Self {
        ParamError { field: got.to_owned(), ..ParamError::reading(Fault::Key { known, also: &[] }, got, "") }
    }

    fn missing_field(field: &'static str) -> Self {
        ParamError::reading(Fault::Missing(field), field, "")
    }

    fn duplicate_field(field: &'static str) -> Self {
        ParamError::reading(Fault::Twice(field), field, "")
    }
}

/// Whether a quantity written as `text` is shown as `shown` after reading.
fn is_same_quantity(text: &str, shown: &str) -> bool {
    let same = |quantity: Option<String>| quantity.as_deref() == Some(shown);
    same(units::parse_amount(text).ok().map(|amount| amount.to_string()))
        || same(units::parse_duration(text).ok().map(|time| time.to_string()))
        || same(units::parse_rate(text).ok().map(|rate| rate.to_string()))
}

/// A value as written in a file.
fn plain_value(got: &Unexpected<'_>) -> String {
    match got {
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Unit => "nothing".to_owned(),
        other => other.to_string().replace('`', ""),
    }
}

/// The valid range of a whole number that is too large for its type.
fn in_type(got: &Unexpected<'_>, want: &str) -> Option<String> {
    let too_large = match got {
        Unexpected::Signed(value) => *value >= 0,
        Unexpected::Unsigned(_) => true,
        _ => false,
    };
    let most = match want {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        _ => return None,
    };
    too_large.then(|| format!("a whole number from 0 to {most}"))
}

/// A type, as described to users.
fn plain_type(want: &str) -> &str {
    match want {
        "u64" | "u32" | "u16" | "u8" | "usize" => "a whole number that is not negative",
        "f64" => "a number",
        "a string" => "a string in quotes",
        "a boolean" => "true or false",
        "a map" | "struct Table" => "a table",
        "a sequence" => "a list in [ ]",
        "a tuple of size 2" | "an array of length 2" => "a list of two: [from, to]",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// Checks that a value is in `low..=high` and not NaN. `low` is `f64::MIN_POSITIVE` if it must be above 0; `high` is
/// infinite if there is no upper bound.
///
/// # Errors
/// If it is outside.
pub fn in_range(field: &str, value: f64, low: f64, high: f64) -> Result<(), ParamError> {
    if value >= low && value <= high {
        return Ok(());
    }
    let above_zero = low == f64::MIN_POSITIVE;
    let want = match (above_zero, high.is_finite()) {
        (true, true) => format!("it must be above 0 and at most {high}"),
        (true, false) => "it must be above 0".to_owned(),
        (false, true) => format!("it must be from {low} to {high}"),
        (false, false) => format!("it must be at least {low}"),
    };
    Err(ParamError::new(field, value, want))
}

/// Checks that `valid` is true; `want` describes the valid values.
///
/// # Errors
/// If it is false; `want` says what the value must be.
pub fn require(valid: bool, field: &str, got: impl fmt::Display, want: &str) -> Result<(), ParamError> {
    if valid { Ok(()) } else { Err(ParamError::new(field, got, want)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_range_is_told() {
        let told = |value, low, high| in_range("x", value, low, high).map_err(|e| e.to_string());
        let above = f64::MIN_POSITIVE;
        assert_eq!(told(1.0, 0.0, 1.0), Ok(()));
        assert_eq!(told(2.0, 0.0, 1.0), Err("x = 2 is not valid: it must be from 0 to 1".to_owned()));
        assert_eq!(told(f64::NAN, 1.0, f64::INFINITY), Err("x = NaN is not valid: it must be at least 1".to_owned()));
        assert_eq!(told(0.0, above, 1.0), Err("x = 0 is not valid: it must be above 0 and at most 1".to_owned()));
        assert_eq!(told(0.0, above, f64::INFINITY), Err("x = 0 is not valid: it must be above 0".to_owned()));
    }

    #[test]
    fn the_source_stands_behind_what_is_right() {
        let error = ParamError::new("share", 2, "it must be at most 1").cite("RFC 1").within("classes[2]");
        assert_eq!(error.to_string(), "classes[2].share = 2 is not valid: it must be at most 1 (RFC 1)");
    }
}
