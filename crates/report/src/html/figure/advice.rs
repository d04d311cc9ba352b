//! Figures of an advice.

use aqmkit_results::advice::{Advice, Finalist, Tried};
use serde_json::{Value, json};

use super::palette::Swatch;
use super::plot::{Figure, Plot, literal, merged, titled};
use super::scale::{LEAST_RATES, linear};
use crate::format::{rate_unit, rounded, significant};

/// Height of a scatter plot in pixels.
const HEIGHT: usize = 360;
/// Height of a row in the plot of factors, in pixels.
const LINE: usize = 34;
/// Colour of disciplines that are not finalists.
const OTHERS: &str = "#9aa5b088";

/// The metric on the y axis, against queue delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::html) enum Against {
    /// Goodput of all traffic.
    Goodput,
    /// Completion time of a web page.
    Page,
}

impl Against {
    fn value(self, tried: &Tried) -> Option<f64> {
        match self {
            Against::Goodput => tried.goodput_bps,
            Against::Page => tried.page_ms,
        }
    }

    fn is_best(self, tried: &Tried) -> bool {
        match self {
            Against::Goodput => tried.best_goodput,
            Against::Page => tried.best_page,
        }
    }
}

/// All candidates, and the Pareto front. Delays fall to the right and page times upwards, so that the upper right
/// corner is the best. `swatches` are those of the finalists.
pub(in crate::html) fn front(advice: &Advice, swatches: &[Swatch], against: Against) -> Option<Figure> {
    let points: Vec<(&Tried, f64, f64)> = advice
        .tried
        .iter()
        .filter_map(|tried| Some((tried, tried.delay_ms?.max(0.01), against.value(tried)?)))
        .collect();
    let most = points.iter().map(|point| point.2).fold(0.0, f64::max);
    if points.len() < 2 {
        return None;
    }
    let (unit, factor) = if against == Against::Goodput { rate_unit(most) } else { ("ms", 1.0) };
    let mut plot = frame(HEIGHT);
    let discipline = |tried: &Tried| advice.disciplines.get(tried.discipline).map_or("", String::as_str);
    // Points of one discipline, or of all disciplines that are not finalists.
    let is_of = |tried: &Tried, swatch: Option<&Swatch>| match swatch {
        Some(swatch) => discipline(tried) == swatch.label,
        None => !swatches.iter().any(|known| known.label == discipline(tried)),
    };
    for swatch in std::iter::once(None).chain(swatches.iter().map(Some)) {
        let all: Vec<&(&Tried, f64, f64)> = points.iter().filter(|(tried, ..)| is_of(tried, swatch)).collect();
        let texts: Vec<String> = all
            .iter()
            .map(|(tried, x, y)| {
                format!(
                    "<b>{}</b><br>{} ms, {} {unit}<br>{} runs",
                    literal(&tried.label),
                    significant(*x, 3),
                    significant(y * factor, 3),
                    tried.runs
                )
            })
            .collect();
        let (x, y): (Vec<f64>, Vec<f64>) = all.iter().map(|(_, x, y)| (rounded(*x), rounded(y * factor))).unzip();
        let marker = swatch.map_or(
            json!({"color": OTHERS, "size": 5}),
            |swatch| json!({"color": swatch.color, "size": 7, "symbol": swatch.symbol(), "opacity": 0.8}),
        );
        plot.scatter(json!({"x": x, "y": y, "mode": "markers", "name": swatch.map_or("others", |swatch| &swatch.label), "marker": marker, "hovertext": texts, "hoverinfo": "text"}));
    }
    let mut best: Vec<&(&Tried, f64, f64)> = points.iter().filter(|(tried, ..)| against.is_best(tried)).collect();
    best.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (tried, x, y) in &best {
        plot.describe(format!("{}: {} ms, {} {unit}", tried.label, significant(*x, 3), significant(y * factor, 3)));
    }
    let (x, y): (Vec<f64>, Vec<f64>) = best.iter().map(|(_, x, y)| (rounded(*x), rounded(y * factor))).unzip();
    plot.scatter(json!({"x": x, "y": y, "mode": "lines", "line": {"color": "#7a8794", "width": 1.2, "dash": "dot", "shape": "hv"}, "hoverinfo": "skip"}));
    let chosen =
        advice.finalists.first().and_then(|choice| points.iter().find(|(tried, ..)| tried.label == choice.label));
    if let Some((_, across, up)) = chosen {
        let ring = json!({"color": "rgba(0,0,0,0)", "size": 17, "line": {"color": swatches.first().map_or("#0072B2", |swatch| swatch.color), "width": 2.5}});
        plot.scatter(json!({"x": [rounded(*across)], "y": [rounded(up * factor)], "mode": "markers+text", "text": "advised", "textposition": "bottom center", "textfont": {"size": 11}, "marker": ring, "hoverinfo": "skip"}));
    }
    let ticks: Vec<f64> = (-3..5).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power))).collect();
    let logarithmic = json!({"type": "log", "autorange": "reversed", "tickvals": ticks, "ticktext": ticks.iter().map(|tick| significant(*tick, 1)).collect::<Vec<_>>()});
    plot.set("xaxis", titled("mean queue delay, ms", logarithmic.clone()));
    let (name, keys) = match against {
        Against::Goodput => {
            let low = points.iter().map(|point| point.2).fold(most, f64::min);
            let range = linear((low, most), LEAST_RATES).map(|bps| rounded(bps * factor));
            (format!("goodput, {unit}"), json!({"nticks": 6, "range": range}))
        }
        Against::Page => ("mean page time, ms".to_owned(), logarithmic.clone()),
    };
    plot.set("yaxis", titled(&name, keys));
    Some(plot.figure(format!("{name} against queue delay of all candidates; the dotted line is the Pareto front")))
}

