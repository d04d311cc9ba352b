//! Operating points: goodput against queue delay.

use serde_json::{Value, json};

use super::palette::Swatch;
use super::plot::{Figure, Plot, literal, titled};
use crate::answer::{Outcome, outcome};
use crate::columns::names;
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
    let links = names(&paths, "links.");
    let link = links.first()?;
    let classes = names(&paths, "classes.");
    let mut points: Vec<Point<'_>> = table.rows.iter().filter_map(|row| point(row, link, &classes, swatches)).collect();
    let queued = points.iter().any(|point| point.delay > SHORTEST);
    if points.len() < 2 || !queued {
        return None;
    }
    // The names of neighbouring points are placed alternately above and below.
    points.sort_by(|left, right| left.delay.total_cmp(&right.delay));
    let height = if points.len() > CROWDED.0 { CROWDED.1 } else { HEIGHT };
    let (unit, factor) = rate_unit(points.iter().map(|point| point.goodput).fold(0.0, f64::max));
    let of = if links.len() > 1 { format!("{link}: ") } else { String::new() };
    let mut plot = Plot::new(height);
    plot.set("xaxis", titled(&format!("{of}queue delay, ms: mean, and line to p99"), delays(&points)));
    plot.set("yaxis", titled(&format!("goodput, {unit}"), json!({})));
    plot.set("hovermode", json!("closest"));
    for (place, point) in points.iter().enumerate() {
        let side = if place % 2 == 0 { "top center" } else { "bottom center" };
        plot.say(format!("{}: {}", point.swatch.label, point.words(unit, factor)));
        plot.scatter(trace(point, unit, factor, side));
    }
    Some(plot.figure(format!("Goodput against queue delay in window {}", table.window)))
}

/// The delay axis: logarithmic, with short delays on the right.
fn delays(points: &[Point<'_>]) -> Value {
    let shortest = points.iter().map(|point| point.delay).fold(f64::MAX, f64::min);
    let longest = points.iter().map(|point| point.delay_p99).fold(0.0, f64::max);
    json!({
        "type": "log",
        "range": [(longest * 1.3).log10(), (shortest / 1.6).log10()],
        "tickvals": TICKS,
        "ticktext": TICKS.map(|tick| significant(tick, 1)),
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

fn trace(point: &Point<'_>, unit: &str, factor: f64, side: &str) -> Value {
    let color = point.swatch.color;
    let name = literal(&point.swatch.label);
    json!({
        "x": [rounded(point.delay)],
        "y": [rounded(point.goodput * factor)],
        "mode": "markers+text",
        "name": name,
        "text": name,
        "textposition": side,
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
