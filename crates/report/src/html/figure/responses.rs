//! Response times as the papers plot them: the body of the distribution, its tail, and size against time.

use std::collections::BTreeMap;

use aqmkit_measure::output::{Distribution, Responses};
use aqmkit_results::{FigureKind, RunData};
use plotly::common::{self, ColorScale, ColorScaleElement, Mode, Title};
use plotly::layout::{AxisType, HoverMode};
use plotly::{HeatMap, Layout, Plot, Scatter};

use super::palette::{Swatch, swatches};
use super::{Figure, layout, literal, titled};
use crate::format::rounded;

/// The height of a figure, in pixels.
const HEIGHT: usize = 380;

/// The most points of one curve.
const MOST_POINTS: usize = 250;

/// The most maps of one figure.
const MOST_MAPS: usize = 8;

/// Shares below this are single responses.
const RAREST: f64 = 1e-6;

/// A figure of the paper, as far as its runs were done.
#[derive(Default)]
pub(in crate::html) struct Shown {
    pub(in crate::html) swatches: Vec<Swatch>,
    pub(in crate::html) figures: Vec<(String, Figure)>,
}

/// Draws what `spec` asks for, of the first repeat in each window; nothing where none of its runs was done.
pub(in crate::html) fn responses(spec: &aqmkit_results::Figure, runs: &[RunData<'_>]) -> Option<Shown> {
    let meant = |run: &&RunData<'_>| {
        let of = |(axis, any): (&String, &Vec<String>)| run.labels.get(axis).is_some_and(|label| any.contains(label));
        run.labels.get("repeat").is_none_or(|repeat| repeat == "1") && spec.selector.iter().all(of)
    };
    let chosen: Vec<&RunData<'_>> = runs.iter().filter(meant).collect();
    let labels: Vec<String> = chosen.iter().map(|run| name(run, &chosen)).collect();
    let swatches = swatches(&labels);
    let figures: Vec<(String, Figure)> = match spec.kind {
        FigureKind::Density => maps(spec, &chosen, &labels),
        FigureKind::Cdf | FigureKind::Tail => {
            curves(spec, &chosen, &swatches).map(|f| (String::new(), f)).into_iter().collect()
        }
        FigureKind::Curve => Vec::new(),
    };
    let swatches = if spec.kind == FigureKind::Density { Vec::new() } else { swatches };
    (!figures.is_empty()).then_some(Shown { swatches, figures })
}

/// The labels in which a run differs from the others.
fn name(run: &RunData<'_>, all: &[&RunData<'_>]) -> String {
    let differs = |(axis, label): &(&String, &String)| {
        !["repeat", "seed"].contains(&axis.as_str()) && all.iter().any(|other| other.labels.get(*axis) != Some(label))
    };
    let words: Vec<&str> = run.labels.iter().filter(differs).map(|(_, label)| label.as_str()).collect();
    if words.is_empty() { "all".to_owned() } else { words.join(", ") }
}

fn curves(spec: &aqmkit_results::Figure, runs: &[&RunData<'_>], swatches: &[Swatch]) -> Option<Figure> {
    let quantity = format!("apps.{}.response_time_ms.{}", spec.app, spec.response);
    let mut plot = Plot::new();
    plot.set_layout(arranged(spec));
    let mut any = false;
    for (run, swatch) in runs.iter().zip(swatches) {
        let Some(found) = run.output.distributions.iter().find(|found| found.quantity == quantity) else { continue };
        any = true;
        let (times, shares) = points(spec, found).into_iter().map(|(t, s)| (rounded(t), rounded(s))).unzip();
        let line = common::Line::new().color(swatch.color).width(1.8).dash(swatch.dash());
        plot.add_trace(
            Scatter::<f64, f64>::new(times, shares).mode(Mode::Lines).line(line).name(literal(&swatch.label)),
        );
    }
    any.then(|| Figure::new(spec.title.clone(), HEIGHT, &plot))
}

fn arranged(spec: &aqmkit_results::Figure) -> Layout {
    let layout = layout(HEIGHT);
    let time = titled("response time, s");
    match spec.kind {
        FigureKind::Tail => {
            layout.x_axis(time.type_(AxisType::Log).range(vec![-0.5, spec.upto_s.unwrap_or(200.0).log10()])).y_axis(
                titled("fraction of responses that take longer").type_(AxisType::Log).dtick(1.0).range(vec![-5.5, 0.0]),
            )
        }
        _ => layout
            .x_axis(time.range(vec![0.0, spec.upto_s.unwrap_or(2.0)]))
            .y_axis(titled("share of responses").range(vec![0.0, 1.0])),
    }
}

/// The points of a curve that can be seen, in seconds, thinned.
fn points(spec: &aqmkit_results::Figure, found: &Distribution) -> Vec<(f64, f64)> {
    let seconds = found.points.iter().map(|(ms, share)| (ms / 1e3, *share));
    let kept: Vec<(f64, f64)> = match spec.kind {
        FigureKind::Tail => {
            seconds.map(|(t, share)| (t, 1.0 - share)).filter(|(t, s)| *s > RAREST && *t > 0.3).collect()
        }
        _ => {
            // One beyond the edge, so that the line reaches it.
            let end = spec.upto_s.unwrap_or(2.0);
            let within = found.points.partition_point(|(ms, _)| ms / 1e3 <= end);
            seconds.take(within + 1).collect()
        }
    };
    let step = kept.len().div_ceil(MOST_POINTS).max(1);
    let last = kept.len().saturating_sub(1);
    kept.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, point)| point).collect()
}

