//! The scoreboard of reproduced values.

use aqmkit_results::{Overall, Results, Standing};
use comfy_table::{Cell, CellAlignment};
use textwrap::{Options, fill};

use super::screen::{Screen, drawn, head, number};
use crate::scoreboard::{Line, lines, met_of, notes};
use crate::studies::{Study, studies};

/// The meaning of the columns, shown below the table; the last part names the columns that a line is about.
const LEGEND: [(&str, &str, &[Standing]); 7] = [
    (
        "measured",
        "a discipline was run, and the row is missed where the scheme is taken away",
        &[Standing::Discriminates],
    ),
    ("does not discriminate", "met without the scheme as well", &[Standing::DoesNotDiscriminate]),
    ("no scheme", "measured, of drop-tail or of hosts and traffic alone", &[Standing::NoScheme]),
    ("input", "set or fitted so that it holds", &[Standing::Input]),
    ("setting", "how the paper set up its experiment", &[Standing::Setting]),
    ("undecided", "the 95 % interval over the runs reaches over the limit", &[]),
    (
        "calculation, by hand",
        "a formula evaluated; by hand: worked for a case that the paper does not print",
        &[Standing::Calculation, Standing::WorkedByHand],
    ),
];

/// One row for each source of these experiments, and the totals; then, with `skills`, the skill of their tables; and a line for each study.
#[must_use]
pub fn scoreboard(experiments: &[&Results], skills: bool, screen: impl Into<Screen>) -> String {
    let screen = screen.into();
    let (sources, all) = lines(experiments);
    if sources.is_empty() {
        return "No published value is claimed.\n".to_owned();
    }
    let several = sources.len() > 1;
    let shown: Vec<&Line> = sources.iter().chain(several.then_some(&all)).collect();
    let there: Vec<Standing> = Standing::ALL.into_iter().filter(|s| all.tallies.contains_key(s)).collect();
    let mut table = screen.table();
    let heads = there.iter().map(|standing| head(stacked(*standing), CellAlignment::Right));
    table.set_header(std::iter::once(head("source", CellAlignment::Left)).chain(heads));
    for line in &shown {
        let cells = there.iter().map(|standing| number(met_of(line.tally(*standing)).replacen(", ", "\n", 1)));
        table.add_row(std::iter::once(Cell::new(&line.source)).chain(cells));
    }
    let notes = notes(&all).map_or_else(String::new, |text| format!("{text}\n"));
    let undecided = all.tallies.values().any(|tally| tally.undecided > 0);
    let skill = if skills { skill(&shown, screen) } else { String::new() };
    let legend = legend(&there, undecided, screen);
    format!("{}\n{legend}\n{notes}{skill}{}", drawn(table), summary(experiments, screen))
}

/// A column's heading split into short lines, so that all columns fit a terminal of 100 characters.
fn stacked(standing: Standing) -> String {
    let breaks = [
        ("does not discriminate", "does not\ndiscrim-\ninate"),
        ("not null-tested", "not null-\ntested"),
        ("calculation", "calcu-\nlation"),
    ];
    breaks.into_iter().fold(standing.words().to_owned(), |words, (whole, broken)| words.replacen(whole, broken, 1))
}

/// The meaning of the columns that are there, wrapped to the width.
fn legend(there: &[Standing], undecided: bool, screen: Screen) -> String {
    let options = Options::new(screen.width).subsequent_indent("                        ");
    let shown = LEGEND.iter().filter(|(_, _, columns)| match columns {
        [] => undecided,
        columns => columns.iter().any(|column| there.contains(column)),
    });
    let lines = shown.map(|(name, meaning, _)| fill(&format!("{name:24}{meaning}"), options.clone()));
    let first = "Each number counts cells: rows, or the combinations that a row is judged in.".to_owned();
    std::iter::once(first).chain(lines).collect::<Vec<_>>().join("\n")
}

/// Numbers of met cells in tables that vary and in flat ones, and of cells that the best constant would meet.
fn skill(lines: &[&Line], screen: Screen) -> String {
    let varying = of_tables(lines, "tables that vary", |line| &line.skill, screen);
    format!("{varying}{}", of_tables(lines, "flat tables", |line| &line.flat, screen))
}

/// One row per source. Correlations of flat tables are meaningless.
fn of_tables(lines: &[&Line], title: &str, of: impl Fn(&Line) -> &Overall, screen: Screen) -> String {
    let with: Vec<&&Line> = lines.iter().filter(|line| of(line).tables > 0).collect();
    if with.is_empty() {
        return String::new();
    }
    let ranked = title != "flat tables";
    let mut table = screen.table();
    let correlations = ["rank correlation", "noise ceiling"].into_iter().filter(|_| ranked);
    let heads = [title, "cells", "met", "met by the best constants"].into_iter().chain(correlations);
    let heads = heads.map(|name| head(name, CellAlignment::Right));
    table.set_header(std::iter::once(head("source", CellAlignment::Left)).chain(heads));
    for line in with {
        let skill = of(line);
        let counts = [skill.tables, skill.cells, skill.met, skill.constant_meets].map(number);
        let two = |x: Option<f64>| number(x.map_or_else(|| "–".to_owned(), |x| format!("{x:.2}")));
        let correlation = [skill.rank_correlation, skill.ceiling].into_iter().filter(|_| ranked).map(two);
        table.add_row(std::iter::once(Cell::new(&line.source)).chain(counts).chain(correlation));
    }
    format!("\n{}\n", drawn(table))
}

/// One line per study.
fn summary(experiments: &[&Results], screen: Screen) -> String {
    let options = Options::new(screen.width).subsequent_indent("  ");
    let line = |study: Study| fill(&format!("{}: {}", study.name, study.outcome), options.clone());
    let lines: Vec<String> = studies(experiments).into_iter().map(line).collect();
    format!("\n{}\n", lines.join("\n"))
}
