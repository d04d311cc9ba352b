//! The summary of a link, as text and as JSON.

use std::collections::BTreeMap;

use aqmkit_base::{BitRate, Instant};
use aqmkit_live::link::LinkSetup;
use aqmkit_live::measured::{Measured, Trouble, mean_rate};
use aqmkit_live::timing::Granted;
use aqmkit_measure::output::{ClassStats, LinkStats, Summary};
use aqmkit_measure::{Passed, by_reason};
use aqmkit_report::format::{fixed, thousands};
use aqmkit_report::terminal::{Screen, drawn, head, number};
use comfy_table::CellAlignment;
use serde::Serialize;

use super::output::Output;
use crate::cells::delays;
use crate::fail::Failure;
use crate::say;

/// The contents of the summary.
pub(super) struct LinkSummary<'a> {
    pub(super) title: String,
    pub(super) setup: &'a LinkSetup,
    pub(super) measured: &'a Measured,
    /// Packets that the kernel dropped at other places than before the devices of the two directions.
    pub(super) dropped_elsewhere: u64,
    pub(super) exit_code: u8,
    /// Whether to show classes: if `--class` is given.
    pub(super) classes: bool,
}

/// The summary as JSON. Metrics are named as in `results.json`.
#[derive(Serialize)]
struct Json<'a> {
    title: &'a str,
    exit_code: u8,
    /// False if the machine could not keep up; there are no measurements then.
    valid: bool,
    doubts: &'a [String],
    duration_s: f64,
    links: BTreeMap<&'a str, DirectionSummary>,
    classes: BTreeMap<&'a str, BTreeMap<&'a str, Class>>,
    lateness_ms: Option<Summary>,
    machine: Machine,
}

#[derive(Serialize)]
struct DirectionSummary {
    #[serde(flatten)]
    stats: LinkStats,
    marks: BTreeMap<String, u64>,
    /// The time-averaged rate, on which the utilisation is based.
    rate_bps: u64,
    /// Changes of the rate during the measurement.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rate_changes: Vec<RateChange>,
}

#[derive(Serialize)]
struct RateChange {
    at_s: f64,
    rate_bps: u64,
}

/// The metrics of a class that can be measured at the link. Goodput and losses per flow can be measured only at the
/// hosts.
#[derive(Serialize)]
struct Class {
    throughput_bps: f64,
    offered_bps: f64,
    drop_rate: f64,
    mark_rate: f64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    drops: BTreeMap<String, u64>,
    packet_bytes: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_delay_ms: Option<Summary>,
}

impl From<ClassStats> for Class {
    fn from(stats: ClassStats) -> Self {
        Class {
            throughput_bps: stats.throughput_bps,
            offered_bps: stats.offered_bps,
            drop_rate: stats.drop_rate,
            mark_rate: stats.mark_rate,
            drops: stats.drops,
            packet_bytes: stats.packet_bytes,
            queue_delay_ms: stats.queue_delay_ms,
        }
    }
}

#[derive(Serialize)]
struct Machine {
    granted: Granted,
    trouble: Trouble,
    dropped_before: u64,
    cpu_s: f64,
}

impl<'a> LinkSummary<'a> {
    pub(super) fn doubts(&self) -> Vec<String> {
        self.measured.doubts(self.dropped_elsewhere)
    }

    /// Running time of the command, in seconds.
    fn duration_s(&self) -> f64 {
        self.windows().next().map_or(0.0, |(_, window, _)| window.span().as_secs_f64())
    }

    /// For each direction its name, measurement window and rates.
    fn windows(&self) -> impl Iterator<Item = (&'a str, &'a Passed, &'a Rates)> {
        let first = |(name, windows): &'a (String, Vec<Passed>)| windows.first().map(|w| (name.as_str(), w));
        let found = self.measured.directions.iter().filter_map(first);
        found.zip(&self.measured.rates).map(|((name, window), rates)| (name, window, rates))
    }
}

