//! The plots of the page, as Plotly reads them.

mod curves;
mod laws;
mod operating;
mod palette;
mod panels;
mod ratio;
mod responses;
mod series;
mod sweep;

pub(super) use curves::curves;
pub(super) use laws::laws;
pub(super) use operating::operating;
pub(super) use palette::{Swatch, class_swatches, swatches};
pub(super) use ratio::ratios;
pub(super) use responses::{Shown, responses};
pub(super) use series::{Line, Lines, series};
pub(super) use sweep::sweeps;

use plotly::common::{Anchor, Font, Title};
use plotly::layout::{Annotation, Axis, HoverMode, Margin};
use plotly::{Layout, Plot};
use serde::Serialize;

/// The margins of a figure in pixels: above, below, left and right.
const MARGINS: (usize, usize, usize, usize) = (34, 44, 56, 12);

/// Colours of axes and text are not set here: the page sets them to suit its own.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    /// The text alternative of the figure, for screen readers.
    label: String,
    /// Its height in pixels.
    height: usize,
    /// Plotly's description, ready to stand inside a script element.
    json: String,
}

impl Figure {
    fn new(label: String, height: usize, plot: &Plot) -> Self {
        Figure { label, height, json: plot.to_json().replace('<', "\\u003c") }
    }
}

/// A label as Plotly shows it literally: it reads a few tags of HTML otherwise.
fn literal(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A layout for so many pixels of height.
fn layout(height: usize) -> Layout {
    let (top, bottom, left, right) = MARGINS;
    Layout::new()
        .height(height)
        .auto_size(true)
        .margin(Margin::new().top(top).bottom(bottom).left(left).right(right))
        .hover_mode(HoverMode::XUnified)
        .show_legend(false)
}

/// An axis without chart junk.
fn axis() -> Axis {
    Axis::new().zero_line(false).show_grid(true).tick_font(Font::new().size(11))
}

/// An axis with a name.
fn titled(name: &str) -> Axis {
    axis().title(Title::with_text(name).font(Font::new().size(12)))
}

/// The name of the axis number `place`: `y`, `y2`.
fn reference(letter: char, place: usize) -> String {
    if place == 0 { letter.to_string() } else { format!("{letter}{}", place + 1) }
}

/// Plotly's layout knows eight axes of a kind.
const MOST_PANELS: usize = 8;

fn with_y_axis(layout: Layout, place: usize, axis: Axis) -> Layout {
    match place {
        0 => layout.y_axis(axis),
        1 => layout.y_axis2(axis),
        2 => layout.y_axis3(axis),
        3 => layout.y_axis4(axis),
        4 => layout.y_axis5(axis),
        5 => layout.y_axis6(axis),
        6 => layout.y_axis7(axis),
        _ => layout.y_axis8(axis),
    }
}

/// The shares of the figure's height that panel `place` of `count` takes, from the top down, with `gap` of a panel
/// between two.
fn domain(place: usize, count: usize, gap: f64) -> [f64; 2] {
    let unit = 1.0 / (count as f64 + gap * (count as f64 - 1.0));
    let top = 1.0 - place as f64 * unit * (1.0 + gap);
    [(top - unit).max(0.0), top]
}

/// The name of a panel, above its upper left corner.
fn heading(text: &str, top: f64) -> Annotation {
    Annotation::new()
        .text(format!("<b>{text}</b>"))
        .show_arrow(false)
        .x_ref("paper")
        .y_ref("paper")
        .x(0.0)
        .y(top)
        .x_anchor(Anchor::Left)
        .y_anchor(Anchor::Bottom)
        .font(Font::new().size(12))
}
