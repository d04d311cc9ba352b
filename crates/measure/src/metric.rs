//! All metrics of results: path, dimension, unit, label, and whether higher or lower is better.
//!
//! [`METRICS`] is the only list. Results, reports, exported tables, verdicts, figures and `docs/metrics.md` use it. A
//! new metric needs only one entry, which also defines how its value is computed.

mod table;
pub(crate) mod value;

pub use table::METRICS;
pub use value::{Counted, Ratio, Value};

/// The dimension of a number, which determines its base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// In bits per second.
    Rate,
    /// In seconds.
    Time,
    /// In bytes.
    Size,
    /// Number of packets, frames, flows.
    Count,
    /// Packets or frames per second.
    PerSecond,
    /// A fraction of 1, or a ratio.
    Share,
    /// A gauge of a discipline of unknown dimension; it can be compared with any quantity.
    Gauge,
}

impl Dimension {
    /// The name of the dimension in messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Dimension::Rate => "a rate",
            Dimension::Time => "a time",
            Dimension::Size => "a size",
            Dimension::Count => "a number of packets or frames",
            Dimension::PerSecond => "a number per second",
            Dimension::Share => "a fraction or ratio",
            Dimension::Gauge => "a gauge",
        }
    }
}

/// The unit of a metric in results, and the unit in which it is displayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Name in results: `bit/s`, `ms`.
    pub name: &'static str,
    /// The dimension measured.
    pub dimension: Dimension,
    /// Factor from this unit to the base unit of its dimension.
    pub scale: f64,
    /// Displayed unit, in tables and figures.
    pub shown: &'static str,
    /// Factor from this unit to the displayed one.
    pub factor: f64,
    /// Smallest relevant difference, in this unit: a mean with this precision is precise enough, however small it is.
    /// 0 if no absolute difference is negligible.
    pub fine: f64,
}

/// Whether high or low values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// High values are better.
    High,
    /// Low values are better.
    Low,
    /// Neither is better.
    Neither,
}

impl Better {
    /// The words in `docs/metrics.md`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Better::High => "higher",
            Better::Low => "lower",
            Better::Neither => "",
        }
    }
}

/// In which figures of time series a metric has a panel. An experiment can request a panel of any metric with a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panel {
    /// Only in figures of experiments that request it.
    Asked,
    /// In figures with one line per run.
    Runs,
    /// In figures of one run with one line per class.
    Classes,
    /// In both kinds of figures.
    RunsAndClasses,
}

impl Panel {
    /// Whether figures with one line per run have it.
    #[must_use]
    pub fn of_runs(self) -> bool {
        matches!(self, Panel::Runs | Panel::RunsAndClasses)
    }

    /// Whether figures of one run, with one line per class, have it.
    #[must_use]
    pub fn of_classes(self) -> bool {
        matches!(self, Panel::Classes | Panel::RunsAndClasses)
    }
}

/// A column of the tables that compare runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The displayed statistic; empty if the metric has none.
    pub statistic: &'static str,
    /// Name in a sentence, after the name of the link, class or traffic.
    pub name: &'static str,
    /// Heading of a narrow column.
    pub head: &'static str,
    /// Columns with a low rank take precedence if space is short.
    pub rank: u8,
    /// Whether to show the column if all values are zero.
    pub zeros: bool,
    /// Whether to place the columns of all links, classes or traffics next to each other, before their other metrics.
    pub together: bool,
    /// The term in the legend, and its explanation.
    pub term: (&'static str, &'static str),
}

/// A metric and everything that results, reports and documents say about it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Path in results, where `*` stands for a name.
    pub path: &'static str,
    /// The statistics of a distribution, as last parts of the path; empty if the path leads to a number.
    pub statistics: &'static [&'static str],
    /// Units in results and on display.
    pub unit: Unit,
    /// Name in figures and documents.
    pub label: &'static str,
    /// Whether high or low values are better.
    pub better: Better,
    /// Whether the windows of a run have it.
    pub in_windows: bool,
    /// Whether it is a column of the time series.
    pub in_series: bool,
    /// In which figures of time series it has a panel.
    pub panel: Panel,
    /// Columns in the tables that compare runs.
    pub shown: &'static [Shown],
    /// Definition, in a sentence.
    pub meaning: &'static str,
    /// How the value is computed.
    pub value: Value,
}

/// Metrics with equal paths are equal.
impl PartialEq for Metric {
    fn eq(&self, other: &Metric) -> bool {
        self.path == other.path
    }
}

