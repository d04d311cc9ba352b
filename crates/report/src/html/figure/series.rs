//! Time series in stacked panels with a common time axis.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::output::{Output, Window};
use aqmkit_results::Overlay;
use aqmkit_results::statistics::mean_of_known;
use serde_json::{Value, json};

use super::band::Band;
use super::palette::{Swatch, class_swatches};
use super::panels::{Panel, by_class, by_data, by_quantity, is_delay, with_asked};
use super::plot::{
    self, Figure, MARGINS, MOST_PANELS, Plot, axis, domain, heading, in_words, literal, merged, reference, titled,
};
use super::published::PUBLISHED;
use super::scale::{LEAST_DELAYS, SHORTEST, Ticks, logarithmic};
use crate::columns::passes_elsewhere;
use crate::format::{rate_unit, rounded};

/// Maximum number of points of a line, and of one with a band. Longer series are averaged over neighbouring intervals.
const MOST_POINTS: usize = 1000;
const MOST_WITH_BAND: usize = 250;

/// If mean delays differ by at least this factor, the axis is logarithmic.
const FAR_APART: f64 = 8.0;

/// Approximate maximum of ticks on a panel's logarithmic axis.
const MOST_TICKS: usize = 4;

/// Space above the panels in pixels, for the names of windows and the legend.
const TOP: usize = 78;

/// A combination in a figure.
pub(in crate::html) struct Line<'a> {
    /// Name and colour.
    pub(in crate::html) swatch: &'a Swatch,
    /// Outputs of its runs, which differ only in their seeds; at least one.
    pub(in crate::html) outputs: Vec<&'a Output>,
}

/// The quantity that tells the lines of a figure apart.
pub(in crate::html) enum Lines {
    /// Different combinations; one panel per metric.
    Runs,
    /// The classes of one combination; one panel per metric.
    Classes,
}

