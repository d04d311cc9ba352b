//! Published values, plotted with the measured curves.

use aqmkit_measure::output::Window;
use aqmkit_results::{Expectation, Overlay, PublishedPoint, Results, Ruler};
use serde_json::{Value, json};

use super::palette::Swatch;
use super::plot::literal;
use crate::format::{rounded, significant};

/// Published values along an axis: position, lower and upper end.
pub(super) type Values = Vec<(f64, f64, f64)>;

/// Name of published values in legends.
pub(super) const PUBLISHED: &str = "published";

fn points(results: &Results) -> impl Iterator<Item = &PublishedPoint> {
    results.expectations.iter().filter_map(|claim: &Expectation| claim.point.as_ref())
}

/// Published values of windows as horizontal lines over these windows of a time series; a range is a rectangle.
pub(in crate::html) fn over_windows(results: &Results, windows: &[Window]) -> Vec<Overlay> {
    let line = |point: &PublishedPoint| {
        let window = windows.iter().find(|window| Some(&window.name) == point.window.as_ref())?;
        let (from, to) = (window.from_s, window.to_s);
        let mut corners = vec![(from, point.low), (to, point.low)];
        if point.high > point.low {
            corners.extend([(to, point.high), (from, point.high), (from, point.low)]);
        }
        let (quantity, selector) = (point.metric.clone(), point.selector.clone());
        Some(Overlay { quantity, label: PUBLISHED.to_owned(), selector, points: corners })
    };
    points(results).filter_map(line).collect()
}

/// Published values of a metric along an axis; `others` are the labels of the other axes.
pub(super) fn along_axis(
    results: &Results,
    (metric, window): (&str, &str),
    (axis, ruler): (&str, &Ruler),
    others: &[(String, String)],
) -> Values {
    let belongs = |point: &&PublishedPoint| {
        let right = |(name, any): (&String, &Vec<String>)| match others.iter().find(|(other, _)| other == name) {
            Some((_, label)) => any.contains(label),
            None => true,
        };
        let bare = |path: &str| path.trim_end_matches(".mean").to_owned();
        let same_window = point.window.as_deref().is_none_or(|own| own == window);
        bare(&point.metric) == bare(metric) && same_window && point.selector.iter().all(right)
    };
    let at = |point: &PublishedPoint| {
        let labels = point.selector.get(axis).cloned().unwrap_or_default();
        let places: Vec<f64> = labels.iter().filter_map(|label| ruler.at(label)).collect();
        places.into_iter().map(|place| (place, point.low, point.high)).collect::<Vec<_>>()
    };
    points(results).filter(belongs).flat_map(at).collect()
}

/// The trace of published values along an axis: open symbols, with bars for ranges.
pub(super) fn trace(values: &[(f64, f64, f64)], factor: f64, swatch: &Swatch) -> Value {
    let of = |each: &dyn Fn(&(f64, f64, f64)) -> f64| values.iter().map(|v| rounded(each(v))).collect::<Vec<f64>>();
    json!({
        "x": of(&|(at, _, _)| *at),
        "y": of(&|(_, low, high)| (low + high) / 2.0 * factor),
        "mode": "markers",
        "name": literal(&words(swatch)),
        "marker": {"size": 10, "symbol": "diamond-open", "color": swatch.color, "line": {"width": 2}},
        "error_y": {"type": "data", "array": of(&|(_, low, high)| (high - low) / 2.0 * factor), "thickness": 1.5, "width": 4},
    })
}

/// Describes the values, for readers who cannot see them; `None` without values.
pub(super) fn in_words(quantity: &str, values: &[(f64, f64, f64)], factor: f64, swatch: &Swatch) -> Option<String> {
    let one = |(at, low, high): &(f64, f64, f64)| {
        let low_text = significant(low * factor, 3);
        let value = if high > low { format!("{low_text} to {}", significant(high * factor, 3)) } else { low_text };
        format!("{value} at {}", significant(*at, 3))
    };
    let list = values.iter().map(one).collect::<Vec<_>>().join(", ");
    (!values.is_empty()).then(|| format!("{quantity}, {}: {list}", words(swatch)))
}

fn words(swatch: &Swatch) -> String {
    if swatch.label.is_empty() { PUBLISHED.to_owned() } else { format!("{}, {PUBLISHED}", swatch.label) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let point = |metric: &str, queue: &str, rate: &str, low: f64, high: f64| Expectation {
            point: Some(PublishedPoint {
                metric: metric.to_owned(),
                selector: [("aqm", queue), ("rate", rate)].map(|(k, v)| (k.to_owned(), vec![v.to_owned()])).into(),
                window: Some("late".to_owned()),
                low,
                high,
            }),
            ..Expectation::default()
        };
        let expectations = vec![
            point("links.b.queue_delay_ms.mean", "red", "10mbit", 5.0, 5.0),
            point("links.b.queue_delay_ms.mean", "fifo", "20mbit", 60.0, 70.0),
            point("links.b.drop_rate", "red", "10mbit", 0.1, 0.1),
            Expectation::default(),
        ];
        Results { expectations, ..Results::default() }
    }

    #[test]
    fn values_of_a_window_become_lines_over_it() {
        let window = Window { name: "late".to_owned(), from_s: 10.0, to_s: 40.0, ..Window::default() };
        let lines = over_windows(&results(), &[window]);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].points, [(10.0, 5.0), (40.0, 5.0)]);
        assert_eq!(lines[1].points, [(10.0, 60.0), (40.0, 60.0), (40.0, 70.0), (10.0, 70.0), (10.0, 60.0)]);
        assert_eq!(over_windows(&results(), &[]), []);
    }

    #[test]
    fn values_along_an_axis_are_those_of_the_same_curve() {
        let results = results();
        let ruler = Ruler::of(&["10mbit".to_owned(), "20mbit".to_owned()]).unwrap();
        let of = |metric: &str, window: &str, queue: &str| {
            let others = [("aqm".to_owned(), queue.to_owned())];
            along_axis(&results, (metric, window), ("rate", &ruler), &others)
        };
        assert_eq!(of("links.b.queue_delay_ms.mean", "late", "red"), [(10.0, 5.0, 5.0)]);
        assert_eq!(of("links.b.queue_delay_ms.mean", "late", "fifo"), [(20.0, 60.0, 70.0)]);
        assert_eq!(of("links.b.queue_delay_ms.mean", "early", "red"), []);
        assert_eq!(of("links.b.utilization", "late", "red"), []);
    }
}
