//! The scoreboard: the number of reproduced values by source, and the skill of tables and figures.

use std::collections::BTreeMap;

use aqmkit_results::{Expectation, Overall, Results, Standing, skills};
use serde::Serialize;

use super::verdict::Tally;

/// The claims of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Line {
    /// The publication, without a place in it.
    pub source: String,
    /// The counts for each standing.
    pub tallies: BTreeMap<Standing, Tally>,
    /// The skill of its tables and figures.
    pub skill: Overall,
}

impl Line {
    /// The counts of one standing.
    #[must_use]
    pub(crate) fn tally(&self, standing: Standing) -> Tally {
        self.tallies.get(&standing).copied().unwrap_or_default()
    }

    fn of(source: &str, rows: &[&Expectation]) -> Line {
        let mut tallies: BTreeMap<Standing, Tally> = BTreeMap::new();
        for row in rows {
            tallies.entry(Standing::of(row)).or_default().add(row);
        }
        Line { source: source.to_owned(), tallies, skill: Overall::of(&skills(rows.iter().copied())) }
    }
}

/// A line for each source of these experiments, and the totals.
#[must_use]
pub fn lines(experiments: &[&Results]) -> (Vec<Line>, Line) {
    let mut sources: BTreeMap<&str, Vec<&Expectation>> = BTreeMap::new();
    for results in experiments {
        sources.entry(work(&results.source)).or_default().extend(&results.expectations);
    }
    let all: Vec<&Expectation> = experiments.iter().flat_map(|results| &results.expectations).collect();
    let lines =
        sources.iter().filter(|(_, rows)| !rows.is_empty()).map(|(source, rows)| Line::of(source, rows)).collect();
    (lines, Line::of("all", &all))
}

/// The publication of a source, without the place in it: the text up to the year.
fn work(source: &str) -> &str {
    let year =
        |word: &str| word.len() == 4 && word.starts_with(['1', '2']) && word.bytes().all(|byte| byte.is_ascii_digit());
    let word = source.split(|sign: char| !sign.is_ascii_alphanumeric()).find(|word| year(word));
    let end = word.and_then(|word| source.find(word)).map(|start| start + 4);
    end.map_or(source, |end| &source[..end])
}

/// `16 of 43`: the number of met values and of those measured or computed; a dash if there are none.
#[must_use]
pub(crate) fn met_of(tally: Tally) -> String {
    let judged = tally.met + tally.missed;
    if judged == 0 { "–".to_owned() } else { format!("{} of {judged}", tally.met) }
}

/// A note about rows without runs, if there are any.
#[must_use]
pub fn open(line: &Line) -> Option<String> {
    let count: usize = line.tallies.values().map(|tally| tally.unmeasured).sum();
    (count > 0).then(|| format!("{count} more rows are claimed, but their runs are not finished or measured nothing."))
}
