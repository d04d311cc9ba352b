//! The comparison tables.

use aqmkit_results::Stat;
use serde::Serialize;

use super::figure::Swatch;
use crate::columns::{Better, Column, LIMIT, Term};
use crate::format::fixed;
use crate::grid::{Grid, Group, Row, Table};

/// The tables of one combination.
#[derive(Debug, Serialize)]
pub(super) struct GlanceGroup {
    /// Its name; empty when there is only one.
    name: String,
    tables: Vec<GlanceTable>,
}

#[derive(Debug, Serialize)]
struct GlanceTable {
    window: String,
    /// Whether the rows show queue limits.
    queues: bool,
    heads: Vec<Head>,
    rows: Vec<GlanceRow>,
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
    /// Its queue limit; empty if it has no single one.
    queue: String,
    cells: Vec<Cell>,
}

#[derive(Debug, Default, Serialize)]
struct Cell {
    text: String,
    spread: String,
    /// Its value relative to the largest in its column, in percent.
    share: f64,
    /// `best`, `worst` or empty.
    cue: &'static str,
}

/// The tables of all combinations and windows. A table has the columns for which one of its rows has a value.
pub(super) fn groups(grid: &Grid, columns: &[Column], swatches: &[Swatch]) -> Vec<GlanceGroup> {
    let group = |group: &Group| GlanceGroup {
        name: group.title(),
        tables: group.tables.iter().map(|found| table(grid, found, columns, swatches)).collect(),
    };
    grid.groups.iter().map(group).collect()
}

/// The terms of the tables with their meanings.
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
    let shown: Vec<&Column> = columns.iter().filter(|column| some(table, column)).collect();
    let scales: Vec<Scale> = shown.iter().map(|column| Scale::of(table, column)).collect();
    let row = |row: &Row| GlanceRow {
        swatch: swatches.get(row.place).cloned(),
        label: row.label.clone(),
        queue: grid.queues.get(&row.label).cloned().unwrap_or_default(),
        cells: shown.iter().zip(&scales).map(|(column, scale)| cell(row, column, scale)).collect(),
    };
    let head =
        |column: &&Column| Head { name: column.name.clone(), unit: column.kind.unit, meaning: column.kind.term.1 };
    GlanceTable {
        window: grid.named(&table.window),
        queues: !grid.queues.is_empty(),
        heads: shown.iter().map(head).collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}

fn some(table: &Table, column: &Column) -> bool {
    let mut means = table.rows.iter().filter_map(|row| row.metrics.get(&column.path)).map(|stat| stat.mean);
    if column.kind.zeros { means.next().is_some() } else { means.any(|mean| mean > 0.0) }
}

/// The extremes of one column in one table. Values that are shown as the same number are equally good.
struct Scale {
    largest: f64,
    best: String,
    worst: String,
}

impl Scale {
    fn of(table: &Table, column: &Column) -> Self {
        let means = table.rows.iter().filter_map(|row| row.metrics.get(&column.path)).map(|stat| stat.mean);
        let (low, high) =
            means.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean), high.max(mean)));
        let telling = high - low > 0.02 * high.abs().max(low.abs());
        let (best, worst) = match column.kind.better {
            Better::High if telling => (high, low),
            Better::Low if telling => (low, high),
            _ => (f64::NAN, f64::NAN),
        };
        let [best, worst] = [best, worst].map(|mean| if mean.is_nan() { String::new() } else { shown(mean, column) });
        Scale { largest: high.max(0.0), best, worst }
    }

    fn cue(&self, text: &str) -> &'static str {
        if text == self.best {
            "best"
        } else if text == self.worst {
            "worst"
        } else {
            ""
        }
    }
}

/// A mean as shown in its column.
fn shown(mean: f64, column: &Column) -> String {
    fixed(mean * column.kind.factor, column.decimals)
}

fn cell(row: &Row, column: &Column, scale: &Scale) -> Cell {
    let Some(stat) = row.metrics.get(&column.path) else {
        return Cell { text: "–".to_owned(), ..Cell::default() };
    };
    let share = if scale.largest > 0.0 { (100.0 * stat.mean / scale.largest).clamp(0.0, 100.0).round() } else { 0.0 };
    let text = shown(stat.mean, column);
    let cue = scale.cue(&text);
    Cell { text, spread: spread(stat, column), share, cue }
}

/// Half the width of the 95 % interval of the mean.
fn spread(stat: &Stat, column: &Column) -> String {
    let half = stat.half_width();
    half.map_or_else(String::new, |half| format!("±{}", fixed(half * column.kind.factor, column.decimals)))
}
