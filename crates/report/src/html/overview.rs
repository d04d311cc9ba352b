//! A matrix of small plots for experiments that vary two populations: one cell per pair of labels of two axes.

mod cell;
mod path;

use std::collections::BTreeMap;
use std::fmt::Write;

use aqmkit_measure::metric::Metric;
use aqmkit_results::{Axis, Overview, Results, RunData};
use cell::{PROBABILITY, SIZE, Style, TIME_MS, WIDTH};
use serde::Serialize;

use super::ReportInput;
use super::figure::{Swatch, class_swatches};
use crate::format::significant;

/// Space between cells, and margins for labels.
const GAP: f64 = 12.0;
const MARGIN: (f64, f64) = (70.0, 40.0);

/// One matrix.
#[derive(Debug, Serialize)]
pub(super) struct Matrix {
    /// Combination of the axes that are neither rows nor columns.
    name: String,
    /// Describes the plots in a cell.
    words: String,
    swatches: Vec<Swatch>,
    /// Whether classes are plotted in addition to the total.
    total: bool,
    /// Smallest width in pixels at which text is legible.
    width: usize,
    svg: String,
}

/// The matrices of an experiment with `[overview]`.
pub(super) fn matrices(input: &ReportInput<'_>) -> Vec<Matrix> {
    let Some(overview) = &input.results.overview else { return Vec::new() };
    let axis = |name: &str| input.results.axes.iter().find(|axis| axis.name == name);
    let (Some(rows), Some(columns)) = (axis(&overview.rows), axis(&overview.columns)) else { return Vec::new() };
    let classes = classes(input.runs);
    let groups = grouped(input.results, overview, input.runs);
    groups.iter().map(|(name, runs)| matrix(name, runs, overview, (rows, columns), &classes)).collect()
}

/// The classes, in the order of the run that has the most.
fn classes(runs: &[RunData<'_>]) -> Vec<String> {
    let of = |run: &RunData<'_>| {
        let mut names: Vec<String> = Vec::new();
        for flow in &run.output.flows {
            if !names.contains(&flow.class) {
                names.push(flow.class.clone());
            }
        }
        names
    };
    runs.iter().map(of).fold(Vec::new(), |most, names| if names.len() > most.len() { names } else { most })
}

/// The first repeat of each cell, grouped by the combination of the other axes.
fn grouped<'a>(results: &Results, overview: &Overview, runs: &'a [RunData<'a>]) -> Vec<(String, Vec<&'a RunData<'a>>)> {
    let others: Vec<&Axis> =
        results.axes.iter().filter(|axis| axis.name != overview.rows && axis.name != overview.columns).collect();
    let place = |axis: &Axis, run: &RunData<'_>| {
        let label = run.labels.get(&axis.name);
        axis.labels.iter().position(|known| Some(known) == label).unwrap_or(usize::MAX)
    };
    let mut groups: BTreeMap<Vec<usize>, (String, Vec<&RunData<'_>>)> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.labels.get("repeat").is_none_or(|repeat| repeat == "1")) {
        let labels: Vec<&str> = others.iter().filter_map(|a| run.labels.get(&a.name)).map(String::as_str).collect();
        let key = others.iter().map(|axis| place(axis, run)).collect();
        groups.entry(key).or_insert_with(|| (labels.join(", "), Vec::new())).1.push(run);
    }
    groups.into_values().collect()
}

