//! A run as a cell of the matrix: small plots of rates, queue delays, probabilities and completion times.

use std::collections::BTreeMap;
use std::fmt::Write;

use aqmkit_measure::output::Output;
use aqmkit_results::Overview;

use super::path::Frame;

/// Width of the plots in SVG units; two units are a pixel.
pub(super) const WIDTH: f64 = 184.0;
/// Height of each plot, by kind.
const HEIGHT: f64 = 76.0;
const TALL: f64 = 150.0;
/// Gap between plots.
const GAP: f64 = 7.0;

/// Decades of the delay axis: on a linear axis, all short delays would look the same.
const DELAY_DECADES: f64 = 3.0;

/// Range of probabilities, as powers of ten.
pub(super) const PROBABILITY: (f64, f64) = (-4.0, 0.0);
/// Ranges of sizes in bytes and times in milliseconds, as powers of ten.
pub(super) const SIZE: (f64, f64) = (3.0, 8.0);
pub(super) const TIME_MS: (f64, f64) = (1.0, 5.0);

/// Common properties of a matrix's cells.
pub(super) struct Style<'a> {
    pub(super) overview: &'a Overview,
    /// Classes, in the order of their colours.
    pub(super) classes: &'a [String],
    /// Delay at the right edge, in milliseconds.
    pub(super) delay_ms: f64,
    /// Whether to plot completion times.
    pub(super) completion: bool,
}

impl Style<'_> {
    /// Delay at the left edge; shorter ones are drawn there.
    pub(super) fn shortest_ms(&self) -> f64 {
        self.delay_ms / 10f64.powf(DELAY_DECADES)
    }

    /// Position of a delay on its axis, 0 to 1 from edge to edge.
    fn across(&self, ms: f64) -> f64 {
        (ms.max(self.shortest_ms()) / self.delay_ms).log10() / DELAY_DECADES + 1.0
    }

    /// Height of a cell.
    pub(super) fn height(&self) -> f64 {
        3.0 * (HEIGHT + GAP) + if self.completion { TALL + GAP } else { 0.0 }
    }

    /// Draws a run with its upper left corner at a position.
    pub(super) fn cell(&self, out: &mut String, name: &str, run: &Output, (x, y): (f64, f64)) {
        let frame = |place: f64, height: f64| Frame { x, y: y + place * (HEIGHT + GAP), width: WIDTH, height };
        let shares = Shares::of(self, run);
        let _ = write!(out, "<g><title>{}</title>", super::escaped(&self.words(name, run, &shares)));
        self.rates(out, run, &shares, frame(0.0, HEIGHT));
        self.delays(out, run, frame(1.0, HEIGHT));
        self.probabilities(out, run, frame(2.0, HEIGHT));
        if self.completion {
            self.completions(out, run, frame(3.0, TALL));
        }
        out.push_str("</g>");
    }

    /// The tooltip of a cell, with its numbers.
    fn words(&self, name: &str, run: &Output, shares: &Shares) -> String {
        let mut text = name.to_owned();
        let Some(window) = run.windows.first() else { return text };
        for class in self.classes {
            let Some(stats) = window.classes.get(class).filter(|stats| stats.throughput_bps > 0.0) else { continue };
            let shown = |field: &str, value: f64| super::value(&format!("classes.{class}.{field}"), value);
            let _ = write!(text, "\n{class}: {}", shown("throughput_bps", stats.throughput_bps / shares.flows(class)));
            if self.overview.per_flow {
                text.push_str(" a flow");
            }
            let delay = stats.queue_delay_ms.unwrap_or_default();
            for (field, value) in [
                ("queue_delay_ms.mean", delay.mean),
                ("queue_delay_ms.p99", delay.p99),
                ("drop_rate", stats.drop_rate),
                ("mark_rate", stats.mark_rate),
            ] {
                let _ = write!(text, ", {}", shown(field, value));
            }
        }
        text
    }

    fn rates(&self, out: &mut String, run: &Output, shares: &Shares, frame: Frame) {
        boxed(out, frame);
        let top = shares.top;
        let series = |class: &str| run.series.columns.get(&format!("classes.{class}.throughput_bps"));
        for (place, class) in self.classes.iter().enumerate() {
            let Some(values) = series(class).filter(|values| values.iter().any(|x| *x > 0.0)) else { continue };
            let flows = shares.flows(class);
            stroke(out, &format!("k{place}"), &frame.line(along(values).map(|(t, x)| (t, x / flows / top))));
        }
        if self.overview.per_flow {
            for (place, class) in self.classes.iter().enumerate() {
                let means = shares.means.get(class).into_iter().flatten().map(|x| (1.0, x / top));
                stroke(out, &format!("k{place} flow"), &frame.dots(means));
            }
            stroke(out, "mid", &frame.line([(0.0, 0.5), (1.0, 0.5)]));
        } else {
            let all: Vec<&Vec<f64>> = self.classes.iter().filter_map(|class| series(class)).collect();
            let length = all.iter().map(|values| values.len()).max().unwrap_or(0);
            let total: Vec<f64> = (0..length)
                .map(|i| all.iter().filter_map(|values| values.get(i)).filter(|x| x.is_finite()).sum())
                .collect();
            stroke(out, "total", &frame.line(along(&total).map(|(t, x)| (t, x / top))));
        }
    }

    fn delays(&self, out: &mut String, run: &Output, frame: Frame) {
        boxed(out, frame);
        let window = run.windows.first().map_or("", |window| window.name.as_str());
        for (place, class) in self.classes.iter().enumerate() {
            let quantity = format!("classes.{class}.queue_delay_ms");
            let found = run.distributions.iter().find(|d| d.window == window && d.quantity == quantity);
            let Some(found) = found else { continue };
            let points = found.points.iter().map(|(ms, share)| (self.across(*ms), *share));
            stroke(out, &format!("k{place}"), &frame.line([(0.0, 0.0)].into_iter().chain(points).chain([(1.0, 1.0)])));
        }
    }

    fn probabilities(&self, out: &mut String, run: &Output, frame: Frame) {
        boxed(out, frame);
        for (place, class) in self.classes.iter().enumerate() {
            for (rate, kind) in [("drop_rate", ""), ("mark_rate", " marks")] {
                let Some(values) = run.series.columns.get(&format!("classes.{class}.{rate}")) else { continue };
                if values.iter().any(|x| *x > 0.0) {
                    let points = along(values).map(|(t, x)| (t, if x > 0.0 { log(x, PROBABILITY) } else { 0.0 }));
                    stroke(out, &format!("k{place}{kind}"), &frame.line(points));
                }
            }
        }
    }

    fn completions(&self, out: &mut String, run: &Output, frame: Frame) {
        boxed(out, frame);
        let class_of: BTreeMap<&str, &str> =
            run.flows.iter().map(|flow| (flow.traffic.as_str(), flow.class.as_str())).collect();
        for (place, class) in self.classes.iter().enumerate() {
            let own = run.exchanges.iter().filter(|e| class_of.get(e.traffic.as_str()) == Some(&class.as_str()));
            let points = own.map(|e| (log(e.bytes as f64, SIZE), log(e.duration_ms, TIME_MS)));
            stroke(out, &format!("k{place} dots"), &frame.dots(points));
        }
        if let Some(rtt) = self.overview.rtt_s {
            let steps = (0..=40).map(|i| SIZE.0 + f64::from(i) / 40.0 * (SIZE.1 - SIZE.0));
            let alone = |size: f64| 1e3 * (2.0 * rtt + 8.0 * size / self.overview.rate_bps);
            let points = steps.map(|e| 10f64.powf(e)).map(|size| (log(size, SIZE), log(alone(size), TIME_MS)));
            stroke(out, "alone", &frame.line(points));
        }
    }
}

