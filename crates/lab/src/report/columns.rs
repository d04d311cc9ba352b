//! Which numbers a table shows, under which name and in which unit.

use std::collections::BTreeSet;

use super::format::{decimals, rate_unit};
use super::grid::Grid;

/// What is preferred in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    High,
    /// Less is better.
    Low,
    /// It depends.
    Neither,
}

/// A word of the tables and what it means.
pub type Term = (&'static str, &'static str);

/// What a column shows, whatever it is of.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The unit it is shown in.
    pub unit: &'static str,
    /// What a number is multiplied by to be in that unit.
    pub factor: f64,
    /// What is preferred.
    pub better: Better,
    /// Columns of a low rank are shown first where space is short.
    pub rank: u8,
    /// Whether a column of nothing but zeros says something.
    pub zeros: bool,
    /// What the legend says of it.
    pub term: Term,
}

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Where its numbers are.
    pub path: String,
    /// Its name in a sentence.
    pub name: String,
    /// Its name in a narrow column, in lines.
    pub head: String,
    /// Digits after the point.
    pub decimals: usize,
    /// What it shows.
    pub kind: Kind,
}

const fn kind(unit: &'static str, factor: f64, better: Better, rank: u8, term: Term) -> Kind {
    Kind { unit, factor, better, rank, zeros: true, term }
}

/// A kind that is left out where it is zero everywhere.
const fn some(kind: Kind) -> Kind {
    Kind { zeros: false, ..kind }
}

const UTILIZATION: Kind = kind("%", 100.0, Better::High, 1, ("link used", "fraction of the link's capacity in use"));
const DELAY: Term = ("delay", "sojourn time in the queue; 1 % of the packets wait longer than p99");
const DELAY_MEAN: Kind = kind("ms", 1.0, Better::Low, 1, DELAY);
const DELAY_P99: Kind = kind("ms", 1.0, Better::Low, 2, DELAY);
const DROPS: Kind = kind("%", 100.0, Better::Low, 2, ("drops", "fraction of arriving packets that were dropped"));
const MARKS: Kind = some(kind("%", 100.0, Better::Neither, 2, ("marks", "fraction of packets that were ECN-marked")));
const RATE: Kind =
    kind("Mbit/s", 1e-6, Better::Neither, 3, ("rate", "throughput: bits that left the link, including headers"));
const GOODPUT: Kind = kind("Mbit/s", 1e-6, Better::High, 6, ("good", "goodput: data received, each byte counted once"));
const LOST: Kind = some(kind("pkt/s", 1.0, Better::Low, 4, ("lost", "packets lost per second and flow of the class")));
const LATENCY: Kind = kind("ms", 1.0, Better::Low, 4, ("latency", "mean time from sender to receiver"));
const FRAMES: Kind =
    kind("per s", 1.0, Better::High, 4, ("frames", "complete video frames per second and flow; playable: decodable"));
const RESPONSE: Term = ("p50, p99", "median and 99th percentile of the response time");
const RESPONSE_P50: Kind = kind("ms", 1.0, Better::Low, 4, RESPONSE);
const RESPONSE_P99: Kind = kind("ms", 1.0, Better::Low, 5, RESPONSE);
const ENDED: Kind = some(kind("", 1.0, Better::High, 7, ("ended", "exchanges that ended in the window")));
const RESENT: Kind =
    some(kind("%", 100.0, Better::Low, 7, ("resent", "fraction of TCP data segments that were retransmissions")));
const JAIN: Kind = kind(
    "Jain",
    1.0,
    Better::High,
    5,
    ("fairness", "of the flows' throughputs: 1 if all are equal, 1/n if one flow has all"),
);

/// The columns that apply to these results, in the order in which they are shown.
#[must_use]
pub fn columns(grid: &Grid) -> Vec<Column> {
    let mut build = Builder { grid, paths: grid.paths(), columns: Vec::new() };
    build.links();
    build.classes();
    build.apps();
    if grid.largest("flows.count") > 1.0 {
        build.add("flows.jain", "fairness", "fair-\nness", JAIN);
    }
    build.columns
}

struct Builder<'a> {
    grid: &'a Grid,
    paths: BTreeSet<&'a str>,
    columns: Vec<Column>,
}

impl Builder<'_> {
    /// Adds a column when some row has a number for it.
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
            let several = links.len() > 1;
            let mut add = |metric: &str, name: &str, head: &str, kind: Kind| {
                let name = if several { format!("{link}: {name}") } else { name.to_owned() };
                let head = if several { format!("{link}\n{head}") } else { head.to_owned() };
                let rank = if place == 0 { kind.rank } else { kind.rank + 6 };
                self.add(&format!("links.{link}.{metric}"), &name, &head, Kind { rank, ..kind });
            };
            add("utilization", "link used", "link\nused", UTILIZATION);
            add("queue_delay_ms.mean", "queue delay, mean", "delay\nmean", DELAY_MEAN);
            add("queue_delay_ms.p99", "queue delay, p99", "delay\np99", DELAY_P99);
            add("drop_rate", "drops", "drops", DROPS);
            add("mark_rate", "marks", "marks", MARKS);
        }
    }

    fn classes(&mut self) {
        let classes = names(&self.paths, "classes.");
        let largest = classes.iter().map(|class| self.grid.largest(&format!("classes.{class}.throughput_bps")));
        let (unit, factor) = rate_unit(largest.fold(0.0, f64::max));
        let rate = Kind { unit, factor, ..RATE };
        for class in &classes {
            let path = format!("classes.{class}.throughput_bps");
            self.add(&path, &format!("{class} throughput"), &format!("{class}\nrate"), rate);
        }
        for class in &classes {
            let mut add = |metric: &str, name: &str, head: &str, kind: Kind| {
                let path = format!("classes.{class}.{metric}");
                self.add(&path, &format!("{class} {name}"), &format!("{class}\n{head}"), kind);
            };
            add("goodput_bps", "goodput", "good", Kind { unit, factor, ..GOODPUT });
            let rank = LOST.rank + if matches!(class.as_str(), "tcp" | "other") { 2 } else { 0 };
            add("loss_rate_pps", "lost per flow", "lost", Kind { rank, ..LOST });
            add("latency_ms.mean", "latency, mean", "latency", Kind { rank, ..LATENCY });
        }
    }

    fn apps(&mut self) {
        for app in names(&self.paths, "apps.") {
            let times = names(&self.paths, &format!("apps.{app}.response_time_ms."));
            let mut add = |metric: &str, name: &str, head: &str, kind: Kind| {
                let path = format!("apps.{app}.{metric}");
                self.add(&path, &format!("{app} {name}"), &format!("{app}\n{head}"), kind);
            };
            add("frame_rate", "frames", "frames", FRAMES);
            add("playable_frame_rate", "playable frames", "playable", FRAMES);
            for time in times {
                for (tail, kind) in [("p50", RESPONSE_P50), ("p99", RESPONSE_P99)] {
                    let name = format!("{time} response time, {tail}");
                    add(&format!("response_time_ms.{time}.{tail}"), &name, &format!("{time}\n{tail}"), kind);
                }
            }
            add("completed", "ended", "ended", ENDED);
            add("retransmission_rate", "sent again", "resent", RESENT);
        }
    }
}

/// The names below `prefix`: the bottleneck and TCP first, `other` last, the rest by name.
#[must_use]
pub fn names(paths: &BTreeSet<&str>, prefix: &str) -> Vec<String> {
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
