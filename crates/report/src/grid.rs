//! Results as tables: one for each combination and window, with the compared axis as rows.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_results::statistics::{Difference, paired, welch};
use aqmkit_results::{Axis, Entry, Results, Stat, flatten};

/// The results of an experiment, arranged for comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    /// The compared axis: `aqm`, unless the experiment compares something else.
    pub focus: Axis,
    /// The combinations of the other axes that have results, in their order.
    pub groups: Vec<Group>,
    /// The windows, in their order.
    pub windows: Vec<String>,
    /// The largest number of runs in the means of the rows.
    pub repeats: usize,
    /// The queue limit of each row, by its label, if rows are disciplines.
    pub queues: BTreeMap<String, String>,
}

/// One combination of the axes that are not compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    /// The axes and their labels.
    pub labels: Vec<(String, String)>,
    /// One table for each window that has results.
    pub tables: Vec<Table>,
}

/// One combination in one window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// The window.
    pub window: String,
    /// One row for each label of the compared axis that has results.
    pub rows: Vec<Row>,
}

/// One label of the compared axis: the mean over its repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Its label.
    pub label: String,
    /// Its index on the axis, which determines its colour.
    pub place: usize,
    /// Every number by its path.
    pub metrics: BTreeMap<String, Stat>,
    /// The values behind each number, by the seed of their run.
    pub samples: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Grid {
    /// The number of tables.
    #[must_use]
    pub(crate) fn tables(&self) -> usize {
        self.groups.iter().map(|group| group.tables.len()).sum()
    }

    /// The table that stands for all where only one is shown: the last window, in which everything is there, of the first combination.
    #[must_use]
    pub(crate) fn foremost(&self) -> Option<(&Group, &Table)> {
        self.groups.first().and_then(|group| Some((group, group.tables.last()?)))
    }
}

impl Row {
    /// The sum of the numbers at these paths in each run, by seed.
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

    /// By how much the number at `path` is larger here than in `other`: in pairs of equal seeds where both rows have the
    /// same ones, otherwise as two samples. `None` unless both have it.
    #[must_use]
    pub(crate) fn beyond(&self, other: &Row, path: &str) -> Option<Difference> {
        difference(other.samples.get(path)?, self.samples.get(path)?)
    }
}

/// The difference `b - a` of values by seed: in pairs where both have the same seeds, hence the same users and sizes;
/// otherwise of two samples (Welch's test). `None` if either is empty.
#[must_use]
pub(crate) fn difference(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Option<Difference> {
    let list = |values: &BTreeMap<String, f64>| values.values().copied().collect::<Vec<_>>();
    let (before, after) = (list(a), list(b));
    if a.keys().eq(b.keys()) { paired(&before, &after) } else { Some(welch(&Stat::of(&before)?, &Stat::of(&after)?)) }
}

impl Group {
    /// The combination with the names of its axes: `topology.delays 5ms`, `mix BULK+MPEG, topology.rate 10mbit`.
    #[must_use]
    pub(crate) fn title(&self) -> String {
        self.labels.iter().map(|(axis, label)| format!("{axis} {label}")).collect::<Vec<_>>().join(", ")
    }

    /// The combination as shown in legends: `BULK+MPEG`, or `mix BULK+MPEG, topology.rate 10mbit` if it has several
    /// axes.
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
    /// Arranges `results` to compare disciplines, or the longest axis if there are none to compare.
    #[must_use]
    pub(crate) fn of(results: &Results) -> Grid {
        Grid::along(results, focus(results))
    }

    /// The name of a window, for a heading; empty if there is only one.
    #[must_use]
    pub(crate) fn named(&self, window: &str) -> String {
        if self.windows.len() > 1 { window.to_owned() } else { String::new() }
    }

    /// Arranges `results` to compare along `focus`.
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

    /// The noun for a row: a discipline, or a value of the compared axis.
    #[must_use]
    pub(crate) fn row_name(&self) -> &str {
        if self.focus.name == "aqm" { "discipline" } else { &self.focus.name }
    }

    /// Every path that has a value in some row.
    #[must_use]
    pub(crate) fn paths(&self) -> BTreeSet<&str> {
        self.rows().flat_map(|row| row.metrics.keys().map(String::as_str)).collect()
    }

    /// All rows of all tables.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.tables).flat_map(|table| &table.rows)
    }

    /// The largest absolute mean at `path`; 0 if there is none.
    #[must_use]
    pub(crate) fn largest(&self, path: &str) -> f64 {
        self.rows().filter_map(|row| row.metrics.get(path)).map(|stat| stat.mean.abs()).fold(0.0, f64::max)
    }
}

/// The entries of one combination by window and index on the compared axis.
type Cells<'a> = BTreeMap<(usize, usize), Vec<&'a Entry>>;

/// The axis to compare: the disciplines if there are several, otherwise the longest axis.
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

/// The axis of an experiment without a sweep.
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

/// The numbers of these runs, which differ in their seeds.
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
