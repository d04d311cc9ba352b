//! Reads the distributions of the measurement of 2003 in the format in which the university publishes them.

use super::super::browser::{Distributions, Object};
use super::super::empirical::Empirical;
use super::super::mah_tables::MahTables;
use super::super::model::ParamError;

/// Upper limit for sizes in bytes: a tebibyte.
const MOST_BYTES: f64 = 1_099_511_627_776.0;
/// Upper limit for the objects of a page.
const MOST_OBJECTS: f64 = 1e6;
/// Upper limit for think times in milliseconds: 30 years.
const MOST_MS: f64 = 1e12;
/// Converts the published milliseconds into seconds.
const SECONDS: f64 = 1e-3;

/// Parses the texts of the files named `files`: top-level and embedded responses, top-level and embedded requests,
/// objects of a page, think times. The number of consecutive pages from one server is that of `http-mah`.
///
/// # Errors
/// When a text cannot be parsed, with file and line.
pub(super) fn parse(files: &[&String; 6], texts: &[&str]) -> Result<Distributions, ParamError> {
    let table = |i: usize, most: f64, unit: f64| {
        let text = texts.get(i).ok_or_else(|| ParamError::new("data", files[i], "the file must be loaded first"))?;
        Empirical::parse_cumulative(files[i], text, most, unit)
    };
    let size = |i: usize| table(i, MOST_BYTES, 1.0);
    let think = table(5, MOST_MS, SECONDS)?;
    if think.mean() <= 0.0 {
        return Err(ParamError::new(files[5], "0 ms on average", "think times must be above zero"));
    }
    Ok(Distributions {
        top: Object { reply: size(0)?, request: size(2)? },
        embedded: Object { reply: size(1)?, request: size(3)? },
        files: table(4, MOST_OBJECTS, 1.0)?,
        stay: MahTables::default().stay,
        think,
    })
}
