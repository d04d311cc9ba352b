//! The table that compares disciplines.

use std::fmt::Write;

use aqmkit_results::Results;
use comfy_table::CellAlignment;

use super::controls::controls;
use super::screen::{Screen, drawn, head, number};
use crate::answer::answer;
use crate::columns::{Column, LIMIT, Term, columns};
use crate::format::known;
use crate::grid::{Grid, Group, Table};

/// Spaces around the text of a cell.
const PADDING: usize = 2;

/// One table per combination and window, with means over the repeats, and explanations of the terms. It has as many
/// columns as fit, the most important first.
#[must_use]
pub fn summary(results: &Results, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    let grid = Grid::of(results);
    if grid.groups.is_empty() {
        return "Nothing was measured.\n".to_owned();
    }
    let all = columns(&grid);
    let shown = fitting(&grid, &all, screen.width);
    let mut text = setting(results, &grid, screen);
    for group in &grid.groups {
        for table in &group.tables {
            text.push_str(&with_answer(results, &grid, (group, table), &shown, screen));
        }
    }
    text.push_str(&legend(&grid, &all, &shown, screen.width));
    text
}

/// One screen for an experiment with several tables: its question, one table, and the number of other tables. An
/// experiment with one table is printed as by [`summary`].
#[must_use]
pub fn first_screen(results: &Results, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    let grid = Grid::of(results);
    let tables = grid.tables();
    let Some(first) = grid.foremost().filter(|_| tables > 1) else { return summary(results, screen) };
    let all = columns(&grid);
    let shown = fitting(&grid, &all, screen.width);
    let mut text = format!("{}\n", screen.bold(&results.title));
    if let Some(question) = results.about.trim().split("\n\n").next().filter(|question| !question.is_empty()) {
        // The text is Markdown; a terminal shows it without emphasis.
        let line = question.replace(['*', '`'], "").split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{}", textwrap::fill(&line, screen.width));
    }
    let _ = write!(text, "\n{}", with_answer(results, &grid, first, &shown, screen));
    let more = if tables == 2 { "1 more table".to_owned() } else { format!("{} more tables", tables - 1) };
    let of = others(&grid);
    let _ = writeln!(
        text,
        "{}\n",
        textwrap::fill(&format!("{more} for {of}: --explain prints them, the report has them."), screen.width)
    );
    text.push_str(&legend(&grid, &all, &shown, screen.width));
    text
}

/// Says in which axes the other tables differ: `another mix or window`.
fn others(grid: &Grid) -> String {
    let axes = grid.groups.iter().flat_map(|group| &group.labels).map(|(axis, _)| axis.as_str());
    let mut named: Vec<&str> = Vec::new();
    for axis in axes.chain((grid.windows.len() > 1).then_some("window")) {
        if !named.contains(&axis) {
            named.push(axis);
        }
    }
    format!("another {}", named.join(" or "))
}

/// A table with its title, its rows by congestion control, and its answer.
fn with_answer(
    results: &Results,
    grid: &Grid,
    (group, table): (&Group, &Table),
    shown: &[&Column],
    screen: Screen,
) -> String {
    let mut text = String::new();
    let title = title(grid, group, table);
    if !title.is_empty() {
        let _ = writeln!(text, "{}", screen.bold(&title));
    }
    let _ = writeln!(text, "{}\n", draw(grid, table, shown, screen));
    let by_control = controls(grid, table, &results.controls, screen);
    if !by_control.is_empty() {
        let _ = writeln!(text, "{by_control}\n");
    }
    if let Some(answer) = answer(grid, table) {
        let _ = writeln!(text, "{}\n", textwrap::fill(&answer, screen.width));
    }
    text
}

/// The settings: link, traffic, hosts, times and seeds; empty for results without settings.
fn setting(results: &Results, grid: &Grid, screen: Screen) -> String {
    if results.setting.is_empty() {
        return String::new();
    }
    let seeds = if grid.repeats == 1 { "1 seed".to_owned() } else { format!("{} seeds", grid.repeats) };
    let facts = results.setting.iter().map(|fact| format!("{} {}", fact.name, fact.value)).chain([seeds]);
    let text = facts.collect::<Vec<_>>().join("; ");
    format!("{}\n\n", textwrap::fill(&text, screen.width))
}

