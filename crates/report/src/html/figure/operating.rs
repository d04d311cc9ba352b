//! Operating points: goodput against queue delay.

use aqmkit_results::Stat;
use serde_json::{Value, json};

use super::names;
use super::palette::Swatch;
use super::plot::{Figure, MARGINS, Plot, heading, literal, merged, titled};
use super::scale::{LEAST_DELAYS, LEAST_RATES, SHORTEST, Ticks, linear, logarithmic};
use crate::columns::{self, passes_elsewhere};
use crate::format::{ranged, rate_unit, rounded, significant};
use crate::grid::{Grid, Row, Table};

/// Height of a figure in pixels, and of one with so many points that their labels need more space.
const HEIGHT: usize = 380;
const CROWDED: (usize, usize) = (12, 560);
/// Width of the plot area on a wide screen, in pixels.
const WIDTH: usize = 1150;
/// Intervals of delays are cut at this fraction of the mean.
const FARTHEST: f64 = 4.0;
/// Approximate maximum of ticks on the delay axis.
const MOST_TICKS: usize = 10;

/// Operating point of one row at one link.
struct Point<'a> {
    swatch: &'a Swatch,
    /// Mean and 99th percentile of the queue delay in milliseconds.
    delay: Stat,
    delay_p99: f64,
    /// Goodput in bits per second.
    goodput: f64,
    /// Half the width of the goodput's 95 % interval; 0 for a single run.
    spread: f64,
}

/// A link, and the traffic whose goodput is plotted against the link's delay.
struct Target<'a> {
    link: &'a str,
    classes: Vec<&'a str>,
    /// Whether there are other links.
    among: bool,
}

/// One figure per direction, or one for the first link. Each row of the table is a point: mean queue delay, falling to
/// the right so that the upper right corner is the best, against the goodput of the traffic over the link. A line
/// extends to the 99th percentile of the delay, and bars show 95 % intervals. There is no figure for fewer than two
/// points, or if no packet waits.
pub(in crate::html) fn operating(grid: &Grid, table: &Table, swatches: &[Swatch]) -> Vec<Figure> {
    let paths = grid.paths();
    let links = columns::names(&paths, "links.");
    let classes = columns::names(&paths, "classes.");
    let largest = |class: &str, metric: &str| grid.largest(&format!("classes.{class}.{metric}_bps"));
    let (other, own): (Vec<&str>, Vec<&str>) = classes
        .iter()
        .map(String::as_str)
        .partition(|class| passes_elsewhere(largest(class, "goodput"), largest(class, "throughput")));
    let shown: Vec<Target<'_>> = match links.as_slice() {
        [down, up] if !other.is_empty() => {
            vec![Target { link: down, classes: own, among: true }, Target { link: up, classes: other, among: true }]
        }
        [first, ..] => vec![Target { link: first, classes: [own, other].concat(), among: links.len() > 1 }],
        [] => Vec::new(),
    };
    shown.iter().filter_map(|of| figure(of, table, swatches)).collect()
}

