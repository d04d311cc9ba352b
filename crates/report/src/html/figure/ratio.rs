//! Measured over published, row by row.

use aqmkit_results::Expectation;
use plotly::common::{self, ErrorData, ErrorType, Marker, Mode};
use plotly::layout::{AxisType, CategoryOrder, HoverMode, Margin, Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};

use super::{Figure, axis, layout, literal, titled};
use crate::format::{rounded, significant};
use crate::verdict::{measured, published, tolerance};

/// Pixels of a row.
const ROW: usize = 22;

/// One row as shares of the published value.
struct Ratio<'a> {
    row: &'a Expectation,
    measured: f64,
    spread: f64,
    low: f64,
    high: f64,
}

fn ratio(row: &Expectation) -> Option<Ratio<'_>> {
    let measured = row.measured.filter(|value| *value > 0.0)?;
    let reference = published(row).filter(|value| *value > 0.0)?;
    let low = row.low.map_or(0.02, |low| low / reference).max(0.02);
    let high = row.high.map_or(50.0, |high| high / reference);
    let spread = row.spread.filter(|spread| spread.is_finite()).unwrap_or(0.0) / reference;
    Some(Ratio { row, measured: measured / reference, spread, low, high })
}

/// Dots with their spread on bands of tolerance, on a logarithmic axis; and how many rows cannot be shown
/// so, for want of a ratio. No figure without any.
pub(in crate::html) fn ratios(rows: &[&Expectation]) -> (Option<Figure>, usize) {
    let found: Vec<Ratio<'_>> = rows.iter().filter_map(|row| ratio(row)).collect();
    let left_out = rows.iter().filter(|row| row.measured.is_some()).count() - found.len();
    if found.is_empty() {
        return (None, left_out);
    }
    let height = 70 + found.len() * ROW;
    let (least, most) = found.iter().fold((0.5f64, 2.0f64), |(least, most), ratio| {
        (least.min(ratio.measured - ratio.spread).max(0.02), most.max(ratio.measured + ratio.spread).min(50.0))
    });
    let range = vec![(least * 0.9).log10(), (most * 1.1).log10()];
    let across = titled("measured / published").type_(AxisType::Log).range(range);
    let across = across.tick_values(TICKS.to_vec()).tick_text(TICKS.iter().map(|tick| significant(*tick, 3)).collect());
    let names = found.iter().map(|ratio| literal(&ratio.row.id)).collect::<Vec<_>>();
    let range_down = vec![found.len() as f64 - 0.5, -0.5];
    let down = axis().category_order(CategoryOrder::Array).category_array(names).range(range_down).auto_margin(true);
    let mut plot = Plot::new();
    let margin = Margin::new().top(10).bottom(50).left(60).right(20);
    let layout = layout(height).x_axis(across).y_axis(down.show_grid(false)).shapes(bands(&found)).margin(margin);
    plot.set_layout(layout.hover_mode(HoverMode::Closest));
    for (pass, name, color) in
        [(Some(true), "met", "#009E73"), (Some(false), "missed", "#D55E00"), (None, "open", "#999999")]
    {
        add(&mut plot, &found, pass, name, color);
    }
    (Some(Figure::new("Measured over published values".to_owned(), height, &plot)), left_out)
}

const TICKS: [f64; 13] = [0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0];

/// What is tolerated, behind each row; and a line at 1.
fn bands(found: &[Ratio<'_>]) -> Vec<Shape> {
    let band = |(place, ratio): (usize, &Ratio<'_>)| {
        let middle = place as f64;
        box_of((ratio.low, ratio.high), (middle - 0.32, middle + 0.32), "rgba(128,128,128,0.22)")
    };
    let line = ShapeLine::new().width(1.0).color("rgba(128,128,128,0.7)");
    let one = Shape::new().shape_type(ShapeType::Line).x0(1.0).x1(1.0).y_ref("paper").y0(0.0).y1(1.0).line(line);
    found.iter().enumerate().map(band).chain([one]).collect()
}

fn box_of((x0, x1): (f64, f64), (y0, y1): (f64, f64), color: &'static str) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .layer(ShapeLayer::Below)
        .x0(x0)
        .x1(x1)
        .y0(y0)
        .y1(y1)
        .line(ShapeLine::new().width(0.0))
        .fill_color(color)
}

fn add(plot: &mut Plot, found: &[Ratio<'_>], pass: Option<bool>, name: &str, color: &'static str) {
    let shown: Vec<&Ratio<'_>> = found.iter().filter(|ratio| ratio.row.pass == pass).collect();
    if shown.is_empty() {
        return;
    }
    let text = |ratio: &&Ratio<'_>| {
        let row = ratio.row;
        let lines = [&row.what, &format!("published {}", row.published), &format!("measured {}", measured(row))];
        format!("{}<br>tolerated {}", lines.map(|line| literal(line)).join("<br>"), literal(&tolerance(row)))
    };
    let spread = shown.iter().map(|ratio| rounded(ratio.spread)).collect();
    let trace = Scatter::new(
        shown.iter().map(|ratio| rounded(ratio.measured)).collect(),
        shown.iter().map(|ratio| literal(&ratio.row.id)).collect::<Vec<_>>(),
    );
    let trace = trace
        .mode(Mode::Markers)
        .name(name)
        .marker(Marker::new().color(color).size(9))
        .error_x(ErrorData::new(ErrorType::Data).array(spread).color(color).thickness(1.5).width(0))
        .hover_text_array(shown.iter().map(text).collect())
        .hover_info(common::HoverInfo::Text);
    plot.add_trace(trace);
}
