//! Errors of parameters: one type for disciplines, traffic models and transports.

/// An invalid parameter: field, value, valid values and their source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {got} is not valid: {}", self.right())]
pub struct ParamError {
    /// The field, as a path from the table of its owner (`max`, `classes[2].share`), or a data file and its line.
    pub field: String,
    /// Its value, as text.
    pub got: String,
    /// The valid values.
    pub want: String,
    /// The paper or RFC that requires it; empty if it is plain arithmetic.
    pub source_text: &'static str,
}

impl ParamError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, got: impl std::fmt::Display, want: impl Into<String>) -> Self {
        ParamError { field: field.into(), got: got.to_string(), want: want.into(), source_text: "" }
    }

    /// An error about line `line` (from 1) of the data file `file`; at most 60 characters of the line are shown.
    #[must_use]
    pub fn line(file: &str, line: usize, got: &str, want: impl Into<String>) -> Self {
        let short: String = got.chars().take(60).collect();
        ParamError::new(format!("{file} line {line}"), format!("{short:?}"), want)
    }

    /// The same error with its source.
    #[must_use]
    pub fn cite(mut self, source: &'static str) -> Self {
        self.source_text = source;
        self
    }

    /// The same error with the field inside `parent`: `share` becomes `classes[2].share`.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
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
}

/// Refuses a value outside `low..=high`, NaN included. `low` is `f64::MIN_POSITIVE` if it must be above 0; `high` is
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

/// Refuses a value for which `valid` is false.
///
/// # Errors
/// If it is false; `want` says what the value must be.
pub fn require(valid: bool, field: &str, got: impl std::fmt::Display, want: &str) -> Result<(), ParamError> {
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