fn figure(of: &Target<'_>, table: &Table, swatches: &[Swatch]) -> Option<Figure> {
    let points: Vec<Point<'_>> = table.rows.iter().filter_map(|row| point(row, of, swatches)).collect();
    let queued = points.iter().any(|point| point.delay.mean > SHORTEST);
    if points.len() < 2 || !queued {
        return None;
    }
    let height = if points.len() > CROWDED.0 { CROWDED.1 } else { HEIGHT };
    let (unit, factor) = rate_unit(points.iter().map(|point| point.goodput).fold(0.0, f64::max));
    let link = if of.among { format!("{}: ", of.link) } else { String::new() };
    let mut plot = Plot::new(height);
    let ([shortest, longest], ys) = (delays(&points), goodputs(&points));
    // Delays fall to the right.
    let range = [longest.log10(), shortest.log10()];
    let ticks = merged(Ticks::between(shortest, longest, MOST_TICKS).axis(), json!({"range": range}));
    plot.set("xaxis", titled(&format!("{link}queue delay, ms: mean, and line to p99"), ticks));
    let axis = json!({"range": ys.map(|bps| rounded(bps * factor)), "nticks": 6});
    plot.set("yaxis", titled(&format!("{link}goodput, {unit}"), axis));
    plot.set("hovermode", json!("closest"));
    if of.among {
        plot.set("annotations", json!([heading(of.link, 1.0)]));
    }
    let across = |point: &Point<'_>| (point.delay.mean.log10() - range[0]) / (range[1] - range[0]);
    let down = |point: &Point<'_>| (ys[1] - point.goodput) / (ys[1] - ys[0]);
    let spots: Vec<(f64, f64)> = points.iter().map(|point| (across(point), down(point))).collect();
    let labels: Vec<&str> = points.iter().map(|point| point.swatch.label.as_str()).collect();
    let (wide, bars) = (if of.among { WIDTH / 2 } else { WIDTH }, points.iter().any(|point| point.spread > 0.0));
    let area = (wide, height - MARGINS.0 - MARGINS.1);
    for sweep in sweeps(&points) {
        plot.scatter(joined(sweep, factor));
    }
    for (point, place) in points.iter().zip(names::places(&spots, &labels, area, bars)) {
        plot.describe(format!("{}: {}", point.swatch.label, point.words(unit, factor)));
        plot.scatter(trace(point, unit, factor, place));
        if let Some(bar) = interval(point, factor) {
            plot.scatter(bar);
        }
    }
    let queue = if of.among { format!("the queue delay of {}", of.link) } else { "queue delay".to_owned() };
    Some(plot.figure(format!("Goodput against {queue} in window {}", table.window)))
}

/// Range of the delay axis, shortest first.
fn delays(points: &[Point<'_>]) -> [f64; 2] {
    // With few runs an interval can reach down to zero, which is infinitely far on this axis.
    let low = |point: &Point<'_>| {
        let mean = point.delay.mean;
        point.delay.interval().map_or(mean, |interval| interval.low.max(mean / FARTHEST))
    };
    let shortest = points.iter().map(|point| low(point).max(SHORTEST)).fold(f64::MAX, f64::min);
    let longest = points.iter().map(|point| point.delay_p99).fold(0.0, f64::max);
    logarithmic((shortest, longest.max(shortest)), LEAST_DELAYS)
}

/// Range of the goodput axis.
fn goodputs(points: &[Point<'_>]) -> [f64; 2] {
    let lowest = points.iter().map(|point| point.goodput - point.spread).fold(f64::MAX, f64::min);
    let highest = points.iter().map(|point| point.goodput + point.spread).fold(0.0, f64::max);
    linear((lowest.max(0.0), highest), LEAST_RATES)
}

/// Sweeps of one parameter, such as `red max=20`, `red max=40` …: neighbouring points whose labels differ only in the
/// value.
fn sweeps<'a, 'b>(points: &'a [Point<'b>]) -> impl Iterator<Item = &'a [Point<'b>]> {
    let swept = |point: &Point<'b>| point.swatch.label.rsplit_once('=').map(|(what, _)| what.to_owned());
    points.chunk_by(move |one, next| swept(one).is_some() && swept(one) == swept(next)).filter(|sweep| sweep.len() > 1)
}

/// The line through the points of a sweep.
fn joined(sweep: &[Point<'_>], factor: f64) -> Value {
    json!({
        "x": sweep.iter().map(|point| rounded(point.delay.mean)).collect::<Vec<_>>(),
        "y": sweep.iter().map(|point| rounded(point.goodput * factor)).collect::<Vec<_>>(),
        "mode": "lines",
        "hoverinfo": "skip",
        "line": {"color": "#888888", "width": 1.0, "dash": "dot"},
    })
}

fn point<'a>(row: &Row, of: &Target<'_>, swatches: &'a [Swatch]) -> Option<Point<'a>> {
    let delay = |which: &str| row.metrics.get(&format!("links.{}.queue_delay_ms.{which}", of.link)).copied();
    let mut mean = delay("mean")?;
    mean.mean = mean.mean.max(SHORTEST);
    let sums = row.sums(of.classes.iter().map(|class| format!("classes.{class}.goodput_bps")));
    let goodput = Stat::of(&sums.into_values().collect::<Vec<_>>()).unwrap_or_default();
    Some(Point {
        swatch: swatches.get(row.place)?,
        delay: mean,
        delay_p99: delay("p99").map_or(mean.mean, |p99| p99.mean.max(mean.mean)),
        goodput: goodput.mean,
        spread: goodput.half_width().unwrap_or(0.0),
    })
}

impl Point<'_> {
    fn words(&self, unit: &str, factor: f64) -> String {
        let with_half = |value: f64, half: Option<f64>| ranged(Some(value), half.filter(|half| *half > 0.0));
        let delay = with_half(self.delay.mean, self.delay.half_width());
        let goodput = with_half(self.goodput * factor, Some(self.spread * factor));
        format!("{delay} ms, p99 {} ms, {goodput} {unit}", significant(self.delay_p99, 3))
    }
}

