//! What a comparison is judged by: quantities with one value for each seed of a row.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::metric::{Better, Metric};
use aqmkit_results::Stat;

use crate::columns::names;
use crate::format::{rate_unit, significant};
use crate::grid::{Grid, Row, difference};

/// Values by seed.
pub(super) type Samples = BTreeMap<String, f64>;

/// A quantity in which rows can be better or worse, with the values of each row.
pub(crate) struct Measure {
    /// Whose quality it is, as a sentence names it: `calls`, `web pages`; for a queue, `queue`.
    pub(super) whose: &'static str,
    /// What stands before a value: `MOS `.
    before: &'static str,
    /// The unit of a shown value, and the factor to it.
    unit: (&'static str, f64),
    better: Better,
    /// The smallest difference that matters.
    fine: f64,
    /// The values of each row; empty where it has none.
    pub(super) rows: Vec<Samples>,
}

/// The qualities that users of traffic with needs of its own notice: pattern of the metric, whose quality it is, and what stands
/// before a value. Of several directions or groups, the worst counts.
const QUALITIES: [(&str, &str, &str); 5] = [
    ("apps.*.mos", "telephone calls", "MOS "),
    ("apps.*.stalled", "video", "stalled "),
    ("apps.*.response_time_ms.page.p50", "web pages", "median "),
    ("apps.*.response_time_ms.request.p50", "web requests", "median "),
    ("apps.*.missed", "packets in time", "missed "),
];

/// The qualities of the traffic that has needs of its own; none where all traffic is bulk. Telephone calls are judged by their
/// opinion score alone, which has the missed packets in it.
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

/// The delay of the longest queue of each row.
pub(super) fn longest_queue(rows: &[Row], links: &[String]) -> Measure {
    let paths: Vec<String> = links.iter().map(|link| format!("links.{link}.queue_delay_ms.mean")).collect();
    let rows = rows.iter().map(|row| worst(row, &paths, Better::Low)).collect();
    Measure { whose: "queue", before: "", unit: ("ms", 1.0), better: Better::Low, fine: 0.1, rows }
}

/// The goodput of all classes of each row, in bits per second.
pub(super) fn goodput(rows: &[Row], classes: &[String]) -> Measure {
    let own = |row: &Row| row.sums(classes.iter().map(|class| format!("classes.{class}.goodput_bps")));
    let rows: Vec<Samples> = rows.iter().map(own).collect();
    let most = rows.iter().filter_map(mean).fold(0.0, f64::max);
    Measure { whose: "goodput", before: "", unit: rate_unit(most), better: Better::High, fine: 0.0, rows }
}

/// The worst value of several metrics for each seed.
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
    /// The mean of a row.
    pub(super) fn mean(&self, row: usize) -> Option<f64> {
        mean(&self.rows[row])
    }

    /// The rows that have a value, best mean first.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<(usize, f64)> =
            (0..self.rows.len()).filter_map(|row| Some((row, self.mean(row)?))).collect();
        let sign = if self.better == Better::High { -1.0 } else { 1.0 };
        order.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
        order.into_iter().map(|(row, _)| row).collect()
    }

    /// Whether `row` is worse than `other` by more than chance and by more than matters. Single runs, which know no chance,
    /// are compared by their values.
    pub(super) fn is_worse(&self, row: usize, other: usize) -> bool {
        let Some(change) = difference(&self.rows[other], &self.rows[row]) else { return false };
        let sign = if self.better == Better::High { -1.0 } else { 1.0 };
        let certain = change.half_width.is_none() || change.is_certain();
        certain && sign * change.mean > self.fine
    }

    /// The rows among `of` of which none is worse than the best one: what the runs cannot tell apart.
    pub(super) fn leaders(&self, of: &[usize]) -> Vec<usize> {
        let ranked: Vec<usize> = self.ranked().into_iter().filter(|row| of.contains(row)).collect();
        let Some(best) = ranked.first() else { return Vec::new() };
        ranked.iter().copied().filter(|row| !self.is_worse(*row, *best)).collect()
    }

    /// The mean of a row with its unit: `MOS 4.38`, `stalled 2.6 %`, `median 310 ms`.
    pub(super) fn shown(&self, row: usize) -> String {
        let (unit, factor) = self.unit;
        let value = self.mean(row).map_or_else(|| "–".to_owned(), |mean| significant(mean * factor, 3));
        format!("{}{value} {unit}", self.before).trim_end().to_owned()
    }
}