/// Rates of a run's flows.
struct Shares {
    /// Mean rate of each flow, by class.
    means: BTreeMap<String, Vec<f64>>,
    per_flow: bool,
    /// Rate at the upper edge of the plot.
    top: f64,
}

impl Shares {
    fn of(style: &Style<'_>, run: &Output) -> Shares {
        let overview = style.overview;
        let seconds = run.windows.first().map_or(f64::NAN, |w| w.to_s - w.from_s);
        let mut means: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for flow in run.flows.iter().filter(|flow| flow.connections > 0) {
            let bytes = flow.delivered_bytes.first().copied().unwrap_or(0) as f64;
            means.entry(flow.class.clone()).or_default().push(8.0 * bytes / seconds);
        }
        // Twice the equal share of flows that are not starved (below a quarter of it): `80 / N` Mbit/s on a link of 40.
        let all: Vec<f64> = means.values().flatten().copied().collect();
        let equal = overview.rate_bps / all.len().max(1) as f64;
        let dominant = all.iter().filter(|rate| **rate >= equal / 4.0).count().max(1);
        let top = if overview.per_flow { 2.0 * overview.rate_bps / dominant as f64 } else { overview.rate_bps };
        Shares { means, per_flow: overview.per_flow, top }
    }

    /// Number of flows that share the rate of a class.
    fn flows(&self, class: &str) -> f64 {
        if self.per_flow { self.means.get(class).map_or(1.0, |all| all.len().max(1) as f64) } else { 1.0 }
    }
}

/// Each value at the centre of its interval.
fn along(values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    let n = values.len() as f64;
    values.iter().enumerate().map(move |(i, x)| ((i as f64 + 0.5) / n, *x))
}

/// The position of a number between two powers of ten, from 0 to 1.
fn log(x: f64, (low, high): (f64, f64)) -> f64 {
    (x.log10() - low) / (high - low)
}

fn boxed(out: &mut String, frame: Frame) {
    let Frame { x, y, width, height } = frame;
    let _ = write!(out, "<path class=\"box\" d=\"M{x} {y}h{width}v{height}h-{width}z\"/>");
}

fn stroke(out: &mut String, class: &str, path: &str) {
    if !path.is_empty() {
        let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }
}
