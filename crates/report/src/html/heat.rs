//! Published tables as three heat maps: published, measured, difference.

use std::collections::BTreeMap;

use aqmkit_results::{Expectation, Table};
use serde::Serialize;

use crate::format::fixed;
use crate::verdict::{Tally, measured, published, tolerance};

/// The three maps of a table's claims.
#[derive(Debug, Serialize)]
pub(super) struct HeatTable {
    title: String,
    met: usize,
    judged: usize,
    claimed: usize,
    /// Names of the parameters that distinguish rows and columns.
    rows: String,
    columns: String,
    heads: Vec<String>,
    maps: Vec<Map>,
}

#[derive(Debug, Serialize)]
struct Map {
    name: String,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    cells: Vec<Option<Cell>>,
}

/// A number and its colour.
#[derive(Debug, Serialize)]
struct Cell {
    text: String,
    /// `high` or `low` compared with the published value; the other maps use `level`, a sequential scale.
    hue: &'static str,
    /// Intensity of the colour in percent.
    depth: u32,
    missed: bool,
    hint: String,
}

/// Relative difference at which the colour has full intensity.
const WHOLE: f64 = 0.5;

/// The maps of all tables that have a value.
pub(super) fn heat_tables(tables: &[Table], expectations: &[Expectation]) -> Vec<HeatTable> {
    let by_id: BTreeMap<&str, &Expectation> = expectations.iter().map(|row| (row.id.as_str(), row)).collect();
    tables.iter().map(|table| heat_table(table, &by_id)).collect()
}

fn heat_table(table: &Table, by_id: &BTreeMap<&str, &Expectation>) -> HeatTable {
    let found: Vec<&Expectation> = table.cells.iter().filter_map(|cell| by_id.get(cell.id.as_str()).copied()).collect();
    let numbers = found.iter().flat_map(|row| [published(row), row.measured]).flatten().filter(|x| x.is_finite());
    let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let scale = |x: f64| if high > low { (x - low) / (high - low) } else { 0.5 };
    let digits = found.iter().map(|row| decimals_of(&row.published)).max().unwrap_or(0);
    let plain = |value: Option<f64>| value.filter(|x| x.is_finite()).map(|x| sequential(fixed(x, digits), scale(x)));
    let unit = found.first().map_or("", |row| row.unit.as_str());
    let unit = if matches!(unit, "" | "ratio") { String::new() } else { format!(", {unit}") };
    let tally = Tally::of(found.iter().copied());
    let grid = Layout::of(table);
    HeatTable {
        title: table.title.clone(),
        met: tally.met,
        judged: tally.judged(),
        claimed: tally.claimed,
        rows: table.rows.clone(),
        columns: table.columns.clone(),
        maps: vec![
            Map { name: format!("Published{unit}"), lines: grid.lines(by_id, |row| plain(published(row))) },
            Map { name: format!("Here{unit}"), lines: grid.lines(by_id, |row| plain(row.measured)) },
            Map { name: "Difference, %".to_owned(), lines: grid.lines(by_id, difference) },
        ],
        heads: grid.columns,
    }
}

/// Names of rows and columns, in order of appearance; numbers are sorted.
struct Layout {
    rows: Vec<String>,
    columns: Vec<String>,
    ids: BTreeMap<(String, String), String>,
}

impl Layout {
    fn of(table: &Table) -> Self {
        let cells = || table.cells.iter();
        let ids = cells().map(|cell| ((cell.row.clone(), cell.column.clone()), cell.id.clone())).collect();
        Layout { rows: ordered(cells().map(|c| &c.row)), columns: ordered(cells().map(|c| &c.column)), ids }
    }

    fn lines(&self, by_id: &BTreeMap<&str, &Expectation>, cell: impl Fn(&Expectation) -> Option<Cell>) -> Vec<Line> {
        let found = |row: &String, column: &String| {
            let id = self.ids.get(&(row.clone(), column.clone()))?;
            by_id.get(id.as_str()).and_then(|expectation| cell(expectation))
        };
        let line = |row: &String| Line {
            name: row.clone(),
            cells: self.columns.iter().map(|column| found(row, column)).collect(),
        };
        self.rows.iter().map(line).collect()
    }
}

fn ordered<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        if !seen.contains(name) {
            seen.push(name.clone());
        }
    }
    let number = |name: &String| name.parse::<f64>().ok();
    if seen.iter().all(|name| number(name).is_some()) {
        seen.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(std::cmp::Ordering::Equal));
    }
    seen
}

/// The number of decimals of a printed number: 2 for `0.97 ratio`.
fn decimals_of(published: &str) -> usize {
    let number = published.split(' ').next().unwrap_or("");
    number.split_once('.').map_or(0, |(_, after)| after.len())
}

fn sequential(text: String, share: f64) -> Cell {
    let depth = (8.0 + 72.0 * share).round() as u32;
    Cell { text, hue: "level", depth, missed: false, hint: String::new() }
}

/// The difference of the measured from the published value.
fn difference(row: &Expectation) -> Option<Cell> {
    let (from, to) = (published(row)?, row.measured.filter(|x| x.is_finite())?);
    let share = if from == 0.0 { f64::from(u8::from(to != 0.0)) } else { to / from - 1.0 };
    let hint =
        format!("{}: published {}, measured {}, tolerance {}", row.id, row.published, measured(row), tolerance(row));
    Some(Cell {
        text: format!("{:+.0}", 100.0 * share),
        hue: if share >= 0.0 { "high" } else { "low" },
        depth: (80.0 * (share.abs() / WHOLE).min(1.0)).round() as u32,
        missed: row.pass == Some(false),
        hint,
    })
}
