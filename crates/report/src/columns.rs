//! The columns of tables: metrics, names and units.

use std::collections::BTreeSet;

use aqmkit_measure::metric::{Dimension, METRICS, Metric, Shown, Unit};

pub(crate) use aqmkit_measure::metric::Better;

use super::format::{decimals, rate_unit};
use super::grid::Grid;

/// A term used in tables, and its meaning.
pub(crate) type Term = (&'static str, &'static str);

/// The term for the limit of a queue.
pub(crate) const LIMIT: Term =
    ("limit", "the limit of the queue in packets (p) or bytes (b); –: one limit for each class");

/// The properties of a column, which do not depend on link, class or traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Its unit.
    pub unit: &'static str,
    /// The factor from the metric's unit to this one.
    pub factor: f64,
    /// The smallest difference that matters, in the metric's unit.
    pub fine: f64,
    /// The preferred direction.
    pub better: Better,
    /// Columns of low rank take precedence where space is short.
    pub rank: u8,
    /// Whether the column is shown if all values are zero.
    pub zeros: bool,
    /// Its term in the legend.
    pub term: Term,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// The path of its metric.
    pub path: String,
    /// Its name in a sentence.
    pub name: String,
    /// Its heading in a narrow column, as lines.
    pub head: String,
    /// The number of decimals.
    pub decimals: usize,
    /// Its unit, rank and term.
    pub kind: Kind,
}

impl Kind {
    fn of(metric: &Metric, shown: &Shown) -> Kind {
        let Shown { rank, zeros, term, .. } = *shown;
        let Unit { shown: unit, factor, fine, .. } = metric.unit;
        Kind { unit, factor, fine, better: metric.better, rank, zeros, term }
    }
}

/// The columns that apply to these results, in the order in which they are shown.
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

/// The columns of all metrics below `prefix`.
fn below(prefix: &str) -> impl Iterator<Item = (&'static Metric, &'static Shown)> {
    let metrics = METRICS.iter().filter(move |metric| metric.path.starts_with(prefix));
    metrics.flat_map(|metric| metric.shown.iter().map(move |shown| (metric, shown)))
}

/// The path of a column, with these names in place of the stars.
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
                // Other links' queues matter as much as the measured link's.
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
                    // Losses and latency matter only for classes that the experiment names.
                    _ if matches!(class.as_str(), "tcp" | "other") => Kind { rank: kind.rank + 2, ..kind },
                    _ => kind,
                };
                self.owned(metric, shown, &[class], kind);
            }
        }
    }

    /// Whether the data of a class does not cross the measured link: of an upload, only acknowledgements do, and their
    /// rate is not what its user gets.
    fn passes_elsewhere(&self, class: &str) -> bool {
        let largest = |metric: &str| self.grid.largest(&format!("classes.{class}.{metric}_bps"));
        passes_elsewhere(largest("goodput"), largest("throughput"))
    }

    fn apps(&mut self) {
        for app in names(&self.paths, "apps.") {
            let kinds = names(&self.paths, &format!("apps.{app}.response_time_ms."));
            // Late frames and segments of a video matter as far as it stalls.
            let stalls = self.paths.contains(format!("apps.{app}.stalled").as_str());
            for metric in METRICS.iter().filter(|metric| metric.path.starts_with("apps.") && !metric.shown.is_empty()) {
                // Each kind of exchange has its own columns of response times.
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

    /// Adds a column for the link, class or traffic that is the first of the names.
    fn owned(&mut self, metric: &Metric, shown: &Shown, names: &[&str], kind: Kind) {
        let whole: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let (name, head) =
            (format!("{} {}", whole.join(" "), shown.name), format!("{}\n{}", whole.join("\n"), shown.head));
        self.add(&path(metric, shown, names), &name, &head, kind);
    }
}

/// Whether the data of a class with these rates does not cross the measured link: over the link that carries it, data
/// with headers is more than data without, up to what is on its way.
pub(crate) fn passes_elsewhere(goodput: f64, throughput: f64) -> bool {
    goodput > 1.05 * throughput
}

/// The names that experiments give to classes of traffic that only fill or disturb a link. Whether such traffic gets much or loses much is
/// neither good nor bad in itself.
const BACKGROUND: [&str; 4] = ["other", "cbr", "udp", "cross"];

/// The names below `prefix`: the bottleneck and TCP first, `other` last, the rest by name.
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
