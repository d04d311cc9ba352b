//! Published values compared with measured values.

use aqmkit_results::{Expectation, Results, Skill, Standing, Verdict, skills};
use serde::Serialize;

use super::figure::{Figure, ratios};
use super::heat::{HeatTable, heat_tables};
use crate::format::significant;
use crate::scoreboard::met_of;
use crate::verdict::{Tally, explained, measured, tolerance};

/// More rows than this are folded.
const MOST_ROWS: usize = 12;

/// Variables of the section on published values.
#[derive(Debug, Serialize)]
pub(super) struct Claims {
    /// Counts for the headline: measured cells that test the scheme.
    headline: Tally,
    /// Whether the null test was run for all cells of the headline.
    tried: bool,
    /// Counts of rows that the headline excludes.
    others: Vec<Other>,
    /// Skill of published tables, compared with constants.
    skills: Vec<Skilled>,
    /// Rows that are not cells of a table.
    rows: Vec<Claim>,
    /// Counts of these rows, each counted once.
    rows_tally: Tally,
    /// Whether the rows are folded, because there are many.
    folded: bool,
    tables: Vec<HeatTable>,
    figure: Option<Figure>,
    /// Number of measured values that the figure of ratios cannot show.
    left_out: usize,
}

/// Counts of the rows with one standing.
#[derive(Debug, Serialize)]
struct Other {
    what: &'static str,
    count: String,
}

/// Skill of one published table.
#[derive(Debug, Serialize)]
struct Skilled {
    source: String,
    unit: String,
    cells: usize,
    met: usize,
    constant_meets: usize,
    constant: String,
    flat: bool,
    rank_correlation: String,
    ceiling: String,
}

#[derive(Debug, Serialize)]
struct Claim {
    id: String,
    source: String,
    what: String,
    published: String,
    measured: String,
    unit: String,
    tolerance: String,
    /// CSS class: `met`, `missed`, `undecided` or `open`.
    state: &'static str,
    detail: String,
}

/// Builds the section; `None` if there are no claims.
pub(super) fn claims(results: &Results) -> Option<Claims> {
    if results.expectations.is_empty() {
        return None;
    }
    let counts =
        |standing: Standing| Tally::of(results.expectations.iter().filter(|row| Standing::of(row) == standing));
    let tried = counts(Standing::NotTried).claimed == 0;
    let first = if tried { Standing::Discriminates } else { Standing::NotTried };
    let others = Standing::ALL.into_iter().filter(|s| *s != first).map(|standing| (standing.words(), counts(standing)));
    let others = others.filter(|(_, tally)| tally.claimed > 0);
    let alone = results.alone();
    let (figure, left_out) = ratios(&alone);
    let tables = heat_tables(&results.tables, &results.expectations);
    let rows_tally = Tally::of_rows(alone.iter().copied());
    let folded = alone.len() > MOST_ROWS;
    let rows = alone.into_iter().map(claim).collect();
    Some(Claims {
        headline: counts(first),
        tried,
        others: others.map(|(what, tally)| Other { what, count: met_of(tally) }).collect(),
        skills: skills(&results.expectations).into_iter().map(skilled).collect(),
        rows,
        rows_tally,
        folded,
        tables,
        figure,
        left_out,
    })
}

fn skilled(skill: Skill) -> Skilled {
    let flat = skill.is_flat();
    let correlation = |x: Option<f64>| x.filter(|_| !flat).map_or_else(|| "–".to_owned(), |x| format!("{x:.2}"));
    Skilled {
        source: skill.source,
        unit: skill.unit,
        cells: skill.cells,
        met: skill.met,
        constant_meets: skill.constant_meets,
        constant: significant(skill.constant, 3),
        flat,
        rank_correlation: correlation(skill.rank_correlation),
        ceiling: correlation(skill.ceiling),
    }
}

fn claim(row: &Expectation) -> Claim {
    let state = match row.verdict() {
        Some(Verdict::Met) => "met",
        Some(Verdict::Missed) => "missed",
        Some(Verdict::Undecided) => "undecided",
        None => "open",
    };
    Claim {
        id: row.id.clone(),
        source: row.source.clone(),
        what: row.what.clone(),
        published: row.published.clone(),
        measured: measured(row),
        unit: if row.measured.is_some() { row.unit.clone() } else { String::new() },
        tolerance: tolerance(row),
        state,
        detail: explained(row),
    }
}
