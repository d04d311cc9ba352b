//! What an experiment produces: the shape of `results.json`.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::output::{AppStats, ClassStats, Engine, FlowStats, LinkStats, Output, Window};
use serde::{Deserialize, Serialize};

use crate::standing::{Basis, WithoutScheme};

/// The results of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The experiment's id or file name.
    pub experiment: String,
    /// Its title.
    pub title: String,
    /// What it reproduces.
    pub source: String,
    /// What the reader should know, in Markdown.
    pub about: String,
    /// The version of aqmkit.
    pub version: String,
    /// A hash of everything that decides the results.
    pub hash: String,
    /// Whether it was run as published (`full`) or shortened (`quick`).
    pub scale: String,
    /// The axes of the sweep with their labels, in order.
    pub axes: Vec<Axis>,
    /// What the queue of each label of `aqm` may hold, as `tc` would write it: `1000p`, `64kb`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, String>,
    /// One entry for each run and window.
    pub runs: Vec<Entry>,
    /// One entry for each published value that the experiment claims.
    pub expectations: Vec<Expectation>,
    /// Columns of the time series to plot beside the usual ones.
    #[serde(default)]
    pub plot: Vec<String>,
    /// Which of the expectations are the cells of published tables.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// What equations predict for the time series.
    #[serde(default)]
    pub overlays: Vec<Overlay>,
    /// The matrix of small plots over two axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
    /// The figures of the report.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Simulated and live values side by side, where both were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<Agreement>,
    /// How many runs were asked for; more than were done when the experiment was interrupted.
    pub planned: usize,
}

/// A matrix of small plots: a cell for each pair of labels of two axes, a matrix for each combination of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The axis down the side.
    pub rows: String,
    /// The axis along the top.
    pub columns: String,
    /// The bottleneck's rate, to which rates are drawn.
    pub rate_bps: f64,
    /// The round trip without queues: completion times are drawn against sizes, beside what a lone download would take.
    pub rtt_s: Option<f64>,
    /// Rates are those of one flow of each class, on a scale of twice an equal share.
    pub per_flow: bool,
    /// What the reader should know of it.
    pub note: String,
}

/// One quantity of one combination, simulated and with real packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The combination, and the window where there are several.
    pub place: String,
    /// The quantity, with its unit.
    pub what: String,
    /// Where the real packets were: `live` for a live link of aqmkit, `kernel` for a classifier inside the kernel.
    #[serde(default = "live")]
    pub on: String,
    /// Simulated, in the mean over the repeats.
    pub simulated: f64,
    /// With real packets, in the mean over the repeats that the machine could keep up with.
    pub live: f64,
    /// How far apart they may be.
    pub within: f64,
}

/// Results that were stored before there were others have live links alone.
fn live() -> String {
    "live".to_owned()
}

impl Agreement {
    /// Whether they are close enough.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.simulated - self.live).abs() <= self.within
    }
}

/// A published table whose cells are claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it is called.
    pub title: String,
    /// What its rows are named by; empty when it has but one.
    pub rows: String,
    /// What its columns are named by.
    pub columns: String,
    /// Its cells, in the order in which rows and columns appear.
    pub cells: Vec<TableCell>,
}

/// One cell of a published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// The name of its row.
    pub row: String,
    /// The name of its column.
    pub column: String,
    /// The expectation that it is.
    pub id: String,
}

impl Results {
    /// The expectations that are not cells of tables.
    #[must_use]
    pub fn alone(&self) -> Vec<&Expectation> {
        let cells = self.tables.iter().flat_map(|table| &table.cells);
        let cells: BTreeSet<&str> = cells.map(|cell| cell.id.as_str()).collect();
        self.expectations.iter().filter(|row| !cells.contains(row.id.as_str())).collect()
    }
}

/// A predicted line in the plots of a time series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    /// The quantity, as a column of the series: `classes.tcp.throughput_bps`.
    pub quantity: String,
    /// What the legend calls it.
    pub label: String,
    /// The labels of the runs that it is drawn beside, by axis: any of these; of an axis that is left out, all.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// Points (seconds, value in the unit of the column), joined by straight lines.
    pub points: Vec<(f64, f64)>,
}

