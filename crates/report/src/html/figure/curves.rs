//! Cumulative distributions (CDF), and their complements (CCDF) on a logarithmic axis for the tail.

use aqmkit_measure::metric::Metric;
use aqmkit_measure::output::{Distribution, Output};
use serde_json::{Value, json};

use super::distribution::Curve;
use super::palette::Swatch;
use super::plot::{self, Figure, Plot, domain, heading, literal, merged, reference, titled};
use super::scale::{SHORTEST, Ticks, round_below};
use super::series::Line;
use crate::columns::passes_elsewhere;

/// Height of a figure in pixels.
const HEIGHT: usize = 400;

/// Approximate maximum of ticks on the x axis.
const MOST_TICKS: usize = 5;

/// One figure per metric with a distribution in this window.
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

/// Whether the delay is that of acknowledgements: a class whose data does not cross the measured link.
fn is_of_acknowledgements(quantity: &str, output: &Output) -> bool {
    let class = quantity.strip_prefix("classes.").and_then(|rest| rest.split('.').next()).unwrap_or("");
    let mut stats = output.windows.iter().filter_map(|window| window.classes.get(class));
    is_delay(quantity) && stats.any(|found| passes_elsewhere(found.goodput_bps, found.throughput_bps))
}

/// Adds a curve and its complement; values left of `edge` are drawn at it.
fn add(plot: &mut Plot, curve: &Curve, swatch: &Swatch, edge: f64) {
    plot.describe(curve.words(&swatch.label));
    let start = curve.values.partition_point(|value| *value < edge).saturating_sub(1);
    let at: Vec<f64> = curve.values[start..].iter().map(|value| value.max(edge)).collect();
    for (place, band) in [&curve.shares, &curve.above].into_iter().enumerate() {
        let axis = json!({"yaxis": reference('y', place)});
        let band = band.between(start, curve.values.len());
        if let Some(trace) = band.trace(&at, swatch, axis.clone()) {
            plot.trace(trace);
        }
        // A share of zero has no position on a logarithmic axis.
        let shown = |share: &f64| if place == 1 && *share <= 0.0 { Value::Null } else { json!(share) };
        let line = json!({
            "x": at,
            "y": band.mean.iter().map(shown).collect::<Vec<_>>(),
            "mode": "lines",
            "line": plot::line(swatch, 1.8),
            "name": literal(&swatch.label),
        });
        plot.scatter(merged(line, axis));
    }
}

fn figure(window: &str, quantity: &str, runs: &[Line<'_>]) -> Option<Figure> {
    let title = title(quantity);
    let found = |output: &Output| -> Option<usize> {
        output.distributions.iter().position(|found| found.window == window && found.quantity == quantity)
    };
    let of = |run: &Line<'_>| {
        let all: Vec<&Distribution> =
            run.outputs.iter().filter_map(|output| Some(&output.distributions[found(output)?])).collect();
        Curve::of(&all)
    };
    let curves: Vec<(&Swatch, Curve)> = runs.iter().filter_map(|run| Some((run.swatch, of(run)?))).collect();
    let longest = curves.iter().filter_map(|(_, curve)| curve.values.last()).copied().fold(f64::NAN, f64::max);
    if curves.is_empty() {
        return None;
    }
    let lowest = curves.iter().map(|(_, curve)| curve.low()).fold(f64::MAX, f64::min);
    // At least a decade, so that close curves do not look far apart.
    let edge = round_below(lowest.min(longest / 10.0).max(SHORTEST));
    let cut = curves.iter().any(|(_, curve)| curve.values[0] < edge);
    let mut plot = arranged(&title, (edge, longest.max(10.0 * edge)), cut);
    for (swatch, curve) in &curves {
        add(&mut plot, curve, swatch, edge);
    }
    Some(plot.figure(format!("Distribution of {title} in window {window}")))
}

/// The name of a metric: `tcp queue delay`.
fn title(quantity: &str) -> String {
    Metric::at(quantity).map_or_else(|| quantity.to_owned(), |metric| metric.words(quantity))
}

/// Two panels that share a logarithmic axis of milliseconds. `cut`: shorter values are drawn at the left edge.
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
    plot.set_y_axis(
        1,
        titled("share above (log)", json!({"domain": lower, "type": "log", "dtick": 1.0, "exponentformat": "power"})),
    );
    plot.set("annotations", json!([heading(title, upper[1])]));
    plot
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn quantities_in_words() {
        assert_eq!(title("classes.tcp.queue_delay_ms"), "tcp queue delay");
        assert_eq!(title("apps.web.response_time_ms.page"), "web page response time");
    }
}
