//! The results, counted by crate.

use std::collections::BTreeMap;
use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use crate::draw::Mutant;
use crate::equivalent::Equivalents;
use crate::trial::Fate;

/// One change and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Its number in the switch, for `AQMKIT_MUTANT`.
    pub id: u32,
    /// Its crate.
    pub crate_name: String,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: usize,
    /// The kind of change, in three letters.
    pub operator: &'static str,
    /// The change.
    pub change: String,
    /// The text of the line.
    pub source: String,
    /// `refused` (does not compile), `killed`, `late` (killed, because a test did not end), `survived` or `equivalent`.
    pub fate: &'static str,
    /// The crate whose test killed it.
    pub by: Option<String>,
    /// That test.
    pub test: Option<String>,
    /// The number of tests that reach it, if it survived.
    pub tests: Option<usize>,
    /// Why no test could notice it.
    pub reason: Option<String>,
}

impl Outcome {
    /// Combines a change with its outcome.
    pub fn new(id: u32, mutant: &Mutant, fate: &Fate, equivalents: &Equivalents) -> Self {
        let equivalent = equivalents.of(mutant);
        let (fate, by, test, tests) = match fate {
            Fate::Refused => ("refused", None, None, None),
            Fate::Killed { by, test, late } => {
                (if *late { "late" } else { "killed" }, Some(by.clone()), Some(test.clone()), None)
            }
            Fate::Survived { tests } if equivalent.is_some() => ("equivalent", None, None, Some(*tests)),
            Fate::Survived { tests } => ("survived", None, None, Some(*tests)),
        };
        Self {
            id,
            crate_name: mutant.crate_name.clone(),
            file: mutant.file.clone(),
            line: mutant.place.line,
            operator: mutant.place.operator.code(),
            change: mutant.place.change.clone(),
            source: mutant.source.clone(),
            fate,
            by,
            test,
            tests,
            reason: equivalent.map(|one| one.reason.clone()),
        }
    }

    fn killed(&self) -> bool {
        matches!(self.fate, "killed" | "late")
    }
}

/// The counts of one crate, or of all.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct Row {
    /// Every change that was drawn.
    pub drawn: usize,
    /// Those that do not compile.
    pub refused: usize,
    /// Those that a test noticed.
    pub killed: usize,
    /// The same by the crate of the test.
    pub by: BTreeMap<String, usize>,
    /// Those that no test noticed, without the equivalent ones.
    pub survived: usize,
    /// Those of them that no test reaches.
    pub unreached: usize,
    /// Those that no test could notice.
    pub equivalent: usize,
    /// Killed changes, as a share of those that compile and are not equivalent, from 0 to 1.
    pub score: Option<f64>,
}

impl Row {
    fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let mut row = Self::default();
        for outcome in outcomes {
            row.drawn += 1;
            row.refused += usize::from(outcome.fate == "refused");
            row.killed += usize::from(outcome.killed());
            row.survived += usize::from(outcome.fate == "survived");
            row.unreached += usize::from(outcome.fate == "survived" && outcome.tests == Some(0));
            row.equivalent += usize::from(outcome.fate == "equivalent");
            if let (true, Some(by)) = (outcome.killed(), &outcome.by) {
                *row.by.entry(by.clone()).or_default() += 1;
            }
        }
        let noticeable = row.killed + row.survived;
        row.score = (noticeable > 0).then(|| row.killed as f64 / noticeable as f64);
        row
    }

    /// The 95 % confidence interval of the score of all changes (Wilson's interval).
    fn interval(&self) -> Option<(f64, f64)> {
        let p = self.score?;
        let n = (self.killed + self.survived) as f64;
        let z2 = 1.96 * 1.96;
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = 1.96 * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
        Some((middle - half, middle + half))
    }
}

/// The counts of each crate, then of all crates together.
pub fn rows(outcomes: &[Outcome]) -> Vec<(String, Row)> {
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.crate_name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: &str| Row::of(outcomes.iter().filter(|outcome| outcome.crate_name == name));
    let mut rows: Vec<(String, Row)> = names.iter().map(|name| ((*name).to_owned(), of(name))).collect();
    rows.push(("all".to_owned(), Row::of(outcomes.iter())));
    rows
}

/// The counts as a table.
pub fn table(rows: &[(String, Row)]) -> String {
    let mut table = Table::new();
    let heads =
        ["crate", "drawn", "do not compile", "killed", "by tests of", "survived", "unreached", "equivalent", "score"];
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(heads);
    for (name, row) in rows {
        let by: Vec<String> = row.by.iter().map(|(by, count)| format!("{by} {count}")).collect();
        let score = match (row.score, row.interval()) {
            (Some(score), Some((low, high))) => {
                format!("{:.0} % ({:.0} to {:.0})", 100.0 * score, 100.0 * low, 100.0 * high)
            }
            _ => "-".to_owned(),
        };
        table.add_row([
            name.clone(),
            row.drawn.to_string(),
            row.refused.to_string(),
            row.killed.to_string(),
            by.join(", "),
            row.survived.to_string(),
            row.unreached.to_string(),
            row.equivalent.to_string(),
            score,
        ]);
    }
    for column in [1, 2, 3, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// The survivors, a line for each, in the order of the files.
pub fn survivors(outcomes: &[Outcome]) -> String {
    let mut survived: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.fate == "survived").collect();
    survived.sort_by_key(|outcome| (&outcome.file, outcome.line, outcome.id));
    let mut text = String::new();
    for outcome in survived {
        let tests = match outcome.tests {
            Some(0) => "no test reaches it".to_owned(),
            Some(1) => "1 test reaches it".to_owned(),
            other => format!("{} tests reach it", other.unwrap_or_default()),
        };
        let Outcome { file, line, change, operator, id, .. } = outcome;
        let _ = writeln!(text, "{file}:{line}: {change}   [{operator} {id}; {tests}]");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(crate_name: &str, fate: &'static str, by: Option<&str>) -> Outcome {
        Outcome {
            id: 3,
            crate_name: crate_name.to_owned(),
            file: format!("crates/{crate_name}/src/lib.rs"),
            line: 7,
            operator: "AOR",
            change: "a + b -> a - b".to_owned(),
            source: "a + b".to_owned(),
            fate,
            by: by.map(str::to_owned),
            test: None,
            tests: Some(0),
            reason: None,
        }
    }

    #[test]
    fn the_score_is_of_what_could_be_noticed() {
        let outcomes = [
            outcome("aqm", "killed", Some("aqm")),
            outcome("aqm", "late", Some("sim")),
            outcome("aqm", "survived", None),
            outcome("aqm", "equivalent", None),
            outcome("sim", "refused", None),
        ];
        let rows = rows(&outcomes);
        let (aqm, sim, all) = (&rows[0].1, &rows[1].1, &rows[2].1);
        assert_eq!((aqm.drawn, aqm.killed, aqm.survived, aqm.unreached, aqm.equivalent), (4, 2, 1, 1, 1));
        assert_eq!(aqm.score, Some(2.0 / 3.0));
        assert_eq!(aqm.by.get("sim"), Some(&1));
        assert_eq!((sim.refused, sim.score), (1, None));
        assert_eq!((all.drawn, all.score), (5, aqm.score));
        assert!(table(&rows).contains("67 % (21 to 94)"), "{}", table(&rows));
    }

    #[test]
    fn a_survivor_is_a_place_and_a_change() {
        let text = survivors(&[outcome("aqm", "survived", None), outcome("aqm", "killed", None)]);
        assert_eq!(text, "crates/aqm/src/lib.rs:7: a + b -> a - b   [AOR 3; no test reaches it]\n");
    }
}
