//! Figures of a report card.

use aqmkit_results::card::{Cloud, Lines, Picture};
use serde_json::{Value, json};

use super::palette::Swatch;
use super::plot::{self, Figure, Plot, in_words, literal, merged, titled};
use super::scale::{self, LEAST_DELAYS, LEAST_RATES};
use crate::format::{rate_unit, rounded, significant};

/// Height of a figure in pixels.
const HEIGHT: usize = 250;
/// Margins in pixels; the figures have no headings.
const MARGIN: (usize, usize, usize, usize) = (10, 46, 52, 10);
/// Number of points of a drawn ellipse.
const CORNERS: usize = 48;
/// Shortest delay on a logarithmic axis, in milliseconds.
const SHORTEST: f64 = 0.05;
/// Maximum number of lines that are drawn as bars.
const MOST_BARS: usize = 8;

/// Draws a figure in the disciplines' colours; `None` if it has no points.
pub(in crate::html) fn card(picture: &Picture, swatches: &[Swatch], label: &str) -> Option<Figure> {
    match picture {
        Picture::Plane(clouds) => plane(clouds, swatches, label),
        Picture::Lines(lines) => over(lines, swatches, label, false),
        Picture::Bars(lines) => over(lines, swatches, label, true),
    }
}

fn empty() -> Plot {
    let mut plot = Plot::new(HEIGHT);
    let (top, bottom, left, right) = MARGIN;
    plot.set("margin", json!({"t": top, "b": bottom, "l": left, "r": right}));
    plot.set("hovermode", json!("closest"));
    plot
}

/// Mean and covariance of a cloud of points (log delay, goodput).
struct Spread {
    delay: f64,
    goodput: f64,
    variances: (f64, f64),
    covariance: f64,
}

impl Spread {
    fn of(cloud: &Cloud) -> Option<Spread> {
        let points: Vec<(f64, f64)> =
            cloud.points.iter().map(|(delay, goodput)| (delay.max(SHORTEST).log10(), *goodput)).collect();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (delay, goodput) = (mean(|p| p.0), mean(|p| p.1));
        let moment = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        (count > 0.0).then(|| Spread {
            delay,
            goodput,
            variances: (moment(&|p| (p.0 - delay).powi(2)), moment(&|p| (p.1 - goodput).powi(2))),
            covariance: moment(&|p| (p.0 - delay) * (p.1 - goodput)),
        })
    }

    /// The one-sigma ellipse of the normal distribution with these moments, as points (delay in milliseconds, goodput).
    fn ellipse(&self) -> Vec<(f64, f64)> {
        // The Cholesky factor of the covariance maps the unit circle to the ellipse.
        let a = self.variances.0.sqrt();
        let b = if a > 0.0 { self.covariance / a } else { 0.0 };
        let c = (self.variances.1 - b * b).max(0.0).sqrt();
        let corner = |i: usize| {
            let (sine, cosine) = (i as f64 / CORNERS as f64 * std::f64::consts::TAU).sin_cos();
            (10_f64.powf(self.delay + a * cosine), self.goodput + b * cosine + c * sine)
        };
        (0..=CORNERS).map(corner).collect()
    }
}

/// Goodput against queue delay. Delays fall to the right, so that the upper right corner is the best.
fn plane(clouds: &[Cloud], swatches: &[Swatch], label: &str) -> Option<Figure> {
    let spreads: Vec<(&Cloud, Spread)> = clouds.iter().filter_map(|cloud| Some((cloud, Spread::of(cloud)?))).collect();
    let most = spreads.iter().map(|(_, spread)| spread.goodput).fold(0.0, f64::max);
    let (unit, factor) = rate_unit(most);
    let mut plot = empty();
    let ellipses: Vec<(f64, f64)> = spreads.iter().flat_map(|(_, spread)| spread.ellipse()).collect();
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let values = ellipses.iter().map(of);
        values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
    };
    for (cloud, spread) in &spreads {
        let swatch = swatches.get(cloud.discipline)?;
        let name = named(&swatch.label, &cloud.name);
        let (delay, goodput) = (10_f64.powf(spread.delay), spread.goodput * factor);
        let words = format!("{} ms, {} {unit}", significant(delay, 3), significant(goodput, 3));
        plot.describe(format!("{name}: {words}"));
        let (x, y): (Vec<f64>, Vec<f64>) =
            spread.ellipse().into_iter().map(|(x, y)| (rounded(x), rounded(y * factor))).unzip();
        plot.scatter(json!({
            "x": x, "y": y, "mode": "lines", "fill": "toself", "fillcolor": format!("{}22", swatch.color),
            "line": plot::line(swatch, 1.5), "hoverinfo": "skip",
        }));
        plot.scatter(json!({
            "x": [rounded(delay)], "y": [rounded(goodput)], "mode": "markers+text", "name": literal(&name),
            "text": literal(&cloud.name), "textposition": "top center", "textfont": {"size": 10},
            "hovertext": format!("<b>{}</b><br>{words}", literal(&name)), "hoverinfo": "text",
            "marker": {"color": swatch.color, "size": 7, "symbol": swatch.symbol()},
        }));
    }
    if spreads.is_empty() {
        return None;
    }
    let [shortest, longest] = scale::logarithmic(ends(|point| point.0), LEAST_DELAYS);
    let range = json!({"range": [longest.log10(), shortest.log10()]});
    plot.set("xaxis", titled("queue delay, ms", merged(logarithmic(), range)));
    let goodput = scale::linear(ends(|point| point.1), LEAST_RATES).map(|bps| rounded(bps * factor));
    plot.set("yaxis", titled(&format!("goodput, {unit}"), json!({"nticks": 5, "range": goodput})));
    Some(plot.figure(format!("{label}: goodput against queue delay")))
}

