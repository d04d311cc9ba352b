//! Which customers of an operator suffer: a sentence for the run in which most do, and a map of all by load and delay for each run.

use std::fmt::Write;

use aqmkit_measure::circuits::{LATE_MS, SHORT};
use aqmkit_measure::output::CircuitStats;
use aqmkit_results::{Entry, Results};

use crate::format::{significant, thousands};

/// The customers of one run, window and link.
pub(crate) struct Customers<'a> {
    /// Which run, window and link, in words.
    place: String,
    stats: &'a CircuitStats,
}

/// Those of all runs, in their order.
pub(crate) fn all(results: &Results) -> Vec<Customers<'_>> {
    let several_links = results.runs.iter().any(|entry| entry.circuits.len() > 1);
    let of = |entry: &Entry, stats: &CircuitStats| {
        let varies = results.axes.iter().filter(|axis| axis.labels.len() > 1);
        let label = |axis: &str| entry.labels.get(axis).map(|label| format!("{axis} {label}"));
        let mut parts: Vec<String> = varies.filter_map(|axis| label(&axis.name)).collect();
        for axis in ["repeat", "window"] {
            let first = results.runs.first().and_then(|other| other.labels.get(axis));
            if results.runs.iter().any(|other| other.labels.get(axis) != first) {
                parts.extend(label(axis));
            }
        }
        if several_links {
            parts.push(stats.link.clone());
        }
        parts.join(", ")
    };
    let each = results.runs.iter().flat_map(|entry| entry.circuits.iter().map(move |stats| (entry, stats)));
    each.map(|(entry, stats)| Customers { place: of(entry, stats), stats }).collect()
}

/// What is said of the run in which most suffer.
pub(crate) fn sentence(results: &Results) -> Option<String> {
    let all = all(results);
    let share = |one: &Customers<'_>| one.stats.suffering as f64 / one.stats.active.max(1) as f64;
    let worst = all.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let others = if all.len() > 1 { " The report has a map for each run." } else { "" };
    Some(format!("{}{others}", worst.sentence()))
}

impl Customers<'_> {
    /// How many suffer, from what, and where most of them are.
    fn sentence(&self) -> String {
        let CircuitStats { circuits, active, suffering, late, short, .. } = *self.stats;
        let number = |n: u64| thousands(n);
        let mut text = if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) };
        let percent = significant(100.0 * suffering as f64 / active.max(1) as f64, 2);
        let _ = write!(
            text,
            "{} of {} active circuits suffer ({percent} %; {} circuits in all): {} wait longer than {LATE_MS} ms with one packet in a hundred, {} get less than {} % of their plan while packets wait.",
            number(suffering),
            number(active),
            number(circuits),
            number(late),
            number(short),
            100.0 * SHORT,
        );
        if let Some(first) = self.stats.above.first().filter(|first| !first.name.is_empty() && suffering > 0) {
            let listed: u64 = self.stats.above.iter().map(|above| above.suffering).sum();
            let places = self.stats.above.len();
            let _ = write!(
                text,
                " {} of them are below {places} {}, most below {} ({} of {}).",
                number(listed),
                if places == 1 { "class" } else { "classes" },
                first.name,
                number(first.suffering),
                number(first.active),
            );
        }
        text
    }
}

/// A map in the report.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Map {
    place: String,
    sentence: String,
    svg: String,
    worst: Vec<Vec<String>>,
}

/// Maps for this many runs.
const MOST_MAPS: usize = 12;

/// The maps of the report.
pub(crate) fn maps(results: &Results) -> Vec<Map> {
    let map = |customers: Customers<'_>| Map {
        sentence: Customers { place: String::new(), stats: customers.stats }.sentence(),
        svg: svg(customers.stats),
        worst: worst(customers.stats),
        place: customers.place,
    };
    all(results).into_iter().take(MOST_MAPS).map(map).collect()
}

fn worst(stats: &CircuitStats) -> Vec<Vec<String>> {
    let row = |one: &aqmkit_measure::output::CircuitRecord| {
        vec![
            one.name.clone(),
            format!("{} Mbit/s", significant(one.plan_bps / 1e6, 3)),
            format!("{} %", significant(100.0 * one.load, 2)),
            one.plan_share.map_or_else(|| "–".to_owned(), |share| format!("{} %", significant(100.0 * share, 2))),
            format!("{} ms", significant(one.p50_ms, 2)),
            format!("{} ms", significant(one.p99_ms, 2)),
        ]
    };
    stats.worst.iter().map(row).collect()
}

/// The size of a cell, and the room for the axes.
const CELL: (i32, i32) = (34, 15);
const LEFT: i32 = 64;
const BELOW: i32 = 40;

