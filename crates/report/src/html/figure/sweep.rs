//! Metrics along a numeric axis.

use aqmkit_results::{Results, Ruler, Stat};
use serde_json::json;

use super::palette::{Swatch, swatches};
use super::plot::{
    self, Figure, MOST_PANELS, Plot, axis, domain, heading, in_words, literal, merged, reference, titled,
};
use super::published;
use crate::columns::{Column, columns};
use crate::format::rounded;
use crate::grid::{Grid, Group};

/// One figure per window if an axis has numbers of one unit (`20ms`, `0.1`): means along the axis with 95 % intervals
/// over the repeats, and one line per combination of the other axes.
pub(in crate::html) fn sweeps(results: &Results) -> Vec<(String, Figure)> {
    // Two points are too few for a plot.
    let long = results.axes.iter().filter(|axis| axis.labels.len() > 2);
    let found = long.filter_map(|axis| Some((axis, Ruler::of(&axis.labels)?))).next();
    let Some((axis, ruler)) = found else { return Vec::new() };
    let grid = Grid::along(results, axis.clone());
    let mut all = columns(&grid);
    all.sort_by_key(|column| column.kind.rank);
    all.truncate(MOST_PANELS);
    grid.windows.iter().map(|window| (window.clone(), figure(results, &grid, window, &ruler, &all))).collect()
}

fn figure(results: &Results, grid: &Grid, window: &str, ruler: &Ruler, all: &[Column]) -> Figure {
    let names: Vec<String> = grid.groups.iter().map(Group::name).collect();
    let mut plot = Plot::new(80 + all.len() * 130);
    let last = reference('y', all.len().saturating_sub(1));
    plot.set("showlegend", json!(names.len() > 1));
    plot.set("xaxis", titled(&ruler.title(&grid.focus.name), json!({"anchor": last})));
    let mut notes = Vec::new();
    let mut any = false;
    for (place, column) in all.iter().enumerate() {
        let domain = domain(place, all.len(), 0.3);
        plot.set_y_axis(place, axis(json!({"domain": domain, "rangemode": "tozero", "nticks": 4})));
        let quantity = format!("{}, {}", column.name, column.kind.unit);
        notes.push(heading(&quantity, domain[1]));
        for (group, swatch) in grid.groups.iter().zip(swatches(&names)) {
            let rows = group.tables.iter().filter(|table| table.window == window).flat_map(|table| &table.rows);
            let found = rows.filter_map(|row| Some((ruler.at(&row.label)?, *row.metrics.get(&column.path)?)));
            let factor = column.kind.factor;
            add(&mut plot, found.collect(), factor, &swatch, (place, &quantity));
            let along = (grid.focus.name.as_str(), ruler);
            let values = published::along_axis(results, (&column.path, window), along, &group.labels);
            if !values.is_empty() {
                plot.describe(published::in_words(&quantity, &values, factor, &swatch));
                let look = json!({"yaxis": reference('y', place), "showlegend": false});
                plot.scatter(merged(published::trace(&values, factor, &swatch), look));
                any = true;
            }
        }
    }
    plot.set("annotations", json!(notes));
    let open = if any { "; open diamonds are published values" } else { "" };
    plot.figure(format!("Quantities along {} in window {window}{open}", grid.focus.name))
}

/// Adds means and intervals of a combination to the panel of a metric.
fn add(plot: &mut Plot, mut points: Vec<(f64, Stat)>, factor: f64, swatch: &Swatch, (place, quantity): (usize, &str)) {
    points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let spread: Vec<f64> = points.iter().map(|(_, stat)| rounded(stat.half_width().unwrap_or(0.0) * factor)).collect();
    let (at, means): (Vec<f64>, Vec<f64>) =
        points.into_iter().map(|(at, stat)| (at, rounded(stat.mean * factor))).unzip();
    plot.describe(in_words(quantity, &swatch.label, means.iter().copied()));
    let name = literal(&swatch.label);
    plot.scatter(json!({
        "x": at,
        "y": means,
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "showlegend": place == 0,
        "line": plot::line(swatch, 1.5),
        "marker": {"size": 6, "symbol": swatch.symbol()},
        "error_y": {"type": "data", "array": spread, "thickness": 1.0, "width": 2},
        "yaxis": reference('y', place),
    }));
}
