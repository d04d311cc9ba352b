//! Response times as in the papers: body and tail of the distribution, and size against time.

use std::collections::BTreeMap;

use aqmkit_measure::output::{Distribution, Responses};
use aqmkit_results::{FigureKind, RunData, combination};
use serde_json::json;

use super::distribution::Curve;
use super::palette::{Swatch, swatches};
use super::plot::{self, Figure, Plot, literal, titled};
use crate::format::rounded;

/// Height of a figure in pixels.
const HEIGHT: usize = 380;

/// Maximum number of maps in a figure.
const MOST_MAPS: usize = 8;

/// Lower end of the tail's axis: smaller shares are single responses.
const RAREST: f64 = 1e-6;

/// Left end of the tail's axis, in seconds.
const SHORTEST_OF_TAIL: f64 = 0.3;

/// A reproduced figure of a paper, from the finished runs.
#[derive(Default)]
pub(in crate::html) struct Shown {
    pub(in crate::html) swatches: Vec<Swatch>,
    pub(in crate::html) figures: Vec<(String, Figure)>,
}

/// Draws a figure of response times: curves are means over the runs of a combination, maps show the first run. `None`
/// if none of its runs is finished.
pub(in crate::html) fn responses(spec: &aqmkit_results::Figure, runs: &[RunData<'_>]) -> Option<Shown> {
    let meant = |run: &&RunData<'_>| {
        let of = |(axis, any): (&String, &Vec<String>)| run.labels.get(axis).is_some_and(|label| any.contains(label));
        spec.selector.iter().all(of)
    };
    let all: Vec<&RunData<'_>> = runs.iter().filter(meant).collect();
    let is_first = |run: &&&RunData<'_>| run.labels.get("repeat").is_none_or(|repeat| repeat == "1");
    let chosen: Vec<&RunData<'_>> = all.iter().filter(is_first).copied().collect();
    let labels: Vec<String> = chosen.iter().map(|run| name(run, &chosen)).collect();
    let swatches = swatches(&labels);
    let figures: Vec<(String, Figure)> = match spec.kind {
        FigureKind::Density => maps(spec, &chosen, &labels),
        FigureKind::Cdf | FigureKind::Tail => {
            let repeats = chosen.iter().map(|first| all.iter().filter(|run| repeats(run, first)).copied().collect());
            let lines: Vec<(Vec<&RunData<'_>>, &Swatch)> = repeats.zip(&swatches).collect();
            curves(spec, &lines).map(|f| (String::new(), f)).into_iter().collect()
        }
        FigureKind::Curve => Vec::new(),
    };
    let swatches = if spec.kind == FigureKind::Density { Vec::new() } else { swatches };
    (!figures.is_empty()).then_some(Shown { swatches, figures })
}

/// The labels that distinguish a run from the others.
fn name(run: &RunData<'_>, all: &[&RunData<'_>]) -> String {
    let differs = |(axis, label): &(&String, &String)| {
        !["repeat", "seed"].contains(&axis.as_str()) && all.iter().any(|other| other.labels.get(*axis) != Some(label))
    };
    let words: Vec<&str> = run.labels.iter().filter(differs).map(|(_, label)| label.as_str()).collect();
    if words.is_empty() { "all".to_owned() } else { words.join(", ") }
}

/// Whether two runs differ only in their seeds.
fn repeats(run: &RunData<'_>, other: &RunData<'_>) -> bool {
    combination(run.labels) == combination(other.labels)
}

