//! Runs the plan of an experiment and writes its files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use aqmkit_aqm::registry::Link;
use aqmkit_experiment::Experiment;
use aqmkit_report::{PlayerPage, ReportInput, write_html};
use aqmkit_results::{Axis, Player, Results};
use aqmkit_runs::calibrate::{Failed, Found, calibrated};
use aqmkit_runs::export;
use aqmkit_runs::run::{Done, Outcome, RunOptions, Watch, Work};
use aqmkit_runs::store::{Parameters, Store};
use aqmkit_sim::Scenario;
use aqmkit_study::null_test::Outcomes;
use aqmkit_study::run_all;
use aqmkit_study::verdict::Published;

use crate::error::LabError;
use crate::library;
use crate::parameters::rounded;
use crate::player::{page, page_beside, player};

/// Where and how to execute the runs of an experiment.
#[derive(Clone, Copy)]
pub struct Workspace<'a> {
    /// The results directory. Finished runs stored in it are reused.
    pub dir: &'a Path,
    /// The number of parallel runs.
    pub jobs: usize,
    /// Whether the report links each run to the page of `aqmkit play`.
    pub play: bool,
    /// Receives the progress.
    pub progress: &'a dyn Progress,
    /// Set to true to stop; finished runs remain stored.
    pub cancel: &'a AtomicBool,
}

/// Receives the progress of an experiment. Each method returns an observer for the runs that are about to start; it is
/// dropped when they have ended.
pub trait Progress: Sync {
    /// Called before the trial runs of a calibration, whose number is not known in advance.
    fn trials(&self) -> Box<dyn Watch + '_>;
    /// Called before the runs of a plan.
    fn runs(&self, plan: &Begun<'_>) -> Box<dyn Watch + '_>;
}

/// A plan that is about to be executed.
#[derive(Clone, Debug)]
pub struct Begun<'a> {
    /// The number of runs, including stored ones.
    pub runs: usize,
    /// The purpose of the runs: empty, or a text that ends in a comma and a space.
    pub why: &'a str,
    /// The labels of the runs that are not stored, each with its relative duration ([`Work::weight`]).
    pub missing: Vec<(BTreeMap<String, String>, f64)>,
}

impl<'a> Begun<'a> {
    pub(crate) fn of<W: Work>(plan: &[W], store: &Store, why: &'a str) -> Begun<'a> {
        let new = plan.iter().filter(|run| run.weight() > 0.0 && !store.has(run.hash()));
        Begun { runs: plan.len(), why, missing: new.map(|run| (run.labels().clone(), run.weight())).collect() }
    }
}

/// The result of executing an experiment.
pub struct Performed {
    /// The contents of `results.json`.
    pub results: Results,
    /// Finished runs, in the order of the plan.
    pub done: Vec<Done>,
    /// For each failed run, its labels and the reason.
    pub failed: Vec<String>,
    /// CPU time in seconds of the runs and of the calibration, as measured when each was executed.
    pub cpu_s: f64,
}

/// Executes the runs that `plan` derives from an experiment, and writes its files. `axes` are those that `plan` adds to
/// the experiment's own.
///
/// # Errors
/// When a claim is invalid, the directory cannot be written to, it was stopped, or `plan` fails.
pub fn perform<W: Work>(
    exp: &Experiment,
    plan: impl FnOnce(&Experiment) -> Result<Vec<W>, LabError>,
    axes: &[Axis],
    workspace: Workspace<'_>,
) -> Result<Performed, LabError> {
    let prepared = Prepared::of(exp, workspace)?;
    let plan = plan(&prepared.exp)?;
    let (results, outcome) = prepared.run(&plan, axes, "")?;
    prepared.finish(results, outcome)
}

/// An experiment that is ready to run: checked and calibrated.
pub(crate) struct Prepared<'a> {
    pub(crate) exp: Experiment,
    workspace: Workspace<'a>,
    published: Published,
    null_test: Outcomes,
    store: Store,
    /// CPU time of the calibration, in seconds.
    trials_cpu_s: f64,
}

impl<'a> Prepared<'a> {
    /// Checks the claims of an experiment, opens its directory, and calibrates it.
    pub(crate) fn of(exp: &Experiment, workspace: Workspace<'a>) -> Result<Prepared<'a>, LabError> {
        let published = library::checked(exp)?;
        let null_test = library::null_test(Some(&exp.file))?;
        let store = Store::open(workspace.dir)?;
        let (exp, found) = calibrate(exp, &store, workspace)?;
        let trials_cpu_s = found.iter().map(|found| found.cpu_s).sum();
        Ok(Prepared { exp, workspace, published, null_test, store, trials_cpu_s })
    }

    /// Replaces the experiment by one with another number of repeats or another warm-up.
    pub(crate) fn again(self, exp: &Experiment) -> Result<Prepared<'a>, LabError> {
        let (exp, found) = calibrate(exp, &self.store, self.workspace)?;
        let trials_cpu_s = self.trials_cpu_s + found.iter().map(|found| found.cpu_s).sum::<f64>();
        Ok(Prepared { exp, trials_cpu_s, ..self })
    }

