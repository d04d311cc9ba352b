//! A table with one row per congestion control, if several share a link.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment};

use super::screen::{Screen, drawn, head, number};
use crate::controls::by_control;
use crate::format::known;
use crate::grid::{Grid, Table};

/// A table's rows split by congestion control: goodput of each, and delay of its packets. `controls` are the classes
/// whose flows all have the same control; empty text unless two classes differ.
pub(super) fn controls(grid: &Grid, table: &Table, controls: &BTreeMap<String, String>, screen: Screen) -> String {
    let Some(found) = by_control(grid, table, controls) else { return String::new() };
    let headings: Vec<String> =
        found.columns.iter().map(|column| format!("{}\n{}", column.head, column.unit)).collect();
    let mut lines = screen.table();
    let height = headings.iter().map(|heading| heading.lines().count()).max().unwrap_or(1);
    let lowered = |text: &str| format!("{}{text}", " \n".repeat(height.saturating_sub(text.lines().count())));
    let names = [grid.row_name(), "control"].map(|name| head(lowered(name), CellAlignment::Left));
    lines.set_header(names.into_iter().chain(headings.iter().map(|h| head(lowered(h), CellAlignment::Right))));
    for (row, called, values) in &found.rows {
        let cells = found.columns.iter().zip(values);
        let cells = cells.map(|(column, stat)| number(known(stat.as_ref(), column.factor, column.decimals)));
        lines.add_row([Cell::new(&row.label), Cell::new(called)].into_iter().chain(cells));
    }
    drawn(lines)
}
