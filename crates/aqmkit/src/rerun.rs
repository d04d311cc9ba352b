//! Tables in documents that link published values to the page of `aqmkit play`, which measures them again.

use std::fmt::Write as _;

use aqmkit_experiment::{Experiment, Overrides};
use aqmkit_report::format::significant;
use aqmkit_results::Expectation;
use aqmkit_study::verdict::{Plain, Published, first_run, unjudged};

use aqmkit_lab::player::encoded;
use aqmkit_lab::{LabError, library};

/// The name of these tables in the marks of generated numbers.
pub(super) const NAME: &str = "rerun";

/// Describes the mark, for an error about an unknown one.
pub(super) const KNOWN: &str = "or rerun EXPERIMENT ID…, a table with links that measure these claims again";

/// The URL of the page, relative to documents in `docs/` on the documentation site.
const PAGE: &str = "../play.html";

/// Generates the table for `rerun EXPERIMENT ID...`: for each claim the published value, the stored one, and a link.
///
/// # Errors
/// When there is no such experiment or claim, or the page cannot measure it.
pub(super) fn table(what: &str) -> Result<String, String> {
    let mut words = what.split_whitespace();
    let id = words.next().ok_or("rerun needs an experiment and claims of it")?;
    let experiment = Experiment::load(id, &Overrides::default()).map_err(|e| e.in_one_line())?;
    if !experiment.calibrations().is_ok_and(|list| list.is_empty()) {
        return Err(format!("{id}: its loads are calibrated first, which the page cannot do"));
    }
    let published = library::published(&experiment).map_err(in_words)?;
    let records = library::records().map_err(in_words)?;
    let mut rows: Vec<_> = experiment.expects.iter().map(|claim| unjudged(claim, &published)).collect();
    records.restore("full", &experiment.id, &mut rows);
    let mut table = "| | published | stored | |\n|---|---|---|---|\n".to_owned();
    for claim in words {
        table.push_str(&row(claim, &experiment, &published, &rows)?);
    }
    Ok(table)
}

fn row(claim: &str, experiment: &Experiment, published: &Published, rows: &[Expectation]) -> Result<String, String> {
    let both = experiment.expects.iter().zip(rows);
    let (expect, row) = both
        .filter(|(expect, _)| expect.metric.is_some())
        .find(|(expect, _)| expect.id == claim)
        .ok_or_else(|| format!("{} has no measured claim {claim}", experiment.id))?;
    let how = Plain::of(expect, published)?;
    let run = first_run(expect, experiment.plan().iter().map(|run| &run.labels))?;
    let measured = row.measured.ok_or_else(|| format!("{claim}: no value at full scale is stored"))?;
    let stored = format!("{} {}", significant(measured, 4), row.unit);
    let mut link = format!("{PAGE}#cell={}&run={run}", experiment.id);
    let seconds = how.seconds.map(|statistic| statistic.to_string()).unwrap_or_default();
    for (key, value) in [
        ("id", claim),
        ("what", &row.what),
        ("published", &row.published),
        ("stored", &stored),
        ("unit", &row.unit),
        ("repeats", &experiment.repeat.to_string()),
        ("window", &how.window),
        ("metric", &how.metric),
        ("seconds", &seconds),
        ("factor", &how.factor.to_string()),
    ] {
        if !value.is_empty() {
            let _ = write!(link, "&{key}={}", encoded(value));
        }
    }
    Ok(format!("| {} ({}) | {} | {stored} | [run]({link}) |\n", row.what, row.source, row.published))
}

fn in_words(error: LabError) -> String {
    match error {
        LabError::Problem(problem) => problem.in_one_line(),
        _ => "the values beside the experiments cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn a_row_has_the_values_and_a_link_with_everything_the_page_needs() {
        let table = table("red-pd/fig11-response RPD-F11-07").unwrap();
        let row = table.lines().nth(2).unwrap();
        assert!(
            row.contains("| 48.99 s | 48.76 s | [run](../play.html#cell=red-pd/fig11-response&run=0&id=RPD-F11-07&"),
            "{row}"
        );
        assert!(
            row.contains("&window=raised&metric=classes.cbr.throughput_bps&seconds=until%20%3C%3D%203674235&factor=1)"),
            "{row}"
        );
    }

    #[test]
    fn what_the_page_cannot_measure_is_refused() {
        let told = |what: &str| table(what).unwrap_err();
        assert!(told("red-pd/fig12-two-flows RPD-F12-03").contains("not about one number of one run"));
        assert!(told("red-pd/fig11-response RPD-REL-01").contains("has no measured claim RPD-REL-01"));
        assert!(told("red-pd/fig99 X").contains("fig99"));
    }
}