fn curves(spec: &aqmkit_results::Figure, lines: &[(Vec<&RunData<'_>>, &Swatch)]) -> Option<Figure> {
    let quantity = format!("apps.{}.response_time_ms.{}", spec.app, spec.response);
    let mut plot = arranged(spec);
    let mut any = false;
    for (runs, swatch) in lines {
        let found = runs.iter().filter_map(|run| run.output.distributions.iter().find(|d| d.quantity == quantity));
        let found: Vec<&Distribution> = found.collect();
        let Some(curve) = Curve::of(&found) else { continue };
        any = true;
        plot.describe(curve.words(&swatch.label));
        let seconds: Vec<f64> = curve.values.iter().map(|ms| rounded(ms / 1e3)).collect();
        let band = if spec.kind == FigureKind::Tail { &curve.above } else { &curve.shares };
        let from = match spec.kind {
            FigureKind::Tail => seconds.partition_point(|t| *t <= SHORTEST_OF_TAIL),
            _ => 0,
        };
        // One point beyond the edge, so that the line reaches it.
        let to =
            spec.upto_s.map_or(seconds.len(), |end| (seconds.partition_point(|t| *t <= end) + 1).min(seconds.len()));
        let (at, band) = (&seconds[from.min(to)..to], band.between(from.min(to), to));
        if let Some(trace) = band.trace(at, swatch, json!({})) {
            plot.trace(trace);
        }
        let shares: Vec<Option<f64>> = band.mean.iter().map(|share| (*share > RAREST).then_some(*share)).collect();
        let name = literal(&swatch.label);
        plot.scatter(json!({"x": at, "y": shares, "mode": "lines", "line": plot::line(swatch, 1.8), "name": name}));
    }
    any.then(|| plot.figure(spec.title.clone()))
}

fn arranged(spec: &aqmkit_results::Figure) -> Plot {
    let (time, share, across, down) = match spec.kind {
        FigureKind::Tail => (
            "response time, s",
            "fraction of responses that take longer",
            json!({"type": "log", "range": [-0.5, spec.upto_s.unwrap_or(200.0).log10()]}),
            json!({"type": "log", "dtick": 1.0, "range": [-5.5, 0.0]}),
        ),
        _ => (
            "response time, s",
            "share of responses",
            json!({"range": [0.0, spec.upto_s.unwrap_or(2.0)]}),
            json!({"range": [0.0, 1.0]}),
        ),
    };
    let mut plot = Plot::new(HEIGHT);
    plot.set("xaxis", titled(time, across));
    plot.set("yaxis", titled(share, down));
    plot
}

fn maps(spec: &aqmkit_results::Figure, runs: &[&RunData<'_>], labels: &[String]) -> Vec<(String, Figure)> {
    let found = runs.iter().zip(labels).filter_map(|(run, label)| {
        let is = |r: &&Responses| r.traffic == spec.app && r.kind == spec.response;
        let cells = run.output.responses.iter().find(is)?;
        Some((label.clone(), map(spec, label, cells)))
    });
    found.take(MOST_MAPS).collect()
}

/// A heat map of the number of responses per cell, with a logarithmic colour scale.
fn map(spec: &aqmkit_results::Figure, label: &str, cells: &Responses) -> Figure {
    let upto = spec.upto_s.unwrap_or(100.0) * 1e3;
    let shown = |time: u16| (10.0..=upto).contains(&Responses::from_ms(time));
    let mut rows: BTreeMap<u16, BTreeMap<u16, u64>> = BTreeMap::new();
    for (time, size, count) in cells.cells().filter(|(time, ..)| shown(*time)) {
        rows.entry(time).or_default().insert(size, count);
    }
    let columns: Vec<u16> = (0..=rows.values().flat_map(BTreeMap::keys).copied().max().unwrap_or(0)).collect();
    let middle = |low: f64, high: f64| rounded((low * high).sqrt());
    let middles: Vec<f64> =
        columns.iter().map(|s| middle(Responses::from_bytes(*s), Responses::from_bytes(s + 1))).collect();
    let first = rows.keys().next().copied().unwrap_or(0);
    let last = rows.keys().last().copied().unwrap_or(0);
    let times: Vec<f64> =
        (first..=last).map(|t| middle(Responses::from_ms(t), Responses::from_ms(t + 1)) / 1e3).collect();
    let line = |t: u16| {
        let row = rows.get(&t);
        columns.iter().map(|s| row.and_then(|r| r.get(s)).map(|n| rounded((*n as f64).log10()))).collect()
    };
    let counts: Vec<Vec<Option<f64>>> = (first..=last).map(line).collect();
    let mut plot = Plot::new(HEIGHT);
    plot.set("xaxis", titled("response size, bytes", json!({"type": "log"})));
    plot.set("yaxis", titled("response time, s", json!({"type": "log"})));
    plot.set("hovermode", json!("closest"));
    let responses: u64 = rows.values().flat_map(BTreeMap::values).sum();
    plot.describe(format!("{label}: {responses} responses"));
    let bar = json!({"title": {"text": "responses (log10)"}, "thickness": 12});
    plot.trace(
        json!({"type": "heatmap", "x": middles, "y": times, "z": counts, "colorscale": PALE_TO_DARK, "colorbar": bar}),
    );
    plot.figure(format!("{}: {label}", spec.title))
}

/// Colour scale from light to dark.
const PALE_TO_DARK: [(f64, &str); 4] = [(0.0, "#DCE9F5"), (0.35, "#7FB2DA"), (0.7, "#1F6FAE"), (1.0, "#08264A")];
