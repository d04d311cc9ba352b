//! Published values beside the measured ones.

use std::fmt::Write;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Width};

use super::screen::{Screen, drawn, head, mark, number};
use crate::report::verdict::{measured, tolerance};
use crate::results::Expectation;

/// One row for each published value; the measured one is in the same unit. Below the table, a note for each that
/// is not met.
#[must_use]
pub fn verdicts(expectations: &[Expectation], screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    if expectations.is_empty() {
        return "No published value is claimed.\n".to_owned();
    }
    let mut table = screen.table();
    let right = CellAlignment::Right;
    let heads = ["published", "measured", "tolerated"].map(|name| head(name, right));
    let first = ["", "id", "where"].map(|name| head(name, CellAlignment::Left));
    table.set_header(first.into_iter().chain(heads));
    for row in expectations {
        table.add_row([
            mark(row.pass),
            Cell::new(&row.id),
            Cell::new(&row.source),
            number(&row.published),
            number(measured(row)),
            number(tolerance(row)),
        ]);
    }
    let longest = expectations.iter().map(|row| row.id.chars().count()).max().unwrap_or(0).min(screen.width / 3);
    for (column, width) in [(0, 2), (1, longest + 1)] {
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(u16::try_from(width).unwrap_or(u16::MAX))));
        }
    }
    format!("{}\n✓ met   ✗ missed   – not measured\n{}", drawn(table), notes(expectations))
}

/// What is to be said about the values that are not met.
fn notes(expectations: &[Expectation]) -> String {
    let mut text = String::new();
    for row in expectations.iter().filter(|row| row.pass != Some(true) && !row.detail.is_empty()) {
        let mark = if row.pass.is_some() { "✗" } else { "–" };
        let _ = write!(text, "\n{mark} {}: {}", row.id, row.detail);
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}
