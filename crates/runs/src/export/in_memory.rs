//! The exported tables in memory.

use std::collections::BTreeSet;

use aqmkit_results::{Expectation, Mean, Means, Results, RunData, Standing, flatten};

use super::columns::{gather, row_each};
use super::tables;
use super::values::{Column, Table, Type, Values, counts, numbers, texts};

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
#[must_use]
pub fn table<'a>(kind: Kind, runs: &[RunData<'a>]) -> Table<'a> {
    let layout = match kind {
        Kind::Series => tables::series(runs),
        Kind::Flows => tables::flows(runs),
        Kind::Exchanges => tables::exchanges(),
        Kind::Distributions => tables::distributions(),
    };
    gather(runs, &layout)
}

/// One row per run and window, with all metrics by their paths in `results.json`.
#[must_use]
pub fn runs(results: &Results) -> Table<'_> {
    let rows: Vec<_> = results.runs.iter().map(flatten).collect();
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    let columns = names.iter().map(|name| Column::new(name.as_str(), Type::Number, true));
    let values = |name: &&String| numbers(rows.iter().map(|row| row.get(*name).copied().unwrap_or(f64::NAN)));
    let labels: Vec<_> = results.runs.iter().map(|entry| &entry.labels).collect();
    row_each(&labels, columns.collect(), names.iter().map(values).collect())
}

/// One row per combination, window and metric: mean over the runs, ends of the 95 % interval, and number of runs.
#[must_use]
pub fn means(means: &[Means]) -> Table<'_> {
    let rows: Vec<_> =
        means.iter().flat_map(|m| m.metrics.iter().map(|(name, mean)| (&m.labels, name, mean))).collect();
    let number = |name: &str| Column::new(name, Type::Number, true);
    let columns = vec![
        Column::new("metric", Type::Text, false),
        number("mean"),
        number("low"),
        number("high"),
        Column::new("runs", Type::Count, false),
    ];
    let end = |of: fn(&Mean) -> Option<f64>| Values::Numbers(rows.iter().map(move |(.., mean)| of(mean)).collect());
    let values = vec![
        texts(rows.iter().map(|(_, name, _)| name.as_str())),
        numbers(rows.iter().map(|(.., mean)| mean.mean)),
        end(|mean| mean.low),
        end(|mean| mean.high),
        counts(rows.iter().map(|(.., mean)| mean.runs as u64)),
    ];
    let labels: Vec<_> = rows.iter().map(|(labels, ..)| *labels).collect();
    row_each(&labels, columns, values)
}

/// A row per published value: published, measured, and whether it is met.
#[must_use]
pub fn verdicts(results: &Results) -> Table<'_> {
    let rows = &results.expectations;
    let text =
        |name: &str, of: fn(&Expectation) -> &str| (Column::new(name, Type::Text, false), texts(rows.iter().map(of)));
    let number = |name: &str, of: fn(&Expectation) -> Option<f64>| {
        (Column::new(name, Type::Number, true), Values::Numbers(rows.iter().map(of).collect()))
    };
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
        (Column::new("pass", Type::Flag, true), Values::Flags(rows.iter().map(|row| row.pass).collect())),
        text("standing", |row| Standing::of(row).words()),
        number("cells_held", |row| row.cells.map(|cells| cells.held as f64)),
        number("cells", |row| row.cells.map(|cells| cells.of as f64)),
        text("detail", |row| &row.detail),
    ];
    let (columns, values) = cells.into_iter().unzip();
    Table { columns, parts: vec![values] }
}
