//! Contents of the tables: by interval, application and exchange, and distributions.

use std::collections::BTreeSet;

use aqmkit_measure::output::{ExchangeRecord, Responses};
use aqmkit_results::RunData;

use super::columns::Layout;
use super::values::{Column, Type, Values, counts, numbers, texts};

/// One row per run and interval; `t_s` is the start of the interval.
pub(super) fn series<'a>(runs: &[RunData<'a>]) -> Layout<'a> {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.output.series.columns.keys()).collect();
    let mut values = vec![Column::new("t_s", Type::Number, false)];
    values.extend(names.iter().map(|name| Column::new(name.as_str(), Type::Number, true)));
    let rows_of = move |run: &RunData<'a>| {
        let series = &run.output.series;
        let rows = series.columns.values().map(Vec::len).max().unwrap_or(0);
        let mut columns = vec![numbers((0..rows).map(|row| row as f64 * series.interval_s))];
        for name in &names {
            let cells = series.columns.get(*name).map_or(&[][..], Vec::as_slice);
            columns.push(numbers((0..rows).map(|row| cells.get(row).copied().unwrap_or(f64::NAN))));
        }
        columns
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

/// One row per application, with a column of delivered bytes for each window.
pub(super) fn flows<'a>(runs: &[RunData<'a>]) -> Layout<'a> {
    let windows = windows(runs);
    let mut values = vec![text("traffic"), count("index"), text("class")];
    values.extend(windows.iter().map(|window| Column::new(format!("delivered_bytes.{window}"), Type::Count, true)));
    values.extend(["connections", "packets", "retransmissions", "timeouts"].map(count));
    values.push(Column::new("drops", Type::Count, true));
    Layout { values, rows_of: Box::new(move |run| flow_columns(run, &windows)) }
}

fn flow_columns<'a>(run: &RunData<'a>, windows: &[String]) -> Vec<Values<'a>> {
    let flows = &run.output.flows;
    let mut columns = vec![
        texts(flows.iter().map(|flow| flow.traffic.as_str())),
        counts(flows.iter().map(|flow| flow.index)),
        texts(flows.iter().map(|flow| flow.class.as_str())),
    ];
    for window in windows {
        let place = run.output.windows.iter().position(|other| other.name == *window);
        let bytes = flows.iter().map(|flow| place.and_then(|place| flow.delivered_bytes.get(place).copied()));
        columns.push(Values::Counts(bytes.collect()));
    }
    columns.push(counts(flows.iter().map(|flow| flow.connections)));
    columns.push(counts(flows.iter().map(|flow| flow.packets)));
    columns.push(counts(flows.iter().map(|flow| flow.retransmissions)));
    columns.push(counts(flows.iter().map(|flow| flow.timeouts)));
    columns.push(Values::Counts(flows.iter().map(|flow| flow.drops).collect()));
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
    let rows_of = |run: &RunData<'a>| {
        if run.output.exchanges_dropped > 0 { binned(&run.output.responses) } else { listed(&run.output.exchanges) }
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

/// One row per point of each distribution: the share of samples at or below a value.
pub(super) fn distributions<'a>() -> Layout<'a> {
    let values = vec![text("window"), text("quantity"), float("value"), float("share")];
    let rows_of = |run: &RunData<'a>| {
        let points = || run.output.distributions.iter().flat_map(|d| d.points.iter().map(move |point| (d, *point)));
        vec![
            texts(points().map(|(d, _)| d.window.as_str())),
            texts(points().map(|(d, _)| d.quantity.as_str())),
            numbers(points().map(|(_, (value, _))| value)),
            numbers(points().map(|(_, (_, share))| share)),
        ]
    };
    Layout { values, rows_of: Box::new(rows_of) }
}

fn listed<'a>(exchanges: &'a [ExchangeRecord]) -> Vec<Values<'a>> {
    vec![
        texts(exchanges.iter().map(|exchange| exchange.traffic.as_str())),
        texts(exchanges.iter().map(|exchange| exchange.kind.as_str())),
        numbers(exchanges.iter().map(|exchange| exchange.started_s)),
        numbers(exchanges.iter().map(|exchange| exchange.duration_ms)),
        counts(exchanges.iter().map(|exchange| exchange.bytes)),
        counts(exchanges.iter().map(|_| 1)),
    ]
}

fn binned<'a>(responses: &'a [Responses]) -> Vec<Values<'a>> {
    let cells = || responses.iter().flat_map(|r| r.cells().map(move |(time, size, n)| (r, time, size, n)));
    vec![
        texts(cells().map(|(r, ..)| r.traffic.as_str())),
        texts(cells().map(|(r, ..)| r.kind.as_str())),
        numbers(cells().map(|_| f64::NAN)),
        numbers(cells().map(|(_, time, ..)| Responses::from_ms(time))),
        counts(cells().map(|(_, _, size, _)| Responses::from_bytes(size).round() as u64)),
        counts(cells().map(|(.., n)| n)),
    ]
}

fn text(name: &str) -> Column {
    Column::new(name, Type::Text, false)
}

fn count(name: &str) -> Column {
    Column::new(name, Type::Count, false)
}

fn float(name: &str) -> Column {
    Column::new(name, Type::Number, true)
}
