//! Notes on response times with few responses: additional seeds narrow their intervals only slowly, and an interval
//! from few runs may have missed the tail.

use std::collections::{BTreeMap, BTreeSet};

use aqmkit_measure::output::Responses;
use aqmkit_results::combination;
use aqmkit_results::statistics::effective;

use crate::run::Done;

/// Below this effective sample size (Kish), a note questions the mean.
const ENOUGH: f64 = 30.0;
/// Below this number of responses, a note questions the 99th percentile: fewer than ten responses exceed it.
const FOR_P99: u64 = 1000;

/// A sentence on each mean or percentile of response times with too few responses over all seeds; empty if there are
/// enough. `duration` is the option that lengthens the runs.
#[must_use]
pub fn few_responses(done: &[Done], duration: &str) -> Vec<String> {
    let mut all: BTreeMap<(Vec<&str>, &str, &str, &str), Vec<&Responses>> = BTreeMap::new();
    for run in done {
        let labels: Vec<&str> = combination(&run.labels).into_values().collect();
        for found in &run.output.responses {
            let key = (labels.clone(), found.window.as_str(), found.traffic.as_str(), found.kind.as_str());
            all.entry(key).or_default().push(found);
        }
    }
    let (mut heavy, mut few) = (BTreeSet::new(), BTreeSet::new());
    for ((_, _, traffic, kind), found) in &all {
        let total: u64 = found.iter().map(|responses| responses.total()).sum();
        let times =
            found.iter().flat_map(|responses| responses.cells().map(|(time, _, n)| (Responses::from_ms(time), n)));
        if effective::of_counted(times) < ENOUGH {
            heavy.insert(format!("{traffic} {kind}"));
        }
        if total < FOR_P99 {
            few.insert(format!("{traffic} {kind}"));
        }
    }
    let listed = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let mut said = Vec::new();
    if !heavy.is_empty() {
        said.push(format!(
            "A few long responses decide the mean times of {} (fewer than 30 equal ones would weigh as much): read the medians.",
            listed(heavy)
        ));
    }
    if !few.is_empty() {
        said.push(format!(
            "Fewer than ten responses lie beyond the 99th percentile of {}, over all seeds of a row: a longer {duration} makes more.",
            listed(few)
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use aqmkit_measure::output::{Grid, Output};

    use super::*;

    /// A run with these response times in milliseconds, and the number of occurrences of each.
    fn run(times: &[(f64, u64)]) -> Done {
        let mut grid = Grid::default();
        times.iter().for_each(|(time, n)| (0..*n).for_each(|_| grid.record(*time, 1000)));
        let output = Output { responses: vec![grid.responses("all", "web", "page")], ..Output::default() };
        Done { labels: [("aqm".to_owned(), "fifo".to_owned())].into(), output }
    }

    #[test]
    fn a_hundred_seconds_among_thousand_short_pages_decide_the_mean() {
        // Kish's effective size: (1000 * 0.01 + 100)^2 / (1000 * 0.01^2 + 100^2) = 1.2.
        let said = few_responses(&[run(&[(10.0, 1000), (100_000.0, 1)])], "--duration");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("web page") && said[0].contains("medians"), "{said:?}");
    }

    #[test]
    fn responses_of_all_seeds_count_together() {
        let half = || run(&[(10.0, 500)]);
        assert_eq!(few_responses(&[half(), half()], "--duration"), Vec::<String>::new());
        let said = few_responses(&[half()], "--duration");
        assert!(said.len() == 1 && said[0].contains("99th percentile of web page"), "{said:?}");
    }
}