/// The rates of a direction, each with the time from which it applied.
type Rates = Vec<(Instant, BitRate)>;

/// The time-averaged rate, on which the utilisation is based; `aqmkit ctl` may have changed the rate.
fn mean(window: &Passed, rates: &Rates) -> BitRate {
    mean_rate(rates, window.from, window.to)
}

/// Prints the summary, and writes it to the file given by `--out`.
pub(super) fn print(summary: &LinkSummary<'_>, as_json: bool, output: Option<Output>) -> Result<(), Failure> {
    let doubts = summary.doubts();
    let json = || serde_json::to_string_pretty(&json(summary, &doubts));
    if as_json {
        say::print(&json()?)?;
    } else {
        // Standard output belongs to the command; the summary must not mix with its output.
        say::message(&text(summary, &doubts));
    }
    // Printed first, in case the file cannot be written.
    output.map_or(Ok(()), |output| output.write(&(json()? + "\n")))
}

fn json<'a>(summary: &'a LinkSummary<'_>, doubts: &'a [String]) -> Json<'a> {
    let names = summary.setup.classes.names();
    let valid = doubts.is_empty();
    let windows: Vec<_> = if valid { summary.windows().collect() } else { Vec::new() };
    let change = |(at, rate): &(Instant, BitRate)| RateChange { at_s: at.as_secs_f64(), rate_bps: rate.as_bps() };
    let link = |window: &Passed, rates: &Rates| DirectionSummary {
        stats: window.stats(mean(window, rates).as_bps() as f64),
        marks: by_reason(&window.total.marked),
        rate_bps: mean(window, rates).as_bps(),
        rate_changes: rates.iter().skip(1).map(change).collect(),
    };
    let classes =
        |window: &Passed| names.iter().enumerate().map(|(i, n)| (n.as_str(), window.class_stats(i).into())).collect();
    Json {
        title: &summary.title,
        exit_code: summary.exit_code,
        valid,
        doubts,
        duration_s: summary.duration_s(),
        links: windows.iter().map(|(name, w, rates)| (*name, link(w, rates))).collect(),
        classes: windows.iter().map(|(name, w, _)| (*name, classes(w))).collect(),
        lateness_ms: summary.measured.late.summary(),
        machine: Machine {
            granted: summary.measured.granted,
            trouble: summary.measured.trouble,
            dropped_before: summary.measured.dropped_before(summary.dropped_elsewhere),
            cpu_s: summary.measured.cpu.as_secs_f64(),
        },
    }
}

fn text(summary: &LinkSummary<'_>, doubts: &[String]) -> String {
    let mut text = format!("\n{}, {:.1} s\n", summary.title, summary.duration_s());
    if doubts.is_empty() {
        text += &table(summary);
        for (name, window, rates) in summary.windows() {
            text += &changes(name, window, rates);
            text += &reasons(name, "dropped", &by_reason(&window.total.dropped));
            text += &reasons(name, "marked", &by_reason(&window.total.marked));
        }
        text += &lost(summary);
    } else {
        text += "The machine could not keep up, so there are no results:\n";
        text.extend(doubts.iter().map(|d| format!("  {d}\n")));
        text += "  aqmkit doctor reports what this machine can do.\n";
    }
    text + &lateness(summary)
}

