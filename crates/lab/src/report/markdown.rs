//! Numbers for documents, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::format::significant;
use super::scoreboard::{Line, lines, met_of, open};
use super::verdict::{Tally, measured};
use crate::results::{Expectation, Results, Table};
use crate::standing::Standing;

/// What a document may ask for.
pub const KNOWN: &str = "numbers are: scoreboard SCALE, skill SCALE, study NAME SCALE, met NAME SCALE, rows PREFIX SCALE, \
     table EXPERIMENT TITLE SCALE; SCALE is quick or full, NAME a study or an experiment";

/// The number that a document asks for by name, of results at both scales.
///
/// # Errors
/// When there is none such.
pub fn number(name: &str, quick: &[Results], full: &[Results]) -> Result<String, String> {
    let (asked, scale) = name.rsplit_once(' ').unwrap_or((name, ""));
    let results = match scale {
        "quick" => quick,
        "full" => full,
        _ => return Err(format!("{name:?} does not end with quick or full")),
    };
    let (what, of) = asked.split_once(' ').unwrap_or((asked, ""));
    match what {
        "scoreboard" => Ok(scoreboard(results)),
        "skill" => Ok(skill(results)),
        "study" => named(of, results).map(|these| study(&these)),
        "met" => named(of, results).map(|these| met_of(counted(&these))),
        "rows" => rows(of, results),
        "table" => table(of, results),
        _ => Err(format!("{what:?} is no number of the verdicts")),
    }
}

/// The experiments of a name: one, or those of a study.
fn named<'a>(name: &str, results: &'a [Results]) -> Result<Vec<&'a Results>, String> {
    let study = format!("{name}/");
    let these: Vec<&Results> =
        results.iter().filter(|r| r.experiment == name || r.experiment.starts_with(&study)).collect();
    if these.is_empty() { Err(format!("no experiment or study is called {name:?}")) } else { Ok(these) }
}

/// The rows of the headline.
fn counted(results: &[&Results]) -> Tally {
    let rows = results.iter().flat_map(|r| &r.expectations);
    Tally::of(rows.filter(|row| Standing::of(row) == Standing::Discriminates))
}

fn scoreboard(results: &[Results]) -> String {
    let (sources, all) = lines(&results.iter().collect::<Vec<_>>());
    with_open(standings("source", sources.iter().chain([&all])), &all)
}

/// A table, and below it what was not measured.
fn with_open(table: String, all: &Line) -> String {
    open(all).map_or(table.clone(), |text| format!("{table}\n{text}\n"))
}

fn study(results: &[&Results]) -> String {
    let line = |one: &&Results| {
        let (_, all) = lines(&[one]);
        Line { source: format!("`{}`", one.experiment), ..all }
    };
    let claiming: Vec<Line> = results.iter().filter(|r| !r.expectations.is_empty()).map(line).collect();
    let (_, all) = lines(results);
    with_open(standings("experiment", claiming.iter().chain([&all])), &all)
}

fn standings<'a>(first: &str, lines: impl Iterator<Item = &'a Line> + Clone) -> String {
    let there = |standing: &Standing| lines.clone().any(|line| line.tallies.contains_key(standing));
    let shown: Vec<Standing> = Standing::ALL.into_iter().filter(there).collect();
    let heads: Vec<&str> = std::iter::once(first).chain(shown.iter().map(|s| s.words())).collect();
    let cells = |line: &Line| {
        let counts = shown.iter().map(|standing| met_of(line.tally(*standing)));
        std::iter::once(line.source.clone()).chain(counts).collect::<Vec<_>>()
    };
    grid(&heads, lines.map(cells))
}

