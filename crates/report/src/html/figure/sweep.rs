//! Quantities along an axis of numbers.

use aqmkit_results::{Results, Ruler, Stat};
use plotly::common::{self, ErrorData, ErrorType, Marker, Mode};
use plotly::layout::RangeMode;
use plotly::{Plot, Scatter};

use super::palette::{Swatch, swatches};
use super::{Figure, MOST_PANELS, axis, domain, heading, layout, literal, reference, titled, with_y_axis};
use crate::columns::{Column, columns};
use crate::format::rounded;
use crate::grid::{Grid, Group};

/// One figure for each window when an axis holds numbers of one unit (`20ms`, `0.1`): the means against them, with the spread
/// over the repeats, and a line for each combination of the other axes.
pub(in crate::html) fn sweeps(results: &Results) -> Vec<(String, Figure)> {
    // Two points are too few for a plot.
    let long = results.axes.iter().filter(|axis| axis.labels.len() > 2);
    let found = long.filter_map(|axis| Some((axis, Ruler::of(&axis.labels)?))).next();
    let Some((axis, ruler)) = found else { return Vec::new() };
    let grid = Grid::along(results, axis.clone());
    let mut all = columns(&grid);
    all.sort_by_key(|column| column.kind.rank);
    all.truncate(MOST_PANELS);
    grid.windows.iter().map(|window| (window.clone(), figure(&grid, window, &ruler, &all))).collect()
}

fn figure(grid: &Grid, window: &str, ruler: &Ruler, all: &[Column]) -> Figure {
    let names: Vec<String> = grid.groups.iter().map(Group::name).collect();
    let height = 80 + all.len() * 130;
    let last = reference('y', all.len().saturating_sub(1));
    let mut arranged = layout(height)
        .show_legend(names.len() > 1)
        .x_axis(titled(&literal(&ruler.title(&grid.focus.name))).anchor(&last));
    let mut notes = Vec::new();
    let mut plot = Plot::new();
    for (place, column) in all.iter().enumerate() {
        let domain = domain(place, all.len(), 0.3);
        arranged = with_y_axis(arranged, place, axis().domain(&domain).range_mode(RangeMode::ToZero).n_ticks(4));
        notes.push(heading(&literal(&format!("{}, {}", column.name, column.kind.unit)), domain[1]));
        for (group, swatch) in grid.groups.iter().zip(swatches(&names)) {
            let rows = group.tables.iter().filter(|table| table.window == window).flat_map(|table| &table.rows);
            let found = rows.filter_map(|row| Some((ruler.at(&row.label)?, *row.metrics.get(&column.path)?)));
            plot.add_trace(line(found.collect(), column.kind.factor, &swatch, place));
        }
    }
    plot.set_layout(arranged.annotations(notes));
    Figure::new(format!("Quantities along {} in window {window}", grid.focus.name), height, &plot)
}

/// The means of one combination with their spread, in panel `place`.
fn line(mut points: Vec<(f64, Stat)>, factor: f64, swatch: &Swatch, place: usize) -> Box<Scatter<f64, f64>> {
    points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let spread = points.iter().map(|(_, stat)| rounded(stat.sd.unwrap_or(0.0) * factor)).collect();
    let (at, means) = points.into_iter().map(|(at, stat)| (at, rounded(stat.mean * factor))).unzip();
    Scatter::new(at, means)
        .mode(Mode::LinesMarkers)
        .name(literal(&swatch.label))
        .legend_group(literal(&swatch.label))
        .show_legend(place == 0)
        .line(common::Line::new().color(swatch.color).width(1.5).dash(swatch.dash()))
        .marker(Marker::new().size(6))
        .error_y(ErrorData::new(ErrorType::Data).array(spread).thickness(1.0).width(2))
        .y_axis(reference('y', place))
}
