//! Contents of the tables: by interval, application and exchange, and distributions.

use std::collections::BTreeSet;

use aqmkit_measure::output::{ExchangeRecord, Responses};
use aqmkit_results::RunData;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};

use super::columns::{Layout, counts, floats, texts};

/// One row per run and interval; `t_s` is the start of the interval.
pub(super) fn series<'a>(runs: &[RunData<'a>]) -> Layout<'a> {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.output.series.columns.keys()).collect();
    let mut values = vec![Field::new("t_s", DataType::Float64, false)];
    values.extend(names.iter().map(|name| Field::new(name.as_str(), DataType::Float64, true)));
    let rows_of = move |run: &RunData<'_>| {
        let series = &run.output.series;
        let rows = series.columns.values().map(Vec::len).max().unwrap_or(0);
        let mut columns: Vec<ArrayRef> = vec![floats((0..rows).map(|row| row as f64 * series.interval_s))];
        for name in &names {
            let cells = series.columns.get(*name).map_or(&[][..], Vec::as_slice);
            columns.push(floats((0..rows).map(|row| cells.get(row).copied().unwrap_or(f64::NAN))));
        }
        columns
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

/// One row per application, with a column of delivered bytes for each window.
pub(super) fn flows<'a>(runs: &[RunData<'a>]) -> Layout<'a> {
    let windows = windows(runs);
    let mut values = vec![text("traffic"), count("index"), text("class")];
    values.extend(windows.iter().map(|window| Field::new(format!("delivered_bytes.{window}"), DataType::UInt64, true)));
    values.extend(["connections", "packets", "retransmissions", "timeouts"].map(count));
    values.push(Field::new("drops", DataType::UInt64, true));
    Layout { values, rows_of: Box::new(move |run| flow_columns(run, &windows)) }
}

fn flow_columns(run: &RunData<'_>, windows: &[String]) -> Vec<ArrayRef> {
    let flows = &run.output.flows;
    let mut columns = vec![
        texts(flows.iter().map(|flow| flow.traffic.as_str())),
        counts(flows.iter().map(|flow| flow.index)),
        texts(flows.iter().map(|flow| flow.class.as_str())),
    ];
    for window in windows {
        let place = run.output.windows.iter().position(|other| other.name == *window);
        let bytes = flows.iter().map(|flow| place.and_then(|place| flow.delivered_bytes.get(place).copied()));
        columns.push(std::sync::Arc::new(bytes.collect::<arrow_array::UInt64Array>()));
    }
    columns.push(counts(flows.iter().map(|flow| flow.connections)));
    columns.push(counts(flows.iter().map(|flow| flow.packets)));
    columns.push(counts(flows.iter().map(|flow| flow.retransmissions)));
    columns.push(counts(flows.iter().map(|flow| flow.timeouts)));
    columns.push(std::sync::Arc::new(flows.iter().map(|flow| flow.drops).collect::<arrow_array::UInt64Array>()));
    columns
}

/// The windows of all runs, in the order of their first occurrence.
fn windows(runs: &[RunData<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for window in runs.iter().flat_map(|run| &run.output.windows) {
        if !names.contains(&window.name) {
            names.push(window.name.clone());
        }
    }
    names
}

/// One row per finished exchange. If a run has more exchanges than it lists: one row per cell of size and duration,
/// with the lower edges of the cell and the number of its exchanges.
pub(super) fn exchanges<'a>() -> Layout<'a> {
    let values =
        vec![text("traffic"), text("kind"), float("started_s"), float("duration_ms"), count("bytes"), count("count")];
    let rows_of = |run: &RunData<'_>| {
        if run.output.exchanges_dropped > 0 { binned(&run.output.responses) } else { listed(&run.output.exchanges) }
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

/// One row per point of each distribution: the share of samples at or below a value.
pub(super) fn distributions<'a>() -> Layout<'a> {
    let values = vec![text("window"), text("quantity"), float("value"), float("share")];
    let rows_of = |run: &RunData<'_>| {
        let points = || run.output.distributions.iter().flat_map(|d| d.points.iter().map(move |point| (d, *point)));
        vec![
            texts(points().map(|(d, _)| d.window.as_str())),
            texts(points().map(|(d, _)| d.quantity.as_str())),
            floats(points().map(|(_, (value, _))| value)),
            floats(points().map(|(_, (_, share))| share)),
        ]
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

fn listed(exchanges: &[ExchangeRecord]) -> Vec<ArrayRef> {
    vec![
        texts(exchanges.iter().map(|exchange| exchange.traffic.as_str())),
        texts(exchanges.iter().map(|exchange| exchange.kind.as_str())),
        floats(exchanges.iter().map(|exchange| exchange.started_s)),
        floats(exchanges.iter().map(|exchange| exchange.duration_ms)),
        counts(exchanges.iter().map(|exchange| exchange.bytes)),
        counts(exchanges.iter().map(|_| 1)),
    ]
}

fn binned(responses: &[Responses]) -> Vec<ArrayRef> {
    let cells = || responses.iter().flat_map(|r| r.cells().map(move |(time, size, n)| (r, time, size, n)));
    vec![
        texts(cells().map(|(r, ..)| r.traffic.as_str())),
        texts(cells().map(|(r, ..)| r.kind.as_str())),
        floats(cells().map(|_| f64::NAN)),
        floats(cells().map(|(_, time, ..)| Responses::from_ms(time))),
        counts(cells().map(|(_, _, size, _)| Responses::from_bytes(size).round() as u64)),
        counts(cells().map(|(.., n)| n)),
    ]
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn count(name: &str) -> Field {
    Field::new(name, DataType::UInt64, false)
}

fn float(name: &str) -> Field {
    Field::new(name, DataType::Float64, true)
}
