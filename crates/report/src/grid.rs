//! Results as tables: one per combination and window, with the compared axis as rows.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_results::statistics::{Difference, paired, welch};
use aqmkit_results::{Axis, Entry, Results, Stat, flatten};

/// The results of an experiment, arranged for comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// The compared axis: `aqm`, unless the experiment compares something else.
    pub focus: Axis,
    /// Combinations of the other axes that have results, in order.
    pub groups: Vec<Group>,
    /// Windows, in order.
    pub windows: Vec<String>,
    /// Largest number of runs behind any mean.
    pub repeats: usize,
    /// Queue limit by row label, if rows are disciplines.
    pub queues: BTreeMap<String, String>,
}

/// A combination of the axes that are not compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// Axes with their labels.
    pub labels: Vec<(String, String)>,
    /// One table per window with results.
    pub tables: Vec<Table>,
}

/// A combination in one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Name of the window.
    pub window: String,
    /// One row per label of the compared axis with results.
    pub rows: Vec<Row>,
}

/// The results for one label of the compared axis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Label on the compared axis.
    pub label: String,
    /// Index on the axis, which determines the colour.
    pub place: usize,
    /// Mean over the repeats, by path of the metric.
    pub metrics: BTreeMap<String, Stat>,
    /// Values behind each mean: by path, then by seed.
    pub samples: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Grid {
    /// Number of tables.
    #[must_use]
    pub(crate) fn tables(&self) -> usize {
        self.groups.iter().map(|group| group.tables.len()).sum()
    }

    /// The representative table if only one is shown: the first combination in its last window, when all traffic is
    /// present.
    #[must_use]
    pub(crate) fn foremost(&self) -> Option<(&Group, &Table)> {
        self.groups.first().and_then(|group| Some((group, group.tables.last()?)))
    }
}

impl Row {
    /// Sum of the metrics at these paths in each run, by seed.
    #[must_use]
    pub(crate) fn sums(&self, paths: impl IntoIterator<Item = String>) -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for path in paths {
            for (seed, value) in self.samples.get(&path).into_iter().flatten() {
                *sums.entry(seed.clone()).or_default() += value;
            }
        }
        sums
    }

    /// How much larger the metric at `path` is here than in `other`: paired by seed if both rows have the same seeds,
    /// otherwise as two samples. `None` unless both have it.
    #[must_use]
    pub(crate) fn beyond(&self, other: &Row, path: &str) -> Option<Difference> {
        difference(other.samples.get(path)?, self.samples.get(path)?)
    }
}

/// The difference `b - a` of values by seed: paired if both have the same seeds, and therefore the same users and
/// sizes; otherwise as two samples (Welch's test). `None` if either is empty.
#[must_use]
pub(crate) fn difference(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Option<Difference> {
    let list = |values: &BTreeMap<String, f64>| values.values().copied().collect::<Vec<_>>();
    let (before, after) = (list(a), list(b));
    if a.keys().eq(b.keys()) { paired(&before, &after) } else { Some(welch(&Stat::of(&before)?, &Stat::of(&after)?)) }
}

impl Group {
    /// Names and values of the axes: `topology.delays 5ms`, `mix BULK+MPEG, topology.rate 10mbit`.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        self.labels.iter().map(|(axis, label)| format!("{axis} {label}")).collect::<Vec<_>>().join(", ")
    }

    /// The name in legends: `BULK+MPEG`, or with several axes `mix BULK+MPEG, topology.rate 10mbit`.
    #[must_use]
    pub(crate) fn name(&self) -> String {
        match &self.labels[..] {
            [] => String::new(),
            [(_, label)] => label.clone(),
            _ => self.title(),
        }
    }
}

impl Grid {
    /// Arranges `results` by discipline, or along the longest axis if there is only one discipline.
    #[must_use]
    pub(crate) fn of(results: &Results) -> Grid {
        Grid::along(results, focus(results))
    }

    /// A window's name for headings; empty if there is only one window.
    #[must_use]
    pub(crate) fn named(&self, window: &str) -> String {
        if self.windows.len() > 1 { window.to_owned() } else { String::new() }
    }

