//! How well published tables are reproduced: compared with the best constant, and by rank correlation.
//!
//! A constant 0.97 meets a table of efficiencies between 0.95 and 0.99. Therefore every table and figure is reported
//! with the number of met cells, the number of cells that the best constant meets, and the rank correlation of measured
//! and published values. A *flat* table, in which a constant meets 90 % of the cells, tests nothing: its published
//! values vary less than the tolerance, and often less than single runs do. Flat tables are counted separately. The
//! correlation of other tables is compared with the noise ceiling: the correlation that a simulation with exact means
//! would have, given the spread of the runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::standing::Basis;
use crate::statistics::{deviation, mean, rank_correlation};
use crate::{Expectation, Verdict};

/// Tables with fewer cells are omitted: a constant meets them too easily, and rank correlations of so few values are
/// meaningless.
const LEAST_CELLS: usize = 4;

/// The agreement of one table or figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// The table or figure, as in `published.csv`: `Parris 2001, V Table 5.5`.
    pub source: String,
    /// The unit of its cells; a table of rates and times is judged separately for each.
    pub unit: String,
    /// Number of measured cells with a single printed number.
    pub cells: usize,
    /// Number of cells that are met.
    pub met: usize,
    /// The best constant: it meets the most cells.
    pub constant: f64,
    /// The number of cells that this constant meets.
    pub constant_meets: usize,
    /// Spearman's rank correlation of measured and printed numbers; `None` if all numbers on either side are equal.
    pub rank_correlation: Option<f64>,
    /// Noise ceiling of the correlation; `None` if a cell has a single run, whose spread is unknown.
    #[serde(default)]
    pub ceiling: Option<f64>,
}

impl Skill {
    /// Whether a constant meets nearly all cells.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.constant_meets as f64 >= FLAT * self.cells as f64
    }
}

/// In a flat table, a constant meets at least this share of the cells.
const FLAT: f64 = 0.9;

/// The skill of all tables and figures with at least four measured cells that have a single printed number.
#[must_use]
pub fn skills<'a>(rows: impl IntoIterator<Item = &'a Expectation>) -> Vec<Skill> {
    let mut tables: BTreeMap<(&str, &str), Vec<Cell>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.basis == Basis::Measured) {
        let numbers = row.printed.zip(row.measured.filter(|x| x.is_finite()));
        if let (Some((printed, measured)), Some(low), Some(high), Some(found)) =
            (numbers, row.low, row.high, row.verdict())
        {
            let error = row.spread.map(|sd| sd / (row.repeats as f64).sqrt()).filter(|error| error.is_finite());
            let cell = Cell { printed, measured, low, high, met: found == Verdict::Met, error };
            tables.entry((&row.source, &row.unit)).or_default().push(cell);
        }
    }
    let large = tables.into_iter().filter(|(_, cells)| cells.len() >= LEAST_CELLS);
    large.map(|((source, unit), cells)| skill(source, unit, &cells)).collect()
}

/// A cell: printed number, measured value, and accepted interval.
struct Cell {
    printed: f64,
    measured: f64,
    low: f64,
    high: f64,
    met: bool,
    /// Standard error of the measured value; `None` for a single run.
    error: Option<f64>,
}

/// The correlation of the printed values with themselves plus errors of this size: the square root of the reliability,
/// which is the variance of the values divided by the variance of values plus errors.
fn ceiling(cells: &[Cell]) -> Option<f64> {
    let errors = cells.iter().map(|c| c.error.map(|error| error * error)).collect::<Option<Vec<f64>>>()?;
    let printed: Vec<f64> = cells.iter().map(|c| c.printed).collect();
    let variance = deviation(&printed)?.powi(2);
    Some((variance / (variance + mean(&errors))).sqrt()).filter(|x| x.is_finite())
}

fn skill(source: &str, unit: &str, cells: &[Cell]) -> Skill {
    // The point that the most intervals contain is the lower end of one of them.
    let meets = |x: f64| cells.iter().filter(|c| c.low <= x && x <= c.high).count();
    let best = cells.iter().map(|c| (meets(c.low), c.low)).max_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (constant_meets, constant) = best.unwrap_or_default();
    let (printed, measured): (Vec<f64>, Vec<f64>) = cells.iter().map(|c| (c.printed, c.measured)).unzip();
    Skill {
        source: source.to_owned(),
        unit: unit.to_owned(),
        cells: cells.len(),
        met: cells.iter().filter(|c| c.met).count(),
        constant,
        constant_meets,
        rank_correlation: rank_correlation(&printed, &measured),
        ceiling: ceiling(cells),
    }
}

/// Totals over several tables: cells, met cells, cells that each table's best constant would meet, and mean rank
/// correlation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overall {
    /// Number of tables and figures.
    pub tables: usize,
    /// Number of cells.
    pub cells: usize,
    /// Number of cells that are met.
    pub met: usize,
    /// Number of cells that the best constant of each table would meet.
    pub constant_meets: usize,
    /// Mean rank correlation, weighted by the number of cells; `None` if no table has one.
    pub rank_correlation: Option<f64>,
    /// Mean noise ceiling, with the same weights; `None` if the spread of a table is unknown.
    pub ceiling: Option<f64>,
}

