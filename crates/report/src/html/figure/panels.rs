//! Which columns of a time series are shown, and how.

use std::collections::BTreeSet;

use crate::columns::names;
use crate::format::rate_unit;

/// One panel: a quantity over time.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// Its heading, with the unit.
    pub(super) title: String,
    /// What a value is multiplied by.
    pub(super) factor: f64,
    /// Its columns, each with the name of its line; one when lines are of different runs.
    pub(super) columns: Vec<(String, String)>,
}

impl Panel {
    fn new(title: String, factor: f64, column: String) -> Self {
        Panel { title, factor, columns: vec![(column, String::new())] }
    }
}

/// The column for `path`: itself, or its mean.
fn found(columns: &BTreeSet<&str>, path: &str) -> Option<String> {
    let mean = format!("{path}.mean");
    if columns.contains(path) { Some(path.to_owned()) } else { columns.contains(mean.as_str()).then_some(mean) }
}

/// One panel for each quantity, for lines of different runs; also for what was `asked` for by its path.
pub(super) fn by_quantity(columns: &BTreeSet<&str>, largest_rate: f64, asked: &[&str]) -> Vec<Panel> {
    let mut panels = Vec::new();
    let mut add = |path: String, title: String, factor: f64| {
        panels.extend(found(columns, &path).map(|column| Panel::new(title, factor, column)));
    };
    let (rate, factor) = rate_unit(largest_rate);
    for class in names(columns, "classes.") {
        add(format!("classes.{class}.throughput_bps"), format!("{class} throughput, {rate}"), factor);
    }
    for path in asked.iter().filter(|path| !is_shown(path)) {
        let (unit, factor) = if path.ends_with("_bps") { (format!(", {rate}"), factor) } else { (String::new(), 1.0) };
        add((*path).to_owned(), format!("{path}{unit}"), factor);
    }
    for (path, class) in asked.iter().filter_map(|path| Some((path, latency_of(path)?))) {
        add((*path).to_owned(), format!("{class} latency, ms"), 1.0);
    }
    let links = names(columns, "links.");
    for link in &links {
        let of = if links.len() > 1 { format!("{link}: ") } else { String::new() };
        add(format!("links.{link}.queue_delay_ms"), format!("{of}queue delay, ms"), 1.0);
        add(format!("links.{link}.drop_rate"), format!("{of}drops, %"), 100.0);
    }
    for app in names(columns, "apps.") {
        add(format!("apps.{app}.frame_rate"), format!("{app} frames, per second"), 1.0);
        add(format!("apps.{app}.playable_frame_rate"), format!("{app} playable frames, per second"), 1.0);
    }
    panels
}

/// Whether a quantity has a panel of its own kind in [`by_quantity`].
fn is_shown(path: &str) -> bool {
    let (part, field) = (path.split('.').next(), path.rsplit('.').next());
    let gauge = path.contains(".aqm.");
    !gauge
        && matches!(
            (part, field),
            (Some("classes"), Some("throughput_bps" | "latency_ms"))
                | (Some("links"), Some("queue_delay_ms" | "drop_rate"))
                | (Some("apps"), Some("frame_rate" | "playable_frame_rate"))
        )
}

/// The class whose latency `path` is.
fn latency_of(path: &str) -> Option<&str> {
    path.strip_prefix("classes.")?.strip_suffix(".latency_ms")
}

/// One panel for each kind of quantity, with a line for each class.
pub(super) fn by_class(columns: &BTreeSet<&str>, largest_rate: f64) -> (Vec<String>, Vec<Panel>) {
    let classes = names(columns, "classes.");
    let (rate, factor) = rate_unit(largest_rate);
    let kinds = [
        ("throughput_bps", format!("throughput, {rate}"), factor),
        ("queue_delay_ms", "queue delay, ms".to_owned(), 1.0),
        ("drop_rate", "drops, %".to_owned(), 100.0),
    ];
    let mut panels = Vec::new();
    for (metric, title, scale) in kinds {
        let lines = classes.iter().filter_map(|class| {
            found(columns, &format!("classes.{class}.{metric}")).map(|column| (column, class.clone()))
        });
        let lines: Vec<(String, String)> = lines.collect();
        if !lines.is_empty() {
            panels.push(Panel { title, factor: scale, columns: lines });
        }
    }
    (classes, panels)
}