fn table(summary: &LinkSummary<'_>) -> String {
    let mut lines = Screen::of_stdout().table();
    let heads =
        ["Mbit/s", "of rate", "offered\nMbit/s", "dropped", "marked", "delay mean\nms", "p50", "p90", "p99", "max"];
    let first = head("\ndirection".to_owned(), CellAlignment::Left);
    let low = |h: &str| if h.contains('\n') { h.to_owned() } else { format!("\n{h}") };
    lines.set_header(std::iter::once(first).chain(heads.iter().map(|h| head(low(h), CellAlignment::Right))));
    for (name, window, rates) in summary.windows() {
        let total = window.stats(mean(window, rates).as_bps() as f64);
        let share = format!("{:.1} %", total.utilization * 100.0);
        let measured = [total.throughput_bps, total.offered_bps, total.drop_rate, total.mark_rate];
        let whole = cells(measured, share, total.queue_delay_ms.as_ref());
        lines.add_row(std::iter::once(comfy_table::Cell::new(name)).chain(whole.into_iter().map(number)));
        if summary.classes {
            for (place, class) in summary.setup.classes.names().iter().enumerate() {
                // The share of the rate is shown for whole directions only.
                let part = window.class_stats(place);
                let numbers = [part.throughput_bps, part.offered_bps, part.drop_rate, part.mark_rate];
                let of_class = cells(numbers, String::new(), part.queue_delay_ms.as_ref());
                let title = comfy_table::Cell::new(format!("  {class}"));
                lines.add_row(std::iter::once(title).chain(of_class.into_iter().map(number)));
            }
        }
    }
    drawn(lines) + "\n"
}

/// A row of the table of directions; `share` is the throughput's share of the rate, as text.
fn cells([throughput, offered, drops, marks]: [f64; 4], share: String, delay: Option<&Summary>) -> Vec<String> {
    let mbps = |bps: f64| fixed(bps / 1e6, 2);
    let percent = |ratio: f64| format!("{:.3} %", ratio * 100.0);
    let passed = [mbps(throughput), share, mbps(offered), percent(drops), percent(marks)];
    passed.into_iter().chain(delays(delay)).collect()
}

/// Maximum number of rate changes to list; more are only counted.
const LISTED: usize = 4;

/// A note about rates other than that in the title.
fn changes(direction: &str, window: &Passed, rates: &Rates) -> String {
    let changes = rates.get(1..).unwrap_or_default();
    let became = |(at, rate): &(Instant, BitRate)| format!("{rate} after {:.1} s", at.as_secs_f64());
    let what = match changes.len() {
        0 => return String::new(),
        1..=LISTED => format!("became {}", changes.iter().map(became).collect::<Vec<_>>().join(", ")),
        many => format!("was changed {many} times"),
    };
    let mean = mean(window, rates).as_bps() as f64 / 1e6;
    format!("{direction}: the rate {what}; the share refers to the mean, {} Mbit/s\n", fixed(mean, 2))
}

/// How many packets each direction lost on the wire, as configured.
fn lost(summary: &LinkSummary<'_>) -> String {
    let names = summary.measured.directions.iter().map(|(name, _)| name);
    let each = names.zip(&summary.measured.lost).filter(|(_, lost)| **lost > 0);
    each.map(|(name, lost)| format!("{name} lost on the wire (--loss): {}\n", thousands(*lost))).collect()
}

fn reasons(direction: &str, what: &str, counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let list: Vec<String> = counts.iter().map(|(why, n)| format!("{} {why}", thousands(*n))).collect();
    format!("{direction} {what}: {}\n", list.join(", "))
}

fn lateness(summary: &LinkSummary<'_>) -> String {
    let measured = summary.measured;
    let us = |ms: f64| ms * 1e3;
    let Some(late) = measured.late.summary() else { return "no packet passed\n".to_owned() };
    let without = [
        (measured.granted.realtime, "SCHED_FIFO"),
        (measured.granted.locked, "mlockall"),
        (measured.granted.sharp, "timer slack"),
    ];
    let without: Vec<&str> = without.iter().filter(|(granted, _)| !granted).map(|(_, name)| *name).collect();
    let without = if without.is_empty() { String::new() } else { format!("; without {}", without.join(", ")) };
    let refused = if measured.trouble.refused > 0 {
        format!("; {} refused by the receiving interface", measured.trouble.refused)
    } else {
        String::new()
    };
    format!(
        "lateness {:.0} µs (median), {:.0} µs (p99), {:.0} µs (max); {:.0} % of a core{without}{refused}",
        us(late.p50),
        us(late.p99),
        us(late.max),
        measured.cpu.as_secs_f64() / measured.end.as_secs_f64().max(1e-9) * 100.0
    )
}
