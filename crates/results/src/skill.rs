//! Skill of the agreement of a table: compared with the best constant, and by rank correlation.
//!
//! A constant 0.97 meets a table of efficiencies between 0.95 and 0.99. Therefore every table and figure
//! has three numbers: the cells met, the cells that the best constant meets, and the rank correlation of
//! measured and published cells.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Expectation;
use crate::standing::Basis;
use crate::statistics::rank_correlation;

/// Tables with fewer cells are left out: a constant meets them too easily, and rank correlations of so few values mean
/// nothing.
const LEAST_CELLS: usize = 4;

/// The agreement of one table or figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// The table or figure, as in `published.csv`: `Parris 2001, V Table 5.5`.
    pub source: String,
    /// The unit of its cells; a table of rates and times is judged separately for each.
    pub unit: String,
    /// Cells with one printed number that were measured.
    pub cells: usize,
    /// The number of cells that are met.
    pub met: usize,
    /// The constant that meets the most cells.
    pub constant: f64,
    /// The number of cells that this constant meets.
    pub constant_meets: usize,
    /// Spearman's rank correlation of measured and printed numbers; `None` if all numbers on either side are equal.
    pub rank_correlation: Option<f64>,
}

/// The skill of every table and figure with at least four measured cells that have one printed number.
#[must_use]
pub fn skills<'a>(rows: impl IntoIterator<Item = &'a Expectation>) -> Vec<Skill> {
    let mut tables: BTreeMap<(&str, &str), Vec<Cell>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.basis == Basis::Measured) {
        let numbers = row.printed.zip(row.measured.filter(|x| x.is_finite()));
        if let (Some((printed, measured)), Some(low), Some(high), Some(met)) = (numbers, row.low, row.high, row.pass) {
            let cell = Cell { printed, measured, low, high, met };
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
}

fn skill(source: &str, unit: &str, cells: &[Cell]) -> Skill {
    // The point covered by the most intervals is the lower end of one of them.
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
    }
}

/// The skill over several tables: cells, those met, those that the best constant of each would meet, and the mean rank correlation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overall {
    /// The number of tables and figures.
    pub tables: usize,
    /// The number of their cells.
    pub cells: usize,
    /// The number of cells that are met.
    pub met: usize,
    /// The number of cells that the best constant of each table would meet.
    pub constant_meets: usize,
    /// The mean of the tables' rank correlations, weighted by their numbers of cells; `None` if no table has one.
    pub rank_correlation: Option<f64>,
}

impl Overall {
    /// Combines the skill of these tables.
    #[must_use]
    pub fn of(skills: &[Skill]) -> Overall {
        let sum = |count: fn(&Skill) -> usize| skills.iter().map(count).sum();
        let ranked: Vec<(f64, f64)> =
            skills.iter().filter_map(|s| s.rank_correlation.map(|r| (r, s.cells as f64))).collect();
        let weight: f64 = ranked.iter().map(|(_, cells)| cells).sum();
        let correlation = ranked.iter().map(|(r, cells)| r * cells).sum::<f64>() / weight;
        Overall {
            tables: skills.len(),
            cells: sum(|s| s.cells),
            met: sum(|s| s.met),
            constant_meets: sum(|s| s.constant_meets),
            rank_correlation: (weight > 0.0).then_some(correlation),
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
    fn inputs_and_what_was_not_measured_have_no_skill() {
        let input = |x: f64| Expectation { basis: Basis::Input, ..row("input", x, x) };
        let open = |x: f64| Expectation { pass: None, ..row("open", x, x) };
        let rows: Vec<_> = [1.0, 2.0, 3.0, 4.0].into_iter().flat_map(|x| [input(x), open(x)]).collect();
        assert_eq!(skills(&rows), []);
        let few = [1.0, 2.0, 3.0].map(|x| row("few", x, x));
        assert_eq!(skills(&few), []);
    }
}
