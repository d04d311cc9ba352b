//! The comparison tables.

use std::collections::BTreeMap;

use aqmkit_results::Stat;
use serde::Serialize;

use super::figure::Swatch;
use crate::columns::{Better, Column, LIMIT, Term};
use crate::controls::by_control;
use crate::format::{fixed, half, mean};
use crate::grid::{Grid, Group, Row, Table};

/// Tables of one combination.
#[derive(Debug, Serialize)]
pub(super) struct GlanceGroup {
    /// Name of the combination; empty if there is only one.
    name: String,
    tables: Vec<GlanceTable>,
}

impl GlanceGroup {
    /// Keeps only the last window's table.
    pub(super) fn last(mut self) -> GlanceGroup {
        self.tables.drain(..self.tables.len().saturating_sub(1));
        self
    }
}

#[derive(Debug, Serialize)]
struct GlanceTable {
    window: String,
    /// Whether rows show queue limits.
    queues: bool,
    heads: Vec<Head>,
    rows: Vec<GlanceRow>,
    /// The table by congestion control, if several share a link.
    controls: Option<ControlTable>,
}

/// One row per discipline and congestion control.
#[derive(Debug, Serialize)]
struct ControlTable {
    heads: Vec<(String, &'static str)>,
    rows: Vec<ControlRow>,
}

#[derive(Debug, Serialize)]
struct ControlRow {
    swatch: Option<Swatch>,
    label: String,
    control: String,
    /// Values, each with half the width of its interval.
    cells: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
struct Head {
    name: String,
    unit: &'static str,
    meaning: &'static str,
}

#[derive(Debug, Serialize)]
struct GlanceRow {
    swatch: Option<Swatch>,
    label: String,
    /// Queue limit; empty if there is no single one.
    queue: String,
    cells: Vec<Cell>,
}

#[derive(Debug, Default, Serialize)]
struct Cell {
    text: String,
    spread: String,
    /// Value relative to the largest in its column, in percent.
    share: f64,
    /// `best`, `worst` or empty.
    cue: &'static str,
}

/// The tables of all combinations and windows, with the columns that some row has a value for. `controls` are the
/// classes whose flows all have the same congestion control, for a second table.
pub(super) fn groups(
    grid: &Grid,
    columns: &[Column],
    swatches: &[Swatch],
    controls: &BTreeMap<String, String>,
) -> Vec<GlanceGroup> {
    let one = |found: &Table| GlanceTable {
        controls: control_table(grid, found, swatches, controls),
        ..table(grid, found, columns, swatches)
    };
    let group = |group: &Group| GlanceGroup { name: group.title(), tables: group.tables.iter().map(one).collect() };
    grid.groups.iter().map(group).collect()
}

fn control_table(
    grid: &Grid,
    table: &Table,
    swatches: &[Swatch],
    controls: &BTreeMap<String, String>,
) -> Option<ControlTable> {
    let found = by_control(grid, table, controls)?;
    let head = |column: &crate::controls::Column| (column.head.replace('\n', ", "), column.unit);
    let row = |(row, control, values): &(&Row, String, Vec<Option<Stat>>)| {
        let cell = |(column, stat): (&crate::controls::Column, &Option<Stat>)| {
            let shown = [mean, half].map(|text| text(stat.as_ref(), column.factor, column.decimals));
            shown.into()
        };
        ControlRow {
            swatch: swatches.get(row.place).cloned(),
            label: row.label.clone(),
            control: control.clone(),
            cells: found.columns.iter().zip(values).map(cell).collect(),
        }
    };
    Some(ControlTable { heads: found.columns.iter().map(head).collect(), rows: found.rows.iter().map(row).collect() })
}

/// Terms of the tables with explanations.
pub(super) fn terms(grid: &Grid, columns: &[Column]) -> Vec<Term> {
    let mut terms: Vec<Term> = if grid.queues.is_empty() { Vec::new() } else { vec![LIMIT] };
    for column in columns {
        if !terms.contains(&column.kind.term) {
            terms.push(column.kind.term);
        }
    }
    terms
}

fn table(grid: &Grid, table: &Table, columns: &[Column], swatches: &[Swatch]) -> GlanceTable {
    let shown: Vec<&Column> = columns.iter().filter(|column| has_values(table, column)).collect();
    let scales: Vec<Scale> = shown.iter().map(|column| Scale::of(table, column)).collect();
    let row = |(place, row): (usize, &Row)| GlanceRow {
        swatch: swatches.get(row.place).cloned(),
        label: row.label.clone(),
        queue: grid.queues.get(&row.label).cloned().unwrap_or_default(),
        cells: shown.iter().zip(&scales).map(|(column, scale)| cell(row, column, scale, place)).collect(),
    };
    let head =
        |column: &&Column| Head { name: column.name.clone(), unit: column.kind.unit, meaning: column.kind.term.1 };
    GlanceTable {
        window: grid.named(&table.window),
        queues: !grid.queues.is_empty(),
        heads: shown.iter().map(head).collect(),
        rows: table.rows.iter().enumerate().map(row).collect(),
        controls: None,
    }
}

fn has_values(table: &Table, column: &Column) -> bool {
    let mut means = table.rows.iter().filter_map(|row| row.metrics.get(&column.path)).map(|stat| stat.mean);
    if column.kind.zeros { means.next().is_some() } else { means.any(|mean| mean > 0.0) }
}

/// Smaller differences, relative to the larger mean, are not marked.
const SMALL: f64 = 0.02;

/// Extremes of one column in one table.
struct Scale {
    largest: f64,
    /// Indices of rows that are as good as the best, and as bad as the worst.
    best: Vec<usize>,
    worst: Vec<usize>,
}

impl Scale {
    /// A row is better than another only if the 95 % interval of their difference, paired by seed, excludes zero, and
    /// if the means differ by a relevant share and are displayed as different numbers. Single runs therefore have
    /// neither best nor worst.
    fn of(table: &Table, column: &Column) -> Self {
        let path = &column.path;
        let rows = || table.rows.iter().enumerate().filter_map(|(i, row)| Some((i, row, row.metrics.get(path)?.mean)));
        let largest = rows().map(|(_, _, mean)| mean).fold(0.0, f64::max);
        let sign = match column.kind.better {
            Better::High => 1.0,
            Better::Low => -1.0,
            Better::Neither => return Scale { largest, best: Vec::new(), worst: Vec::new() },
        };
        let farthest = |to: f64| rows().max_by(|a, b| (to * a.2).total_cmp(&(to * b.2)));
        let (Some(best), Some(worst)) = (farthest(sign), farthest(-sign)) else {
            return Scale { largest, best: Vec::new(), worst: Vec::new() };
        };
        let differ = |a: &Row, b: &Row| {
            let mean = |row: &Row| row.metrics.get(path).map_or(f64::NAN, |stat| stat.mean);
            let (a_mean, b_mean) = (mean(a), mean(b));
            let matters = (a_mean - b_mean).abs() > SMALL * a_mean.abs().max(b_mean.abs());
            let visible = shown(a_mean, column) != shown(b_mean, column);
            matters && visible && a.beyond(b, path).is_some_and(|difference| difference.is_certain())
        };
        let like =
            |end: &Row| -> Vec<usize> { rows().filter(|(_, row, _)| !differ(row, end)).map(|(i, ..)| i).collect() };
        if !differ(best.1, worst.1) {
            return Scale { largest, best: Vec::new(), worst: Vec::new() };
        }
        let (mut best, mut worst) = (like(best.1), like(worst.1));
        // A row that is indistinguishable from both ends gets no mark.
        let both: Vec<usize> = best.iter().copied().filter(|i| worst.contains(i)).collect();
        best.retain(|i| !both.contains(i));
        worst.retain(|i| !both.contains(i));
        Scale { largest, best, worst }
    }

    fn cue(&self, place: usize) -> &'static str {
        if self.best.contains(&place) {
            "best"
        } else if self.worst.contains(&place) {
            "worst"
        } else {
            ""
        }
    }
}

/// A mean as displayed in its column.
fn shown(mean: f64, column: &Column) -> String {
    fixed(mean * column.kind.factor, column.decimals)
}

fn cell(row: &Row, column: &Column, scale: &Scale, place: usize) -> Cell {
    let Some(stat) = row.metrics.get(&column.path) else {
        return Cell { text: "–".to_owned(), ..Cell::default() };
    };
    let share = if scale.largest > 0.0 { (100.0 * stat.mean / scale.largest).clamp(0.0, 100.0).round() } else { 0.0 };
    let text = shown(stat.mean, column);
    let cue = scale.cue(place);
    Cell { text, spread: half(Some(stat), column.kind.factor, column.decimals), share, cue }
}
