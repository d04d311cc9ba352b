//! Verdicts in words, and their counts.

use aqmkit_results::{Expectation, Standing};
use serde::Serialize;

use super::format::significant;

/// The measured value with half the width of its 95 % interval over the repeats; for an ordering, the values found; a dash if there is neither.
#[must_use]
pub(crate) fn measured(row: &Expectation) -> String {
    let Some(value) = row.measured.filter(|value| !value.is_nan()) else {
        return if row.pass.is_some() && row.kind == "order" { order(row) } else { "–".to_owned() };
    };
    let half = row.half_width().map(|half| format!(" ±{}", significant(half, 2)));
    format!("{}{}", significant(value, 4), half.unwrap_or_default())
}

fn order(row: &Expectation) -> String {
    if row.pass == Some(true) { "holds".to_owned() } else { "does not hold".to_owned() }
}

/// The range in which a value meets the published one.
#[must_use]
pub(crate) fn tolerance(row: &Expectation) -> String {
    match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", significant(low, 4), significant(high, 4)),
        (Some(low), None) => format!("≥ {}", significant(low, 4)),
        (None, Some(high)) => format!("≤ {}", significant(high, 4)),
        (None, None) => "–".to_owned(),
    }
}

/// The published value, the middle of a published range, or a single published bound.
#[must_use]
pub(crate) fn published(row: &Expectation) -> Option<f64> {
    match (row.low, row.high) {
        (Some(low), Some(high)) => Some((low + high) / 2.0),
        (low, high) => low.or(high),
    }
}

/// The remarks on a row: number of cells in which it holds, basis, source of its bound, and findings.
#[must_use]
pub(crate) fn explained(row: &Expectation) -> String {
    let cells = row.cells.map(|cells| format!("holds in {} of {}", cells.held, cells.of));
    let standing = match Standing::of(row) {
        Standing::Discriminates | Standing::NotTried => None,
        other => Some(other.words().to_owned()),
    };
    let ours = (!row.ours.is_empty()).then(|| format!("our bound: {}", row.ours));
    let detail = (!row.detail.is_empty()).then(|| row.detail.clone());
    [cells, standing, ours, detail].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The numbers of claimed, met and missed values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All.
    pub claimed: usize,
    /// Those that are met.
    pub met: usize,
    /// Those that are not.
    pub missed: usize,
    /// Those whose runs are not finished.
    pub unmeasured: usize,
}

impl Tally {
    /// Counts one more row.
    pub fn add(&mut self, row: &Expectation) {
        self.claimed += 1;
        match row.pass {
            Some(true) => self.met += 1,
            Some(false) => self.missed += 1,
            None => self.unmeasured += 1,
        }
    }

    /// The counts of these rows.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Expectation>) -> Self {
        let mut tally = Tally::default();
        rows.into_iter().for_each(|row| tally.add(row));
        tally
    }

    /// The share of the measured values that are met, in percent.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        let measured = self.met + self.missed;
        (measured > 0).then(|| 100.0 * self.met as f64 / measured as f64)
    }
}