fn matrix(
    name: &str,
    runs: &[&RunData<'_>],
    overview: &Overview,
    (rows, columns): (&Axis, &Axis),
    classes: &[String],
) -> Matrix {
    let completion = runs.iter().any(|run| !run.output.exchanges.is_empty());
    let style = Style { overview, classes, delay_ms: widest_delay(runs), completion };
    let (wide, high) = (WIDTH + GAP, style.height() + GAP);
    let width = MARGIN.0 + columns.labels.len() as f64 * wide;
    let height = MARGIN.1 + rows.labels.len() as f64 * high;
    let swatches = class_swatches(classes);
    let colors: String = swatches.iter().enumerate().map(|(k, swatch)| format!("--k{k}: {}; ", swatch.color)).collect();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" style=\"{}\">",
        escaped(name),
        colors.trim_end()
    );
    for (place, label) in columns.labels.iter().enumerate() {
        let x = MARGIN.0 + place as f64 * wide + WIDTH / 2.0;
        let _ = write!(svg, "<text x=\"{x}\" y=\"26\" text-anchor=\"middle\">{}</text>", escaped(label));
    }
    for (row, down) in rows.labels.iter().enumerate() {
        let y = MARGIN.1 + row as f64 * high;
        let at = y + style.height() / 2.0;
        let _ = write!(svg, "<text x=\"58\" y=\"{at}\" text-anchor=\"end\">{}</text>", escaped(down));
        for (column, along) in columns.labels.iter().enumerate() {
            let is = |run: &&&RunData<'_>| {
                run.labels.get(&rows.name) == Some(down) && run.labels.get(&columns.name) == Some(along)
            };
            if let Some(run) = runs.iter().find(is) {
                let title = format!("{down} by {along}");
                style.cell(&mut svg, &title, run.output, (MARGIN.0 + column as f64 * wide, y));
            }
        }
    }
    svg.push_str("</svg>");
    let (total, width) = (!overview.per_flow, (width / 2.0) as usize);
    Matrix { name: name.to_owned(), words: words(&style), swatches, total, width, svg }
}

/// A round number of milliseconds that few packets exceed.
fn widest_delay(runs: &[&RunData<'_>]) -> f64 {
    let windows = runs.iter().filter_map(|run| run.output.windows.first());
    let delays = windows.flat_map(|w| w.classes.values()).filter_map(|class| class.queue_delay_ms);
    let longest = delays.map(|delay| delay.p99).fold(0.0, f64::max);
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 300.0, 400.0];
    steps.into_iter().find(|step| *step >= longest).unwrap_or(longest)
}

/// A value of the metric at `path`, with label and unit: `queue delay p99 4.2 ms`.
fn value(path: &str, value: f64) -> String {
    let Some(metric) = Metric::at(path) else { return significant(value, 3) };
    let statistic = metric.statistics.iter().find(|s| path.ends_with(&format!(".{s}")) && **s != "mean");
    let statistic = statistic.map_or_else(String::new, |statistic| format!(" {statistic}"));
    format!("{}{statistic} {}", metric.label, in_unit(path, value))
}

/// A value of the metric at `path`, with unit: `4.2 ms`.
fn in_unit(path: &str, value: f64) -> String {
    let unit = Metric::at(path).map(|metric| metric.unit);
    unit.map_or_else(|| significant(value, 3), |u| format!("{} {}", significant(value * u.factor, 3), u.shown))
}

/// Describes the plots in a cell from top to bottom, with their ranges.
fn words(style: &Style<'_>) -> String {
    let percent = |power: f64| significant(100.0 * 10f64.powf(power), 2);
    let size = |power: f64| significant(10f64.powf(power - 3.0), 2);
    let rates = if style.overview.per_flow {
        "rate of a flow (its class's mean) each second, the middle at an equal share of those that are not starved; \
         marks at the right edge: each flow's mean"
            .to_owned()
    } else {
        let top = in_unit("classes.*.throughput_bps", style.overview.rate_bps);
        format!("rate of each class, and in all, each second, up to {top}")
    };
    let mut text = format!(
        "From top to bottom: {rates}; distribution of the queue delay, {} to {} ms in powers of ten; share of packets \
         dropped (solid) and marked (dashed) each second, {} to {} % in powers of ten",
        significant(style.shortest_ms(), 2),
        style.delay_ms,
        percent(PROBABILITY.0),
        percent(PROBABILITY.1)
    );
    if style.completion {
        let seconds = |power: f64| significant(10f64.powf(power - 3.0), 2);
        let _ = write!(
            text,
            "; completion time, {} to {} s, against size, {} to {} KB, both in powers of ten, with the line of a lone \
             download after two round trips",
            seconds(TIME_MS.0),
            seconds(TIME_MS.1),
            size(SIZE.0),
            size(SIZE.1)
        );
    }
    text.push('.');
    text
}

/// Text escaped for SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
