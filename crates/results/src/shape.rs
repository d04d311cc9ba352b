//! The structure of `results.json`.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::output::{AppStats, ClassStats, Engine, FlowStats, LinkStats, Output, Window};
use serde::{Deserialize, Serialize};

use crate::means::Means;
use crate::setting::Fact;
use crate::standing::{Basis, WithoutScheme};
use crate::statistics::Stat;

/// The results of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The experiment's id or file name.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// The publication that it reproduces.
    pub source: String,
    /// A description of the experiment, in Markdown.
    pub about: String,
    /// The version of aqmkit.
    pub version: String,
    /// A hash of everything that decides the results.
    pub hash: String,
    /// `full` as published, or `quick` for a shortened version.
    pub scale: String,
    /// Link, round trip, buffer, traffic, hosts, congestion control, ECN and times, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setting: Vec<Fact>,
    /// The axes of the sweep with their labels, in order.
    pub axes: Vec<Axis>,
    /// The limit of the queue of each label of `aqm`, as written for `tc`: `1000p`, `64kb`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, String>,
    /// Congestion control by class, for classes whose TCP flows all use one, if classes differ in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub controls: BTreeMap<String, String>,
    /// Caveats for the reader, as sentences: imprecise means, a warm-up that was too short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Means over the runs of each combination and window with several runs, with 95 % intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Means>,
    /// One entry for each run and window.
    pub runs: Vec<Entry>,
    /// One entry for each published value that the experiment claims.
    pub expectations: Vec<Expectation>,
    /// Further columns of the time series to plot.
    #[serde(default)]
    pub plot: Vec<String>,
    /// The expectations that are cells of published tables.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Predictions by equations, drawn into the time series.
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
    /// Number of planned runs, which exceeds that of finished ones if the experiment was interrupted.
    pub planned: usize,
}

/// A matrix of small plots: a cell for each pair of labels of two axes, a matrix for each combination of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// The axis down the side.
    pub rows: String,
    /// The axis along the top.
    pub columns: String,
    /// Bottleneck rate, up to which the axes of rates extend.
    pub rate_bps: f64,
    /// RTT without queueing: completion times are drawn against sizes, beside those of a single download.
    pub rtt_s: Option<f64>,
    /// Whether rates are per flow of each class, on an axis that extends to twice an equal share.
    pub per_flow: bool,
    /// A note for the reader.
    pub note: String,
}

/// One quantity of one combination, simulated and with real packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The combination, and the window if there are several.
    pub place: String,
    /// The quantity, with its unit.
    pub what: String,
    /// The place of the real packets: `live` for a live link of aqmkit, `kernel` for a classifier inside the kernel.
    #[serde(default = "live")]
    pub on: String,
    /// The simulated value, as mean over the repeats.
    pub simulated: f64,
    /// The value with real packets, as mean over the repeats in which the machine kept up.
    pub live: f64,
    /// The largest difference at which they agree.
    pub within: f64,
}

/// Results that were stored before there were others have live links alone.
fn live() -> String {
    "live".to_owned()
}

impl Agreement {
    /// Whether the difference is within the tolerance.
    #[must_use]
    pub fn holds(&self) -> bool {
        (self.simulated - self.live).abs() <= self.within
    }
}

/// A published table whose cells are claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Title of the table.
    pub title: String,
    /// The name of the quantity that distinguishes its rows; empty if it has one row.
    pub rows: String,
    /// The name of the quantity that distinguishes its columns.
    pub columns: String,
    /// Cells, in order of appearance.
    pub cells: Vec<TableCell>,
}

/// One cell of a published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// The name of its row.
    pub row: String,
    /// The name of its column.
    pub column: String,
    /// The id of its expectation.
    pub id: String,
}

impl Results {
    /// The expectations that are not cells of published tables.
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
    /// Label in the legend.
    pub label: String,
    /// The labels of the runs beside which it is drawn, by axis; axes that are not listed may have any label.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// Points (seconds, value in the unit of the column), joined by straight lines.
    pub points: Vec<(f64, f64)>,
}

/// A figure of the report: response times of chosen runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Title of the figure.
    pub title: String,
    /// Kind of plot.
    pub kind: FigureKind,
    /// The traffic whose responses it shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// The kind of exchanges.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// The contents of a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// The end of the time axis, in seconds; `None` for the longest response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto_s: Option<f64>,
    /// The labels of the runs that it shows, by axis; axes that are not listed may have any label.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// A note for the reader.
    #[serde(default)]
    pub note: String,
}

/// The contents of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// The share of the responses that take no longer, against time.
    #[default]
    Cdf,
    /// The share that take longer, both on logarithmic axes.
    Tail,
    /// The number of responses by size and time: a map for each run.
    Density,
    /// A metric along a numeric axis, with theoretical laws.
    Curve,
}

/// A metric along a numeric axis, with theoretical laws.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The path of the metric.
    pub metric: String,
    /// The axis along which it is plotted.
    pub along: String,
    /// Theoretical laws drawn beside it.
    pub laws: Vec<Law>,
}

/// The values of a formula for a quantity at the labels of an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// Label in the legend.
    pub label: String,
    /// The label of the axis, and the value of the metric in its own unit.
    pub points: Vec<(String, f64)>,
}

/// One axis of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Name of the axis: `aqm`, `mix`, `topology.rate`.
    pub name: String,
    /// The labels of its values.
    pub labels: Vec<String>,
}

