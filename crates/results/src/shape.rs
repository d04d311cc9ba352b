//! The structure of `results.json`.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::output::{AppStats, CircuitStats, ClassStats, Engine, FlowStats, LinkStats, Output, Window};
use serde::{Deserialize, Serialize};

use crate::means::Means;
use crate::setting::Fact;
use crate::standing::{Basis, WithoutScheme};
use crate::statistics::Stat;

/// The results of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Id or file name of the experiment.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// The publication that it reproduces.
    pub source: String,
    /// A description of the experiment, in Markdown.
    pub about: String,
    /// The version of aqmkit.
    pub version: String,
    /// Hash of everything that determines the results.
    pub hash: String,
    /// `full` as published, or `quick` for a shortened version.
    pub scale: String,
    /// Link, round trip, buffer, traffic, hosts, congestion control, ECN and times, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setting: Vec<Fact>,
    /// The axes of the sweep with their labels, in order.
    pub axes: Vec<Axis>,
    /// Queue limit for each label of `aqm`, as written for `tc`: `1000p`, `64kb`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queues: BTreeMap<String, String>,
    /// Congestion control by class, for classes whose TCP flows all use the same one; empty unless classes differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub controls: BTreeMap<String, String>,
    /// Caveats for the reader, as sentences: imprecise means, a warm-up that was too short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Means for each combination and window with several runs, with 95 % intervals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<Means>,
    /// One entry per run and window.
    pub runs: Vec<Entry>,
    /// One entry per published value that the experiment claims to reproduce.
    pub expectations: Vec<Expectation>,
    /// Additional columns of the time series to plot.
    #[serde(default)]
    pub plot: Vec<String>,
    /// Published tables whose cells are among the expectations.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// Predictions by equations, drawn into plots of time series.
    #[serde(default)]
    pub overlays: Vec<Overlay>,
    /// The matrix of small plots over two axes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overview: Option<Overview>,
    /// Figures of papers, reproduced in the report.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Metrics that were both simulated and measured with real packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<Agreement>,
    /// Number of planned runs, which exceeds that of finished ones if the experiment was interrupted.
    pub planned: usize,
}

/// A matrix of small plots: one cell per pair of labels of two axes, and one matrix per combination of the other axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Axis of the rows.
    pub rows: String,
    /// Axis of the columns.
    pub columns: String,
    /// Bottleneck rate, the upper end of the axes of rates.
    pub rate_bps: f64,
    /// RTT without queueing. If given, completion times are plotted against sizes, together with those of a single
    /// download.
    pub rtt_s: Option<f64>,
    /// Whether rates are per flow, on an axis up to twice an equal share.
    pub per_flow: bool,
    /// A note for the reader.
    pub note: String,
}

/// A metric of one combination, simulated and with real packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The combination, and the window if there are several.
    pub place: String,
    /// The quantity, with its unit.
    pub what: String,
    /// Where the real packets were: `live` for a live link of aqmkit, `kernel` for a classifier inside the kernel.
    #[serde(default = "live")]
    pub on: String,
    /// The simulated value, as mean over the repeats.
    pub simulated: f64,
    /// The value with real packets, as mean over the repeats in which the machine kept up.
    pub live: f64,
    /// Largest difference that counts as agreement.
    pub within: f64,
}

/// Results from before there were other kinds only have live links.
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

/// A published table whose cells are claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Title of the table.
    pub title: String,
    /// Name of the parameter that distinguishes rows; empty for a single row.
    pub rows: String,
    /// Name of the parameter that distinguishes columns.
    pub columns: String,
    /// Cells, in order of appearance.
    pub cells: Vec<TableCell>,
}

/// One cell of a published table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// Label of the row.
    pub row: String,
    /// Label of the column.
    pub column: String,
    /// Id of the cell's expectation.
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
    /// Column of the time series: `classes.tcp.throughput_bps`.
    pub quantity: String,
    /// Label in the legend.
    pub label: String,
    /// Labels of the runs with which it is drawn, by axis; axes that are not listed can have any label.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// Points (seconds, value in the unit of the column), joined by straight lines.
    pub points: Vec<(f64, f64)>,
}

/// A figure of a paper to reproduce.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Title of the figure.
    pub title: String,
    /// Kind of plot.
    pub kind: FigureKind,
    /// Traffic whose responses it shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// Kind of exchanges.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub response: String,
    /// The quantity that a curve plots; for [`FigureKind::Curve`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// The end of the time axis, in seconds; `None` for the longest response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto_s: Option<f64>,
    /// Labels of the runs to show, by axis; axes that are not listed can have any label.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// A note for the reader.
    #[serde(default)]
    pub note: String,
}

/// The kind of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// CDF of response times.
    #[default]
    Cdf,
    /// Complementary CDF of response times, on logarithmic axes.
    Tail,
    /// Heat map of response times against sizes, one map per run.
    Density,
    /// A metric along a numeric axis, with theoretical laws.
    Curve,
}

/// A metric along a numeric axis, with theoretical laws.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The path of the metric.
    pub metric: String,
    /// Axis along which it is plotted.
    pub along: String,
    /// Theoretical laws plotted with it.
    pub laws: Vec<Law>,
}

