//! The distributions of the measurement of 2003, as the university publishes them.

use super::super::browser::{Distributions, Object};
use super::super::empirical::Empirical;
use super::super::mah_tables::MahTables;
use super::super::model::ParamError;

/// The largest size in bytes: a tebibyte.
const MOST_BYTES: f64 = 1_099_511_627_776.0;
/// The most objects of a page.
const MOST_OBJECTS: f64 = 1e6;
/// The longest think time in milliseconds: 30 years.
const MOST_MS: f64 = 1e12;
/// Think times are published in milliseconds.
const SECONDS: f64 = 1e-3;

/// The distributions in these texts, which have the names `files`: top-level and embedded responses, top-level and embedded requests, objects of
/// a page, think times. Pages in a row from one server are those of `http-mah`.
///
/// # Errors
/// When a text is no table, with the file and the line.
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
