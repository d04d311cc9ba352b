//! Numbers from results for documents, in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aqmkit_results::{Expectation, Overall, Results, Standing, Verdict};

use super::format::significant;
use super::scoreboard::{Line, lines, met_of, notes};
use super::studies::{Study, studies};
use super::verdict::{Tally, measured};

/// Error message with the names that documents can use.
pub const KNOWN: &str = "numbers are: summary SCALE, scoreboard SCALE, skill SCALE, study NAME SCALE, met NAME SCALE, rows PREFIX SCALE, \
     cells PREFIX SCALE; SCALE is quick or full, NAME a study or an experiment";

/// The text for this name, from results at both scales.
///
/// # Errors
/// When the name is unknown, or its results are missing.
pub fn number(name: &str, quick: &[Results], full: &[Results]) -> Result<String, String> {
    let (asked, scale) = name.rsplit_once(' ').unwrap_or((name, ""));
    let results = match scale {
        "quick" => quick,
        "full" => full,
        _ => return Err(format!("{name:?} does not end with quick or full")),
    };
    let (what, of) = asked.split_once(' ').unwrap_or((asked, ""));
    match what {
        "summary" => Ok(summary(results)),
        "scoreboard" => Ok(scoreboard(results)),
        "skill" => Ok(skill(results)),
        "study" => named(of, results).map(|these| study(&these)),
        "met" => named(of, results).map(|these| met_of(counted(&these))),
        "rows" => rows(of, results),
        "cells" => cells(of, results),
        _ => Err(format!("{what:?} is not a known number")),
    }
}

/// The experiments with this name: a single one, or all of a study.
fn named<'a>(name: &str, results: &'a [Results]) -> Result<Vec<&'a Results>, String> {
    let study = format!("{name}/");
    let these: Vec<&Results> =
        results.iter().filter(|r| r.experiment == name || r.experiment.starts_with(&study)).collect();
    if these.is_empty() { Err(format!("there is no experiment or study {name:?}")) } else { Ok(these) }
}

/// One line per study.
fn summary(results: &[Results]) -> String {
    let line = |study: Study| vec![format!("`{}`: {}", study.name, study.sources.join("; ")), study.outcome];
    grid(&["study", "what comes out"], studies(&results.iter().collect::<Vec<_>>()).into_iter().map(line))
}

/// Counts of cells for the headline.
fn counted(results: &[&Results]) -> Tally {
    let rows = results.iter().flat_map(|r| &r.expectations);
    Tally::of(rows.filter(|row| Standing::of(row) == Standing::Discriminates))
}

fn scoreboard(results: &[Results]) -> String {
    let (sources, all) = lines(&results.iter().collect::<Vec<_>>());
    with_notes(&standings("source", sources.iter().chain([&all])), &all)
}

/// A table with its notes below.
fn with_notes(table: &str, all: &Line) -> String {
    notes(all).map_or_else(|| table.to_owned(), |text| format!("{table}\n{text}\n"))
}

fn study(results: &[&Results]) -> String {
    let line = |one: &&Results| {
        let (_, all) = lines(&[one]);
        Line { source: format!("`{}`", one.experiment), ..all }
    };
    let claiming: Vec<Line> = results.iter().filter(|r| !r.expectations.is_empty()).map(line).collect();
    let (_, all) = lines(results);
    with_notes(&standings("experiment", claiming.iter().chain([&all])), &all)
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

/// Two tables of skill: for published tables and figures that vary, and for flat ones.
fn skill(results: &[Results]) -> String {
    let (sources, all) = lines(&results.iter().collect::<Vec<_>>());
    let sources: Vec<&Line> = sources.iter().chain([&all]).collect();
    let counts = |line: &Line, of: &Overall| {
        let counts = [of.tables, of.cells, of.met, of.constant_meets].map(|count| count.to_string());
        std::iter::once(line.source.clone()).chain(counts)
    };
    let number = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), |x| format!("{x:.2}"));
    let correlation = |of: &Overall| [number(of.rank_correlation), number(of.ceiling)];
    let varying = |line: &&Line| counts(line, &line.skill).chain(correlation(&line.skill)).collect();
    let flat = |line: &&Line| counts(line, &line.flat).collect();
    let best = ["cells", "met", "met by the best constant of each"];
    let of_varying =
        [&["source", "tables and figures that vary"], &best[..], &["rank correlation", "noise ceiling"]].concat();
    let of_flat = [&["source", "flat tables and figures"], &best[..]].concat();
    let varying = grid(&of_varying, sources.iter().filter(|line| line.skill.tables > 0).map(varying));
    format!("{varying}\n{}", grid(&of_flat, sources.iter().filter(|line| line.flat.tables > 0).map(flat)))
}

