//! Panels of a figure of time series.

use std::collections::BTreeSet;

use aqmkit_measure::metric::{Dimension, METRICS, Metric};

use crate::columns::names;
use crate::format::rate_unit;

/// A metric over time.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// Heading, with the unit.
    pub(super) title: String,
    /// Factor from the column's unit to the panel's.
    pub(super) factor: f64,
    /// Columns, each with the name of its line; a single column if lines are different runs.
    pub(super) columns: Vec<(String, String)>,
}

/// Whether a column is a delay.
pub(super) fn is_delay(column: &str) -> bool {
    column.contains(".queue_delay_ms") || column.contains(".latency_ms")
}

impl Panel {
    fn new(title: String, factor: f64, column: String) -> Self {
        Panel { title, factor, columns: vec![(column, String::new())] }
    }
}

/// The column of `path`: the path itself, or its mean.
fn found(columns: &BTreeSet<&str>, path: &str) -> Option<String> {
    let mean = format!("{path}.mean");
    if columns.contains(path) { Some(path.to_owned()) } else { columns.contains(mean.as_str()).then_some(mean) }
}

/// One panel per metric, for lines that are different runs, and panels for the columns in `asked`.
pub(super) fn by_quantity(columns: &BTreeSet<&str>, largest_rate: f64, asked: &[&str]) -> Vec<Panel> {
    let rate = rate_unit(largest_rate);
    let mut panels = of_owners(columns, "classes.", rate);
    panels.extend(asked.iter().filter_map(|path| asked_for(columns, path, rate)));
    panels.extend(of_owners(columns, "links.", rate));
    panels.extend(of_owners(columns, "apps.", rate));
    panels
}

/// Adds a panel for each column in `paths` that has none.
pub(super) fn with_asked<'a>(
    mut panels: Vec<Panel>,
    columns: &BTreeSet<&str>,
    paths: impl Iterator<Item = &'a str>,
    rate: (&'static str, f64),
) -> Vec<Panel> {
    for path in paths {
        let Some(panel) = asked_for(columns, path, rate) else { continue };
        if !panels.iter().any(|other| other.columns[0].0 == panel.columns[0].0) {
            panels.push(panel);
        }
    }
    panels
}

