//! One row per congestion control, if several share a link.

use std::collections::BTreeMap;

use aqmkit_results::Stat;

use crate::format::{decimals, rate_unit};
use crate::grid::{Grid, Row, Table};

/// Columns: heading, path below the class, unit and factor to it, and whether to omit the column if all values are
/// zero. Rates get a unit that suits the largest.
const COLUMNS: [(&str, &str, &str, f64, bool); 5] = [
    ("good", "goodput_bps", "", 0.0, false),
    ("delay\nmean", "queue_delay_ms.mean", "ms", 1.0, false),
    ("delay\np99", "queue_delay_ms.p99", "ms", 1.0, false),
    ("drops", "drop_rate", "%", 100.0, true),
    ("marks", "mark_rate", "%", 100.0, true),
];

/// A metric of the flows with one congestion control.
pub(crate) struct Column {
    /// Heading, as lines.
    pub head: &'static str,
    pub unit: &'static str,
    /// Factor from the metric's unit to the displayed unit.
    pub factor: f64,
    pub decimals: usize,
    /// Path of the metric below the class.
    field: &'static str,
}

/// A table's rows split by congestion control.
pub(crate) struct ByControl<'a> {
    pub columns: Vec<Column>,
    /// Row of the table, control, and one value per column.
    pub rows: Vec<(&'a Row, String, Vec<Option<Stat>>)>,
}

/// Splits the rows of `table` by congestion control. `controls` has the classes whose flows all have the same control;
/// `None` unless two classes differ.
pub(crate) fn by_control<'a>(
    grid: &Grid,
    table: &'a Table,
    controls: &'a BTreeMap<String, String>,
) -> Option<ByControl<'a>> {
    let first = controls.values().next()?;
    if controls.values().all(|control| control == first) {
        return None;
    }
    let largest = |field: &str| {
        let of_class = |class: &String| grid.largest(&format!("classes.{class}.{field}"));
        controls.keys().map(of_class).fold(0.0, f64::max)
    };
    let (rate, per_bit) = rate_unit(largest("goodput_bps"));
    let column = |(head, field, unit, factor, _): &(&'static str, &'static str, &'static str, f64, bool)| {
        let (unit, factor) = if unit.is_empty() { (rate, per_bit) } else { (*unit, *factor) };
        Column { head, unit, factor, decimals: decimals(largest(field) * factor), field }
    };
    let shown = COLUMNS.iter().filter(|(_, field, _, _, unless_zero)| !unless_zero || largest(field) > 0.0);
    let columns: Vec<Column> = shown.map(column).collect();
    let values = |row: &Row, class: &str| -> Vec<Option<Stat>> {
        let value = |of: &Column| row.metrics.get(&format!("classes.{class}.{}", of.field)).copied();
        columns.iter().map(value).collect()
    };
    let rows = table.rows.iter().flat_map(|row| controls.iter().map(move |(class, control)| (row, class, control)));
    let rows = rows
        .map(|(row, class, control)| {
            let called = if class == control { class.clone() } else { format!("{control} ({class})") };
            (row, called, values(row, class))
        })
        .collect();
    Some(ByControl { columns, rows })
}
