//! Measures by which disciplines are compared: one value per row and seed.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::metric::{Better, Metric};
use aqmkit_results::Stat;

use crate::columns::names;
use crate::format::{rate_unit, significant};
use crate::grid::{Grid, Row, difference};

/// Values by seed.
pub(super) type Samples = BTreeMap<String, f64>;

/// A metric in which rows can be better or worse, with the values of each row.
pub(crate) struct Measure {
    /// Whose quality it measures, as in a sentence: `calls`, `web pages`; for a queue, `queue`.
    pub(super) whose: &'static str,
    /// Prefix of a displayed value: `MOS `.
    before: &'static str,
    /// Unit of a displayed value, and the factor to it.
    unit: (&'static str, f64),
    better: Better,
    /// Smallest relevant difference.
    fine: f64,
    /// Values of each row; empty if it has none.
    pub(super) rows: Vec<Samples>,
}

/// Metrics of quality that users of interactive traffic notice: pattern of the metric, whose quality it is, and the
/// prefix of a value. With several directions or groups the worst value counts.
const QUALITIES: [(&str, &str, &str); 5] = [
    ("apps.*.mos", "telephone calls", "MOS "),
    ("apps.*.stalled", "video", "stalled "),
    ("apps.*.response_time_ms.page.p50", "web pages", "median "),
    ("apps.*.response_time_ms.request.p50", "web requests", "median "),
    ("apps.*.missed", "packets in time", "missed "),
];

/// The quality measures of interactive traffic; empty if all traffic is bulk. Telephone calls are judged by their
/// opinion score alone, because it includes missed packets.
pub(super) fn qualities(grid: &Grid, rows: &[Row]) -> Vec<Measure> {
    let paths = grid.paths();
    let apps = names(&paths, "apps.");
    let rated: BTreeSet<&str> =
        apps.iter().filter(|app| paths.contains(format!("apps.{app}.mos").as_str())).map(String::as_str).collect();
    let measure = |(pattern, whose, before): (&str, &'static str, &'static str)| {
        let of_apps = apps.iter().filter(|app| !pattern.ends_with(".missed") || !rated.contains(app.as_str()));
        let own: Vec<String> = of_apps.map(|app| pattern.replacen('*', app, 1)).collect();
        let metric = Metric::at(own.first()?)?;
        let unit = (metric.unit.shown, metric.unit.factor);
        let rows: Vec<Samples> = rows.iter().map(|row| worst(row, &own, metric.better)).collect();
        let there = rows.iter().filter(|samples| !samples.is_empty()).count() > 1;
        there.then_some(Measure { whose, before, unit, better: metric.better, fine: metric.unit.fine, rows })
    };
    QUALITIES.into_iter().filter_map(measure).collect()
}

/// Delay of each row's longest queue.
pub(super) fn longest_queue(rows: &[Row], links: &[String]) -> Measure {
    let paths: Vec<String> = links.iter().map(|link| format!("links.{link}.queue_delay_ms.mean")).collect();
    let rows = rows.iter().map(|row| worst(row, &paths, Better::Low)).collect();
    Measure { whose: "queue", before: "", unit: ("ms", 1.0), better: Better::Low, fine: 0.1, rows }
}

/// Goodput of all classes together, in bits per second.
pub(super) fn goodput(rows: &[Row], classes: &[String]) -> Measure {
    let own = |row: &Row| row.sums(classes.iter().map(|class| format!("classes.{class}.goodput_bps")));
    let rows: Vec<Samples> = rows.iter().map(own).collect();
    let most = rows.iter().filter_map(mean).fold(0.0, f64::max);
    Measure { whose: "goodput", before: "", unit: rate_unit(most), better: Better::High, fine: 0.0, rows }
}

/// For each seed, the worst value of several metrics.
fn worst(row: &Row, paths: &[String], better: Better) -> Samples {
    let mut found = Samples::new();
    for (seed, value) in paths.iter().filter_map(|path| row.samples.get(path)).flatten() {
        let kept = found.entry(seed.clone()).or_insert(*value);
        *kept = if better == Better::High { kept.min(*value) } else { kept.max(*value) };
    }
    found
}

fn mean(samples: &Samples) -> Option<f64> {
    stat(samples).map(|stat| stat.mean)
}

fn stat(samples: &Samples) -> Option<Stat> {
    Stat::of(&samples.values().copied().collect::<Vec<_>>())
}

impl Measure {
    /// Mean of a row.
    pub(super) fn mean(&self, row: usize) -> Option<f64> {
        mean(&self.rows[row])
    }

    /// Rows with a value, best mean first.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<(usize, f64)> =
            (0..self.rows.len()).filter_map(|row| Some((row, self.mean(row)?))).collect();
        let sign = if self.better == Better::High { -1.0 } else { 1.0 };
        order.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
        order.into_iter().map(|(row, _)| row).collect()
    }

    /// Whether `row` is worse than `other` significantly and by a relevant amount. Single runs have no interval and are
    /// compared by their values.
    pub(super) fn is_worse(&self, row: usize, other: usize) -> bool {
        let Some(change) = difference(&self.rows[other], &self.rows[row]) else { return false };
        let sign = if self.better == Better::High { -1.0 } else { 1.0 };
        let certain = change.half_width.is_none() || change.is_certain();
        certain && sign * change.mean > self.fine
    }

    /// The rows among `of` that the best one does not beat: the runs cannot distinguish them from it.
    pub(super) fn leaders(&self, of: &[usize]) -> Vec<usize> {
        let ranked: Vec<usize> = self.ranked().into_iter().filter(|row| of.contains(row)).collect();
        let Some(best) = ranked.first() else { return Vec::new() };
        ranked.iter().copied().filter(|row| !self.is_worse(*row, *best)).collect()
    }

    /// Mean of a row with its unit: `MOS 4.38`, `stalled 2.6 %`, `median 310 ms`.
    pub(super) fn shown(&self, row: usize) -> String {
        let (unit, factor) = self.unit;
        let value = self.mean(row).map_or_else(|| "–".to_owned(), |mean| significant(mean * factor, 3));
        format!("{}{value} {unit}", self.before).trim_end().to_owned()
    }
}
