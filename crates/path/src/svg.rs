//! The queueing delay over time as an SVG file.

use std::fmt::Write as _;

use aqmkit_base::Instant;

use crate::chart::{Column, EVENTS, columns};
use crate::log::Log;

/// The number of periods, each as wide as a pixel.
const COLUMNS: usize = 800;
const HEIGHT: f64 = 240.0;
/// Room for labels at the left and at the top.
const LEFT: f64 = 70.0;
const TOP: f64 = 30.0;
/// The height of the row of an event.
const ROW: f64 = 16.0;

/// The colours of the rows of events.
const COLOURS: [&str; 3] = ["#c0392b", "#7f8c8d", "#e67e22"];

pub(crate) fn svg(log: &Log, end: Instant, title: &str) -> String {
    let columns = columns(log, end, COLUMNS);
    let highest = columns.iter().map(|column| column.delay.as_millis_f64()).fold(0.0, f64::max);
    let (width, bottom) = (LEFT + COLUMNS as f64 + 20.0, TOP + HEIGHT);
    let height = bottom + ROW * (EVENTS.len() + 1) as f64 + 10.0;
    let mut file = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(file, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>", escaped(words));
    };
    text(LEFT, TOP - 12.0, "start", title);
    text(LEFT - 6.0, TOP + 10.0, "end", &format!("{highest:.1} ms"));
    text(LEFT - 6.0, bottom, "end", "0");
    for (row, (name, ..)) in EVENTS.iter().enumerate() {
        text(LEFT - 6.0, bottom + ROW * (row as f64 + 0.9), "end", name);
    }
    let last = height - 8.0;
    text(LEFT, last, "start", "0 s");
    text(LEFT + COLUMNS as f64, last, "end", &format!("{:.3} s", end.as_secs_f64()));
    let _ = writeln!(file, "<path fill=\"#2980b9\" d=\"{}\"/>", area(&columns, highest, bottom));
    for (row, ((_, count), colour)) in EVENTS.iter().zip(COLOURS).enumerate() {
        let top = bottom + ROW * row as f64 + 4.0;
        let ticks: String =
            (0..).zip(&columns).filter(|(_, column)| count(column) > 0).map(|(x, _)| tick(x, top)).collect();
        if !ticks.is_empty() {
            let _ = writeln!(file, "<path stroke=\"{colour}\" d=\"{ticks}\"/>");
        }
    }
    file + "</svg>\n"
}

/// The area below the delays.
fn area(columns: &[Column], highest: f64, bottom: f64) -> String {
    let mut path = format!("M{LEFT} {bottom}");
    for column in columns {
        let y = bottom - HEIGHT * column.delay.as_millis_f64() / highest.max(f64::MIN_POSITIVE);
        let _ = write!(path, "V{y:.1}h1");
    }
    path + &format!("V{bottom}Z")
}

fn tick(x: u32, top: f64) -> String {
    format!("M{} {top}v{}", LEFT + f64::from(x) + 0.5, ROW - 6.0)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
