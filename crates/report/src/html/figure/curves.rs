//! Cumulative distributions, and their complements on a logarithmic axis for the tail.

use aqmkit_measure::metric::Metric;
use aqmkit_measure::output::{Distribution, Output};
use serde_json::{Value, json};

use super::band::Band;
use super::plot::{self, Figure, Plot, domain, heading, literal, merged, reference, titled};
use super::scale::{Ticks, round_below};
use super::series::Line;
use crate::columns::passes_elsewhere;
use crate::format::{rounded, significant};

/// The largest number of points in a curve.
const MOST_POINTS: usize = 120;

/// The height of a figure, in pixels.
const HEIGHT: usize = 400;

/// About the most ticks of the axis of values.
const MOST_TICKS: usize = 5;

/// Values below this many milliseconds are drawn at it: no queue is that short on purpose, and the logarithm of zero
/// has no place.
const SHORTEST: f64 = 0.01;

/// The share of the values below the left edge of the axis, of the curve with the most of them there.
const BEYOND_EDGE: f64 = 0.01;

/// One figure for each quantity that has a distribution in this window.
pub(in crate::html) fn curves(window: &str, runs: &[Line<'_>]) -> Vec<Figure> {
    let mut quantities: Vec<&str> = Vec::new();
    for output in runs.iter().flat_map(|run| &run.outputs) {
        for found in output.distributions.iter().filter(|found| found.window == window) {
            if !quantities.contains(&found.quantity.as_str()) && !is_of_acknowledgements(&found.quantity, output) {
                quantities.push(&found.quantity);
            }
        }
    }
    let delays = quantities.iter().any(|quantity| is_delay(quantity));
    let shown = quantities.iter().filter(|quantity| !(delays && quantity.ends_with(".latency_ms")));
    shown.filter_map(|quantity| figure(window, quantity, runs)).collect()
}

fn is_delay(quantity: &str) -> bool {
    quantity.starts_with("classes.") && quantity.ends_with(".queue_delay_ms")
}

/// Whether it is a delay at the measured link of a class whose data does not cross that link.
fn is_of_acknowledgements(quantity: &str, output: &Output) -> bool {
    let class = quantity.strip_prefix("classes.").and_then(|rest| rest.split('.').next()).unwrap_or("");
    let mut stats = output.windows.iter().filter_map(|window| window.classes.get(class));
    is_delay(quantity) && stats.any(|class| passes_elsewhere(class.goodput_bps, class.throughput_bps))
}

/// The distribution of a quantity over the runs of one combination.
struct Curve<'a> {
    run: &'a Line<'a>,
    values: Vec<f64>,
    shares: Band,
    above: Band,
}

impl<'a> Curve<'a> {
    /// `None` if no value is above zero.
    fn of(window: &str, quantity: &str, run: &'a Line<'a>) -> Option<Curve<'a>> {
        let found = |output: &&'a Output| {
            output.distributions.iter().find(|found| found.window == window && found.quantity == quantity)
        };
        let all: Vec<&Distribution> = run.outputs.iter().filter_map(found).collect();
        let points = || all.iter().flat_map(|found| thinned(&found.points));
        if !points().any(|(value, _)| value > 0.0) {
            return None;
        }
        let mut values: Vec<f64> = points().map(|(value, _)| rounded(value)).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if all.len() > 1 {
            // Every run adds its own values; those of one are enough.
            let size = values.len().div_ceil(MOST_POINTS);
            let last = values.len() - 1;
            values = values.iter().enumerate().filter(|(i, _)| i % size == 0 || *i == last).map(|(_, x)| *x).collect();
        }
        let shares: Vec<Vec<f64>> =
            all.iter().map(|found| values.iter().map(|value| share(&found.points, *value)).collect()).collect();
        let above: Vec<Vec<f64>> = shares.iter().map(|run| run.iter().map(|share| 1.0 - share).collect()).collect();
        let rarest = above.iter().flatten().copied().filter(|share| *share > 0.0).fold(1.0, f64::min);
        Some(Curve { run, values, shares: Band::of(&shares, (0.0, 1.0)), above: Band::of(&above, (rarest, 1.0)) })
    }

    /// The value that this share of the samples does not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let place = self.shares.mean.iter().position(|below| *below >= share).unwrap_or(self.values.len() - 1);
        self.values[place]
    }

    /// The median, the 90th and the 99th percentile, in words.
    fn words(&self) -> String {
        let at = |share: f64| significant(self.quantile(share), 3);
        let name = &self.run.swatch.label;
        format!("{name}: median {} ms, 90 % below {} ms, 99 % below {} ms", at(0.5), at(0.9), at(0.99))
    }

    /// Adds the curve and its complement; values to the left of `edge` are drawn at it.
    fn add(&self, plot: &mut Plot, edge: f64) {
        plot.say(self.words());
        let start = self.values.partition_point(|value| *value < edge).saturating_sub(1);
        let at: Vec<f64> = self.values[start..].iter().map(|value| value.max(edge)).collect();
        for (place, band) in [&self.shares, &self.above].into_iter().enumerate() {
            let axis = json!({"yaxis": reference('y', place)});
            let band = band.from(start);
            if let Some(trace) = band.trace(&at, self.run.swatch, axis.clone()) {
                plot.trace(trace);
            }
            // No place of a logarithmic axis is that of a share of zero.
            let shares: Vec<Value> = band
                .mean
                .iter()
                .map(|share| if place == 1 && *share <= 0.0 { Value::Null } else { json!(share) })
                .collect();
            let line = json!({
                "x": at,
                "y": shares,
                "mode": "lines",
                "line": plot::line(self.run.swatch, 1.8),
                "name": literal(&self.run.swatch.label),
            });
            plot.scatter(merged(line, axis));
        }
    }
}

