//! Ratios of measured to published values, one row per claim.

use aqmkit_results::{Expectation, Verdict};
use serde_json::{Value, json};

use super::plot::{Figure, Plot, axis, literal, titled};
use crate::format::{rounded, significant};
use crate::verdict::{measured, published, tolerance};

/// Height of a row in pixels.
const ROW: usize = 22;

/// A row relative to its published value.
struct Ratio<'a> {
    row: &'a Expectation,
    measured: f64,
    /// Half the width of the 95 % interval over the repeats.
    half: f64,
    low: f64,
    high: f64,
}

fn ratio(row: &Expectation) -> Option<Ratio<'_>> {
    let measured = row.measured.filter(|value| *value > 0.0)?;
    let reference = published(row).filter(|value| *value > 0.0)?;
    let low = row.low.map_or(0.02, |low| low / reference).max(0.02);
    let high = row.high.map_or(50.0, |high| high / reference);
    let half = row.half_width().unwrap_or(0.0) / reference;
    Some(Ratio { row, measured: measured / reference, half, low, high })
}

/// Plots points with their intervals on bands of tolerance, on a logarithmic axis; also returns the number of rows
/// without a ratio. `None` if no row has one.
pub(in crate::html) fn ratios(rows: &[&Expectation]) -> (Option<Figure>, usize) {
    let found: Vec<Ratio<'_>> = rows.iter().filter_map(|row| ratio(row)).collect();
    let left_out = rows.iter().filter(|row| row.measured.is_some()).count() - found.len();
    if found.is_empty() {
        return (None, left_out);
    }
    let mut plot = Plot::new(70 + found.len() * ROW);
    plot.set("margin", json!({"t": 10, "b": 50, "l": 60, "r": 20}));
    plot.set("hovermode", json!("closest"));
    plot.set("xaxis", titled("measured / published", across(&found)));
    plot.set("yaxis", axis(down(&found)));
    plot.set("shapes", json!(bands(&found)));
    for (verdict, name, color) in [
        (Some(Verdict::Met), "met", "#009E73"),
        (Some(Verdict::Missed), "missed", "#D55E00"),
        (Some(Verdict::Undecided), "undecided", "#E69F00"),
        (None, "open", "#999999"),
    ] {
        add(&mut plot, &found, verdict, name, color);
    }
    (Some(plot.figure("Measured over published values".to_owned())), left_out)
}

/// The axis of ratios: logarithmic, from at most 1/2 to at least 2.
fn across(found: &[Ratio<'_>]) -> Value {
    let (least, most) = found.iter().fold((0.5f64, 2.0f64), |(least, most), ratio| {
        (least.min(ratio.measured - ratio.half).max(0.02), most.max(ratio.measured + ratio.half).min(50.0))
    });
    json!({
        "type": "log",
        "range": [(least * 0.9).log10(), (most * 1.1).log10()],
        "tickvals": TICKS,
        "ticktext": TICKS.map(|tick| significant(tick, 3)),
    })
}

/// The axis of rows, first row on top.
fn down(found: &[Ratio<'_>]) -> Value {
    json!({
        "categoryorder": "array",
        "categoryarray": found.iter().map(|ratio| literal(&ratio.row.id)).collect::<Vec<_>>(),
        "range": [found.len() as f64 - 0.5, -0.5],
        "automargin": true,
        "showgrid": false,
    })
}

const TICKS: [f64; 13] = [0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0];

/// The tolerance of each row as a band, and a line at 1.
fn bands(found: &[Ratio<'_>]) -> Vec<Value> {
    let band = |(place, ratio): (usize, &Ratio<'_>)| {
        let middle = place as f64;
        json!({
            "type": "rect",
            "layer": "below",
            "x0": ratio.low,
            "x1": ratio.high,
            "y0": middle - 0.32,
            "y1": middle + 0.32,
            "line": {"width": 0},
            "fillcolor": "rgba(128,128,128,0.22)",
        })
    };
    let line = json!({"width": 1, "color": "rgba(128,128,128,0.7)"});
    let one = json!({"type": "line", "x0": 1.0, "x1": 1.0, "yref": "paper", "y0": 0.0, "y1": 1.0, "line": line});
    found.iter().enumerate().map(band).chain([one]).collect()
}

fn add(plot: &mut Plot, found: &[Ratio<'_>], verdict: Option<Verdict>, name: &str, color: &'static str) {
    let shown: Vec<&Ratio<'_>> = found.iter().filter(|ratio| ratio.row.verdict() == verdict).collect();
    if shown.is_empty() {
        return;
    }
    for ratio in &shown {
        plot.describe(format!("{}: {} of the published value, {name}", ratio.row.id, significant(ratio.measured, 3)));
    }
    let text = |ratio: &&Ratio<'_>| {
        let row = ratio.row;
        let lines = [&row.what, &format!("published {}", row.published), &format!("measured {}", measured(row))];
        format!("{}<br>tolerated {}", lines.map(|line| literal(line)).join("<br>"), literal(&tolerance(row)))
    };
    let half: Vec<f64> = shown.iter().map(|ratio| rounded(ratio.half)).collect();
    plot.scatter(json!({
        "x": shown.iter().map(|ratio| rounded(ratio.measured)).collect::<Vec<_>>(),
        "y": shown.iter().map(|ratio| literal(&ratio.row.id)).collect::<Vec<_>>(),
        "mode": "markers",
        "name": name,
        "marker": {"color": color, "size": 9},
        "error_x": {"type": "data", "array": half, "color": color, "thickness": 1.5, "width": 0},
        "hovertext": shown.iter().map(text).collect::<Vec<_>>(),
        "hoverinfo": "text",
    }));
}
