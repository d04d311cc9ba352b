//! Operating points: how much gets through against how long it waits.

use plotly::common::{self, ErrorData, ErrorType, Marker, MarkerSymbol, Mode, Position};
use plotly::layout::{AxisType, HoverMode};
use plotly::{Plot, Scatter};

use super::palette::Swatch;
use super::{Figure, layout, literal, titled};
use crate::answer::{Outcome, outcome};
use crate::columns::names;
use crate::format::{rate_unit, rounded, significant};
use crate::grid::{Grid, Row, Table};

/// The height of a figure, in pixels, and of one with so many points that their names need room.
const HEIGHT: usize = 380;
const CROWDED: (usize, usize) = (12, 560);
/// Where the axis of delays has ticks.
const TICKS: [f64; 17] =
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0];
/// The least delay that a logarithmic axis shows, in milliseconds.
const SHORTEST: f64 = 0.01;

/// Where one row stands.
struct Point<'a> {
    swatch: &'a Swatch,
    delay: f64,
    delay_p99: f64,
    goodput: f64,
    spread: f64,
}

/// One point for each row of a combination in one window: mean queue delay, falling to the right so that the better
/// corner is the upper right one, against the goodput of all classes; a line leads on to the delay that one packet in a hundred
/// exceeds. Of several links, the queue is that of the first. No figure for fewer than two points.
pub(in crate::html) fn operating(grid: &Grid, table: &Table, swatches: &[Swatch]) -> Option<Figure> {
    let paths = grid.paths();
    let links = names(&paths, "links.");
    let link = links.first()?;
    let classes = names(&paths, "classes.");
    let mut points: Vec<Point<'_>> = table.rows.iter().filter_map(|row| point(row, link, &classes, swatches)).collect();
    if points.len() < 2 {
        return None;
    }
    // Neighbours have their names above and below.
    points.sort_by(|left, right| left.delay.total_cmp(&right.delay));
    let height = if points.len() > CROWDED.0 { CROWDED.1 } else { HEIGHT };
    let (unit, factor) = rate_unit(points.iter().map(|point| point.goodput).fold(0.0, f64::max));
    let of = if links.len() > 1 { format!("{link}: ") } else { String::new() };
    let across = titled(&format!("{of}queue delay, ms: mean, and a line to the 99th percentile")).type_(AxisType::Log);
    let shortest = points.iter().map(|point| point.delay).fold(f64::MAX, f64::min);
    let longest = points.iter().map(|point| point.delay_p99).fold(0.0, f64::max);
    let across = across.range(vec![(longest * 1.3).log10(), (shortest / 1.6).log10()]);
    let across = across.tick_values(TICKS.to_vec()).tick_text(TICKS.iter().map(|tick| significant(*tick, 1)).collect());
    let mut plot = Plot::new();
    plot.set_layout(
        layout(height).x_axis(across).y_axis(titled(&format!("goodput, {unit}"))).hover_mode(HoverMode::Closest),
    );
    for (place, point) in points.iter().enumerate() {
        let side = if place % 2 == 0 { Position::TopCenter } else { Position::BottomCenter };
        plot.add_trace(trace(point, unit, factor, side));
    }
    let label = format!("Goodput against queue delay in window {}", table.window);
    Some(Figure::new(label, height, &plot))
}

fn point<'a>(row: &Row, link: &str, classes: &[String], swatches: &'a [Swatch]) -> Option<Point<'a>> {
    let Outcome { mean_ms, p99_ms, goodput, spread, .. } = outcome(row, link, classes)?;
    let delay = mean_ms.max(SHORTEST);
    Some(Point { swatch: swatches.get(row.place)?, delay, delay_p99: p99_ms.max(delay), goodput, spread })
}

fn trace(point: &Point<'_>, unit: &str, factor: f64, side: Position) -> Box<Scatter<f64, f64>> {
    let color = point.swatch.color;
    let goodput = rounded(point.goodput * factor);
    let name = literal(&point.swatch.label);
    let delays = format!("{} ms, p99 {} ms", significant(point.delay, 3), significant(point.delay_p99, 3));
    let to_p99 = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(vec![rounded(point.delay_p99 - point.delay)])
        .array_minus(vec![0.0])
        .color(color)
        .thickness(1.0)
        .width(0);
    let spread = ErrorData::new(ErrorType::Data)
        .array(vec![rounded(point.spread * factor)])
        .color(color)
        .thickness(1.0)
        .width(0);
    Scatter::new(vec![rounded(point.delay)], vec![goodput])
        .mode(Mode::MarkersText)
        .name(&name)
        .text(&name)
        .text_position(side)
        .text_font(common::Font::new().size(10))
        .hover_text(format!("<b>{name}</b><br>{delays}<br>{} {unit}", significant(goodput, 3)))
        .hover_info(common::HoverInfo::Text)
        .marker(Marker::new().color(color).size(9).symbol(symbol(point.swatch.round)))
        .error_x(to_p99)
        .error_y(spread)
}

/// The sign for labels whose colour was used so many times before.
fn symbol(round: usize) -> MarkerSymbol {
    match round % 5 {
        0 => MarkerSymbol::Circle,
        1 => MarkerSymbol::Square,
        2 => MarkerSymbol::Diamond,
        3 => MarkerSymbol::TriangleUp,
        _ => MarkerSymbol::Cross,
    }
}