fn title(grid: &Grid, group: &Group, table: &Table) -> String {
    let mut parts: Vec<String> = group.labels.iter().map(|(axis, label)| format!("{axis} {label}")).collect();
    if grid.windows.len() > 1 && !table.window.is_empty() {
        parts.push(format!("window {}", table.window));
    }
    parts.join(" · ")
}

fn draw(grid: &Grid, table: &Table, shown: &[&Column], screen: Screen) -> String {
    let mut lines = screen.table();
    let height = shown.iter().map(|column| heading(column).lines().count()).max().unwrap_or(1);
    let heads = shown.iter().map(|column| head(lowered(&heading(column), height), CellAlignment::Right));
    let first = head(lowered(grid.row_name(), height), CellAlignment::Left);
    let queue = (!grid.queues.is_empty()).then(|| head(lowered(LIMIT.0, height), CellAlignment::Right));
    lines.set_header(std::iter::once(first).chain(queue).chain(heads));
    for row in &table.rows {
        let cells = shown
            .iter()
            .map(|column| number(known(row.metrics.get(&column.path), column.kind.factor, column.decimals)));
        let limit = (!grid.queues.is_empty()).then(|| number(queue_limit(grid, &row.label)));
        lines.add_row(std::iter::once(comfy_table::Cell::new(&row.label)).chain(limit).chain(cells));
    }
    drawn(lines)
}

/// The queue limit of a row; a dash for a discipline without a single limit.
fn queue_limit<'a>(grid: &'a Grid, label: &str) -> &'a str {
    grid.queues.get(label).map_or("–", String::as_str)
}

/// Text with empty lines above, aligned to the bottom of a heading of this height.
fn lowered(text: &str, height: usize) -> String {
    format!("{}{text}", " \n".repeat(height.saturating_sub(text.lines().count())))
}

fn heading(column: &Column) -> String {
    format!("{}\n{}", column.head, column.kind.unit).trim_end().to_owned()
}

/// Columns with the lowest ranks that fit the remaining width, in display order.
pub(crate) fn fitting<'a>(grid: &Grid, all: &'a [Column], width: usize) -> Vec<&'a Column> {
    let labels = grid.rows().map(|row| row.label.chars().count()).max().unwrap_or(0);
    let mut left = width.saturating_sub(labels.max(grid.row_name().chars().count()) + PADDING + queue_width(grid));
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&place| all[place].kind.rank);
    let mut chosen: Vec<usize> = Vec::new();
    for place in order {
        let needed = needed(grid, &all[place]) + PADDING;
        if needed <= left {
            left -= needed;
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|place| &all[place]).collect()
}

/// Width of the column with queue limits.
fn queue_width(grid: &Grid) -> usize {
    let widest = grid.rows().map(|row| queue_limit(grid, &row.label).chars().count()).max().unwrap_or(0);
    if grid.queues.is_empty() { 0 } else { widest.max(LIMIT.0.len()) + PADDING }
}

fn needed(grid: &Grid, column: &Column) -> usize {
    let numbers = grid.rows().map(|row| known(row.metrics.get(&column.path), column.kind.factor, column.decimals));
    let widest = numbers.map(|text| text.chars().count()).max().unwrap_or(0);
    heading(column).lines().map(|line| line.chars().count()).max().unwrap_or(0).max(widest)
}

fn legend(grid: &Grid, all: &[Column], shown: &[&Column], width: usize) -> String {
    let mut terms: Vec<Term> = Vec::new();
    if !grid.queues.is_empty() {
        terms.push(LIMIT);
    }
    for column in shown {
        if !terms.contains(&column.kind.term) {
            terms.push(column.kind.term);
        }
    }
    let widest = terms.iter().map(|(word, _)| word.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let indent = " ".repeat(widest + 2);
    for (word, meaning) in terms {
        let first = format!("{word:widest$}  ");
        let options = textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&indent);
        let _ = writeln!(text, "{}", textwrap::fill(meaning, options));
    }
    if grid.repeats > 1 {
        let _ = writeln!(text, "Means over {} runs with different seeds, ± half their 95 % interval.", grid.repeats);
    }
    let hidden = all.len() - shown.len();
    if hidden > 0 {
        let columns =
            if hidden == 1 { "1 more column needs".to_owned() } else { format!("{hidden} more columns need") };
        let hint = format!("{columns} more than {width} characters; results.json has all of them.");
        let _ = writeln!(text, "{hint}");
    }
    text
}