/// A figure of the report: response times of chosen runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is called.
    pub title: String,
    /// What it shows.
    pub kind: FigureKind,
    /// The traffic whose responses it shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// The kind of exchanges.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// What a curve shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// Where the axis of time ends, in seconds; at the longest response where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto_s: Option<f64>,
    /// The labels of the runs that it shows, by axis: any of these; of an axis that is left out, all.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// What its reader should know.
    #[serde(default)]
    pub note: String,
}

/// What a figure shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The share of the responses that take no longer, against time.
    #[default]
    Cdf,
    /// The share that take longer, both on logarithmic axes.
    Tail,
    /// How many responses have which size and take how long: a map for each run.
    Density,
    /// A quantity along an axis of numbers, beside what laws say of it.
    Curve,
}

/// A quantity along an axis of numbers, beside what laws say of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The path of the quantity.
    pub metric: String,
    /// The axis.
    pub along: String,
    /// The laws.
    pub laws: Vec<Law>,
}

/// The values of a formula for a quantity at the labels of an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// What the legend calls it.
    pub label: String,
    /// The label of the axis, and the quantity in its own unit.
    pub points: Vec<(String, f64)>,
}

/// One axis of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name: `aqm`, `mix`, `topology.rate`.
    pub name: String,
    /// Its values' labels.
    pub labels: Vec<String>,
}

/// One run in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// What was swept, by axis; and `repeat`, `seed`, `window`.
    pub labels: BTreeMap<String, String>,
    /// By name of link.
    pub links: BTreeMap<String, LinkStats>,
    /// By name of class.
    pub classes: BTreeMap<String, ClassStats>,
    /// Over all flows.
    pub flows: FlowStats,
    /// By name of traffic.
    pub apps: BTreeMap<String, AppStats>,
    /// What the run cost.
    pub engine: Engine,
}

impl Entry {
    /// A window of a run with these labels.
    #[must_use]
    pub fn of(labels: &BTreeMap<String, String>, window: &Window, engine: Engine) -> Self {
        let mut labels = labels.clone();
        labels.insert("window".to_owned(), window.name.clone());
        Entry {
            labels,
            links: window.links.clone(),
            classes: window.classes.clone(),
            flows: window.flows.clone(),
            apps: window.apps.clone(),
            engine,
        }
    }
}

/// Which of an experiment's claims of its row each is, from 1: a row may be claimed more than once.
pub fn claim_numbers<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    ids.map(|id| {
        let claim = seen.entry(id).or_default();
        *claim += 1;
        *claim
    })
    .collect()
}

/// The cells (combinations of the sweep) that a claim was judged in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    /// Those in which it holds.
    pub held: usize,
    /// All.
    pub of: usize,
}

/// A published value beside the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The row of `published.csv`.
    pub id: String,
    /// Where it stands in its source.
    pub source: String,
    /// What it is about, in words.
    pub what: String,
    /// `equation`, `value` or `order`.
    pub kind: String,
    /// The published value as text: a number with its unit, a range, or the ordering.
    pub published: String,
    /// The measured value in the same unit; absent for an ordering, or when nothing was measured.
    pub measured: Option<f64>,
    /// The lowest value that meets it.
    pub low: Option<f64>,
    /// The highest value that meets it.
    pub high: Option<f64>,
    /// The unit.
    pub unit: String,
    /// Half the spread over the repeats (standard deviation).
    pub spread: Option<f64>,
    /// Whether it is met; absent when the runs it needs were not done.
    pub pass: Option<bool>,
    /// Where its value comes from.
    #[serde(default)]
    pub basis: Basis,
    /// What became of it without the scheme.
    #[serde(default)]
    pub without_scheme: WithoutScheme,
    /// In how many of the cells it holds that it was judged in, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Why its bound is not the paper's but ours; empty where it is the paper's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ours: String,
    /// The number as printed, where it is one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<f64>,
    /// What was found, for an ordering; and the experiment's note.
    pub detail: String,
}

/// One run: what was swept (the axes, `repeat`, `seed`) and what it measured.
#[derive(Clone, Copy, Debug)]
pub struct RunData<'a> {
    /// The labels.
    pub labels: &'a BTreeMap<String, String>,
    /// What was measured.
    pub output: &'a Output,
}
