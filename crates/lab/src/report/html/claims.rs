//! Published values beside the measured ones.

use serde::Serialize;

use super::figure::{Figure, ratios};
use super::heat::{HeatTable, heat_tables};
use crate::report::verdict::{Tally, measured, tolerance};
use crate::results::{Expectation, Results};

/// The section of published values.
#[derive(Debug, Serialize)]
pub(super) struct Claims {
    claimed: usize,
    met: usize,
    missed: usize,
    unmeasured: usize,
    /// Those that are not in a table.
    rows: Vec<Claim>,
    /// How many of these there are.
    rows_tally: Tally,
    tables: Vec<HeatTable>,
    figure: Option<Figure>,
    /// Measured values that the figure cannot show.
    left_out: usize,
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
    /// `met`, `missed` or `open`.
    state: &'static str,
    detail: String,
}

/// The section; absent when nothing is claimed.
pub(super) fn claims(results: &Results) -> Option<Claims> {
    if results.expectations.is_empty() {
        return None;
    }
    let Tally { claimed, met, missed, unmeasured } = Tally::of(&results.expectations);
    let alone = results.alone();
    let (figure, left_out) = ratios(&alone);
    let tables = heat_tables(&results.tables, &results.expectations);
    let rows_tally = Tally::of(alone.iter().copied());
    let rows = alone.into_iter().map(claim).collect();
    Some(Claims { claimed, met, missed, unmeasured, rows, rows_tally, tables, figure, left_out })
}

fn claim(row: &Expectation) -> Claim {
    let state = match row.pass {
        Some(true) => "met",
        Some(false) => "missed",
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
        detail: row.detail.clone(),
    }
}
