//! Cumulative distributions, and their complements on a logarithmic axis for the tail.

use aqmkit_measure::metric::Metric;
use aqmkit_measure::output::Distribution;
use plotly::common::{self, Mode};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Layout, Plot, Scatter};

use super::series::Line;
use super::{Figure, domain, heading, layout, literal, reference, titled};
use crate::format::rounded;

/// The most points of one curve.
const MOST_POINTS: usize = 120;

/// The height of a figure, in pixels.
const HEIGHT: usize = 400;

/// One figure for each quantity that has distributions in this window.
pub(in crate::html) fn curves(window: &str, runs: &[Line<'_>]) -> Vec<Figure> {
    let mut quantities: Vec<&str> = Vec::new();
    for found in runs.iter().flat_map(|run| &run.output.distributions) {
        if found.window == window && !quantities.contains(&found.quantity.as_str()) {
            quantities.push(&found.quantity);
        }
    }
    let delays = quantities.iter().any(|quantity| is_delay(quantity));
    let shown = quantities.iter().filter(|quantity| !(delays && quantity.ends_with(".latency_ms")));
    shown.filter_map(|quantity| figure(window, quantity, runs)).collect()
}

fn is_delay(quantity: &str) -> bool {
    quantity.starts_with("classes.") && quantity.ends_with(".queue_delay_ms")
}

fn figure(window: &str, quantity: &str, runs: &[Line<'_>]) -> Option<Figure> {
    let title = title(quantity);
    let wide = quantity.contains("response_time");
    let mut plot = Plot::new();
    plot.set_layout(arranged(&title, wide));
    let mut any = false;
    for run in runs {
        let found = run.output.distributions.iter().find(|found| found.window == window && found.quantity == quantity);
        if let Some(found) = found.filter(|found| !found.points.is_empty()) {
            add(&mut plot, found, run);
            any = true;
        }
    }
    any.then(|| Figure::new(format!("Distribution of {title} in window {window}"), HEIGHT, &plot))
}

/// A quantity in words: `tcp queue delay`.
fn title(quantity: &str) -> String {
    Metric::at(quantity).map_or_else(|| quantity.to_owned(), |metric| metric.words(quantity))
}

fn arranged(title: &str, wide: bool) -> Layout {
    let gap = 0.12;
    let (upper, lower) = (domain(0, 2, gap), domain(1, 2, gap));
    let time = titled("ms").anchor("y2");
    let time = if wide { time.type_(AxisType::Log) } else { time.range_mode(RangeMode::ToZero) };
    let body = titled("share at or below").domain(&upper).range(vec![0.0, 1.0]);
    let tail = titled("share above (log)").domain(&lower).type_(AxisType::Log).dtick(1.0);
    let notes = vec![heading(&literal(title), upper[1])];
    layout(HEIGHT).x_axis(time).y_axis(body).y_axis2(tail).annotations(notes)
}

fn add(plot: &mut Plot, found: &Distribution, run: &Line<'_>) {
    let points = thinned(&found.points);
    let above = points.iter().filter(|(_, share)| *share < 1.0);
    let above: Vec<(f64, f64)> = above.map(|&(value, share)| (value, 1.0 - share)).collect();
    for (place, curve) in [points, above].into_iter().enumerate() {
        let (values, shares) = curve.into_iter().map(|(value, share)| (rounded(value), rounded(share))).unzip();
        let line = common::Line::new().color(run.swatch.color).width(1.8).dash(run.swatch.dash());
        let trace = Scatter::<f64, f64>::new(values, shares)
            .mode(Mode::Lines)
            .line(line)
            .name(literal(&run.swatch.label))
            .y_axis(reference('y', place));
        plot.add_trace(trace);
    }
}

/// As many points as a curve needs: evenly spread over the body, and all of the last hundredth as far as it goes.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let body = points.partition_point(|(_, share)| *share < 0.99);
    let mut few = every(&points[..body], MOST_POINTS / 3 * 2);
    few.extend(every(&points[body..], MOST_POINTS / 3));
    few
}

/// About `most` of the points, with the first and the last.
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