/// Claims whose row id begins with `prefix`, one line each.
fn rows(prefix: &str, results: &[Results]) -> Result<String, String> {
    let these = results.iter().flat_map(|r| &r.expectations).filter(|row| row.id.starts_with(prefix));
    let state = |row: &Expectation| {
        let verdict = match row.verdict() {
            Some(Verdict::Met) => "met",
            Some(Verdict::Missed) => "missed",
            Some(Verdict::Undecided) => "undecided",
            None => return "not measured".to_owned(),
        };
        let same = Standing::of(row) == Standing::DoesNotDiscriminate;
        format!("{verdict}{}", if same { ", does not discriminate" } else { "" })
    };
    let cells =
        |row: &Expectation| vec![row.id.clone(), row.what.clone(), row.published.clone(), measured(row), state(row)];
    let lines: Vec<_> = these.map(cells).collect();
    if lines.is_empty() {
        return Err(format!("no claimed row begins with {prefix:?}"));
    }
    Ok(grid(&["row", "what", "printed", "here", ""], lines.into_iter()))
}

/// Claims whose row id begins with `prefix` as a table: `printed / here` in each cell, misses in bold. The rest of the
/// id names the row and, after the last hyphen, the column.
fn cells(prefix: &str, results: &[Results]) -> Result<String, String> {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    let mut lines: Vec<(&str, BTreeMap<&str, String>)> = Vec::new();
    for row in results.iter().flat_map(|r| &r.expectations) {
        let Some((line, column)) = row.id.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('-')) else { continue };
        if !columns.iter().any(|(name, _)| *name == column) {
            columns.push((column, &row.unit));
        }
        if !lines.iter().any(|(name, _)| *name == line) {
            lines.push((line, BTreeMap::new()));
        }
        if let Some((_, own)) = lines.iter_mut().find(|(name, _)| *name == line) {
            own.insert(column, printed_and_measured(row));
        }
    }
    let Some((_, unit)) = columns.first() else { return Err(format!("no claimed row is named {prefix}LINE-COLUMN")) };
    let alike = columns.iter().all(|(_, other)| other == unit);
    let head = |(name, own): &(&str, &str)| if alike { (*name).to_owned() } else { format!("{name}, {own}") };
    let corner = if alike { (*unit).to_owned() } else { String::new() };
    let heads: Vec<String> = std::iter::once(corner).chain(columns.iter().map(head)).collect();
    let line = |(name, own): &(&str, BTreeMap<&str, String>)| {
        let cells = columns.iter().map(|(column, _)| own.get(column).cloned().unwrap_or_default());
        std::iter::once((*name).to_owned()).chain(cells).collect::<Vec<_>>()
    };
    Ok(grid(&heads.iter().map(String::as_str).collect::<Vec<_>>(), lines.iter().map(line)))
}

/// `printed / here`.
fn printed_and_measured(row: &Expectation) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> [Results; 1] {
        let row = |id: &str, unit: &str, printed: f64, measured: f64, pass: bool| Expectation {
            id: id.to_owned(),
            what: format!("the row {id}"),
            unit: unit.to_owned(),
            published: format!("{printed} {unit}"),
            measured: Some(measured),
            pass: Some(pass),
            ..Expectation::default()
        };
        let expectations = vec![
            row("T-HTTP+MPEG-FIFO", "ms", 60.0, 58.1, true),
            row("T-HTTP+MPEG-RED", "ms", 33.0, 21.0, false),
            row("T-BULK-RED", "ms", 30.0, 31.0, true),
            row("U-FIFO-drop", "%", 32.0, 30.0, true),
            row("U-FIFO-latency", "ms", 60.0, 55.0, true),
        ];
        [Results { experiment: "a/b".to_owned(), source: "Paper 2001".to_owned(), expectations, ..Results::default() }]
    }

    #[test]
    fn cells_stand_in_lines_and_columns_by_their_ids() {
        let text = number("cells T- quick", &results(), &[]).unwrap();
        let wanted =
            "| ms | FIFO | RED |\n|---|---|---|\n| HTTP+MPEG | 60 / 58.1 | 33 / **21** |\n| BULK |  | 30 / 31 |\n";
        assert_eq!(text, wanted);
        let mixed = number("cells U- quick", &results(), &[]).unwrap();
        assert!(mixed.starts_with("|  | drop, % | latency, ms |\n"), "{mixed}");
    }

    #[test]
    fn the_summary_has_a_line_for_each_study() {
        let text = number("summary full", &[], &results()).unwrap();
        let wanted = "| study | what comes out |\n|---|---|\n| `a`: Paper 2001 | not null-tested: 4 of 5 |\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn rows_are_listed_with_what_they_say() {
        let text = number("rows T-BULK quick", &results(), &[]).unwrap();
        assert!(text.contains("| T-BULK-RED | the row T-BULK-RED | 30 ms | 31 | met |"), "{text}");
    }

    #[test]
    fn what_there_is_not_is_told() {
        let error = |name: &str| number(name, &results(), &results()).unwrap_err();
        assert!(error("met a/b").contains("does not end with quick or full"));
        assert!(error("mett a/b quick").contains("\"mett\" is not a known number"));
        assert!(error("met b quick").contains("there is no experiment or study"));
        assert!(error("rows X full").contains("no claimed row begins with"));
        assert!(error("cells X- full").contains("X-LINE-COLUMN"));
    }
}