/// Lines or bars over an axis.
fn over(lines: &Lines, swatches: &[Swatch], label: &str, bars: bool) -> Option<Figure> {
    let mut plot = empty();
    let as_bars = bars && lines.lines.len() <= MOST_BARS;
    for (i, line) in lines.lines.iter().enumerate() {
        let swatch = swatches.get(line.discipline)?;
        let name = named(&swatch.label, &line.name);
        let (x, y): (Vec<f64>, Vec<f64>) = line.points.iter().map(|(x, y)| (*x, rounded(*y))).unzip();
        plot.describe(in_words(&lines.y, &name, y.iter().copied()));
        let keys = json!({"x": x, "y": y, "name": literal(&name), "hovertemplate": format!("<b>{}</b><br>%{{y:.3~g}}<extra></extra>", literal(&name))});
        // The first line of a discipline is thicker than the others.
        let strength = if line.name.is_empty() || i == 0 { 1.0 } else { 0.5 };
        if as_bars {
            let bar = json!({"type": "bar", "opacity": strength, "marker": {"color": swatch.color}});
            plot.trace(merged(bar, keys));
        } else {
            let mode = if bars {
                "markers"
            } else if lines.ticks.is_empty() {
                "lines"
            } else {
                "lines+markers"
            };
            let look = json!({"mode": mode, "line": plot::line(swatch, 1.4), "marker": {"size": 6, "color": swatch.color, "symbol": swatch.symbol()}});
            plot.scatter(merged(look, keys));
        }
    }
    let ticks = if lines.ticks.is_empty() {
        json!({})
    } else {
        let places: Vec<usize> = (0..lines.ticks.len()).collect();
        let names: Vec<String> = lines.ticks.iter().map(|name| literal(name)).collect();
        json!({"tickvals": places, "ticktext": names, "showgrid": false, "automargin": true})
    };
    plot.set("xaxis", titled(&lines.x, ticks));
    plot.set("yaxis", titled(&lines.y, scale(lines.logarithmic)));
    plot.set("bargap", json!(0.25));
    lines.lines.iter().any(|line| !line.points.is_empty()).then(|| plot.figure(format!("{label}: {}", lines.y)))
}

fn scale(on_logarithmic: bool) -> Value {
    if on_logarithmic { logarithmic() } else { json!({"rangemode": "tozero", "nticks": 5}) }
}

/// A logarithmic axis with ticks at 1, 2 and 5.
fn logarithmic() -> Value {
    let ticks: Vec<f64> = (-3..5).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power))).collect();
    json!({"type": "log", "tickvals": ticks, "ticktext": ticks.iter().map(|tick| significant(*tick, 1)).collect::<Vec<_>>()})
}

fn named(discipline: &str, name: &str) -> String {
    if name.is_empty() { discipline.to_owned() } else { format!("{discipline}, {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_is_one_standard_deviation_around_the_mean() {
        // Delays of 1 and 100 ms and goodputs of 2 and 4, perfectly correlated: a line whose middle is at 10 ms and 3.
        let cloud = Cloud { discipline: 0, name: String::new(), points: vec![(1.0, 2.0), (100.0, 4.0)] };
        let spread = Spread::of(&cloud).unwrap();
        assert_eq!((spread.delay, spread.goodput), (1.0, 3.0));
        let corners = spread.ellipse();
        let (right, left) = (corners[0], corners[CORNERS / 2]);
        assert!((right.0 - 100.0).abs() < 1e-9 && (right.1 - 4.0).abs() < 1e-9, "{right:?}");
        assert!((left.0 - 1.0).abs() < 1e-9 && (left.1 - 2.0).abs() < 1e-9, "{left:?}");
        // Without variance the ellipse is a point.
        let still = Cloud { points: vec![(10.0, 3.0); 3], ..cloud };
        assert!(Spread::of(&still).unwrap().ellipse().iter().all(|(x, y)| (x - 10.0).abs() < 1e-9 && *y == 3.0));
    }
}
