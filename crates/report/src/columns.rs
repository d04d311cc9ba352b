//! The columns of tables: metrics, names and units.

use std::collections::BTreeSet;

use aqmkit_measure::metric::{Dimension, METRICS, Metric, Shown, Unit};

pub(crate) use aqmkit_measure::metric::Better;

use super::format::{decimals, rate_unit};
use super::grid::Grid;

/// A term in tables, and its explanation.
pub(crate) type Term = (&'static str, &'static str);

/// The explanation of queue limits.
pub(crate) const LIMIT: Term =
    ("limit", "the limit of the queue in packets (p) or bytes (b); –: one limit for each class");

/// Properties of a column that do not depend on a particular link, class or traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Displayed unit.
    pub unit: &'static str,
    /// Factor from the metric's unit to the displayed unit.
    pub factor: f64,
    /// Smallest relevant difference, in the metric's unit.
    pub fine: f64,
    /// Whether higher or lower values are better.
    pub better: Better,
    /// Columns with a low rank take precedence if space is short.
    pub rank: u8,
    /// Whether to show the column if all values are zero.
    pub zeros: bool,
    /// Its explanation in the legend.
    pub term: Term,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Path of the metric.
    pub path: String,
    /// Name in a sentence.
    pub name: String,
    /// Heading of a narrow column, one line per word.
    pub head: String,
    /// The number of decimals.
    pub decimals: usize,
    /// Unit, rank and term.
    pub kind: Kind,
}

impl Kind {
    fn of(metric: &Metric, shown: &Shown) -> Kind {
        let Shown { rank, zeros, term, .. } = *shown;
        let Unit { shown: unit, factor, fine, .. } = metric.unit;
        Kind { unit, factor, fine, better: metric.better, rank, zeros, term }
    }
}

/// The columns that these results have values for, in display order.
#[must_use]
pub(crate) fn columns(grid: &Grid) -> Vec<Column> {
    let mut build = Builder { grid, paths: grid.paths(), columns: Vec::new() };
    build.links();
    build.classes();
    build.apps();
    if grid.largest("flows.count") > 1.0 {
        for (metric, shown) in below("flows.") {
            build.add(metric.path, shown.name, shown.head, Kind::of(metric, shown));
        }
    }
    build.columns
}

/// The displayed columns of all metrics below `prefix`.
fn below(prefix: &str) -> impl Iterator<Item = (&'static Metric, &'static Shown)> {
    let metrics = METRICS.iter().filter(move |metric| metric.path.starts_with(prefix));
    metrics.flat_map(|metric| metric.shown.iter().map(move |shown| (metric, shown)))
}

/// The path of a column, with the stars replaced by these names.
fn path(metric: &Metric, shown: &Shown, names: &[&str]) -> String {
    let path = names.iter().fold(metric.path.to_owned(), |path, name| path.replacen('*', name, 1));
    if shown.statistic.is_empty() { path } else { format!("{path}.{}", shown.statistic) }
}

struct Builder<'a> {
    grid: &'a Grid,
    paths: BTreeSet<&'a str>,
    columns: Vec<Column>,
}

