//! The scoreboard: numbers of reproduced values by source, and the skill of tables and figures.

use std::collections::BTreeMap;

use aqmkit_results::{Basis, Expectation, Overall, Results, Standing, skills};
use serde::Serialize;

use super::verdict::Tally;

/// Counts for one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// The publication, without the place within it.
    pub source: String,
    /// Counts by standing.
    pub tallies: BTreeMap<Standing, Tally>,
    /// Number of measured rows.
    pub measured_rows: usize,
    /// Number of these at full scale whose null test was run at quick scale.
    pub null_at_quick: usize,
    /// Skill of its published tables and figures that vary.
    pub skill: Overall,
    /// Skill of its flat ones, in which a constant meets 90 % of the cells.
    pub flat: Overall,
}

impl Line {
    /// Counts of one standing.
    #[must_use]
    pub(crate) fn tally(&self, standing: Standing) -> Tally {
        self.tallies.get(&standing).copied().unwrap_or_default()
    }

    fn of(source: &str, rows: &[&Expectation]) -> Line {
        let mut tallies: BTreeMap<Standing, Tally> = BTreeMap::new();
        for row in rows {
            tallies.entry(Standing::of(row)).or_default().add(row);
        }
        let skills = skills(rows.iter().copied());
        Line {
            source: source.to_owned(),
            tallies,
            measured_rows: rows.iter().filter(|row| row.basis == Basis::Measured).count(),
            null_at_quick: rows.iter().filter(|row| row.null_at_quick && row.basis == Basis::Measured).count(),
            skill: Overall::of(skills.iter().filter(|s| !s.is_flat())),
            flat: Overall::of(skills.iter().filter(|s| s.is_flat())),
        }
    }
}

/// One line per source of these experiments, and the totals.
#[must_use]
pub fn lines(experiments: &[&Results]) -> (Vec<Line>, Line) {
    let mut sources: BTreeMap<&str, Vec<&Expectation>> = BTreeMap::new();
    for results in experiments {
        // An experiment without a source stands for itself.
        let source = if results.source.is_empty() { &results.experiment } else { work(&results.source) };
        sources.entry(source).or_default().extend(&results.expectations);
    }
    let all: Vec<&Expectation> = experiments.iter().flat_map(|results| &results.expectations).collect();
    let lines =
        sources.iter().filter(|(_, rows)| !rows.is_empty()).map(|(source, rows)| Line::of(source, rows)).collect();
    (lines, Line::of("all", &all))
}

/// The publication in a source, without the place within it: the text up to the year.
pub(crate) fn work(source: &str) -> &str {
    let year =
        |word: &str| word.len() == 4 && word.starts_with(['1', '2']) && word.bytes().all(|byte| byte.is_ascii_digit());
    let word = source.split(|sign: char| !sign.is_ascii_alphanumeric()).find(|word| year(word));
    let end = word.and_then(|word| source.find(word)).map(|start| start + 4);
    end.map_or(source, |end| &source[..end])
}

/// `16 of 43`, or `16 of 43, 2 undecided`: number of met cells, and of those measured or computed; a dash if there are
/// none.
#[must_use]
pub(crate) fn met_of(tally: Tally) -> String {
    let open = if tally.undecided > 0 { format!(", {} undecided", tally.undecided) } else { String::new() };
    if tally.judged() == 0 { "–".to_owned() } else { format!("{} of {}{open}", tally.met, tally.judged()) }
}

/// Notes about rows without runs, and about rows at full scale whose null test was run at quick scale; `None` without
/// such rows.
#[must_use]
pub fn notes(line: &Line) -> Option<String> {
    let count: usize = line.tallies.values().map(|tally| tally.unmeasured).sum();
    let open = (count > 0)
        .then(|| format!("{count} more rows are claimed, but their runs are not finished or measured nothing."));
    let quick = (line.null_at_quick > 0).then(|| {
        format!(
            "The null test of {} of {} measured rows was run at quick scale.",
            line.null_at_quick, line.measured_rows
        )
    });
    let both: Vec<String> = [open, quick].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(" "))
}
