//! A metric along a numeric axis, compared with theoretical laws, on logarithmic axes.

use aqmkit_measure::metric::Metric;
use aqmkit_results::{Curve, Results, Ruler, Stat};
use serde_json::{Value, json};

use super::palette::{Swatch, swatches};
use super::plot::{Figure, Plot, in_words, literal, merged, titled};
use super::published;
use super::responses::Shown;
use crate::format::rounded;
use crate::grid::{Grid, Group, Row};

/// Height of a figure in pixels.
const HEIGHT: usize = 400;

/// Draws the curve of `spec` for each window; `None` if none of its runs is finished.
pub(in crate::html) fn laws(spec: &aqmkit_results::Figure, results: &Results) -> Option<Shown> {
    let curve = spec.curve.as_ref()?;
    let axis = results.axes.iter().find(|axis| axis.name == curve.along)?;
    let ruler = Ruler::of(&axis.labels)?;
    let grid = Grid::along(results, axis.clone());
    let held = |(name, label): &(String, String)| spec.selector.get(name).is_none_or(|any| any.contains(label));
    let groups: Vec<&Group> = grid.groups.iter().filter(|group| group.labels.iter().all(held)).collect();
    let swatches = swatches(&groups.iter().map(|group| group.name()).collect::<Vec<_>>());
    let one = |window: &String| {
        let measured: Vec<(Vec<(f64, Stat)>, &Swatch)> =
            groups.iter().map(|group| means(group, window, &curve.metric, &ruler)).zip(&swatches).collect();
        let any = measured.iter().any(|(points, _)| !points.is_empty());
        let of_group = |group: &&Group| {
            published::along_axis(results, (&curve.metric, window), (&curve.along, &ruler), &group.labels)
        };
        let known: Vec<(published::Values, &Swatch)> = groups.iter().map(of_group).zip(&swatches).collect();
        any.then(|| (window.clone(), figure(&spec.title, curve, measured, &known, &ruler)))
    };
    let figures: Vec<(String, Figure)> = grid.windows.iter().filter_map(one).collect();
    let only = figures.len() == 1;
    let figures = figures.into_iter().map(|(window, f)| (if only { String::new() } else { window }, f)).collect();
    (!grid.windows.is_empty()).then_some(Shown { swatches, figures })
}

/// Means of one combination, by position on the axis.
fn means(group: &Group, window: &str, metric: &str, ruler: &Ruler) -> Vec<(f64, Stat)> {
    let rows = group.tables.iter().filter(|table| table.window == window).flat_map(|table| &table.rows);
    let point = |row: &Row| Some((ruler.at(&row.label)?, *row.metrics.get(metric)?));
    rows.filter_map(point).collect()
}

fn figure(
    title: &str,
    curve: &Curve,
    measured: Vec<(Vec<(f64, Stat)>, &Swatch)>,
    published: &[(published::Values, &Swatch)],
    ruler: &Ruler,
) -> Figure {
    let mut plot = Plot::new(HEIGHT);
    plot.set("showlegend", json!(true));
    plot.set("xaxis", titled(&ruler.title(&curve.along), json!({"type": "log"})));
    plot.set("yaxis", titled(&named(&curve.metric), json!({"type": "log"})));
    for (mut points, swatch) in measured {
        plot.describe(in_words(&named(&curve.metric), &swatch.label, points.iter().map(|(_, stat)| stat.mean)));
        points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        // Error bars end at a tenth of the mean: a logarithmic axis has no zero.
        let down = |stat: &Stat| stat.half_width().unwrap_or(0.0).min(0.9 * stat.mean.abs());
        let up: Vec<f64> = points.iter().map(|(_, stat)| rounded(stat.half_width().unwrap_or(0.0))).collect();
        let down: Vec<f64> = points.iter().map(|(_, stat)| rounded(down(stat))).collect();
        let line = json!({"color": swatch.color, "width": 1.2});
        let look = json!({
            "mode": "lines+markers", "line": line, "marker": {"size": 7, "symbol": swatch.symbol()},
            "error_y": {"type": "data", "symmetric": false, "array": up, "arrayminus": down, "thickness": 1.0, "width": 2},
        });
        let means = points.into_iter().map(|(at, stat)| (at, stat.mean)).collect();
        plot.scatter(merged(from_left(means, &swatch.label), look));
    }
    for (values, swatch) in published.iter().filter(|(values, _)| !values.is_empty()) {
        plot.describe(published::in_words(&named(&curve.metric), values, 1.0, swatch));
        plot.scatter(published::trace(values, 1.0, swatch));
    }
    for (law, dash) in curve.laws.iter().zip(["dash", "dot", "dashdot"].into_iter().cycle()) {
        let points = law.points.iter().filter_map(|(label, value)| Some((ruler.at(label)?, *value)));
        let look = json!({"mode": "lines", "line": {"color": "#888888", "width": 1.6, "dash": dash}});
        plot.scatter(merged(from_left(points.collect(), &law.label), look));
    }
    plot.figure(title.to_owned())
}

/// The label of a metric, with its unit.
fn named(path: &str) -> String {
    let words = Metric::at(path).map(|metric| format!("{}, {}", metric.words(path), metric.unit.name));
    words.unwrap_or_else(|| path.to_owned())
}

/// Points sorted from left to right.
fn from_left(mut points: Vec<(f64, f64)>, name: &str) -> Value {
    points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let (at, values): (Vec<f64>, Vec<f64>) = points.into_iter().map(|(at, value)| (at, rounded(value))).unzip();
    json!({"x": at, "y": values, "name": literal(name)})
}
