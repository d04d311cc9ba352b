//! The files that an experiment writes: `results.json`, `summary.csv`, `runs.csv`, and tables of single runs in Parquet; without
//! the feature `parquet`, these are CSV too.
//!
//! Files are replaced atomically: each is written under another name in the same directory and then renamed.

mod columns;
mod csv;
mod in_memory;
#[cfg(feature = "parquet")]
mod parquet;
mod tables;
mod values;
mod writer;

use std::io::Write;
use std::path::Path;

pub use in_memory::{Kind, means, runs, table, verdicts};
pub use values::{Column, Table, Type, Values};
pub use writer::{Format, TableWriter};

use crate::store::checksum::seal;
use aqmkit_files::{ExportError, write_atomically};
use aqmkit_results::Results;
use aqmkit_results::RunData;

/// Writes all files of an experiment into `dir`, which is created if it does not exist.
///
/// # Errors
/// When a file cannot be written; the error names it. Files written earlier remain.
pub fn write(dir: &Path, results: &Results, runs: &[RunData<'_>]) -> Result<(), ExportError> {
    std::fs::create_dir_all(dir).map_err(|source| ExportError::new(dir, source))?;
    json(&dir.join("results.json"), results)?;
    csv::summary(&dir.join("summary.csv"), results)?;
    csv::runs(&dir.join("runs.csv"), results)?;
    let table = |name: &str, layout| {
        let format = Format::ALL[0];
        columns::write(&dir.join(name).with_extension(format.extension()), format, runs, &layout)
    };
    table("series", tables::series(runs))?;
    table("flows", tables::flows(runs))?;
    table("responses", tables::exchanges())
}

/// Writes `results.json`: indented, with keys in a fixed order, and a checksum at the end.
///
/// # Errors
/// When the file cannot be written.
pub fn json(path: &Path, results: &Results) -> Result<(), ExportError> {
    write_atomically(path, |out| Ok(out.write_all(seal(&serde_json::to_string_pretty(results)?).as_bytes())?))
}
