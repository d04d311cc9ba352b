//! Runs an experiment with its disciplines in Python, and writes its files.

use std::collections::BTreeMap;
use std::path::Path;

use aqmkit_aqm::custom::{self, Customs};
use aqmkit_base::Duration;
use aqmkit_experiment::{Experiment, RunSpec};
use aqmkit_lab::cli::compare::idle;
use aqmkit_lab::cli::fail::Failure;
use aqmkit_lab::cli::library;
use aqmkit_lab::cli::perform::{parameters, queues, write};
use aqmkit_report::precision::least_known;
use aqmkit_results::Player;
use aqmkit_runs::calibrate::{Failed, calibrated};
use aqmkit_runs::run::{Outcome as Ended, RunOptions, Stop, Work};
use aqmkit_runs::store::Store;
use aqmkit_sim::{Control as Next, Error, Output, Progress};
use aqmkit_study::null_test::Outcomes;
use aqmkit_study::rounds::{Aim, Options, Ran, Rules, warmup};
use aqmkit_study::run_all;
use aqmkit_study::verdict::Published;

use crate::control::Control;
use crate::outcome::Outcome;

/// What a packet through a discipline in Python costs, in packets through a built-in one: more with two hooks, less with one
/// (`bench/python/cost.py`).
const PYTHON: f64 = 20.0;

/// The arguments that notes name.
const OPTIONS: Options = Options {
    warmup: "warmup",
    duration: "duration",
    repeat: |seeds| format!("repeat={seeds}"),
    // Without the digits that the binary fraction adds.
    precision: |share| format!("precision={}", (1e4 * share).round() / 1e4),
};

/// Where an experiment runs, and how.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The directory of its results.
    pub(crate) dir: &'a Path,
    /// The number of parallel runs.
    pub(crate) jobs: usize,
    /// Its disciplines in Python.
    pub(crate) customs: &'a Customs,
    /// What stops it, and is told how far it is.
    pub(crate) control: &'a Control,
}

/// Reads the experiment with this number of repeats, and with another warm-up if one is given.
pub(crate) type Reader<'a> = dyn Fn(u32, Option<Duration>) -> Result<Experiment, Failure> + Sync + 'a;

/// One run, with the disciplines that it may need.
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
        // A discipline may have failed after the last check: then the runs are invalid.
        if self.control.stopped() { Err(Stop::Cancelled) } else { result }
    }
}

/// The experiment with its populations found.
pub(crate) fn settled(exp: &Experiment, how: RunOptions<'_>) -> Result<Experiment, Failure> {
    if exp.calibrations()?.is_empty() {
        return Ok(exp.clone());
    }
    match calibrated(exp, how) {
        Ok((experiment, _)) => Ok(experiment),
        Err(Failed::Problem(problem)) => Err(problem.into()),
        Err(Failed::Io(error)) => Err(error.into()),
        Err(Failed::Cancelled) => Err(Failure::Stopped("Stopped while calibrating.".to_owned())),
    }
}

/// Does the missing runs of an experiment, and writes its files.
///
/// # Errors
/// When its claims are wrong, the directory cannot be written to, or it was stopped.
pub(crate) fn perform(exp: &Experiment, place: Place<'_>) -> Result<Outcome, Failure> {
    let session = Session::of(exp, place)?;
    let ran = session.run(exp, "")?;
    session.finish(ran)
}

/// As [`perform`], under as many seeds as the means need: until they are known to the share `asked`, or to the usual one. With
/// `lengthen`, a warm-up that is too short is lengthened.
///
/// # Errors
/// As [`perform`], and those of `read`.
pub(crate) fn until_known(
    read: &Reader<'_>,
    asked: Option<f64>,
    lengthen: bool,
    place: Place<'_>,
) -> Result<Outcome, Failure> {
    let first = read(1, None)?;
    let cost = |discipline: &str| if discipline == custom::NAME { PYTHON } else { 1.0 };
    let rules = Rules {
        aim: Aim::of(&first, asked, cost),
        warmup: warmup(&first),
        lengthen,
        judge: least_known,
        options: OPTIONS,
    };
    let session = Session::of(&first, place)?;
    let rounds = rules.run(|round, _| session.run(&read(round.seeds, round.warmup)?, round.why))?;
    session.finish(rounds.last)
}

/// The directory of an experiment that is run, and what its results are held against.
struct Session<'a> {
    place: Place<'a>,
    published: Published,
    null_test: Outcomes,
    store: Store,
}

impl<'a> Session<'a> {
    /// Checks the claims of an experiment, and opens its directory.
    fn of(exp: &Experiment, place: Place<'a>) -> Result<Session<'a>, Failure> {
        let published = library::checked(exp)?;
        let null_test = library::null_test(Some(&exp.file))?;
        Ok(Session { place, published, null_test, store: Store::open(place.dir)? })
    }

    /// Does the missing runs; `why` is what they are for.
    fn run(&self, exp: &Experiment, why: &str) -> Result<Ran<Experiment>, Failure> {
        let Place { dir, jobs, customs, control } = self.place;
        let how = RunOptions { jobs, store: &self.store, watch: control, cancel: &control.stop };
        let experiment = settled(exp, how)?;
        let plan: Vec<Job<'_>> = experiment.plan().into_iter().map(|spec| Job { spec, customs, control }).collect();
        control.begin(plan.len(), why);
        let (results, outcome) = run_all(&experiment, &plan, &[], &self.published, how)?;
        let cancelled = outcome.cancelled.then(|| {
            format!(
                "Stopped. {} of {} runs are done and kept in {}; the same call resumes.",
                outcome.done.len(),
                results.planned,
                dir.display()
            )
        });
        let mut ran = Ran { experiment, results, outcome };
        match cancelled {
            None => Ok(ran),
            Some(text) => {
                self.write(&mut ran)?;
                Err(Failure::Stopped(text))
            }
        }
    }

    /// Writes the files.
    fn write(&self, ran: &mut Ran<Experiment>) -> Result<(), Failure> {
        self.null_test.mark(ran.experiment.scale, &ran.experiment.id, &mut ran.results.expectations);
        let parameters = parameters(&ran.experiment);
        ran.results.queues = queues(&parameters);
        write(&self.store, &ran.results, &ran.outcome, &parameters, &Player::default())
    }

    /// Writes the files, and gives what Python sees.
    fn finish(&self, mut ran: Ran<Experiment>) -> Result<Outcome, Failure> {
        self.write(&mut ran)?;
        let Ran { results, outcome: Ended { done, failed, .. }, .. } = ran;
        let warnings = self.place.control.warnings().into_iter().chain(idle(&results)).collect();
        Ok(Outcome::new(self.place.dir.to_owned(), results, done).with_news(failed, warnings))
    }
}