/// The time series of `runs` in panels; `None` if there are none.
pub(in crate::html) fn series(
    label: String,
    runs: &[Line<'_>],
    lines: &Lines,
    overlays: &[Overlay],
    also: &[String],
) -> Option<Figure> {
    let columns: BTreeSet<&str> = outputs(runs).flat_map(columns).collect();
    let elsewhere = elsewhere(runs);
    let rate = largest_rate(runs, &elsewhere);
    let mut asked: Vec<&str> = Vec::new();
    let (published, predicted): (Vec<&Overlay>, Vec<&Overlay>) =
        overlays.iter().partition(|overlay| overlay.label == PUBLISHED);
    let predicted = predicted.iter().map(|overlay| &overlay.quantity);
    for path in predicted.chain(also).map(|path| path.trim_end_matches(".mean")) {
        if !asked.contains(&path) {
            asked.push(path);
        }
    }
    let (classes, mut panels) = match lines {
        Lines::Runs => {
            // Metrics with published values get a panel at the end if they have none.
            let paths = published.iter().map(|overlay| overlay.quantity.trim_end_matches(".mean"));
            let panels = by_quantity(&columns, rate, &asked);
            (Vec::new(), with_asked(panels, &columns, paths, rate_unit(rate)))
        }
        Lines::Classes => by_class(&columns, rate),
    };
    by_data(&mut panels, &elsewhere);
    panels.truncate(MOST_PANELS);
    let windows = &outputs(runs).next()?.windows;
    if panels.is_empty() {
        return None;
    }
    let classes = class_swatches(&classes);
    let each = if matches!(lines, Lines::Runs) { 92 } else { 88 };
    let height = TOP + MARGINS.1 + panels.len() * (each + 26);
    let mut plot = arranged(&panels, height, windows);
    for (place, panel) in panels.iter().enumerate() {
        let curves: Vec<Curve<'_>> = runs.iter().flat_map(|run| curves(panel, run, &classes)).collect();
        let has_overlay = |(column, _): &(String, String)| overlays.iter().any(|overlay| belongs_to(overlay, column));
        let range = far_apart(panel, &curves).filter(|_| !panel.columns.iter().any(has_overlay));
        if let Some([low, high]) = range {
            let ticks = Ticks::between(low, high, MOST_TICKS).axis();
            plot.change_y_axis(place, merged(ticks, json!({"range": [low.log10(), high.log10()]})));
        }
        for curve in &curves {
            add(&mut plot, (place, panel), curve, range.map(|[low, _]| low));
        }
        add_overlays(&mut plot, (place, panel), overlays, (runs, &classes));
    }
    Some(plot.figure(label))
}

/// Columns that have a value.
fn columns(output: &Output) -> impl Iterator<Item = &str> {
    let numbered = output.series.columns.iter().filter(|(_, values)| values.iter().any(|value| value.is_finite()));
    numbered.map(|(name, _)| name.as_str())
}

fn outputs<'a>(runs: &'a [Line<'a>]) -> impl Iterator<Item = &'a Output> {
    runs.iter().flat_map(|run| &run.outputs).copied()
}

/// Classes such as uploads whose data does not cross the measured link: only their acknowledgements do.
fn elsewhere(runs: &[Line<'_>]) -> BTreeSet<String> {
    let sum = |output: &Output, column: &str| -> f64 {
        output.series.columns.get(column).into_iter().flatten().filter(|x| x.is_finite()).sum()
    };
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for output in outputs(runs) {
        let names = output.series.columns.keys();
        for class in names.filter_map(|name| name.strip_prefix("classes.")?.strip_suffix(".throughput_bps")) {
            let (goodput, throughput) = sums.entry(class).or_default();
            *goodput += sum(output, &format!("classes.{class}.goodput_bps"));
            *throughput += sum(output, &format!("classes.{class}.throughput_bps"));
        }
    }
    let found = sums.into_iter().filter(|(_, (goodput, throughput))| passes_elsewhere(*goodput, *throughput));
    found.map(|(class, _)| class.to_owned()).collect()
}

/// The highest plotted rate.
fn largest_rate(runs: &[Line<'_>], elsewhere: &BTreeSet<String>) -> f64 {
    let columns = outputs(runs).flat_map(|output| &output.series.columns);
    let is_drawn = |name: &str| {
        let class = name.strip_prefix("classes.").and_then(|rest| rest.split_once('.'));
        match class {
            Some((_, "throughput_bps")) => true,
            Some((class, "goodput_bps")) => elsewhere.contains(class),
            _ => false,
        }
    };
    columns.filter(|(name, _)| is_drawn(name)).flat_map(|(_, values)| values).copied().fold(0.0, f64::max)
}

fn arranged(panels: &[Panel], height: usize, windows: &[Window]) -> Plot {
    let gap = 26.0 / 92.0;
    let last = reference('y', panels.len() - 1);
    let mut plot = Plot::new(height);
    plot.set("margin", json!({"t": TOP, "b": MARGINS.1, "l": MARGINS.2, "r": MARGINS.3}));
    plot.set("showlegend", json!(true));
    let above = 1.0 + 36.0 / (height - TOP - MARGINS.1) as f64;
    let corner = json!({"x": 1.0, "xanchor": "right", "y": above, "yanchor": "bottom"});
    plot.set("legend", merged(corner, json!({"orientation": "h", "font": {"size": 12}})));
    plot.set("xaxis", titled("time, s", json!({"anchor": last})));
    let mut notes: Vec<Value> = Vec::new();
    for (place, panel) in panels.iter().enumerate() {
        let domain = domain(place, panels.len(), gap);
        plot.set_y_axis(place, axis(json!({"domain": domain, "rangemode": "tozero", "nticks": 4})));
        notes.push(heading(&panel.title, domain[1]));
    }
    // A single window needs no label.
    let windows = if windows.len() > 1 { windows } else { &[] };
    notes.extend(windows.iter().map(window_name));
    plot.set("annotations", json!(notes));
    plot.set("shapes", json!(windows.iter().map(shade).collect::<Vec<_>>()));
    plot
}

/// The shaded time of a window.
fn shade(window: &Window) -> Value {
    json!({
        "type": "rect",
        "layer": "below",
        "xref": "x",
        "yref": "paper",
        "x0": window.from_s,
        "x1": window.to_s,
        "y0": 0.0,
        "y1": 1.0,
        "line": {"width": 0},
        "fillcolor": "rgba(128,128,128,0.13)",
    })
}

fn window_name(window: &Window) -> Value {
    json!({
        "text": literal(&window.name),
        "showarrow": false,
        "xref": "x",
        "yref": "paper",
        "x": (window.from_s + window.to_s) / 2.0,
        "y": 1.0,
        "yanchor": "bottom",
        "yshift": 16,
        "font": {"size": 11},
    })
}

/// A line of a panel: mean over the runs of a combination, with its interval.
struct Curve<'a> {
    swatch: &'a Swatch,
    /// Centres of the sampling intervals, in seconds.
    at: Vec<f64>,
    step: f64,
    band: Band,
}

/// The lines of one combination in a panel.
fn curves<'a>(panel: &Panel, run: &Line<'a>, classes: &'a [Swatch]) -> Vec<Curve<'a>> {
    let one = |(column, class): &(String, String)| {
        let all: Vec<(&Vec<f64>, f64)> = run
            .outputs
            .iter()
            .filter_map(|output| Some((output.series.columns.get(column)?, output.series.interval_s)))
            .collect();
        let (_, interval) = all.first().copied()?;
        let swatch = classes.iter().find(|swatch| swatch.label == *class).unwrap_or(run.swatch);
        let most = if all.len() > 1 { MOST_WITH_BAND } else { MOST_POINTS };
        let longest = all.iter().map(|(values, _)| values.len()).max().unwrap_or(0);
        let size = longest.div_ceil(most).max(1);
        let step = interval * size as f64;
        let few: Vec<Vec<f64>> = all.iter().map(|(values, _)| thinned(values, size, panel.factor)).collect();
        // If no value is negative, the interval is not either.
        let lowest = few.iter().flatten().copied().filter(|x| x.is_finite()).fold(0.0, f64::min);
        let band = Band::of(&few, (if lowest < 0.0 { f64::MIN } else { 0.0 }, f64::MAX));
        let at = (0..band.mean.len()).map(|i| rounded((i as f64 + 0.5) * step)).collect();
        Some(Curve { swatch, at, step, band })
    };
    panel.columns.iter().filter_map(one).collect()
}

/// Range of a logarithmic axis for delays that differ so much that a linear axis would draw the short ones on top of
/// each other; `None` if a linear axis is fine.
fn far_apart(panel: &Panel, curves: &[Curve<'_>]) -> Option<[f64; 2]> {
    if !panel.columns.iter().all(|(column, _)| is_delay(column)) {
        return None;
    }
    let means = curves.iter().map(|curve| mean_of_known(&curve.band.mean)).filter(|mean| mean.is_finite());
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x.max(SHORTEST)), high.max(x)))
    };
    let (shortest, longest) = ends(&mut means.into_iter());
    if longest < FAR_APART * shortest {
        return None;
    }
    let values = curves.iter().flat_map(|curve| &curve.band.mean).copied().filter(|x| x.is_finite());
    // Do not extend the axis to the shortest delays of a queue that is sometimes empty.
    let (low, high) = ends(&mut values.into_iter());
    Some(logarithmic((low.max(shortest / FAR_APART), high), LEAST_DELAYS))
}

