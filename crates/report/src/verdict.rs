//! Verdicts as text, and their counts.

use aqmkit_results::{Basis, Cells, Expectation, Standing, Verdict};
use serde::Serialize;

use super::format::significant;

/// The measured value with half the width of its 95 % interval over the repeats; for an ordering, the values found; a
/// dash if there is neither.
#[must_use]
pub(crate) fn measured(row: &Expectation) -> String {
    let Some(value) = row.measured.filter(|value| !value.is_nan()) else {
        return order(row).filter(|_| row.kind == "order").unwrap_or("–").to_owned();
    };
    let half = row.half_width().map(|half| format!(" ±{}", significant(half, 2)));
    format!("{}{}", significant(value, 4), half.unwrap_or_default())
}

fn order(row: &Expectation) -> Option<&'static str> {
    row.verdict().map(|verdict| match verdict {
        Verdict::Met => "holds",
        Verdict::Missed => "does not hold",
        Verdict::Undecided => "undecided",
    })
}

/// The range in which a measured value meets the published one.
#[must_use]
pub(crate) fn tolerance(row: &Expectation) -> String {
    match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", significant(low, 4), significant(high, 4)),
        (Some(low), None) => format!("≥ {}", significant(low, 4)),
        (None, Some(high)) => format!("≤ {}", significant(high, 4)),
        (None, None) => "–".to_owned(),
    }
}

/// The published value: the middle of a published range, or a single published bound.
#[must_use]
pub(crate) fn published(row: &Expectation) -> Option<f64> {
    match (row.low, row.high) {
        (Some(low), Some(high)) => Some((low + high) / 2.0),
        (low, high) => low.or(high),
    }
}

/// Remarks on a row: number of cells in which it holds, basis, source of its bound, and findings.
#[must_use]
pub(crate) fn explained(row: &Expectation) -> String {
    let doubt = (row.verdict() == Some(Verdict::Undecided)).then(|| UNDECIDED.to_owned());
    let cells = row.cells.map(in_cells);
    let standing = match Standing::of(row) {
        Standing::Discriminates | Standing::NotTried => None,
        other => Some(other.words().to_owned()),
    };
    let ours = (!row.ours.is_empty()).then(|| format!("our bound: {}", row.ours));
    let detail = (!row.detail.is_empty()).then(|| row.detail.clone());
    [doubt, cells, standing, single(row), ours, detail].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Remark on an undecided row.
const UNDECIDED: &str = "undecided: the 95 % interval over the runs reaches over the limit";

/// `holds in 3 of 5, 1 undecided`.
fn in_cells(cells: Cells) -> String {
    let open = if cells.undecided > 0 { format!(", {} undecided", cells.undecided) } else { String::new() };
    format!("holds in {} of {}{open}", cells.held, cells.of)
}

/// Remark on a missed row that has only one run.
fn single(row: &Expectation) -> Option<String> {
    let one = row.basis == Basis::Measured && row.repeats == 1 && row.pass == Some(false);
    one.then(|| "single run, spread not known".to_owned())
}

/// Counts of claimed, met and missed cells. A row that was judged in several cells counts each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// All cells.
    pub claimed: usize,
    /// Cells that are met.
    pub met: usize,
    /// Cells that are not met.
    pub missed: usize,
    /// Cells that the spread of the runs leaves open.
    pub undecided: usize,
    /// Rows whose runs are not finished.
    pub unmeasured: usize,
}

impl Tally {
    /// Counts one more row.
    pub fn add(&mut self, row: &Expectation) {
        let Some(cells) = row.counted() else {
            self.claimed += 1;
            self.unmeasured += 1;
            return;
        };
        self.claimed += cells.of;
        self.met += cells.held;
        self.undecided += cells.undecided;
        self.missed += cells.of - cells.held - cells.undecided;
    }

    /// Number of cells that were judged.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.met + self.missed + self.undecided
    }

    /// Counts each of these rows once.
    pub fn of_rows<'a>(rows: impl IntoIterator<Item = &'a Expectation>) -> Self {
        let mut tally = Tally::default();
        for row in rows {
            tally.claimed += 1;
            match row.verdict() {
                Some(Verdict::Met) => tally.met += 1,
                Some(Verdict::Missed) => tally.missed += 1,
                Some(Verdict::Undecided) => tally.undecided += 1,
                None => tally.unmeasured += 1,
            }
        }
        tally
    }

    /// Counts these rows cell by cell.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Expectation>) -> Self {
        let mut tally = Tally::default();
        rows.into_iter().for_each(|row| tally.add(row));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_several_cells_counts_each() {
        let row = |pass: Option<bool>, cells: Option<(usize, usize, usize)>| Expectation {
            pass,
            undecided: pass.is_none() && cells.is_some(),
            cells: cells.map(|(held, of, undecided)| Cells { held, of, undecided }),
            ..Expectation::default()
        };
        let rows =
            [row(Some(true), None), row(Some(false), Some((3, 5, 1))), row(None, Some((1, 2, 1))), row(None, None)];
        let tally = Tally::of(&rows);
        assert_eq!((tally.met, tally.missed, tally.undecided), (5, 1, 2));
        assert_eq!((tally.judged(), tally.unmeasured, tally.claimed), (8, 1, 9));
        let rows = Tally::of_rows(&rows);
        assert_eq!((rows.met, rows.missed, rows.undecided, rows.unmeasured, rows.claimed), (1, 1, 1, 1, 4));
    }
}
