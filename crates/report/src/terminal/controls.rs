//! A table with a row for each congestion control, where several share a link.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment};

use super::screen::{Screen, drawn, head, number};
use crate::format::{decimals, known, rate_unit};
use crate::grid::{Grid, Table};

/// The columns: heading, path below the class, factor, and whether zeros everywhere leave it out. Rates have the unit of the largest.
const COLUMNS: [(&str, &str, f64, bool); 5] = [
    ("good", "goodput_bps", 0.0, false),
    ("delay\nmean\nms", "queue_delay_ms.mean", 1.0, false),
    ("delay\np99\nms", "queue_delay_ms.p99", 1.0, false),
    ("drops\n%", "drop_rate", 100.0, true),
    ("marks\n%", "mark_rate", 100.0, true),
];

/// The rows of a table by congestion control: what each gets, and how long its packets wait. `controls` are the classes whose
/// flows have one control each; empty text unless two controls differ.
pub(super) fn controls(grid: &Grid, table: &Table, controls: &BTreeMap<String, String>, screen: Screen) -> String {
    let mut different: Vec<&String> = controls.values().collect();
    different.sort_unstable();
    different.dedup();
    if different.len() < 2 {
        return String::new();
    }
    let largest = |field: &str| {
        let of_class = |class: &String| grid.largest(&format!("classes.{class}.{field}"));
        controls.keys().map(of_class).fold(0.0, f64::max)
    };
    let (unit, per_bit) = rate_unit(largest("goodput_bps"));
    let shown: Vec<(String, &str, f64, usize)> = COLUMNS
        .iter()
        .filter(|(_, field, _, unless_zero)| !unless_zero || largest(field) > 0.0)
        .map(|(heading, field, factor, _)| {
            let (heading, factor) =
                if *factor == 0.0 { (format!("{heading}\n{unit}"), per_bit) } else { ((*heading).to_owned(), *factor) };
            (heading, *field, factor, decimals(largest(field) * factor))
        })
        .collect();
    let mut lines = screen.table();
    let height = shown.iter().map(|(heading, ..)| heading.lines().count()).max().unwrap_or(1);
    let lowered = |text: &str| format!("{}{text}", " \n".repeat(height.saturating_sub(text.lines().count())));
    let names = [grid.row_name(), "control"].map(|name| head(lowered(name), CellAlignment::Left));
    lines.set_header(names.into_iter().chain(shown.iter().map(|(h, ..)| head(lowered(h), CellAlignment::Right))));
    for row in &table.rows {
        for (class, control) in controls {
            let cells = shown.iter().map(|(_, field, factor, decimals)| {
                number(known(row.metrics.get(&format!("classes.{class}.{field}")), *factor, *decimals))
            });
            let called = if class == control { class.clone() } else { format!("{control} ({class})") };
            lines.add_row([Cell::new(&row.label), Cell::new(called)].into_iter().chain(cells));
        }
    }
    drawn(lines)
}