impl Builder<'_> {
    /// Adds a column if some row has a value for it.
    fn add(&mut self, path: &str, name: &str, head: &str, kind: Kind) {
        let largest = self.grid.largest(path);
        if self.paths.contains(path) && (kind.zeros || largest > 0.0) {
            let decimals = decimals(largest * kind.factor);
            self.columns.push(Column { path: path.into(), name: name.into(), head: head.into(), decimals, kind });
        }
    }

    fn links(&mut self) {
        let links = names(&self.paths, "links.");
        for (place, link) in links.iter().enumerate() {
            for (metric, shown) in below("links.") {
                let (name, head) = match links.len() {
                    1 => (shown.name.to_owned(), shown.head.to_owned()),
                    _ => (format!("{link}: {}", shown.name), format!("{link}\n{}", shown.head)),
                };
                // Other links' queues are as important as the measured link's.
                let rank = match place {
                    0 => shown.rank,
                    _ if metric.path.ends_with("queue_delay_ms") => shown.rank + 1,
                    _ => shown.rank + 6,
                };
                self.add(&path(metric, shown, &[link]), &name, &head, Kind { rank, ..Kind::of(metric, shown) });
            }
        }
    }

    fn classes(&mut self) {
        let classes = names(&self.paths, "classes.");
        let largest = classes.iter().map(|class| self.grid.largest(&format!("classes.{class}.throughput_bps")));
        let (unit, factor) = rate_unit(largest.fold(0.0, f64::max));
        for (metric, shown) in below("classes.").filter(|(_, shown)| shown.together) {
            let kind = Kind { unit, factor, ..Kind::of(metric, shown) };
            let crossing = classes.iter().filter(|class| !self.passes_elsewhere(class));
            let crossing: Vec<String> = crossing.cloned().collect();
            crossing.iter().for_each(|class| self.owned(metric, shown, &[class], kind));
        }
        for class in &classes {
            for (metric, shown) in below("classes.").filter(|(_, shown)| !shown.together) {
                let kind = Kind::of(metric, shown);
                let better = if BACKGROUND.contains(&class.as_str()) { Better::Neither } else { kind.better };
                let kind = Kind { better, ..kind };
                let kind = match metric.unit.dimension {
                    Dimension::Rate if self.passes_elsewhere(class) => Kind { unit, factor, rank: 2, ..kind },
                    Dimension::Rate => Kind { unit, factor, ..kind },
                    // Losses and latency are important only for classes that the experiment names.
                    _ if matches!(class.as_str(), "tcp" | "other") => Kind { rank: kind.rank + 2, ..kind },
                    _ => kind,
                };
                self.owned(metric, shown, &[class], kind);
            }
        }
    }

    /// Whether the data of a class does not cross the measured link. An upload has only acknowledgements there, whose
    /// rate is not what its user gets.
    fn passes_elsewhere(&self, class: &str) -> bool {
        let largest = |metric: &str| self.grid.largest(&format!("classes.{class}.{metric}_bps"));
        passes_elsewhere(largest("goodput"), largest("throughput"))
    }

    fn apps(&mut self) {
        for app in names(&self.paths, "apps.") {
            let kinds = names(&self.paths, &format!("apps.{app}.response_time_ms."));
            // If video stalls are shown, late frames and segments are less important.
            let stalls = self.paths.contains(format!("apps.{app}.stalled").as_str());
            for metric in METRICS.iter().filter(|metric| metric.path.starts_with("apps.") && !metric.shown.is_empty()) {
                // Each kind of exchange has columns for its response times.
                let exchanges = metric.path.matches('*').count() > 1;
                let own = if exchanges { &kinds[..] } else { &[String::new()] };
                for (exchange, shown) in own.iter().flat_map(|own| metric.shown.iter().map(move |shown| (own, shown))) {
                    let later = if exchanges && stalls { 2 } else { 0 };
                    let kind = Kind { rank: shown.rank + later, ..Kind::of(metric, shown) };
                    self.owned(metric, shown, &[&app, exchange], kind);
                }
            }
        }
    }

    /// Adds a column of the link, class or traffic that comes first in `names`.
    fn owned(&mut self, metric: &Metric, shown: &Shown, names: &[&str], kind: Kind) {
        let whole: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let (name, head) =
            (format!("{} {}", whole.join(" "), shown.name), format!("{}\n{}", whole.join("\n"), shown.head));
        self.add(&path(metric, shown, names), &name, &head, kind);
    }
}

/// Whether a class with these rates sends its data over another link: on the link that carries the data, throughput
/// includes headers and exceeds goodput, except for data in flight.
pub(crate) fn passes_elsewhere(goodput: f64, throughput: f64) -> bool {
    goodput > 1.05 * throughput
}

/// Usual names of classes whose traffic only fills or disturbs a link. It is neither good nor bad if such traffic gets
/// or loses much.
const BACKGROUND: [&str; 4] = ["other", "cbr", "udp", "cross"];

/// The names below `prefix`: the bottleneck and TCP first, `other` last, the rest sorted.
#[must_use]
pub(crate) fn names(paths: &BTreeSet<&str>, prefix: &str) -> Vec<String> {
    let inner = paths.iter().filter_map(|path| path.strip_prefix(prefix)?.split_once('.'));
    let found: BTreeSet<&str> = inner.map(|(name, _)| name).collect();
    let mut sorted: Vec<String> = found.into_iter().map(str::to_owned).collect();
    sorted.sort_by_key(|name| match name.as_str() {
        "bottleneck" | "tcp" => 0,
        "other" => 2,
        _ => 1,
    });
    sorted
}