fn trace(point: &Point<'_>, unit: &str, factor: f64, place: Option<&str>) -> Value {
    let color = point.swatch.color;
    let name = literal(&point.swatch.label);
    json!({
        "x": [rounded(point.delay.mean)],
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
            "array": [rounded(point.delay_p99 - point.delay.mean)],
            "arrayminus": [0.0],
            "color": color,
            "thickness": 1.0,
            "width": 0,
        },
        "error_y": {
            "type": "data",
            "array": [rounded(point.spread * factor)],
            "color": color,
            "thickness": 2.5,
            "width": 4,
        },
    })
}

/// The interval of the mean delay, as a bar thicker than the line to the 99th percentile.
fn interval(point: &Point<'_>, factor: f64) -> Option<Value> {
    let interval = point.delay.interval()?;
    let low = interval.low.max(point.delay.mean / FARTHEST).max(SHORTEST);
    Some(json!({
        "x": [rounded(low), rounded(interval.high.max(low))],
        "y": [rounded(point.goodput * factor), rounded(point.goodput * factor)],
        "mode": "lines",
        "line": {"color": point.swatch.color, "width": 3.5},
        "hoverinfo": "skip",
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aqmkit_results::Axis;

    use super::super::palette::swatches;
    use super::*;
    use crate::grid::Group;

    fn row(place: usize, label: &str, metrics: &[(&str, f64)]) -> Row {
        let samples: BTreeMap<String, BTreeMap<String, f64>> =
            metrics.iter().map(|(k, v)| ((*k).to_owned(), BTreeMap::from([("1".to_owned(), *v)]))).collect();
        let stat = |mean: f64| Stat { mean, sd: None, count: 1 };
        let metrics = metrics.iter().map(|(k, v)| ((*k).to_owned(), stat(*v))).collect();
        Row { label: label.to_owned(), place, metrics, samples }
    }

    /// Upload traffic is plotted with the queue of its own direction.
    #[test]
    fn both_directions_have_a_picture() {
        let rows = ["fifo", "cake"].iter().enumerate().map(|(i, label)| {
            row(
                i,
                label,
                &[
                    ("links.down.queue_delay_ms.mean", 5.0),
                    ("links.up.queue_delay_ms.mean", 6000.0 / (1.0 + 999.0 * i as f64)),
                    ("classes.bulk.goodput_bps", 14e6),
                    ("classes.bulk.throughput_bps", 15e6),
                    ("classes.upload.goodput_bps", 0.9e6),
                    ("classes.upload.throughput_bps", 0.05e6),
                ],
            )
        });
        let table = Table { window: "all".to_owned(), rows: rows.collect() };
        let labels = vec!["fifo".to_owned(), "cake".to_owned()];
        let focus = Axis { name: "aqm".to_owned(), labels: labels.clone() };
        let group = Group { labels: Vec::new(), tables: vec![table.clone()] };
        let grid = Grid { focus, groups: vec![group], ..Grid::default() };
        let figures = operating(&grid, &table, &swatches(&labels));
        let words: Vec<String> = figures.iter().map(|figure| format!("{figure:?}")).collect();
        assert_eq!(words.len(), 2);
        assert!(words[0].contains("fifo: 5 ms, p99 5 ms, 14 Mbit/s"), "{}", words[0]);
        assert!(words[1].contains("fifo: 6000 ms, p99 6000 ms, 900 kbit/s"), "{}", words[1]);
    }
}
