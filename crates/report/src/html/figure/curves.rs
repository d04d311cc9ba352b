//! Cumulative distributions, and their complements on a logarithmic axis for the tail.

use aqmkit_measure::metric::Metric;
use aqmkit_measure::output::Distribution;
use serde_json::json;

use super::plot::{self, Figure, Plot, domain, heading, literal, reference, titled};
use super::series::Line;
use crate::format::{rounded, significant};

/// The largest number of points in a curve.
const MOST_POINTS: usize = 120;

/// The height of a figure, in pixels.
const HEIGHT: usize = 400;

/// One figure for each quantity that has a distribution in this window.
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
    let mut plot = arranged(&title, wide);
    let mut any = false;
    for run in runs {
        let found = run.output.distributions.iter().find(|found| found.window == window && found.quantity == quantity);
        if let Some(found) = found.filter(|found| found.points.iter().any(|(value, _)| *value > 0.0)) {
            plot.say(in_words(found, &run.swatch.label));
            add(&mut plot, found, run);
            any = true;
        }
    }
    any.then(|| plot.figure(format!("Distribution of {title} in window {window}")))
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

fn arranged(title: &str, wide: bool) -> Plot {
    let gap = 0.12;
    let (upper, lower) = (domain(0, 2, gap), domain(1, 2, gap));
    let scale =
        if wide { json!({"anchor": "y2", "type": "log"}) } else { json!({"anchor": "y2", "rangemode": "tozero"}) };
    let mut plot = Plot::new(HEIGHT);
    plot.set("xaxis", titled("ms", scale));
    plot.set_y_axis(0, titled("share at or below", json!({"domain": upper, "range": [0.0, 1.0]})));
    plot.set_y_axis(1, titled("share above (log)", json!({"domain": lower, "type": "log", "dtick": 1.0})));
    plot.set("annotations", json!([heading(title, upper[1])]));
    plot
}

fn add(plot: &mut Plot, found: &Distribution, run: &Line<'_>) {
    let points = thinned(&found.points);
    let above = points.iter().filter(|(_, share)| *share < 1.0);
    let above: Vec<(f64, f64)> = above.map(|&(value, share)| (value, 1.0 - share)).collect();
    for (place, curve) in [points, above].into_iter().enumerate() {
        let (values, shares): (Vec<f64>, Vec<f64>) =
            curve.into_iter().map(|(value, share)| (rounded(value), rounded(share))).unzip();
        plot.scatter(json!({
            "x": values,
            "y": shares,
            "mode": "lines",
            "line": plot::line(run.swatch, 1.8),
            "name": literal(&run.swatch.label),
            "yaxis": reference('y', place),
        }));
    }
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