/// One run in one window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The label of each axis; and `repeat`, `seed`, `window`.
    pub labels: BTreeMap<String, String>,
    /// By name of link.
    pub links: BTreeMap<String, LinkStats>,
    /// By name of class.
    pub classes: BTreeMap<String, ClassStats>,
    /// Statistics over all flows.
    pub flows: FlowStats,
    /// By name of traffic.
    pub apps: BTreeMap<String, AppStats>,
    /// The cost of the run.
    pub engine: Engine,
}

impl Entry {
    /// The entry of one window of a run.
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

/// Numbers the claims of each row from 1: an experiment may claim a row more than once.
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
    /// The number of cells in which it holds.
    pub held: usize,
    /// The number of cells.
    pub of: usize,
    /// The number of cells that the spread of the runs leaves undecided.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: usize,
}

impl Cells {
    /// The counts of these verdicts.
    pub fn count(verdicts: impl IntoIterator<Item = Verdict>) -> Cells {
        verdicts.into_iter().fold(Cells::default(), |cells, verdict| Cells {
            held: cells.held + usize::from(verdict == Verdict::Met),
            of: cells.of + 1,
            undecided: cells.undecided + usize::from(verdict == Verdict::Undecided),
        })
    }

    /// The verdict over all cells: missed if one is missed, and otherwise undecided if one is undecided.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match (self.of - self.held - self.undecided, self.undecided) {
            (0, 0) => Verdict::Met,
            (0, _) => Verdict::Undecided,
            _ => Verdict::Missed,
        }
    }
}

/// The verdict on a claim or on one of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measured value meets the published one.
    Met,
    /// It does not.
    Missed,
    /// The 95 % interval of the measured value has values that meet the published one and values that do not.
    Undecided,
}

/// A published value beside the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The row of `published.csv`.
    pub id: String,
    /// The place of the row in its source.
    pub source: String,
    /// The quantity, in words.
    pub what: String,
    /// `equation`, `value` or `order`.
    pub kind: String,
    /// The published value as text: a number with its unit, a range, or the ordering.
    pub published: String,
    /// The measured value in the same unit; `None` for an ordering, or when nothing was measured.
    pub measured: Option<f64>,
    /// The lowest value that meets it.
    pub low: Option<f64>,
    /// The highest value that meets it.
    pub high: Option<f64>,
    /// Unit of the values.
    pub unit: String,
    /// The standard deviation over the repeats.
    pub spread: Option<f64>,
    /// The number of repeats behind the measured value; 0 in results that were stored before it was recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: usize,
    /// Whether it is met; `None` if its runs have not finished, or if it is undecided.
    pub pass: Option<bool>,
    /// Whether its runs have finished and their spread leaves open whether it is met.
    #[serde(default, skip_serializing_if = "is_false")]
    pub undecided: bool,
    /// Basis of the value: measured, input or calculated.
    #[serde(default)]
    pub basis: Basis,
    /// The outcome of the null test.
    #[serde(default)]
    pub without_scheme: WithoutScheme,
    /// Whether that outcome is of quick runs while this row is of full ones.
    #[serde(default, skip_serializing_if = "is_false")]
    pub null_at_quick: bool,
    /// The cells in which it was judged, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// The single comparisons of an ordering, over all cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparisons: Option<Cells>,
    /// What it claims, in words for the summary of its study; empty if it is not named there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub headline: String,
    /// The origin of a bound that is not from the paper; empty if it is from the paper.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ours: String,
    /// The number as printed, if it is a single number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<f64>,
    /// The published number as a value of a metric, to be drawn beside the measured ones; `None` if the claim is not about a
    /// single metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<PublishedPoint>,
    /// The measured values of an ordering; and the experiment's note.
    pub detail: String,
}

impl Expectation {
    /// Half the width of the 95 % interval of the measured value; `None` for a single repeat, or an unknown number.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let stat = Stat { mean: self.measured?, sd: self.spread, count: self.repeats };
        stat.half_width().filter(|half| half.is_finite())
    }

    /// The verdict; `None` if its runs have not finished.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        match self.pass {
            Some(true) => Some(Verdict::Met),
            Some(false) => Some(Verdict::Missed),
            None => self.undecided.then_some(Verdict::Undecided),
        }
    }

    /// Sets the verdict.
    pub fn set_verdict(&mut self, verdict: Option<Verdict>) {
        self.pass = verdict.filter(|v| *v != Verdict::Undecided).map(|v| v == Verdict::Met);
        self.undecided = verdict == Some(Verdict::Undecided);
    }

    /// The cells that the scoreboard counts: a row of several cells counts as so many, any other as one; `None` if its
    /// runs have not finished.
    #[must_use]
    pub fn counted(&self) -> Option<Cells> {
        self.verdict().map(|verdict| self.cells.unwrap_or_else(|| Cells::count([verdict])))
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A published value of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedPoint {
    /// The path of the metric, such as `classes.tcp.goodput_bps`.
    pub metric: String,
    /// The labels of the runs for which it holds, by axis.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// The window for which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// The value in the unit of the metric, or the lowest of a range.
    pub low: f64,
    /// The value, or the highest of a range.
    pub high: f64,
}

/// One run: its labels (the axes, `repeat`, `seed`) and its measured values.
#[derive(Clone, Copy, Debug)]
pub struct RunData<'a> {
    /// The run's labels.
    pub labels: &'a BTreeMap<String, String>,
    /// The run's output.
    pub output: &'a Output,
}