fn maps(spec: &aqmkit_results::Figure, runs: &[&RunData<'_>], labels: &[String]) -> Vec<(String, Figure)> {
    let found = runs.iter().zip(labels).filter_map(|(run, label)| {
        let is = |r: &&Responses| r.traffic == spec.app && r.kind == spec.response;
        let cells = run.output.responses.iter().find(is)?;
        Some((label.clone(), map(spec, label, cells)))
    });
    found.take(MOST_MAPS).collect()
}

/// How many responses lie in each cell, on a logarithmic scale of colours.
fn map(spec: &aqmkit_results::Figure, label: &str, cells: &Responses) -> Figure {
    let upto = spec.upto_s.unwrap_or(100.0) * 1e3;
    let shown = |time: u16| (10.0..=upto).contains(&Responses::from_ms(time));
    let mut rows: BTreeMap<u16, BTreeMap<u16, u64>> = BTreeMap::new();
    for (time, size, count) in cells.cells().filter(|(time, ..)| shown(*time)) {
        rows.entry(time).or_default().insert(size, count);
    }
    let columns: Vec<u16> = (0..=rows.values().flat_map(BTreeMap::keys).copied().max().unwrap_or(0)).collect();
    let middle = |low: f64, high: f64| rounded((low * high).sqrt());
    let sizes = columns.iter().map(|s| middle(Responses::from_bytes(*s), Responses::from_bytes(s + 1))).collect();
    let first = rows.keys().next().copied().unwrap_or(0);
    let last = rows.keys().last().copied().unwrap_or(0);
    let times = (first..=last).map(|t| middle(Responses::from_ms(t), Responses::from_ms(t + 1)) / 1e3).collect();
    let line = |t: u16| {
        let row = rows.get(&t);
        columns.iter().map(|s| row.and_then(|r| r.get(s)).map(|n| rounded((*n as f64).log10()))).collect()
    };
    let counts: Vec<Vec<Option<f64>>> = (first..=last).map(line).collect();
    let mut plot = Plot::new();
    let layout = layout(HEIGHT)
        .x_axis(titled("response size, bytes").type_(AxisType::Log))
        .y_axis(titled("response time, s").type_(AxisType::Log));
    plot.set_layout(layout.hover_mode(HoverMode::Closest));
    let bar = common::ColorBar::new().title(Title::with_text("responses (log10)")).thickness(12);
    plot.add_trace(
        HeatMap::<f64, f64, Vec<Option<f64>>>::new(sizes, times, counts).color_scale(scale()).color_bar(bar),
    );
    Figure::new(format!("{}: {label}", spec.title), HEIGHT, &plot)
}

/// From pale to dark, as ink on paper.
fn scale() -> ColorScale {
    let steps = [(0.0, "#DCE9F5"), (0.35, "#7FB2DA"), (0.7, "#1F6FAE"), (1.0, "#08264A")];
    ColorScale::Vector(steps.map(|(at, color)| ColorScaleElement(at, color.to_owned())).into())
}
