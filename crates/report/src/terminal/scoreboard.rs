//! The scoreboard of reproduced values.

use aqmkit_results::{Results, Standing};
use comfy_table::{Cell, CellAlignment};
use textwrap::{Options, fill};

use super::screen::{Screen, drawn, head, number};
use crate::scoreboard::{Line, lines, met_of, open};

/// The meaning of the columns, shown below the table.
const LEGEND: &str = "\
measured                a discipline was run, and the row is missed where the scheme is taken away (or missed anyhow)
does not discriminate   met, but met without the scheme as well
no scheme               measured, of drop-tail or of hosts and traffic alone
input                   set or fitted so that it holds
calculation, by hand    a formula evaluated; by hand: worked for a case that the paper does not print";

/// One row for each source of these experiments, and the totals; then the skill of their tables.
#[must_use]
pub fn scoreboard(experiments: &[&Results], screen: impl Into<Screen>) -> String {
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
        let cells = there.iter().map(|standing| number(met_of(line.tally(*standing))));
        table.add_row(std::iter::once(Cell::new(&line.source)).chain(cells));
    }
    let open = open(&all).map_or_else(String::new, |text| format!("{text}\n"));
    format!("{}\n{}\n{open}{}", drawn(table), legend(screen), skill(&shown, screen))
}

/// The heading of a column, in two lines if it is long.
fn stacked(standing: Standing) -> String {
    standing.words().replacen(" discriminate", "\ndiscriminate", 1).replacen("not null", "not\nnull", 1)
}

/// The legend, wrapped to the width.
fn legend(screen: Screen) -> String {
    let options = Options::new(screen.width).subsequent_indent("                        ");
    LEGEND.lines().map(|line| fill(line, options.clone())).collect::<Vec<_>>().join("\n")
}

/// The number of cells that are met, and that the best constant of each table would meet.
fn skill(lines: &[&Line], screen: Screen) -> String {
    let with: Vec<&&Line> = lines.iter().filter(|line| line.skill.tables > 0).collect();
    if with.is_empty() {
        return String::new();
    }
    let mut table = screen.table();
    let heads = ["tables", "cells", "met", "met by the best constants", "rank correlation"];
    let heads = heads.map(|name| head(name, CellAlignment::Right));
    table.set_header(std::iter::once(head("source", CellAlignment::Left)).chain(heads));
    for line in with {
        let skill = &line.skill;
        let counts = [skill.tables, skill.cells, skill.met, skill.constant_meets].map(number);
        let rank = number(skill.rank_correlation.map_or_else(|| "–".to_owned(), |r| format!("{r:.2}")));
        table.add_row(std::iter::once(Cell::new(&line.source)).chain(counts).chain([rank]));
    }
    format!("\n{}\n", drawn(table))
}