    /// Executes the runs of a plan that are not stored. If it is stopped, it still writes the files of the finished
    /// runs.
    pub(crate) fn run<W: Work>(&self, plan: &[W], axes: &[Axis], why: &str) -> Result<(Results, Outcome), LabError> {
        let watch = self.workspace.progress.runs(&Begun::of(plan, &self.store, why));
        let how =
            RunOptions { jobs: self.workspace.jobs, store: &self.store, watch: &*watch, cancel: self.workspace.cancel };
        let (results, outcome) = run_all(&self.exp, plan, axes, &self.published, how)?;
        drop(watch);
        if outcome.cancelled {
            let (done, planned) = (outcome.done.len(), results.planned);
            let text =
                format!("Stopped. {done} of {planned} runs are done and stored in {}", self.workspace.dir.display());
            self.finish_with(results, outcome, &Player::default())?;
            return Err(LabError::Stopped(text));
        }
        Ok((results, outcome))
    }

    /// Writes the files of the experiment.
    pub(crate) fn finish(&self, results: Results, outcome: Outcome) -> Result<Performed, LabError> {
        let player = if self.workspace.play { player(&self.exp) } else { Player::default() };
        self.finish_with(results, outcome, &player)
    }

    fn finish_with(&self, mut results: Results, outcome: Outcome, player: &Player) -> Result<Performed, LabError> {
        self.null_test.mark(self.exp.scale, &self.exp.id, &mut results.expectations);
        let parameters = parameters(&self.exp);
        results.queues = limits(&parameters);
        write(&self.store, &results, &outcome, &parameters, player)?;
        let runs_cpu_s: f64 = outcome.done.iter().map(|done| done.output.engine.cpu_s).sum();
        Ok(Performed { results, done: outcome.done, failed: outcome.failed, cpu_s: self.trials_cpu_s + runs_cpu_s })
    }
}

/// Replaces loads by user populations that offer them; returns the experiment and how each population was found. Trial
/// runs in the store are reused.
///
/// # Errors
/// When no population offers a load, or it was stopped.
pub fn calibrate(
    exp: &Experiment,
    store: &Store,
    workspace: Workspace<'_>,
) -> Result<(Experiment, Vec<Found>), LabError> {
    if exp.calibrations()?.is_empty() {
        return Ok((exp.clone(), Vec::new()));
    }
    let watch = workspace.progress.trials();
    let how = RunOptions { jobs: workspace.jobs, store, watch: &*watch, cancel: workspace.cancel };
    calibrated(exp, how).map_err(|e| match e {
        Failed::Problem(problem) => LabError::Problem(problem),
        Failed::Io(error) => error.into(),
        Failed::Cancelled => LabError::Stopped(format!(
            "Stopped while calibrating. Finished trials are stored in {}",
            workspace.dir.display()
        )),
    })
}

/// Writes all files of an experiment to its directory.
fn write(
    store: &Store,
    results: &Results,
    outcome: &Outcome,
    parameters: &Parameters,
    player: &Player,
) -> Result<(), LabError> {
    let data = outcome.data();
    store.save_parameters(parameters)?;
    store.save_player(player)?;
    export::write(store.dir(), results, &data)?;
    let input =
        ReportInput { parameters: parameters.clone(), player: player.clone(), ..ReportInput::new(results, &data) };
    html(store.dir(), &ReportInput { page: page(), ..input })
}

/// Writes the report to `dir`, and the page of `aqmkit play` beside it if the report links to it there.
///
/// # Errors
/// When a file cannot be written.
pub fn html(dir: &Path, input: &ReportInput<'_>) -> Result<(), LabError> {
    if write_html(&dir.join("report.html"), input)? == PlayerPage::Beside {
        page_beside(dir)?;
    }
    Ok(())
}

/// The parameters, including derived ones, of the discipline for each label of the axis `aqm`.
fn parameters(exp: &Experiment) -> Parameters {
    let mut found = Parameters::new();
    for spec in exp.plan() {
        let Some(label) = spec.labels.get("aqm") else { continue };
        if !found.contains_key(label) {
            let listed = spec.scenario().ok().and_then(|s| of_measured_link(&s)).unwrap_or_default();
            found.insert(label.clone(), listed);
        }
    }
    found
}

/// The parameters of the discipline on the measured link.
fn of_measured_link(scenario: &Scenario) -> Option<Vec<(String, String)>> {
    let link = scenario.links.get(scenario.measured)?;
    let at = Link { rate: link.rate, mean_packet: link.mean_packet, classes: scenario.classes.clone() };
    let spec = link.aqm.effective(&at).ok()?;
    let table = toml::Table::try_from(&spec).ok()?;
    let text = |v: &toml::Value| v.as_str().map_or_else(|| rounded(v).to_string(), str::to_owned);
    Some(table.iter().map(|(k, v)| (k.clone(), text(v))).collect())
}

/// The queue limit for each label, if its discipline has a single one.
fn limits(parameters: &Parameters) -> BTreeMap<String, String> {
    let limit = |list: &[(String, String)]| list.iter().find(|(name, _)| name == "limit").map(|(_, v)| v.clone());
    parameters.iter().filter_map(|(label, list)| Some((label.clone(), with_unit(&limit(list)?)))).collect()
}

/// Adds the unit to a limit in packets: `1000` becomes `1000p`.
fn with_unit(limit: &str) -> String {
    if limit.parse::<f64>().is_ok() { format!("{limit}p") } else { limit.to_owned() }
}