/// Panels of all links, classes or applications.
fn of_owners(columns: &BTreeSet<&str>, prefix: &str, rate: (&'static str, f64)) -> Vec<Panel> {
    let owners = names(columns, prefix);
    let metrics = || METRICS.iter().filter(|metric| metric.path.starts_with(prefix) && metric.panel.of_runs());
    let one = |owner: &String, metric: &Metric| {
        let column = metric.column(owner);
        let words = match prefix {
            "links." if owners.len() == 1 => metric.label.to_owned(),
            "links." => format!("{owner}: {}", metric.label),
            _ => metric.words(&column),
        };
        let (unit, factor) = shown(metric, rate);
        found(columns, &column).map(|column| Panel::new(title(&words, unit), factor, column))
    };
    owners.iter().flat_map(|owner| metrics().filter_map(move |metric| one(owner, metric))).collect()
}

/// The panel of a column that an experiment lists in `plot`; `None` if the column does not exist.
fn asked_for(columns: &BTreeSet<&str>, path: &str, rate: (&'static str, f64)) -> Option<Panel> {
    let column = found(columns, path)?;
    match Metric::at(path) {
        Some(metric) if metric.panel.of_runs() => None,
        Some(metric) if metric.unit.dimension != Dimension::Gauge => {
            let (unit, factor) = shown(metric, rate);
            Some(Panel::new(title(&metric.words(path), unit), factor, column))
        }
        // Gauges are named by their discipline.
        _ => match path.strip_suffix("_bps") {
            Some(path) => Some(Panel::new(title(&gauge(path, columns), rate.0), rate.1, column)),
            None => Some(Panel::new(gauge(path, columns), 1.0, column)),
        },
    }
}

/// The title of a discipline's gauge, with its link if there are several; any other path is returned unchanged.
fn gauge(path: &str, columns: &BTreeSet<&str>) -> String {
    let parts = path.strip_prefix("links.").and_then(|rest| rest.split_once(".aqm."));
    match parts {
        Some((_, gauge)) if names(columns, "links.").len() == 1 => format!("{gauge} (gauge)"),
        Some((link, gauge)) => format!("{link}: {gauge} (gauge)"),
        None => path.to_owned(),
    }
}

/// One panel per metric, with a line per class.
pub(super) fn by_class(columns: &BTreeSet<&str>, largest_rate: f64) -> (Vec<String>, Vec<Panel>) {
    let classes = names(columns, "classes.");
    let mut panels = Vec::new();
    for metric in METRICS.iter().filter(|metric| metric.path.starts_with("classes.") && metric.panel.of_classes()) {
        let lines = classes.iter().filter_map(|class| Some((found(columns, &metric.column(class))?, class.clone())));
        let lines: Vec<(String, String)> = lines.collect();
        if !lines.is_empty() {
            let (unit, factor) = shown(metric, rate_unit(largest_rate));
            panels.push(Panel { title: title(metric.label, unit), factor, columns: lines });
        }
    }
    (classes, panels)
}

/// For classes in `elsewhere`, whose data does not cross the measured link, plots the data that receivers get. What
/// their acknowledgements meet at the measured link (delay, drops) is omitted.
pub(super) fn by_data(panels: &mut Vec<Panel>, elsewhere: &BTreeSet<String>) {
    for panel in panels.iter_mut() {
        let of_one = panel.columns.len() == 1 && panel.columns[0].1.is_empty();
        let mut shown: Vec<String> = Vec::new();
        panel.columns.retain_mut(|(column, _)| {
            let parts = column.strip_prefix("classes.").and_then(|rest| rest.split_once('.'));
            let Some((class, metric)) = parts.filter(|(class, _)| elsewhere.contains(*class)) else { return true };
            // A panel of a single class was requested by the experiment: keep it.
            if metric != "throughput_bps" {
                return of_one;
            }
            shown.push(class.to_owned());
            *column = format!("classes.{class}.goodput_bps");
            true
        });
        if of_one && !shown.is_empty() {
            panel.title = panel.title.replacen("throughput", "goodput", 1);
        } else if !shown.is_empty() {
            panel.title.push_str(&format!(" ({}: goodput in the other direction)", shown.join(", ")));
        }
    }
    panels.retain(|panel| !panel.columns.is_empty());
}

/// The unit of a metric's panel and the factor to it; bit rates get a suitable unit.
fn shown(metric: &Metric, rate: (&'static str, f64)) -> (&'static str, f64) {
    let is_bit_rate = metric.unit.dimension == Dimension::Rate && metric.unit.scale == 1.0;
    if is_bit_rate { rate } else { (metric.unit.shown, metric.unit.factor) }
}

fn title(words: &str, unit: &str) -> String {
    if unit.is_empty() { words.to_owned() } else { format!("{words}, {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new metric needs only an entry in the list of metrics to have panels.
    #[test]
    fn every_metric_with_a_series_has_panels_with_its_label_and_unit() {
        let plain =
            |metric: &&Metric| metric.unit.dimension != Dimension::Gauge && metric.path.matches('*').count() == 1;
        let mut seen = 0;
        for metric in METRICS.iter().filter(|metric| metric.in_series).filter(plain) {
            let column = metric.column("x");
            let columns = BTreeSet::from([column.as_str()]);
            let path = column.trim_end_matches(".mean");
            let panels = by_quantity(&columns, 2e6, &[path]);
            assert_eq!(panels.len(), 1, "{path}");
            let of_link = path.starts_with("links.") && metric.panel.of_runs();
            let owner = if of_link { "" } else { "x " };
            let unit = metric.unit.shown;
            assert_eq!(panels[0].title, title(&format!("{owner}{}", metric.label), unit), "{path}");
            assert_eq!(panels[0].factor, metric.unit.factor, "{path}");
            assert_eq!(by_quantity(&columns, 2e6, &[]).len(), usize::from(metric.panel.of_runs()), "{path}");
            assert_eq!(by_class(&columns, 2e6).1.len(), usize::from(metric.panel.of_classes()), "{path}");
            seen += 1;
        }
        assert!(seen > 15, "{seen}");
    }

    #[test]
    fn an_upload_is_drawn_by_its_data() {
        let columns = BTreeSet::from([
            "classes.bulk.goodput_bps",
            "classes.bulk.throughput_bps",
            "classes.bulk.queue_delay_ms.mean",
            "classes.upload.goodput_bps",
            "classes.upload.throughput_bps",
            "classes.upload.queue_delay_ms.mean",
        ]);
        let elsewhere = BTreeSet::from(["upload".to_owned()]);
        let mut panels = by_class(&columns, 2e6).1;
        by_data(&mut panels, &elsewhere);
        let drawn: Vec<Vec<&str>> =
            panels.iter().map(|panel| panel.columns.iter().map(|(column, _)| column.as_str()).collect()).collect();
        assert_eq!(
            drawn,
            [
                vec!["classes.bulk.throughput_bps", "classes.upload.goodput_bps"],
                vec!["classes.bulk.queue_delay_ms.mean"]
            ]
        );
        assert_eq!(panels[0].title, "throughput, Mbit/s (upload: goodput in the other direction)");
        let mut of_runs = by_quantity(&columns, 2e6, &[]);
        by_data(&mut of_runs, &elsewhere);
        let titles: Vec<&str> = of_runs.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["bulk throughput, Mbit/s", "upload goodput, Mbit/s"]);
    }

    #[test]
    fn a_gauge_has_its_name_for_a_title() {
        let columns = BTreeSet::from(["links.b.aqm.avg", "links.b.aqm.rate_bps"]);
        let panels = by_quantity(&columns, 2e3, &["links.b.aqm.avg", "links.b.aqm.rate_bps"]);
        let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["avg (gauge)", "rate (gauge), kbit/s"]);
    }
}