/// The share of the samples that do not exceed `value`.
fn share(points: &[(f64, f64)], value: f64) -> f64 {
    let place = points.partition_point(|(other, _)| rounded(*other) <= value);
    place.checked_sub(1).map_or(0.0, |last| points[last].1)
}

fn figure(window: &str, quantity: &str, runs: &[Line<'_>]) -> Option<Figure> {
    let title = title(quantity);
    let curves: Vec<Curve<'_>> = runs.iter().filter_map(|run| Curve::of(window, quantity, run)).collect();
    let longest = curves.iter().filter_map(|curve| curve.values.last()).copied().fold(f64::NAN, f64::max);
    if curves.is_empty() {
        return None;
    }
    let lowest = curves.iter().map(|curve| curve.quantile(BEYOND_EDGE)).fold(f64::MAX, f64::min);
    // At least a decade, so that curves that are close are not drawn far apart.
    let edge = round_below(lowest.min(longest / 10.0).max(SHORTEST));
    let cut = curves.iter().any(|curve| curve.values[0] < edge);
    let mut plot = arranged(&title, (edge, longest.max(10.0 * edge)), cut);
    for curve in &curves {
        curve.add(&mut plot, edge);
    }
    Some(plot.figure(format!("Distribution of {title} in window {window}")))
}

/// The median, the 90th and the 99th percentile, in words.
pub(super) fn in_words(found: &Distribution, name: &str) -> String {
    let at = |share: f64| {
        let place = found.points.partition_point(|(_, below)| *below < share).min(found.points.len() - 1);
        significant(found.points[place].0, 3)
    };
    format!("{name}: median {} ms, 90 % below {} ms, 99 % below {} ms", at(0.5), at(0.9), at(0.99))
}

/// The name of a quantity: `tcp queue delay`.
fn title(quantity: &str) -> String {
    Metric::at(quantity).map_or_else(|| quantity.to_owned(), |metric| metric.words(quantity))
}

/// Two panels over one logarithmic axis of milliseconds. `cut`: shorter values are drawn at the left edge.
fn arranged(title: &str, (edge, longest): (f64, f64), cut: bool) -> Plot {
    let gap = 0.12;
    let (upper, lower) = (domain(0, 2, gap), domain(1, 2, gap));
    let mut ticks = Ticks::between(edge, longest, MOST_TICKS);
    if cut {
        ticks.cut(edge);
    }
    let across = merged(ticks.axis(), json!({"anchor": "y2", "range": [edge.log10(), (1.05 * longest).log10()]}));
    let mut plot = Plot::new(HEIGHT);
    plot.set("xaxis", titled("ms", across));
    plot.set_y_axis(0, titled("share at or below", json!({"domain": upper, "range": [0.0, 1.0]})));
    plot.set_y_axis(1, titled("share above (log)", json!({"domain": lower, "type": "log", "dtick": 1.0})));
    plot.set("annotations", json!([heading(title, upper[1])]));
    plot
}

/// Thins out the points of a curve: evenly spread ones of the body, and all of the last hundredth as far as possible.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let body = points.partition_point(|(_, share)| *share < 0.99);
    let mut few = every(&points[..body], MOST_POINTS / 3 * 2);
    few.extend(every(&points[body..], MOST_POINTS / 3));
    few
}

/// About `most` of the points, including the first and the last.
fn every(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(most).max(1);
    let last = points.len().saturating_sub(1);
    points
        .iter()
        .enumerate()
        .filter(|(place, _)| place % step == 0 || *place == last)
        .map(|(_, point)| *point)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_POINTS, thinned, title};

    #[test]
    fn curves_keep_their_ends_and_their_tail() {
        let points: Vec<(f64, f64)> = (1..=5000).map(|n| (f64::from(n), f64::from(n) / 5000.0)).collect();
        let few = thinned(&points);
        assert!(few.len() <= MOST_POINTS + 2, "{}", few.len());
        assert_eq!((few[0], few[few.len() - 1]), (points[0], points[4999]));
        assert!(few.iter().filter(|(_, share)| *share >= 0.99).count() > 20);
        assert_eq!(thinned(&[]), []);
    }

    #[test]
    fn quantities_in_words() {
        assert_eq!(title("classes.tcp.queue_delay_ms"), "tcp queue delay");
        assert_eq!(title("apps.web.response_time_ms.page"), "web page response time");
    }
}