    /// Arranges `results` along the axis `focus`.
    #[must_use]
    pub(crate) fn along(results: &Results, focus: Axis) -> Grid {
        let others: Vec<&Axis> = results.axes.iter().filter(|axis| axis.name != focus.name).collect();
        let mut windows: Vec<String> = Vec::new();
        let mut cells: BTreeMap<Vec<usize>, Cells<'_>> = BTreeMap::new();
        for entry in &results.runs {
            let key = others.iter().map(|axis| place(axis, label(entry, &axis.name))).collect();
            let window = place_or_push(&mut windows, label(entry, "window"));
            let row = place(&focus, label(entry, &focus.name));
            cells.entry(key).or_default().entry((window, row)).or_default().push(entry);
        }
        let repeats = cells.values().flat_map(BTreeMap::values).map(Vec::len).max().unwrap_or(0);
        let groups = cells.iter().map(|(key, cells)| group(&others, &focus, &windows, key, cells)).collect();
        let queues = if focus.name == "aqm" { results.queues.clone() } else { BTreeMap::new() };
        Grid { focus, groups, windows, repeats, queues }
    }

    /// The noun for a row: `discipline`, or the name of the compared axis.
    #[must_use]
    pub(crate) fn row_name(&self) -> &str {
        if self.focus.name == "aqm" { "discipline" } else { &self.focus.name }
    }

    /// All metric paths with a value in some row.
    #[must_use]
    pub(crate) fn paths(&self) -> BTreeSet<&str> {
        self.rows().flat_map(|row| row.metrics.keys().map(String::as_str)).collect()
    }

    /// All rows of all tables.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.tables).flat_map(|table| &table.rows)
    }

    /// Largest absolute mean at `path`; 0 if there is none.
    #[must_use]
    pub(crate) fn largest(&self, path: &str) -> f64 {
        self.rows().filter_map(|row| row.metrics.get(path)).map(|stat| stat.mean.abs()).fold(0.0, f64::max)
    }
}

/// A combination's entries, by window and by index on the compared axis.
type Cells<'a> = BTreeMap<(usize, usize), Vec<&'a Entry>>;

/// The axis to compare: disciplines if there are several, otherwise the longest axis.
fn focus(results: &Results) -> Axis {
    let aqm = results.axes.iter().find(|axis| axis.name == "aqm" && axis.labels.len() > 1);
    let mut longest: Option<&Axis> = None;
    for axis in &results.axes {
        if longest.is_none_or(|best| axis.labels.len() > best.labels.len()) {
            longest = Some(axis);
        }
    }
    aqm.or(longest).cloned().unwrap_or_else(|| unswept(results))
}

/// The axis of an experiment without a sweep: its disciplines.
fn unswept(results: &Results) -> Axis {
    let name = "aqm".to_owned();
    let mut labels: Vec<String> = Vec::new();
    for entry in &results.runs {
        place_or_push(&mut labels, label(entry, &name));
    }
    Axis { name, labels }
}

fn label<'a>(entry: &'a Entry, axis: &str) -> &'a str {
    entry.labels.get(axis).map_or("", String::as_str)
}

fn place(axis: &Axis, label: &str) -> usize {
    axis.labels.iter().position(|other| other == label).unwrap_or(axis.labels.len())
}

fn place_or_push(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|other| other == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn group(others: &[&Axis], focus: &Axis, windows: &[String], key: &[usize], cells: &Cells<'_>) -> Group {
    let named =
        |(axis, place): (&&Axis, &usize)| (axis.name.clone(), axis.labels.get(*place).cloned().unwrap_or_default());
    let mut tables: Vec<Table> = Vec::new();
    for (&(window, place), entries) in cells {
        let window = windows.get(window).cloned().unwrap_or_default();
        if tables.last().is_none_or(|table| table.window != window) {
            tables.push(Table { window, rows: Vec::new() });
        }
        let label = focus.labels.get(place).cloned().unwrap_or_default();
        if let Some(table) = tables.last_mut() {
            table.rows.push(row(label, place, entries));
        }
    }
    Group { labels: others.iter().zip(key).map(named).collect(), tables }
}

/// Builds a row from the runs of a combination, which differ only in their seeds.
fn row(label: String, place: usize, entries: &[&Entry]) -> Row {
    let mut samples: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for entry in entries {
        for (path, number) in flatten(entry) {
            samples.entry(path).or_default().insert(self::label(entry, "seed").to_owned(), number);
        }
    }
    let stat = |values: &BTreeMap<String, f64>| Stat::of(&values.values().copied().collect::<Vec<_>>());
    let metrics = samples.iter().filter_map(|(path, values)| Some((path.clone(), stat(values)?))).collect();
    Row { label, place, metrics, samples }
}