impl Metric {
    /// The metric at a path of results or in a column of the time series, such as
    /// `links.bottleneck.queue_delay_ms.p99`. The statistic can be omitted.
    #[must_use]
    pub fn at(path: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.is_at(path))
    }

    /// The metrics whose path ends with this part, such as `drop_rate` or `queue_delay_ms`.
    pub fn ending<'a>(field: &'a str) -> impl Iterator<Item = &'static Metric> + 'a {
        METRICS.iter().filter(move |metric| metric.field() == field)
    }

    /// Names of the metrics that are not fields in the structure of a level (`links`, `classes`, `apps`) but computed.
    pub fn computed(level: &str) -> impl Iterator<Item = &'static str> {
        let computed = METRICS.iter().filter(|metric| !matches!(metric.value, Value::Field));
        computed.filter(move |metric| metric.path.split('.').next() == Some(level)).map(Metric::field)
    }

    /// The last part of the path that is not a star.
    #[must_use]
    pub fn field(&self) -> &'static str {
        self.path.rsplit('.').find(|part| *part != "*").unwrap_or(self.path)
    }

    /// The name of this metric at `path` for figures, including the names in the path: `tcp queue delay`.
    #[must_use]
    pub fn words(&self, path: &str) -> String {
        let mut words = captured(self.path, path).unwrap_or_default();
        words.push(self.label);
        words.join(" ")
    }

    fn is_at(&self, path: &str) -> bool {
        let below = |statistic: &str| path.strip_suffix(statistic).and_then(|p| p.strip_suffix('.'));
        matches(self.path, path)
            || self.statistics.iter().filter_map(|s| below(s)).any(|p| matches(self.path, p))
            || self.is_percentile(path)
    }

    /// Whether the path is a percentile that windows do not list, but which follows from the stored distribution.
    fn is_percentile(&self, path: &str) -> bool {
        let listed = self.statistics.contains(&"p90");
        let quantity = path.rsplit_once('.').filter(|(_, name)| listed && percent(name).is_some());
        quantity.is_some_and(|(quantity, _)| matches(self.path, quantity))
    }

    /// The column of the time series for this link, class or traffic; for a distribution, the column of the mean.
    #[must_use]
    pub fn column(&self, owner: &str) -> String {
        let path = self.path.replacen('*', owner, 1);
        if self.statistics.is_empty() { path } else { format!("{path}.mean") }
    }
}

/// The number in the name of a percentile: 25 in `p25`, 99.9 in `p99.9`.
#[must_use]
pub fn percent(name: &str) -> Option<f64> {
    name.strip_prefix('p')?.parse::<f64>().ok().filter(|p| (0.0..100.0).contains(p))
}

/// Whether a path matches a pattern.
fn matches(pattern: &str, path: &str) -> bool {
    captured(pattern, path).is_some()
}

/// The names in `path` at the stars of the pattern; `None` if it does not match. A star matches one or more parts,
/// because names can contain dots.
fn captured<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    let Some((before, after)) = pattern.split_once('*') else { return (pattern == path).then(Vec::new) };
    let rest = path.strip_prefix(before)?;
    let ends = rest.char_indices().skip(1).map(|(i, _)| i).chain([rest.len()]).filter(|end| *end > 0);
    let mut found = ends.filter_map(|end| captured(after, &rest[end..]).map(|names| (&rest[..end], names)));
    found.next().map(|(name, names)| [&[name], &names[..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_metric() {
        let path = |p: &str| Metric::at(p).map(|m| m.path);
        assert_eq!(path("links.b.queue_delay_ms.p99"), Some("links.*.queue_delay_ms"));
        assert_eq!(path("links.b.queue_delay_ms"), Some("links.*.queue_delay_ms"));
        assert_eq!(path("classes.tcp.new.goodput_bps"), Some("classes.*.goodput_bps"), "names may have dots");
        assert_eq!(path("apps.web.response_time_ms.page.p90"), Some("apps.*.response_time_ms.*"));
        assert_eq!(path("links.b.aqm.drop_rate"), Some("links.*.aqm.*"), "a gauge is no metric of the link");
        assert_eq!(path("apps.mpeg.counters.i_bytes_per_frame"), Some("apps.*.counters.*_bytes_per_frame"));
        assert_eq!((path("links..drop_rate"), path("classes.tcp.goodput"), path("nothing")), (None, None, None));
    }

    /// The column of a link, class or traffic includes its name, and leads back to the metric, or to its mean.
    #[test]
    fn a_column_is_named_after_its_owner() {
        let column = |path: &str, owner: &str| METRICS.iter().find(|m| m.path == path).unwrap().column(owner);
        assert_eq!(column("classes.*.goodput_bps", "tcp"), "classes.tcp.goodput_bps");
        assert_eq!(column("links.*.queue_delay_ms", "b"), "links.b.queue_delay_ms.mean");
        for metric in METRICS.iter().filter(|m| m.in_series && m.path.matches('*').count() == 1) {
            let found = metric.column("some.one");
            assert!(found.split_once(".some.one.").is_some_and(|(part, _)| metric.path.starts_with(part)), "{found}");
            assert_eq!(Metric::at(&found).map(|own| own.path), Some(metric.path));
            assert_eq!(found.ends_with(".mean"), !metric.statistics.is_empty(), "{found}");
        }
    }

    #[test]
    fn a_metric_is_called_by_its_label_and_the_names_in_its_path() {
        let words = |path: &str| Metric::at(path).map(|m| m.words(path)).unwrap_or_default();
        assert_eq!(words("classes.tcp.new.queue_delay_ms"), "tcp.new queue delay");
        assert_eq!(words("apps.web.response_time_ms.page"), "web page response time");
        assert_eq!(words("flows.jain"), "fairness");
    }

    #[test]
    fn a_metric_is_in_the_list_once() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..i].iter().all(|other| other != metric), "{}", metric.path);
            let known = |s: &Shown| metric.statistics.contains(&s.statistic) || s.statistic.is_empty();
            assert!(metric.shown.iter().all(known), "{}", metric.path);
            assert!(!metric.meaning.is_empty() && !metric.label.is_empty(), "{}", metric.path);
        }
    }
}
