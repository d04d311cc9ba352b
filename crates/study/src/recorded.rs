//! The verdicts that are stored with the experiments, in `verdicts.csv`, and quoted in documents.
//!
//! `aqmkit reproduce --record DIR` writes them; `aqmkit scoreboard` counts them and inserts them into documents. All
//! documents take their numbers from here, so that they are consistent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use aqmkit_results::{Cells, Expectation, Results, claim_numbers};
use serde::{Deserialize, Serialize};

/// Name of the file, beside `published.csv`.
pub const FILE: &str = "verdicts.csv";

/// The verdict on one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `quick` or `full`.
    pub scale: String,
    /// Id of the experiment that makes the claim.
    pub experiment: String,
    /// Id of the row in `published.csv`.
    pub id: String,
    /// Number of the claim among the experiment's claims with this id, from 1.
    pub claim: usize,
    /// Measured value in the row's unit, rounded to six digits.
    pub measured: Option<f64>,
    /// Whether the claim is met; `None` if it was not measured or is undecided.
    pub met: Option<bool>,
    /// Number of cells that meet the claim, if it was judged in several.
    pub held: Option<usize>,
    /// Number of all these cells.
    pub cells: Option<usize>,
    /// Number of cells (one for a claim with a single cell) that the spread of the runs leaves undecided; `None` if
    /// there are none.
    pub undecided: Option<usize>,
    /// Number of pairwise comparisons of an ordering that hold, over all cells.
    pub comparisons_held: Option<usize>,
    /// Number of all these comparisons.
    pub comparisons: Option<usize>,
    /// Standard deviation of the measured value over the repeats, rounded to six digits.
    pub spread: Option<f64>,
    /// Number of repeats behind `spread`.
    pub repeats: Option<usize>,
}

/// Scale, experiment, row and claim.
type Key = (String, String, String, usize);

/// All records, sorted by scale, experiment, row and claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records(BTreeMap<Key, Record>);

impl Records {
    /// The verdicts in these results.
    #[must_use]
    pub fn of<'a>(results: impl IntoIterator<Item = &'a Results>) -> Records {
        let rows = results.into_iter().flat_map(|one| {
            let claims = claim_numbers(one.expectations.iter().map(|row| row.id.as_str()));
            one.expectations.iter().zip(claims).map(move |(row, claim)| record(one, row, claim))
        });
        Records(rows.map(|row| (key(&row), row)).collect())
    }

    /// Parses `verdicts.csv`.
    ///
    /// # Errors
    /// When a row cannot be parsed, with its line.
    pub fn parse(text: &str) -> Result<Records, String> {
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize().collect::<Result<Vec<Record>, _>>();
        rows.map(|rows| Records(rows.into_iter().map(|row| (key(&row), row)).collect())).map_err(|e| e.to_string())
    }

    /// The text of `verdicts.csv`.
    ///
    /// # Errors
    /// When serialization fails.
    pub fn text(&self) -> io::Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in self.0.values() {
            writer.serialize(row)?;
        }
        let bytes = writer.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    /// Replaces the stored records of the same experiments at the same scale.
    pub fn replace(&mut self, new: Records) {
        let done: BTreeSet<(String, String)> =
            new.0.keys().map(|(scale, experiment, _, _)| (scale.clone(), experiment.clone())).collect();
        self.0.retain(|(scale, experiment, _, _), _| !done.contains(&(scale.clone(), experiment.clone())));
        self.0.extend(new.0);
    }

    /// Adds records; they replace those of the same claims.
    pub fn extend(&mut self, more: Records) {
        self.0.extend(more.0);
    }

    /// Copies the stored verdicts at a scale into the claims of an experiment; returns `false` if none are stored.
    pub fn restore(&self, scale: &str, experiment: &str, rows: &mut [Expectation]) -> bool {
        let claims = claim_numbers(rows.iter().map(|row| row.id.as_str()));
        let mut any = false;
        for (row, claim) in rows.iter_mut().zip(claims) {
            let kept = self.0.get(&(scale.to_owned(), experiment.to_owned(), row.id.clone(), claim));
            any |= kept.is_some();
            let undecided = kept.and_then(|r| r.undecided).unwrap_or_default();
            row.measured = kept.and_then(|r| r.measured);
            row.pass = kept.and_then(|r| r.met);
            row.undecided = row.pass.is_none() && undecided > 0;
            row.cells = kept.and_then(|r| r.held.zip(r.cells)).map(|(held, of)| Cells { held, of, undecided });
            row.comparisons = kept.and_then(|r| r.comparisons_held.zip(r.comparisons)).map(|(held, of)| Cells {
                held,
                of,
                undecided: 0,
            });
            row.spread = kept.and_then(|r| r.spread);
            row.repeats = kept.and_then(|r| r.repeats).unwrap_or_default();
        }
        any
    }
}

fn key(row: &Record) -> Key {
    (row.scale.clone(), row.experiment.clone(), row.id.clone(), row.claim)
}

fn record(results: &Results, row: &Expectation, claim: usize) -> Record {
    Record {
        scale: results.scale.clone(),
        experiment: results.experiment.clone(),
        id: row.id.clone(),
        claim,
        measured: row.measured.filter(|x| x.is_finite()).map(in_six_digits),
        met: row.pass,
        held: row.cells.map(|c| c.held),
        cells: row.cells.map(|c| c.of),
        undecided: row.counted().map(|cells| cells.undecided).filter(|count| *count > 0),
        comparisons_held: row.comparisons.map(|c| c.held),
        comparisons: row.comparisons.map(|c| c.of),
        spread: row.spread.filter(|x| x.is_finite()).map(in_six_digits),
        repeats: Some(row.repeats).filter(|count| *count > 0),
    }
}