/// Factors by which each finalist is worse than the advised one, with intervals.
pub(in crate::html) fn factors(finalists: &[Finalist], names: &[String], swatches: &[Swatch]) -> Option<Figure> {
    let with: Vec<(usize, &Finalist)> =
        finalists.iter().enumerate().filter(|(_, finalist)| finalist.worse.is_some()).collect();
    if with.is_empty() {
        return None;
    }
    let mut plot = frame(LINE * with.len() + 60);
    for (i, finalist) in &with {
        let (Some(worse), Some(name)) = (finalist.worse, names.get(*i)) else { continue };
        let color =
            swatches.iter().find(|swatch| swatch.label == finalist.discipline).map_or("#999999", |swatch| swatch.color);
        let words = format!(
            "{} times worse (95 %: {} to {})",
            significant(worse.mean, 3),
            significant(worse.low, 3),
            significant(worse.high, 3)
        );
        plot.describe(format!("{name}: {words}"));
        let bars = json!({"type": "data", "symmetric": false, "array": [rounded(worse.high - worse.mean)], "arrayminus": [rounded(worse.mean - worse.low)], "color": color, "thickness": 1.6, "width": 6});
        plot.scatter(json!({"x": [rounded(worse.mean)], "y": [literal(name)], "mode": "markers", "marker": {"color": color, "size": 9}, "error_x": bars, "hovertext": format!("<b>{}</b><br>{words}", literal(name)), "hoverinfo": "text"}));
    }
    plot.set(
        "xaxis",
        titled("times worse than the advised one", json!({"type": "log", "nticks": 6, "tickformat": ".3~g"})),
    );
    plot.set(
        "yaxis",
        merged(
            titled("", json!({"autorange": "reversed", "automargin": true})),
            json!({"showgrid": false, "type": "category"}),
        ),
    );
    plot.set("shapes", json!([{"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper", "line": {"color": "#7a8794", "width": 1.2, "dash": "dot"}}]));
    Some(plot.figure("Factors by which the others are worse, with 95 % confidence intervals".to_owned()))
}

fn frame(height: usize) -> Plot {
    let mut plot = Plot::new(height);
    plot.set("margin", json!({"t": 10, "b": 46, "l": 60, "r": 12}));
    plot.set("hovermode", Value::from("closest"));
    plot
}
