//! Runs the plan of an experiment and judges its claims.

use std::collections::BTreeMap;
use std::io;

use aqmkit_experiment::Experiment;
use aqmkit_results::{Axis, Entry, Results, means};
use aqmkit_runs::run::{Outcome, RunOptions, Work, execute};

use crate::agree::agreements;
use crate::verdict::evidence::Evidence;
use crate::verdict::{self, Published};

/// Runs the plan of an experiment and judges its claims. `axes` are added by the plan to the experiment's own axes.
///
/// # Errors
/// Those of [`execute`]; or when an output cannot be serialized.
pub fn run_all<W: Work>(
    exp: &Experiment,
    plan: &[W],
    axes: &[Axis],
    published: &Published,
    options: RunOptions<'_>,
) -> io::Result<(Results, Outcome)> {
    let outcome = execute(plan, options)?;
    let planned: Vec<_> = plan.iter().map(|s| s.labels().clone()).collect();
    let evidence = Evidence::new(&planned, &outcome.data())?;
    let entries: Vec<Entry> = outcome
        .done
        .iter()
        .flat_map(|d| d.output.windows.iter().map(|w| Entry::of(&d.labels, w, d.output.engine)))
        .collect();
    let mut results = Results {
        experiment: exp.id.clone(),
        title: exp.title.clone(),
        source: exp.source.clone(),
        about: exp.about.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hash: exp.hash(),
        scale: exp.scale.name().to_owned(),
        setting: exp.setting(),
        axes: exp.axes.iter().chain(axes).cloned().collect(),
        queues: BTreeMap::new(),
        controls: exp.controls(),
        notes: Vec::new(),
        means: means(&entries).into_iter().filter(|of| of.metrics.values().any(|mean| mean.runs > 1)).collect(),
        runs: entries,
        // Claims apply to the experiment as written, not to runs with additional axes.
        expectations: if axes.is_empty() { verdict::judge(&exp.expects, published, &evidence) } else { Vec::new() },
        plot: exp.plot.clone(),
        tables: exp.tables.clone(),
        overlays: exp.predictions.clone(),
        overview: exp.overview.clone(),
        figures: exp.figures.clone(),
        agreements: Vec::new(),
        planned: plan.len(),
    };
    results.agreements = agreements(&results);
    Ok((results, outcome))
}
