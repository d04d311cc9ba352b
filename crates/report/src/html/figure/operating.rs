//! Operating points: goodput against queue delay.

use serde_json::{Value, json};

use super::names;
use super::palette::Swatch;
use super::plot::{Figure, MARGINS, Plot, literal, titled};
use crate::answer::{Outcome, outcome};
use crate::columns;
use crate::format::{rate_unit, rounded, significant};
use crate::grid::{Grid, Row, Table};

/// The height of a figure, in pixels, and of one whose many points need room for their names.
const HEIGHT: usize = 380;
const CROWDED: (usize, usize) = (12, 560);
/// The ticks of the delay axis.
const TICKS: [f64; 17] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0];
/// The shortest delay on a logarithmic axis, in milliseconds.
const SHORTEST: f64 = 0.01;

/// The operating point of one row.
struct Point<'a> {
    swatch: &'a Swatch,
    delay: f64,
    delay_p99: f64,
    goodput: f64,
    spread: f64,
}

/// One point for each row of a combination in one window: the mean queue delay, falling to the right so that the best
/// corner is the upper right one, against the goodput of all classes; a line extends to the 99th percentile of the
/// delay. If several links are reported, the queue is that of the first. No figure for fewer than two points, or if no
/// packet waits.
pub(in crate::html) fn operating(grid: &Grid, table: &Table, swatches: &[Swatch]) -> Option<Figure> {
    let paths = grid.paths();
    let links = columns::names(&paths, "links.");
    let link = links.first()?;
    let classes = columns::names(&paths, "classes.");
    let points: Vec<Point<'_>> = table.rows.iter().filter_map(|row| point(row, link, &classes, swatches)).collect();
    let queued = points.iter().any(|point| point.delay > SHORTEST);
    if points.len() < 2 || !queued {
        return None;
    }
    let height = if points.len() > CROWDED.0 { CROWDED.1 } else { HEIGHT };
    let (unit, factor) = rate_unit(points.iter().map(|point| point.goodput).fold(0.0, f64::max));
    let of = if links.len() > 1 { format!("{link}: ") } else { String::new() };
    let mut plot = Plot::new(height);
    let (xs, ys) = (delays(&points), goodputs(&points));
    let range = [xs[0].log10(), xs[1].log10()];
    let ticks =
        json!({"type": "log", "range": range, "tickvals": TICKS, "ticktext": TICKS.map(|tick| significant(tick, 1))});
    plot.set("xaxis", titled(&format!("{of}queue delay, ms: mean, and line to p99"), ticks));
    plot.set("yaxis", titled(&format!("goodput, {unit}"), json!({"range": ys.map(|bps| rounded(bps * factor))})));
    plot.set("hovermode", json!("closest"));
    let across = |point: &Point<'_>| (point.delay.log10() - range[0]) / (range[1] - range[0]);
    let down = |point: &Point<'_>| (ys[1] - point.goodput) / (ys[1] - ys[0]);
    let spots: Vec<(f64, f64)> = points.iter().map(|point| (across(point), down(point))).collect();
    let labels: Vec<&str> = points.iter().map(|point| point.swatch.label.as_str()).collect();
    let area = height - MARGINS.0 - MARGINS.1;
    for sweep in sweeps(&points) {
        plot.scatter(joined(sweep, factor));
    }
    for (point, place) in points.iter().zip(names::places(&spots, &labels, area)) {
        plot.say(format!("{}: {}", point.swatch.label, point.words(unit, factor)));
        plot.scatter(trace(point, unit, factor, place));
    }
    Some(plot.figure(format!("Goodput against queue delay in window {}", table.window)))
}

/// The ends of the delay axis: the longest, then the shortest.
fn delays(points: &[Point<'_>]) -> [f64; 2] {
    let shortest = points.iter().map(|point| point.delay).fold(f64::MAX, f64::min);
    let longest = points.iter().map(|point| point.delay_p99).fold(0.0, f64::max);
    [longest * 1.3, shortest / 1.6]
}

/// The ends of the goodput axis, with some space around the points.
fn goodputs(points: &[Point<'_>]) -> [f64; 2] {
    let lowest = points.iter().map(|point| point.goodput - point.spread).fold(f64::MAX, f64::min);
    let highest = points.iter().map(|point| point.goodput + point.spread).fold(0.0, f64::max);
    let space = (0.08 * (highest - lowest)).max(0.01 * highest).max(1.0);
    [lowest - space, highest + space]
}

/// The sweeps of one parameter, such as `red max=20`, `red max=40` and so on: neighbouring points whose labels differ in
/// the value only.
fn sweeps<'a, 'b>(points: &'a [Point<'b>]) -> impl Iterator<Item = &'a [Point<'b>]> {
    let swept = |point: &Point<'b>| point.swatch.label.rsplit_once('=').map(|(what, _)| what.to_owned());
    points.chunk_by(move |one, next| swept(one).is_some() && swept(one) == swept(next)).filter(|sweep| sweep.len() > 1)
}

/// The line that joins the points of a sweep.
fn joined(sweep: &[Point<'_>], factor: f64) -> Value {
    json!({
        "x": sweep.iter().map(|point| rounded(point.delay)).collect::<Vec<_>>(),
        "y": sweep.iter().map(|point| rounded(point.goodput * factor)).collect::<Vec<_>>(),
        "mode": "lines",
        "hoverinfo": "skip",
        "line": {"color": "#888888", "width": 1.0, "dash": "dot"},
    })
}

fn point<'a>(row: &Row, link: &str, classes: &[String], swatches: &'a [Swatch]) -> Option<Point<'a>> {
    let Outcome { mean_ms, p99_ms, goodput, spread, .. } = outcome(row, link, classes)?;
    let delay = mean_ms.max(SHORTEST);
    Some(Point { swatch: swatches.get(row.place)?, delay, delay_p99: p99_ms.max(delay), goodput, spread })
}

impl Point<'_> {
    fn words(&self, unit: &str, factor: f64) -> String {
        let [delay, p99, goodput] =
            [self.delay, self.delay_p99, self.goodput * factor].map(|value| significant(value, 3));
        format!("{delay} ms, p99 {p99} ms, {goodput} {unit}")
    }
}

fn trace(point: &Point<'_>, unit: &str, factor: f64, place: Option<&str>) -> Value {
    let color = point.swatch.color;
    let name = literal(&point.swatch.label);
    json!({
        "x": [rounded(point.delay)],
        "y": [rounded(point.goodput * factor)],
        "mode": if place.is_some() { "markers+text" } else { "markers" },
        "name": name,
        "text": name,
        "textposition": place.unwrap_or("top center"),
        "textfont": {"size": 10},
        "hovertext": format!("<b>{name}</b><br>{}", point.words(unit, factor)),
        "hoverinfo": "text",
        "marker": {"color": color, "size": 9, "symbol": point.swatch.symbol()},
        "error_x": {
            "type": "data",
            "symmetric": false,
            "array": [rounded(point.delay_p99 - point.delay)],
            "arrayminus": [0.0],
            "color": color,
            "thickness": 1.0,
            "width": 0,
        },
        "error_y": {
            "type": "data",
            "array": [rounded(point.spread * factor)],
            "color": color,
            "thickness": 1.0,
            "width": 0,
        },
    })
}