fn skill(results: &[Results]) -> String {
    let (sources, all) = lines(&results.iter().collect::<Vec<_>>());
    let cells = |line: &Line| {
        let s = &line.skill;
        let rank = s.rank_correlation.map_or_else(|| "–".to_owned(), |r| format!("{r:.2}"));
        vec![
            line.source.clone(),
            s.tables.to_string(),
            s.cells.to_string(),
            s.met.to_string(),
            s.constant_meets.to_string(),
            rank,
        ]
    };
    let heads =
        ["source", "tables and figures", "cells", "met", "met by the best constant of each", "rank correlation"];
    let with = sources.iter().filter(|line| line.skill.tables > 0);
    grid(&heads, with.chain([&all]).map(cells))
}

/// The claims whose rows begin so, one line each.
fn rows(prefix: &str, results: &[Results]) -> Result<String, String> {
    let these = results.iter().flat_map(|r| &r.expectations).filter(|row| row.id.starts_with(prefix));
    let state = |row: &Expectation| match row.pass {
        Some(true) if Standing::of(row) == Standing::DoesNotDiscriminate => "met, does not discriminate",
        Some(true) => "met",
        Some(false) => "missed",
        None => "not measured",
    };
    let cells = |row: &Expectation| {
        vec![row.id.clone(), row.what.clone(), row.published.clone(), measured(row), state(row).to_owned()]
    };
    let lines: Vec<_> = these.map(cells).collect();
    if lines.is_empty() {
        return Err(format!("no claimed row begins with {prefix:?}"));
    }
    Ok(grid(&["row", "what", "printed", "here", ""], lines.into_iter()))
}

/// A published table, `printed / here` in each cell; a miss in bold type.
fn table(of: &str, results: &[Results]) -> Result<String, String> {
    let (experiment, title) = of.split_once(' ').ok_or_else(|| format!("table {of:?} names no title"))?;
    let one = named(experiment, results)?[0];
    let found = one.tables.iter().find(|t| t.title.starts_with(title));
    let table = found.ok_or_else(|| {
        let titles: Vec<&str> = one.tables.iter().map(|t| t.title.as_str()).collect();
        format!("no table of {experiment} begins with {title:?}; there are {}", titles.join("; "))
    })?;
    Ok(pivot(table, one))
}

fn pivot(table: &Table, results: &Results) -> String {
    let by_id: BTreeMap<&str, &Expectation> = results.expectations.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut columns: Vec<&str> = Vec::new();
    let mut lines: Vec<(&str, BTreeMap<&str, String>)> = Vec::new();
    for cell in &table.cells {
        if !columns.contains(&cell.column.as_str()) {
            columns.push(&cell.column);
        }
        if lines.last().is_none_or(|(row, _)| *row != cell.row) && !lines.iter().any(|(row, _)| *row == cell.row) {
            lines.push((&cell.row, BTreeMap::new()));
        }
        let line = lines.iter_mut().find(|(row, _)| *row == cell.row);
        if let (Some((_, line)), Some(row)) = (line, by_id.get(cell.id.as_str())) {
            line.insert(&cell.column, beside(row));
        }
    }
    let heads: Vec<&str> = std::iter::once(table.rows.as_str()).chain(columns.iter().copied()).collect();
    let cells = |(name, cells): &(&str, BTreeMap<&str, String>)| {
        let own = columns.iter().map(|column| cells.get(column).cloned().unwrap_or_default());
        std::iter::once((*name).to_owned()).chain(own).collect::<Vec<_>>()
    };
    grid(&heads, lines.iter().map(cells))
}

/// `printed / here`.
fn beside(row: &Expectation) -> String {
    let printed = row.published.strip_suffix(&row.unit).unwrap_or(&row.published).trim();
    let here = row.measured.map_or_else(|| "–".to_owned(), |x| significant(x, 3));
    let here = if row.pass == Some(false) { format!("**{here}**") } else { here };
    format!("{printed} / {here}")
}

fn grid(heads: &[&str], lines: impl Iterator<Item = Vec<String>>) -> String {
    let escaped = |cell: &str| cell.replace('|', "\\|");
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for line in lines {
        let _ = writeln!(text, "| {} |", line.iter().map(|c| escaped(c)).collect::<Vec<_>>().join(" | "));
    }
    text
}