/// Adds a line with its band; values below `lowest` are drawn at it.
fn add(plot: &mut Plot, (place, panel): (usize, &Panel), curve: &Curve<'_>, lowest: Option<f64>) {
    let Curve { swatch, at, step, band } = curve;
    plot.describe(in_words(&panel.title, &swatch.label, band.mean.iter().copied()));
    let raised = lowest.map(|lowest| band.raised(lowest));
    let band = raised.as_ref().unwrap_or(band);
    if let Some(trace) = band.trace(at, swatch, json!({"yaxis": reference('y', place)})) {
        plot.trace(trace);
    }
    let name = literal(&swatch.label);
    plot.scatter(json!({
        "x0": step / 2.0,
        "dx": step,
        "y": band.mean,
        "mode": "lines",
        "line": plot::line(swatch, 1.5),
        "legendgroup": name,
        "name": name,
        "showlegend": place == 0,
        "yaxis": reference('y', place),
    }));
}

/// Adds predictions and published values for the metric of this panel, in the colours of their classes if lines are
/// classes, or of the only run that they belong to.
fn add_overlays(
    plot: &mut Plot,
    (place, panel): (usize, &Panel),
    overlays: &[Overlay],
    (runs, classes): (&[Line<'_>], &[Swatch]),
) {
    for (column, class) in &panel.columns {
        let of_class = classes.iter().find(|swatch| swatch.label == *class);
        for overlay in overlays.iter().filter(|overlay| belongs_to(overlay, column)) {
            let owned = |swatch: &Swatch| overlay.selector.values().any(|any| any[..] == [swatch.label.clone()]);
            let of_run = || runs.iter().map(|run| run.swatch).find(|swatch| runs.len() > 1 && owned(swatch));
            let color = of_class.or_else(of_run).map_or("#888888", |swatch| swatch.color);
            let dash = if overlay.label == PUBLISHED { "dot" } else { "dash" };
            let (times, values): (Vec<f64>, Vec<f64>) =
                overlay.points.iter().map(|&(time, value)| (time, rounded(value * panel.factor))).unzip();
            let name = literal(&overlay.label);
            plot.scatter(json!({
                "x": times,
                "y": values,
                "mode": "lines",
                "line": {"color": color, "width": 2.0, "dash": dash},
                "name": name,
                "legendgroup": name,
                "showlegend": first_of(overlays, overlay),
                "yaxis": reference('y', place),
            }));
        }
    }
}

/// Whether the overlay belongs to this column, or to the metric whose mean the column is.
fn belongs_to(overlay: &Overlay, column: &str) -> bool {
    overlay.quantity.trim_end_matches(".mean") == column.trim_end_matches(".mean")
}

/// Whether it is the first overlay with its label; the legend shows only this one.
fn first_of(overlays: &[Overlay], overlay: &Overlay) -> bool {
    overlays.iter().find(|other| other.label == overlay.label).is_some_and(|first| std::ptr::eq(first, overlay))
}

/// Averages `size` neighbours each, and converts to another unit.
fn thinned(values: &[f64], size: usize, factor: f64) -> Vec<f64> {
    let means = values.chunks(size).map(|chunk| {
        let mean = mean_of_known(chunk);
        if mean.is_finite() { rounded(factor * mean) } else { f64::NAN }
    });
    means.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue of 400 ms, and one of 5 ms that is sometimes empty.
    #[test]
    fn short_delays_beside_long_ones_are_on_a_logarithmic_axis() {
        let swatch = Swatch { label: String::new(), color: "#000000", round: 0 };
        let curve = |values: &[f64]| Curve {
            swatch: &swatch,
            at: vec![0.5, 1.5],
            step: 1.0,
            band: Band::of(&[values.to_vec()], (0.0, f64::MAX)),
        };
        let panel = |column: &str| Panel {
            title: String::new(),
            factor: 1.0,
            columns: vec![(column.to_owned(), String::new())],
        };
        let delay = panel("links.b.queue_delay_ms.mean");
        let [low, high] = far_apart(&delay, &[curve(&[400.0, 400.0]), curve(&[10.0, 0.0])]).unwrap();
        assert!((0.1..1.0).contains(&low) && (400.0..800.0).contains(&high), "{low} to {high}");
        assert_eq!(far_apart(&delay, &[curve(&[20.0, 20.0]), curve(&[10.0, 10.0])]), None);
        let rate = panel("classes.tcp.throughput_bps");
        assert_eq!(far_apart(&rate, &[curve(&[400.0, 400.0]), curve(&[10.0, 0.0])]), None);
    }

    #[test]
    fn long_series_are_averaged() {
        let values: Vec<f64> = (0..2500).map(f64::from).collect();
        let few = thinned(&values, 3, 2.0);
        assert_eq!(few.len(), 834);
        assert_eq!(few[..2], [2.0, 8.0]);
    }

    #[test]
    fn what_is_not_a_number_leaves_a_gap() {
        let values = thinned(&[1.0, f64::NAN, 3.0], 1, 1.0);
        assert_eq!((values[0], values[1].is_nan(), values[2]), (1.0, true, 3.0));
    }
}
