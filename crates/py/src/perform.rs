//! Runs an experiment with its Python disciplines, and writes its files.

use std::collections::BTreeMap;
use std::path::Path;

use aqmkit_aqm::custom::{self, Customs};
use aqmkit_base::Duration;
use aqmkit_experiment::{Experiment, RunSpec};
use aqmkit_lab::compare::idle;
use aqmkit_lab::{LabError, Performed, Until, Workspace};
use aqmkit_runs::run::{Stop, Work};
use aqmkit_sim::{Control as Next, Error, Output, Progress};
use aqmkit_study::rounds::Options;

use crate::control::Control;
use crate::outcome::Outcome;

/// Cost of a packet through a Python discipline, relative to a built-in one: higher with two hooks, lower with one
/// (`bench/python/cost.py`).
const PYTHON: f64 = 20.0;

/// The Python arguments that notes suggest.
const OPTIONS: Options = Options {
    warmup: "warmup",
    duration: "duration",
    repeat: |seeds| format!("repeat={seeds}"),
    // Without the digits that the binary fraction adds.
    precision: |share| format!("precision={}", (1e4 * share).round() / 1e4),
};

/// A results directory, and the Python disciplines that its runs may use.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub(crate) dir: &'a Path,
    /// The number of parallel runs.
    pub(crate) jobs: usize,
    pub(crate) customs: &'a Customs,
    /// Stops the runs, and counts them.
    pub(crate) control: &'a Control,
}

/// One run, with the Python disciplines that it may use.
pub(crate) struct Job<'a> {
    pub(crate) spec: RunSpec,
    pub(crate) customs: &'a Customs,
    pub(crate) control: &'a Control,
}

impl Work for Job<'_> {
    fn labels(&self) -> &BTreeMap<String, String> {
        &self.spec.labels
    }

    fn hash(&self) -> &str {
        &self.spec.hash
    }

    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Next) -> Result<Output, Stop> {
        let scenario = self.spec.scenario().map_err(|e| Stop::Failed(e.to_string()))?;
        let mut go_on = |p: Progress| if self.control.stopped() { Next::Stop } else { on_progress(p) };
        let result = aqmkit_sim::run_custom(scenario, self.customs, &mut go_on).map_err(|e| match e {
            Error::Stopped => Stop::Cancelled,
            other => Stop::Failed(other.to_string()),
        });
        // A discipline may have failed after the last check, in which case the output is invalid.
        if self.control.stopped() { Err(Stop::Cancelled) } else { result }
    }
}

impl<'a> Session<'a> {
    /// The settings for `aqmkit_lab`.
    pub(crate) fn workspace(self) -> Workspace<'a> {
        let Session { dir, jobs, control, .. } = self;
        Workspace { dir, jobs, play: false, progress: control, cancel: &control.stop }
    }

    fn plan(self, exp: &Experiment) -> Vec<Job<'a>> {
        let Session { customs, control, .. } = self;
        exp.plan().into_iter().map(|spec| Job { spec, customs, control }).collect()
    }

    /// Executes the runs that are not stored yet, and writes the experiment's files.
    pub(crate) fn perform(self, exp: &Experiment) -> Result<Outcome, LabError> {
        aqmkit_lab::perform(exp, |exp| Ok(self.plan(exp)), &[], self.workspace())
            .map(|performed| self.outcome(performed))
    }

    /// Like `perform`, but repeats with further seeds until every mean is known to `precision` (a fraction; the default
    /// if None). With `lengthen`, a warm-up that is too short is lengthened.
    pub(crate) fn until_known(
        self,
        read: impl Fn(u32, Option<Duration>) -> Result<Experiment, LabError>,
        precision: Option<f64>,
        lengthen: bool,
    ) -> Result<Outcome, LabError> {
        let cost = |discipline: &str| if discipline == custom::NAME { PYTHON } else { 1.0 };
        let until = Until { precision, lengthen, cost, options: OPTIONS };
        let rounds = aqmkit_lab::perform_rounds(read, |exp| self.plan(exp), &until, self.workspace())?;
        Ok(self.outcome(rounds.performed))
    }

    /// Collects results, failures and warnings.
    fn outcome(self, performed: Performed) -> Outcome {
        let Performed { results, done, failed, .. } = performed;
        let warnings = self.control.warnings().into_iter().chain(idle(&results)).collect();
        Outcome::new(self.dir.to_owned(), results, done).with_news(failed, warnings)
    }
}