impl Overall {
    /// Combines the skill of these tables.
    #[must_use]
    pub fn of<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> Overall {
        let skills: Vec<&Skill> = skills.into_iter().collect();
        let sum = |count: fn(&Skill) -> usize| skills.iter().map(|s| count(s)).sum();
        let weighted = |number: fn(&Skill) -> Option<f64>| {
            let known = skills.iter().filter_map(|s| number(s).map(|x| (x, s.cells as f64)));
            let (total, weight) =
                known.fold((0.0, 0.0), |(total, weight), (x, cells)| (total + x * cells, weight + cells));
            (weight > 0.0).then_some(total / weight)
        };
        let all_known = skills.iter().all(|s| s.ceiling.is_some());
        Overall {
            tables: skills.len(),
            cells: sum(|s| s.cells),
            met: sum(|s| s.met),
            constant_meets: sum(|s| s.constant_meets),
            rank_correlation: weighted(|s| s.rank_correlation),
            ceiling: weighted(|s| s.ceiling).filter(|_| all_known),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source: &str, printed: f64, measured: f64) -> Expectation {
        let (low, high) = (0.8 * printed, 1.2 * printed);
        Expectation {
            source: source.to_owned(),
            unit: "ms".to_owned(),
            printed: Some(printed),
            measured: Some(measured),
            low: Some(low),
            high: Some(high),
            pass: Some(low <= measured && measured <= high),
            ..Expectation::default()
        }
    }

    #[test]
    fn a_constant_meets_a_flat_table_and_not_a_steep_one() {
        let even = [95.0, 96.0, 97.0, 98.0].map(|x| row("flat", x, 97.0));
        let rising = [10.0, 20.0, 40.0, 80.0].map(|x| row("steep", x, 0.5 * x));
        let found = skills(even.iter().chain(&rising));
        let (flat, steep) = (&found[0], &found[1]);
        assert_eq!((flat.cells, flat.met, flat.constant_meets, flat.rank_correlation), (4, 4, 4, None));
        assert_eq!((steep.cells, steep.met, steep.constant_meets, steep.rank_correlation), (4, 0, 1, Some(1.0)));
        let all = Overall::of(&found);
        assert_eq!((all.tables, all.cells, all.met, all.constant_meets, all.rank_correlation), (2, 8, 4, 5, Some(1.0)));
    }

    #[test]
    fn a_table_that_a_constant_meets_is_flat() {
        let table = |values: &[f64]| skills(&values.iter().map(|&x| row("table", x, x)).collect::<Vec<_>>()).remove(0);
        let ninety: Vec<f64> = (0..10).map(|i| if i == 9 { 400.0 } else { 100.0 + f64::from(i) }).collect();
        assert!(table(&ninety).is_flat(), "{:?}", table(&ninety));
        assert!(!table(&[&ninety[..], &[900.0]].concat()).is_flat(), "9 of 11 are below 90 %");
    }

    /// 10, 20, 30 and 40 have a variance of 500 / 3; five runs with a standard deviation of 5 have a squared standard
    /// error of 5.
    #[test]
    fn noise_caps_the_correlation() {
        let noisy = |x: f64, sd: f64| Expectation { spread: Some(sd), repeats: 5, ..row("table", x, x) };
        let of = |sd: f64| skills(&[10.0, 20.0, 30.0, 40.0].map(|x| noisy(x, sd)))[0].ceiling.unwrap();
        let variance = 500.0 / 3.0;
        assert!((of(5.0) - (variance / (variance + 5.0_f64)).sqrt()).abs() < 1e-12);
        assert!(of(50.0) < 0.6 && of(0.0) == 1.0);
        let single = skills(&[10.0, 20.0, 30.0, 40.0].map(|x| row("table", x, x)));
        assert_eq!((single[0].ceiling, Overall::of(&single).ceiling), (None, None), "the spread is not known");
    }

    #[test]
    fn undecided_cells_are_not_met() {
        let open = |x: f64| Expectation { pass: None, undecided: true, ..row("open", x, x) };
        let found = skills(&[10.0, 20.0, 30.0, 40.0].map(open));
        assert_eq!((found[0].cells, found[0].met), (4, 0));
    }

    #[test]
    fn inputs_and_what_was_not_measured_have_no_skill() {
        let input = |x: f64| Expectation { basis: Basis::Input, ..row("input", x, x) };
        let open = |x: f64| Expectation { pass: None, ..row("open", x, x) };
        let rows: Vec<_> = [1.0, 2.0, 3.0, 4.0].into_iter().flat_map(|x| [input(x), open(x)]).collect();
        assert_eq!(skills(&rows), []);
        let few = [1.0, 2.0, 3.0].map(|x| row("few", x, x));
        assert_eq!(skills(&few), []);
    }
}
