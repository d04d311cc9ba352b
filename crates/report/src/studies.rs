//! One-line summaries of studies.

use std::collections::BTreeMap;

use aqmkit_results::{Cells, Expectation, Results, Standing};
use serde::Serialize;

use super::scoreboard::{met_of, work};
use super::verdict::Tally;

/// A study: the experiments of one directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Study {
    /// Directory below `experiments/`: `cbt`.
    pub name: String,
    /// Publications that its experiments reproduce.
    pub sources: Vec<String>,
    /// Claims with a `headline` and their counts, then the counts of met cells.
    pub outcome: String,
}

/// One summary per study that claims published values.
#[must_use]
pub fn studies(experiments: &[&Results]) -> Vec<Study> {
    let mut all: BTreeMap<&str, Vec<&Results>> = BTreeMap::new();
    for results in experiments.iter().filter(|results| !results.expectations.is_empty()) {
        let name = results.experiment.split_once('/').map_or(results.experiment.as_str(), |(study, _)| study);
        all.entry(name).or_default().push(results);
    }
    all.into_iter().map(|(name, results)| study(name, &results)).collect()
}

fn study(name: &str, results: &[&Results]) -> Study {
    let mut sources: Vec<String> = Vec::new();
    for source in results.iter().map(|results| work(&results.source).to_owned()) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    let rows: Vec<&Expectation> = results.iter().flat_map(|results| &results.expectations).collect();
    let outcome = headlines(&rows).into_iter().chain(counts(&rows)).collect::<Vec<_>>().join("; ");
    Study { name: name.to_owned(), sources, outcome }
}

/// Claims with a headline, with the number of comparisons (orderings) or cells (others) that hold; claims with the same
/// headline are added up.
fn headlines(rows: &[&Expectation]) -> Vec<String> {
    let mut named: Vec<(&str, Cells, &str)> = Vec::new();
    for row in rows.iter().filter(|row| !row.headline.is_empty()) {
        let Some(cells) = row.counted() else { continue };
        let (counted, what) = row.comparisons.map_or((cells, "cells"), |comparisons| (comparisons, "comparisons"));
        match named.iter_mut().find(|(words, _, of)| *words == row.headline && *of == what) {
            Some((_, sum, _)) => (sum.held, sum.of) = (sum.held + counted.held, sum.of + counted.of),
            None => named.push((&row.headline, counted, what)),
        }
    }
    let told = |(words, cells, what): &(&str, Cells, &str)| {
        let what = if cells.of == 1 { what.trim_end_matches('s') } else { what };
        format!("{words}: {} of {} {what}", cells.held, cells.of)
    };
    named.iter().map(told).collect()
}

/// Counts of cells that discriminate between with and without the scheme, and of cells without a scheme.
fn counts(rows: &[&Expectation]) -> Vec<String> {
    let of = |standing| Tally::of(rows.iter().copied().filter(|row| Standing::of(row) == standing));
    let told = |standing, title: &str| {
        let tally: Tally = of(standing);
        (tally.judged() > 0).then(|| format!("{title}{}", met_of(tally)))
    };
    let measured = told(Standing::Discriminates, "").map(|count| match count.split_once(',') {
        Some((met, open)) => format!("{met} cells met,{open}"),
        None => format!("{count} cells met"),
    });
    let untried = told(Standing::NotTried, "not null-tested: ");
    let without = told(Standing::NoScheme, "of drop-tail, or of hosts and traffic alone: ");
    [measured, untried, without].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmkit_results::WithoutScheme;

    fn row(headline: &str, counts: (usize, usize, usize), comparisons: Option<(usize, usize)>) -> Expectation {
        let count = |held, of, undecided| Cells { held, of, undecided };
        let cells = count(counts.0, counts.1, counts.2);
        let mut row = Expectation {
            headline: headline.to_owned(),
            without_scheme: WithoutScheme::Missed,
            cells: Some(cells),
            comparisons: comparisons.map(|(held, of)| count(held, of, 0)),
            ..Expectation::default()
        };
        row.set_verdict(Some(cells.verdict()));
        row
    }

    #[test]
    fn a_study_is_one_line_of_its_claims_and_cells() {
        let order = "published order of three schemes at two loads";
        let first = Results {
            experiment: "dcn/comparison".to_owned(),
            source: "Le et al. 2004, section 5".to_owned(),
            expectations: vec![row(order, (1, 2, 0), Some((3, 4))), row("", (2, 5, 3), None)],
            ..Results::default()
        };
        let second = Results {
            experiment: "dcn/targets".to_owned(),
            source: "Le et al. 2004, section 6".to_owned(),
            expectations: vec![
                row(order, (2, 2, 0), Some((2, 2))),
                row("lost packets", (1, 1, 0), None),
                Expectation { without_scheme: WithoutScheme::NoScheme, ..row("", (1, 3, 0), None) },
            ],
            ..Results::default()
        };
        let none = Results { experiment: "live/agree".to_owned(), ..Results::default() };
        let found = studies(&[&first, &second, &none]);
        let wanted = "published order of three schemes at two loads: 5 of 6 comparisons; lost packets: 1 of 1 cell; 6 of \
                      10 cells met, 3 undecided; of drop-tail, or of hosts and traffic alone: 1 of 3";
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].sources.as_slice()), ("dcn", &["Le et al. 2004".to_owned()][..]));
        assert_eq!(found[0].outcome, wanted);
    }

    #[test]
    fn a_claim_whose_runs_are_not_finished_is_not_named() {
        let open = Expectation { headline: "order".to_owned(), ..Expectation::default() };
        let results = Results { experiment: "a/b".to_owned(), expectations: vec![open], ..Results::default() };
        assert_eq!(studies(&[&results])[0].outcome, "");
    }
}