/// The map: a square for each cell with circuits, darker for more of them, framed where some suffer.
fn svg(stats: &CircuitStats) -> String {
    let range = |of: fn(&aqmkit_measure::output::CircuitCell) -> i32| {
        let values = stats.cells.iter().map(of);
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let (loads, delays) = (range(|cell| cell.load), range(|cell| cell.delay));
    let width = LEFT + CELL.0 * (loads.1 - loads.0 + 1) + 10;
    let height = CELL.1 * (delays.1 - delays.0 + 1) + BELOW + 6;
    let x = |load: i32| LEFT + CELL.0 * (load - loads.0);
    let y = |delay: i32| 6 + CELL.1 * (delays.1 - delay);
    let most = stats.cells.iter().map(|cell| cell.circuits).max().unwrap_or(1) as f64;
    let mut svg = format!(
        r#"<svg class="circuits" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="Circuits by load and delay">"#
    );
    for cell in &stats.cells {
        // A single circuit is visible beside thousands.
        let depth = 0.15 + 0.85 * (cell.circuits as f64).ln() / most.max(2.0).ln();
        let class = if cell.suffering > 0 { "bad" } else { "well" };
        let _ = write!(
            svg,
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}" fill-opacity="{depth:.2}"><title>{} circuits ask for {} to {} % of their plan, 99th percentile {} to {} ms; {} suffer</title></rect>"#,
            x(cell.load),
            y(cell.delay),
            CELL.0 - 1,
            CELL.1 - 1,
            thousands(cell.circuits),
            significant(percent(cell.load), 2),
            significant(percent(cell.load + 1), 2),
            significant(ms(cell.delay), 2),
            significant(ms(cell.delay + 1), 2),
            thousands(cell.suffering),
        );
    }
    let late = (5.0 * LATE_MS.log10()).round() as i32;
    if (delays.0..=delays.1).contains(&late) {
        let at = y(late) + CELL.1;
        let _ = write!(svg, r#"<path class="limit" d="M{LEFT} {at}H{}"/>"#, width - 10);
    }
    for delay in (delays.0..=delays.1).filter(|delay| delay % 5 == 0) {
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="end">{} ms</text>"#,
            LEFT - 6,
            y(delay) + CELL.1,
            significant(ms(delay), 2)
        );
    }
    let bottom = y(delays.0) + CELL.1;
    for load in loads.0..=loads.1 {
        let _ = write!(
            svg,
            r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#,
            x(load),
            bottom + 14,
            significant(percent(load), 2)
        );
    }
    let _ = write!(svg, r#"<text x="{LEFT}" y="{}">asked for, % of the plan</text></svg>"#, bottom + 32);
    svg
}

fn percent(load: i32) -> f64 {
    100.0 * f64::from(load).exp2()
}

fn ms(delay: i32) -> f64 {
    10_f64.powf(f64::from(delay) / 5.0)
}

#[cfg(test)]
mod tests {
    use aqmkit_measure::output::{AboveCircuits, CircuitCell};

    use super::*;

    fn results() -> Results {
        let stats = |suffering| CircuitStats {
            link: "bottleneck".into(),
            circuits: 10_000,
            active: 9000,
            suffering,
            late: suffering,
            short: 1,
            cells: vec![
                CircuitCell { load: -3, delay: 0, circuits: 8000, suffering: 0 },
                CircuitCell { load: 0, delay: 12, circuits: 1000, suffering },
            ],
            above: vec![AboveCircuits { name: "point-7".into(), active: 40, suffering }],
            ..CircuitStats::default()
        };
        let entry = |hour: &str, suffering| Entry {
            labels: [("hour".to_owned(), hour.to_owned())].into(),
            circuits: vec![stats(suffering)],
            ..Entry::default()
        };
        let axes = vec![aqmkit_results::Axis { name: "hour".into(), labels: vec!["04".into(), "21".into()] }];
        Results { axes, runs: vec![entry("04", 0), entry("21", 90)], ..Results::default() }
    }

    #[test]
    fn the_worst_run_is_told_with_its_place() {
        let text = sentence(&results()).unwrap();
        assert!(
            text.starts_with("hour 21: 90 of 9\u{202f}000 active circuits suffer (1 %; 10\u{202f}000 circuits"),
            "{text}"
        );
        assert!(text.contains("90 of them are below 1 class, most below point-7 (90 of 40)."), "{text}");
        assert_eq!(sentence(&Results::default()), None);
    }

    #[test]
    fn a_map_has_a_square_for_each_cell() {
        let maps = maps(&results());
        assert_eq!(maps.len(), 2);
        assert_eq!(maps[1].svg.matches("<rect").count(), 2);
        assert_eq!(maps[1].svg.matches(r#"class="bad""#).count(), 1);
        assert!(maps[1].svg.contains(r#"class="limit""#), "{}", maps[1].svg);
        assert!(
            maps[0].place == "hour 04" && maps[0].sentence.starts_with("0 of 9\u{202f}000"),
            "{:?}",
            maps[0].sentence
        );
    }
}
