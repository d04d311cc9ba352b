//! A quantity along an axis of numbers, compared with formulas, on logarithmic axes.

use aqmkit_results::{Curve, Results, Ruler};
use plotly::common::{self, DashType, Marker, Mode};
use plotly::layout::AxisType;
use plotly::{Plot, Scatter};

use super::palette::{Swatch, swatches};
use super::responses::Shown;
use super::{Figure, layout, literal, titled};
use crate::format::rounded;
use crate::grid::{Grid, Group, Row};

/// The height of a figure, in pixels.
const HEIGHT: usize = 400;

/// Draws the curve that `spec` asks for in each window; nothing where none of its runs was done.
pub(in crate::html) fn laws(spec: &aqmkit_results::Figure, results: &Results) -> Option<Shown> {
    let curve = spec.curve.as_ref()?;
    let axis = results.axes.iter().find(|axis| axis.name == curve.along)?;
    let ruler = Ruler::of(&axis.labels)?;
    let grid = Grid::along(results, axis.clone());
    let held = |(name, label): &(String, String)| spec.selector.get(name).is_none_or(|any| any.contains(label));
    let groups: Vec<&Group> = grid.groups.iter().filter(|group| group.labels.iter().all(held)).collect();
    let swatches = swatches(&groups.iter().map(|group| group.name()).collect::<Vec<_>>());
    let one = |window: &String| {
        let measured: Vec<(Vec<(f64, f64)>, &Swatch)> =
            groups.iter().map(|group| means(group, window, &curve.metric, &ruler)).zip(&swatches).collect();
        let any = measured.iter().any(|(points, _)| !points.is_empty());
        any.then(|| (window.clone(), figure(&spec.title, curve, measured, &ruler)))
    };
    let figures: Vec<(String, Figure)> = grid.windows.iter().filter_map(one).collect();
    let only = figures.len() == 1;
    let figures = figures.into_iter().map(|(window, f)| (if only { String::new() } else { window }, f)).collect();
    (!grid.windows.is_empty()).then_some(Shown { swatches, figures })
}

/// The means of one combination, by where they lie on the axis.
fn means(group: &Group, window: &str, metric: &str, ruler: &Ruler) -> Vec<(f64, f64)> {
    let rows = group.tables.iter().filter(|table| table.window == window).flat_map(|table| &table.rows);
    let point = |row: &Row| Some((ruler.at(&row.label)?, row.metrics.get(metric)?.mean));
    rows.filter_map(point).collect()
}

fn figure(title: &str, curve: &Curve, measured: Vec<(Vec<(f64, f64)>, &Swatch)>, ruler: &Ruler) -> Figure {
    let mut plot = Plot::new();
    let log = |name: &str| titled(&literal(name)).type_(AxisType::Log);
    plot.set_layout(
        layout(HEIGHT).show_legend(true).x_axis(log(&ruler.title(&curve.along))).y_axis(log(&curve.metric)),
    );
    for (points, swatch) in measured {
        let line = common::Line::new().color(swatch.color).width(1.2);
        let trace = scatter(points).mode(Mode::LinesMarkers).name(literal(&swatch.label)).line(line);
        plot.add_trace(trace.marker(Marker::new().size(7)));
    }
    for (law, dash) in curve.laws.iter().zip([DashType::Dash, DashType::Dot, DashType::DashDot].into_iter().cycle()) {
        let points = law.points.iter().filter_map(|(label, value)| Some((ruler.at(label)?, *value)));
        let line = common::Line::new().color("#888888").width(1.6).dash(dash);
        plot.add_trace(scatter(points.collect()).mode(Mode::Lines).name(literal(&law.label)).line(line));
    }
    Figure::new(title.to_owned(), HEIGHT, &plot)
}

/// Points from left to right.
fn scatter(mut points: Vec<(f64, f64)>) -> Box<Scatter<f64, f64>> {
    points.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let (at, values) = points.into_iter().map(|(at, value)| (at, rounded(value))).unzip();
    Scatter::new(at, values)
}
