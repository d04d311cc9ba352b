//! Time series in panels above each other, with a common time axis.

use std::collections::BTreeSet;

use aqmkit_measure::output::{Output, Window};
use aqmkit_results::Overlay;
use serde_json::{Value, json};

use super::palette::{Swatch, class_swatches};
use super::panels::{Panel, by_class, by_quantity, with_asked};
use super::plot::{
    self, Figure, MARGINS, MOST_PANELS, Plot, axis, domain, heading, in_words, literal, merged, reference, titled,
};
use super::published::PUBLISHED;
use crate::format::{rate_unit, rounded};

/// The largest number of points in a line; longer series are averaged over neighbouring intervals.
const MOST_POINTS: usize = 1000;

/// Pixels above the panels, for the names of windows and the legend.
const TOP: usize = 78;

/// One run in a figure.
pub(in crate::html) struct Line<'a> {
    /// Its name and colour.
    pub(in crate::html) swatch: &'a Swatch,
    /// Its output.
    pub(in crate::html) output: &'a Output,
}

/// The meaning of a figure's lines.
pub(in crate::html) enum Lines {
    /// Different runs; each panel has one quantity.
    Runs,
    /// The classes of one run; each panel has one quantity.
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
    let columns: BTreeSet<&str> = runs.iter().flat_map(|run| columns(run.output)).collect();
    let rate = largest_rate(runs);
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
            // Quantities with published values come last, if they have no panel otherwise.
            let paths = published.iter().map(|overlay| overlay.quantity.trim_end_matches(".mean"));
            let panels = by_quantity(&columns, rate, &asked);
            (Vec::new(), with_asked(panels, &columns, paths, rate_unit(rate)))
        }
        Lines::Classes => by_class(&columns, rate),
    };
    panels.truncate(MOST_PANELS);
    let first = runs.first()?;
    if panels.is_empty() {
        return None;
    }
    let classes = class_swatches(&classes);
    let each = if matches!(lines, Lines::Runs) { 92 } else { 88 };
    let height = TOP + MARGINS.1 + panels.len() * (each + 26);
    let mut plot = arranged(&panels, height, &first.output.windows);
    for (place, panel) in panels.iter().enumerate() {
        for run in runs {
            add_lines(&mut plot, place, panel, run, &classes);
        }
        add_overlays(&mut plot, (place, panel), overlays, (runs, &classes));
    }
    Some(plot.figure(label))
}

/// The columns that have a value.
fn columns(output: &Output) -> impl Iterator<Item = &str> {
    let numbered = output.series.columns.iter().filter(|(_, values)| values.iter().any(|value| value.is_finite()));
    numbered.map(|(name, _)| name.as_str())
}

fn largest_rate(runs: &[Line<'_>]) -> f64 {
    let columns = runs.iter().flat_map(|run| &run.output.series.columns);
    let rates = columns.filter(|(name, _)| name.starts_with("classes.") && name.ends_with(".throughput_bps"));
    rates.flat_map(|(_, values)| values).copied().fold(0.0, f64::max)
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
    // A single window needs no name.
    let windows = if windows.len() > 1 { windows } else { &[] };
    notes.extend(windows.iter().map(window_name));
    plot.set("annotations", json!(notes));
    plot.set("shapes", json!(windows.iter().map(shade).collect::<Vec<_>>()));
    plot
}

/// The time of a window, shaded.
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

fn add_lines(plot: &mut Plot, place: usize, panel: &Panel, run: &Line<'_>, classes: &[Swatch]) {
    for (column, class) in &panel.columns {
        let Some(values) = run.output.series.columns.get(column) else { continue };
        let swatch = classes.iter().find(|swatch| swatch.label == *class).unwrap_or(run.swatch);
        let (values, step) = thinned(values, run.output.series.interval_s, panel.factor);
        plot.say(in_words(&panel.title, &swatch.label, values.iter().copied()));
        let name = literal(&swatch.label);
        plot.scatter(json!({
            "x0": step / 2.0,
            "dx": step,
            "y": values,
            "mode": "lines",
            "line": plot::line(swatch, 1.5),
            "legendgroup": name,
            "name": name,
            "showlegend": place == 0,
            "yaxis": reference('y', place),
        }));
    }
}

/// Adds the predictions and published values for the quantity of this panel, in the colours of their classes if classes have
/// colours, or of the only run that they belong to.
fn add_overlays(
    plot: &mut Plot,
    (place, panel): (usize, &Panel),
    overlays: &[Overlay],
    (runs, classes): (&[Line<'_>], &[Swatch]),
) {
    for (column, class) in &panel.columns {
        let of_class = classes.iter().find(|swatch| swatch.label == *class);
        for overlay in overlays.iter().filter(|overlay| is_of(overlay, column)) {
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

/// Whether it predicts this column, or the quantity of which the column is the mean.
fn is_of(overlay: &Overlay, column: &str) -> bool {
    overlay.quantity.trim_end_matches(".mean") == column.trim_end_matches(".mean")
}

/// Whether it is the first prediction with its label, which the legend shows.
fn first_of(overlays: &[Overlay], overlay: &Overlay) -> bool {
    overlays.iter().find(|other| other.label == overlay.label).is_some_and(|first| std::ptr::eq(first, overlay))
}

/// The values in another unit, averaged over neighbours if there are too many; and the time between two values.
fn thinned(values: &[f64], interval_s: f64, factor: f64) -> (Vec<f64>, f64) {
    let size = values.len().div_ceil(MOST_POINTS).max(1);
    let means = values.chunks(size).map(|chunk| {
        let numbers: Vec<f64> = chunk.iter().copied().filter(|value| value.is_finite()).collect();
        if numbers.is_empty() { f64::NAN } else { rounded(factor * numbers.iter().sum::<f64>() / numbers.len() as f64) }
    });
    (means.collect(), interval_s * size as f64)
}

#[cfg(test)]
mod tests {
    use super::thinned;

    #[test]
    fn long_series_are_averaged() {
        let values: Vec<f64> = (0..2500).map(f64::from).collect();
        let (few, step) = thinned(&values, 0.5, 2.0);
        assert_eq!((few.len(), step), (834, 1.5));
        assert_eq!(few[..2], [2.0, 8.0]);
    }

    #[test]
    fn what_is_not_a_number_leaves_a_gap() {
        let (values, step) = thinned(&[1.0, f64::NAN, 3.0], 1.0, 1.0);
        assert_eq!((values[0], values[1].is_nan(), values[2], step), (1.0, true, 3.0, 1.0));
    }
}
