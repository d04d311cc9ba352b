//! The exported tables as Arrow tables in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use aqmkit_results::{Expectation, Mean, Results, RunData, Standing, flatten};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch};
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Field, Schema};

use super::columns::{Table, counts, floats, gather, row_each, texts};
use super::tables;

/// Tables with data of single runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One row per run and interval.
    Series,
    /// One row per application.
    Flows,
    /// One row per finished exchange.
    Exchanges,
    /// One row per point of each distribution.
    Distributions,
}

/// A table of the runs; its first columns are their labels.
///
/// # Errors
/// When the columns are inconsistent.
pub fn table(kind: Kind, runs: &[RunData<'_>]) -> Result<Table, ArrowError> {
    let layout = match kind {
        Kind::Series => tables::series(runs),
        Kind::Flows => tables::flows(runs),
        Kind::Exchanges => tables::exchanges(),
        Kind::Distributions => tables::distributions(),
    };
    gather(runs, &layout)
}

/// One row per run and window, with all metrics by their paths in `results.json`.
///
/// # Errors
/// When the columns are inconsistent.
pub fn runs(results: &Results) -> Result<Table, ArrowError> {
    let rows: Vec<_> = results.runs.iter().map(flatten).collect();
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    let fields = names.iter().map(|name| Field::new(name.as_str(), DataType::Float64, true));
    let column = |name: &&String| floats(rows.iter().map(|row| row.get(*name).copied().unwrap_or(f64::NAN)));
    let labels: Vec<_> = results.runs.iter().map(|entry| &entry.labels).collect();
    row_each(&labels, fields.collect(), names.iter().map(column).collect())
}

/// One row per combination, window and metric: mean over the runs, ends of the 95 % interval, and number of runs.
///
/// # Errors
/// When the columns are inconsistent.
pub fn means(results: &Results) -> Result<Table, ArrowError> {
    let all = aqmkit_results::means(&results.runs);
    let rows: Vec<_> = all.iter().flat_map(|m| m.metrics.iter().map(|(name, mean)| (&m.labels, name, mean))).collect();
    let number = |name: &str| Field::new(name, DataType::Float64, true);
    let fields = vec![
        Field::new("metric", DataType::Utf8, false),
        number("mean"),
        number("low"),
        number("high"),
        Field::new("runs", DataType::UInt64, false),
    ];
    let end = |of: fn(&Mean) -> Option<f64>| floats(rows.iter().map(move |(.., mean)| of(mean).unwrap_or(f64::NAN)));
    let columns = vec![
        texts(rows.iter().map(|(_, name, _)| name.as_str())),
        floats(rows.iter().map(|(.., mean)| mean.mean)),
        end(|mean| mean.low),
        end(|mean| mean.high),
        counts(rows.iter().map(|(.., mean)| mean.runs as u64)),
    ];
    let labels: Vec<_> = rows.iter().map(|(labels, ..)| *labels).collect();
    row_each(&labels, fields, columns)
}

/// A row per published value: published, measured, and whether it is met.
///
/// # Errors
/// When the columns are inconsistent.
pub fn verdicts(results: &Results) -> Result<Table, ArrowError> {
    let rows = &results.expectations;
    let text = |name: &str, of: fn(&Expectation) -> &str| {
        (Field::new(name, DataType::Utf8, false), texts(rows.iter().map(of)))
    };
    let number = |name: &str, of: fn(&Expectation) -> Option<f64>| {
        let cells: Float64Array = rows.iter().map(of).collect();
        (Field::new(name, DataType::Float64, true), Arc::new(cells) as ArrayRef)
    };
    let pass: BooleanArray = rows.iter().map(|row| row.pass).collect();
    let cells = [
        text("id", |row| &row.id),
        text("source", |row| &row.source),
        text("what", |row| &row.what),
        text("kind", |row| &row.kind),
        text("published", |row| &row.published),
        number("measured", |row| row.measured),
        number("low", |row| row.low),
        number("high", |row| row.high),
        text("unit", |row| &row.unit),
        number("spread", |row| row.spread),
        (Field::new("pass", DataType::Boolean, true), Arc::new(pass) as ArrayRef),
        text("standing", |row| Standing::of(row).words()),
        number("cells_held", |row| row.cells.map(|cells| cells.held as f64)),
        number("cells", |row| row.cells.map(|cells| cells.of as f64)),
        text("detail", |row| &row.detail),
    ];
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = cells.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    Ok(Table { batches: vec![RecordBatch::try_new(Arc::clone(&schema), columns)?], schema })
}