/// A theoretical law: values of a formula at the labels of an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// Label in the legend.
    pub label: String,
    /// Label on the axis, and value in the metric's unit.
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
    /// Label by axis, and `repeat`, `seed`, `window`.
    pub labels: BTreeMap<String, String>,
    /// By name of link.
    pub links: BTreeMap<String, LinkStats>,
    /// By name of class.
    pub classes: BTreeMap<String, ClassStats>,
    /// Statistics over all flows.
    pub flows: FlowStats,
    /// By name of traffic.
    pub apps: BTreeMap<String, AppStats>,
    /// The customers of operators' trees, by link.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<CircuitStats>,
    /// The cost of the run.
    pub engine: Engine,
}

impl Entry {
    /// The entry for one window of a run.
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
            circuits: window.circuits.clone(),
            engine,
        }
    }
}

/// Numbers the claims with the same id from 1: an experiment can make several claims about a row.
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
    /// Number of cells in which the claim holds.
    pub held: usize,
    /// Number of all cells.
    pub of: usize,
    /// Number of cells that the spread of the runs leaves undecided.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided: usize,
}

impl Cells {
    /// Counts these verdicts.
    pub fn count(verdicts: impl IntoIterator<Item = Verdict>) -> Cells {
        verdicts.into_iter().fold(Cells::default(), |cells, verdict| Cells {
            held: cells.held + usize::from(verdict == Verdict::Met),
            of: cells.of + 1,
            undecided: cells.undecided + usize::from(verdict == Verdict::Undecided),
        })
    }

    /// The verdict over all cells: missed if any is missed, otherwise undecided if any is undecided.
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
    /// The measured value does not meet the published one.
    Missed,
    /// The 95 % interval of the measured value contains values that meet the published one and values that do not.
    Undecided,
}

/// A published value with the measured one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Id of the row in `published.csv`.
    pub id: String,
    /// The publication, and the place within it.
    pub source: String,
    /// The quantity, in words.
    pub what: String,
    /// `equation`, `value` or `order`.
    pub kind: String,
    /// The published value as text: a number with its unit, a range, or the ordering.
    pub published: String,
    /// The measured value in the same unit; `None` for an ordering, or if it was not measured.
    pub measured: Option<f64>,
    /// Lowest accepted value.
    pub low: Option<f64>,
    /// Highest accepted value.
    pub high: Option<f64>,
    /// Unit of the values.
    pub unit: String,
    /// Standard deviation over the repeats.
    pub spread: Option<f64>,
    /// Number of repeats behind the measured value; 0 in results from before it was recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: usize,
    /// Whether it is met; `None` if its runs are not finished, or if it is undecided.
    pub pass: Option<bool>,
    /// Whether its runs are finished but their spread leaves open whether it is met.
    #[serde(default, skip_serializing_if = "is_false")]
    pub undecided: bool,
    /// Basis of the value: measured, input or calculated.
    #[serde(default)]
    pub basis: Basis,
    /// The outcome of the null test.
    #[serde(default)]
    pub without_scheme: WithoutScheme,
    /// Whether the null test was run at quick scale although this row is at full scale.
    #[serde(default, skip_serializing_if = "is_false")]
    pub null_at_quick: bool,
    /// Counts of cells, if it was judged in several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Counts of pairwise comparisons of an ordering, over all cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparisons: Option<Cells>,
    /// The claim in words, for the summary of its study; empty if the summary omits it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub headline: String,
    /// The origin of a bound that is not from the paper; empty if it is from the paper.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ours: String,
    /// The printed number; `None` for ranges, bounds and orderings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<f64>,
    /// The published number as a value of a metric, to be plotted with the measured ones; `None` if the claim is not
    /// about a single metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<PublishedPoint>,
    /// Measured values of an ordering, and the experiment's note.
    pub detail: String,
}

impl Expectation {
    /// Half the width of the 95 % interval of the measured value; `None` for a single repeat or an unknown number of
    /// repeats.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let stat = Stat { mean: self.measured?, sd: self.spread, count: self.repeats };
        stat.half_width().filter(|half| half.is_finite())
    }

    /// The verdict; `None` if its runs are not finished.
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

    /// Counts for the scoreboard: a row with several cells counts each of them, any other row counts as one; `None` if
    /// its runs are not finished.
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

/// A published value as a value of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedPoint {
    /// The path of the metric, such as `classes.tcp.goodput_bps`.
    pub metric: String,
    /// Labels of the runs that it applies to, by axis.
    #[serde(rename = "where", default)]
    pub selector: BTreeMap<String, Vec<String>>,
    /// Window that it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Value in the metric's unit, or lower end of a range.
    pub low: f64,
    /// Value in the metric's unit, or upper end of a range.
    pub high: f64,
}

/// A run: labels (axes, `repeat`, `seed`) and output.
#[derive(Clone, Copy, Debug)]
pub struct RunData<'a> {
    /// Labels by axis, `repeat` and `seed`.
    pub labels: &'a BTreeMap<String, String>,
    /// Measurements of the run.
    pub output: &'a Output,
}
