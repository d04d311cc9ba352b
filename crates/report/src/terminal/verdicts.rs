//! Published values compared with measured values.

use std::collections::BTreeMap;
use std::fmt::Write;

use aqmkit_results::{Expectation, Results, Standing, Verdict};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Width};
use textwrap::{Options, fill};

use super::screen::{Screen, drawn, head, mark, number};
use crate::verdict::{Tally, explained, measured, tolerance};

/// One row per published value, with the measured value in the same unit, and a note on each miss below the table. A
/// published table has a single row.
#[must_use]
pub fn verdicts(results: &Results, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    if results.expectations.is_empty() {
        return "No published value is claimed.\n".to_owned();
    }
    let expectations = results.alone();
    let mut text = if expectations.is_empty() { String::new() } else { rows(&expectations, screen) };
    if !results.tables.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{gap}{}", tables(results, screen));
    }
    text
}

/// One line for all published values: how many are met, and what shows each of them.
#[must_use]
pub fn tally(results: &Results, screen: impl Into<Screen>) -> String {
    let width = screen.into().width;
    format!("{}\n", fill(&format!("{}; --explain lists each, the report says why.", counts(results)), width))
}

/// How many published values are met: `238 of 265 published values met, 1 undecided`.
#[must_use]
pub fn counts(results: &Results) -> String {
    let all = Tally::of_rows(&results.expectations);
    let mut text = format!("{} of {} published values met", all.met, all.judged());
    if all.undecided > 0 {
        let _ = write!(text, ", {} undecided", all.undecided);
    }
    if all.unmeasured > 0 {
        let _ = write!(text, ", {} not measured", all.unmeasured);
    }
    let apart = results.expectations.iter().filter(|row| row.pass == Some(true));
    let alike = apart.filter(|row| Standing::of(row) == Standing::DoesNotDiscriminate).count();
    if alike > 0 {
        let _ = write!(text, " ({alike} of them also without the scheme under study)");
    }
    text
}

/// One line per published table: the number of met cells.
fn tables(results: &Results, screen: Screen) -> String {
    let by_id: BTreeMap<&str, &Expectation> = results.expectations.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut table = screen.table();
    let right = CellAlignment::Right;
    let numbers = ["cells", "met", "missed", "undecided", "not measured"].map(|name| head(name, right));
    table.set_header([head("table", CellAlignment::Left)].into_iter().chain(numbers));
    for one in &results.tables {
        let tally = Tally::of(one.cells.iter().filter_map(|cell| by_id.get(cell.id.as_str()).copied()));
        let counts = [tally.claimed, tally.met, tally.missed, tally.undecided, tally.unmeasured].map(number);
        table.add_row(std::iter::once(Cell::new(&one.title)).chain(counts));
    }
    format!("{}\nresults.json and the report have every cell.\n", drawn(table))
}

fn rows(expectations: &[&Expectation], screen: Screen) -> String {
    let mut table = screen.table();
    let right = CellAlignment::Right;
    let heads = ["published", "measured", "tolerated"].map(|name| head(name, right));
    let first = ["", "id", "where"].map(|name| head(name, CellAlignment::Left));
    table.set_header(first.into_iter().chain(heads));
    for row in expectations {
        table.add_row([
            mark(row.verdict()),
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
    format!("{}\n✓ met   ✗ missed   ? undecided   – not measured\n{}", drawn(table), notes(expectations, screen))
}

/// Notes on missed and undecided values, and on values that do not discriminate.
fn notes(expectations: &[&Expectation], screen: Screen) -> String {
    let mut text = String::new();
    for row in expectations {
        let (mark, note) = match row.verdict() {
            Some(Verdict::Met) if Standing::of(row) == Standing::DoesNotDiscriminate => ("✓", MET_WITHOUT.to_owned()),
            Some(Verdict::Met) => continue,
            Some(Verdict::Missed) => ("✗", explained(row)),
            Some(Verdict::Undecided) => ("?", explained(row)),
            None => ("–", explained(row)),
        };
        if !note.is_empty() {
            let note = format!("{mark} {}: {note}", row.id);
            let _ = write!(text, "\n{}", fill(&note, Options::new(screen.width).subsequent_indent("  ")));
        }
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}

/// The note on a row that does not discriminate.
const MET_WITHOUT: &str = "does not discriminate: it is also met without the scheme";
