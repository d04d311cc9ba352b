//! How much of what was published is reproduced.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment};

use super::screen::{Screen, drawn, head, number};
use crate::report::verdict::Tally;
use crate::results::Results;

/// What the kinds of rows are called.
const KINDS: [(&str, &str); 3] = [("equation", "equations"), ("value", "values"), ("order", "orderings")];

/// One row for each source and kind of published value over these experiments, and a last one over all.
#[must_use]
pub fn scoreboard(experiments: &[&Results], screen: impl Into<Screen>) -> String {
    let mut tallies: BTreeMap<(&str, usize, &str), Tally> = BTreeMap::new();
    for results in experiments {
        for row in &results.expectations {
            let place = KINDS.iter().position(|(kind, _)| *kind == row.kind).unwrap_or(KINDS.len());
            tallies.entry((work(&results.source), place, &row.kind)).or_default().add(row);
        }
    }
    if tallies.is_empty() {
        return "No published value is claimed.\n".to_owned();
    }
    let mut table = screen.into().table();
    let columns = ["claimed", "met", "missed", "not measured", "met of measured"];
    let heads = columns.map(|name| head(name, CellAlignment::Right));
    table.set_header([head("source", CellAlignment::Left), head("kind", CellAlignment::Left)].into_iter().chain(heads));
    let mut before = "";
    for (&(source, place, kind), tally) in &tallies {
        let shown = if source == before { "" } else { source };
        before = source;
        table.add_row(line(shown, KINDS.get(place).map_or(kind, |(_, name)| name), tally));
    }
    let all = Tally::of(experiments.iter().flat_map(|results| &results.expectations));
    if tallies.len() > 1 {
        table.add_row(line("all", "", &all));
    }
    format!("{}\n", drawn(table))
}

/// The work of a source, without the place in it: what stands before and up to the year.
fn work(source: &str) -> &str {
    let year =
        |word: &str| word.len() == 4 && word.starts_with(['1', '2']) && word.bytes().all(|byte| byte.is_ascii_digit());
    let word = source.split(|sign: char| !sign.is_ascii_alphanumeric()).find(|word| year(word));
    let end = word.and_then(|word| source.find(word)).map(|start| start + 4);
    end.map_or(source, |end| &source[..end])
}

fn line(source: &str, kind: &str, tally: &Tally) -> Vec<Cell> {
    let percent = tally.percent().map_or_else(|| "–".to_owned(), |percent| format!("{percent:.0} %"));
    let counts = [tally.claimed, tally.met, tally.missed, tally.unmeasured].map(number);
    let mut cells = vec![Cell::new(source), Cell::new(kind)];
    cells.extend(counts);
    cells.push(number(percent));
    cells
}