/// Rounds to six digits, which are the same on all machines.
fn in_six_digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(scale: &str, experiment: &str, rows: &[(&str, Option<bool>)]) -> Results {
        let row = |(id, pass): &(&str, Option<bool>)| Expectation {
            id: (*id).to_owned(),
            pass: *pass,
            measured: pass.map(|_| 1.0 / 3.0),
            cells: pass.map(|_| Cells { held: 2, of: 3, undecided: 0 }),
            spread: pass.map(|_| 0.5),
            repeats: pass.map_or(0, |_| 5),
            ..Expectation::default()
        };
        Results {
            scale: scale.to_owned(),
            experiment: experiment.to_owned(),
            expectations: rows.iter().map(row).collect(),
            ..Results::default()
        }
    }

    #[test]
    fn records_come_back_and_are_told_to_their_claims() {
        let one = results("quick", "cbt/blast", &[("A", Some(true)), ("A", Some(false)), ("B", None)]);
        let kept = Records::of([&one]);
        let text = kept.text().unwrap();
        let shown = ["quick,cbt/blast,A,2,0.333333,false,2,3,,,,0.5,5\n", "B,1,,,,,,,,,\n"];
        assert!(shown.iter().all(|line| text.contains(line)), "{text}");
        let read = Records::parse(&text).unwrap();
        let row = |id: &str| Expectation { id: id.to_owned(), ..Expectation::default() };
        let mut rows = [row("A"), row("A"), row("C")];
        assert!(read.restore("quick", "cbt/blast", &mut rows));
        assert_eq!(rows.clone().map(|r| r.pass), [Some(true), Some(false), None]);
        assert_eq!(rows[1].cells, Some(Cells { held: 2, of: 3, undecided: 0 }));
        assert_eq!((rows[1].spread, rows[1].repeats), (Some(0.5), 5));
        assert_eq!(rows.clone().map(|r| r.measured), [Some(0.333_333), Some(0.333_333), None]);
        assert!(!read.restore("full", "cbt/blast", &mut rows));
        assert_eq!(rows.map(|r| (r.pass, r.measured, r.cells)), [(None, None, None); 3], "nothing is left of others");
    }

    #[test]
    fn undecided_cells_and_rows_come_back() {
        let mut one = results("full", "a", &[("A", None), ("B", Some(false))]);
        one.expectations[0].undecided = true;
        one.expectations[0].comparisons = Some(Cells { held: 3, of: 4, undecided: 0 });
        one.expectations[1].cells = Some(Cells { held: 1, of: 3, undecided: 1 });
        let text = Records::of([&one]).text().unwrap();
        let mut rows = ["A", "B"].map(|id| Expectation { id: id.to_owned(), ..Expectation::default() });
        assert!(Records::parse(&text).unwrap().restore("full", "a", &mut rows));
        assert_eq!(
            (rows[0].pass, rows[0].undecided, rows[0].comparisons),
            (None, true, one.expectations[0].comparisons)
        );
        assert_eq!((rows[1].pass, rows[1].undecided, rows[1].cells), (Some(false), false, one.expectations[1].cells));
    }

    /// Files from before spreads were recorded have fewer columns.
    #[test]
    fn records_without_spreads_are_read() {
        let old = "scale,experiment,id,claim,measured,met,held,cells\nfull,a,A,1,0.5,true,2,2\n";
        let mut rows = [Expectation { id: "A".to_owned(), ..Expectation::default() }];
        assert!(Records::parse(old).unwrap().restore("full", "a", &mut rows));
        assert_eq!((rows[0].pass, rows[0].undecided, rows[0].spread, rows[0].repeats), (Some(true), false, None, 0));
    }

    #[test]
    fn a_new_run_replaces_all_that_was_kept_of_its_experiment_and_scale() {
        let before =
            [results("quick", "a", &[("A", Some(true)), ("B", Some(true))]), results("full", "a", &[("A", None)])];
        let mut kept = Records::of(&before);
        kept.replace(Records::of([&results("quick", "a", &[("A", Some(false))])]));
        let ids: Vec<_> = kept.0.values().map(|r| (r.scale.as_str(), r.id.as_str(), r.met)).collect();
        assert_eq!(ids, [("full", "A", None), ("quick", "A", Some(false))]);
    }

    #[test]
    fn numbers_have_six_digits() {
        let six = [1.0 / 3.0, 123_456.789, 0.000_012_345_678, -2.5, 0.0].map(in_six_digits);
        assert_eq!(six, [0.333_333, 123_457.0, 0.000_012_345_7, -2.5, 0.0]);
        let mut endless = results("quick", "a", &[("A", Some(false))]);
        endless.expectations[0].measured = Some(f64::INFINITY);
        assert!(Records::of([&endless]).text().unwrap().contains("quick,a,A,1,,false,2,3,,"), "a time that never came");
    }

    #[test]
    fn records_of_one_claim_replace_each_other() {
        let mut kept = Records::of([&results("quick", "a", &[("A", Some(true)), ("B", Some(true))])]);
        kept.extend(Records::of([&results("quick", "a", &[("A", Some(false))])]));
        assert_eq!(
            kept.0.values().map(|r| (r.id.as_str(), r.met)).collect::<Vec<_>>(),
            [("A", Some(false)), ("B", Some(true))]
        );
        let error_text =
            Records::parse("scale,experiment,id,claim,measured,met,held,cells\nquick,a,A,one,,,,\n").unwrap_err();
        assert!(error_text.contains("line: 2"), "{error_text}");
    }
}
