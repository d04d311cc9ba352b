//! An experiment that can be run, whole or run by run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, atomic::AtomicBool};
use std::thread;
use std::time::Duration;

use aqmkit_aqm::custom::Customs;
use aqmkit_base::units::parse_share;
use aqmkit_experiment::{Experiment, Overrides, Problem, Scale};
use aqmkit_lab::{LabError, Workspace, calibrate};
use aqmkit_runs::run::{self, Done, RunOptions, Stop};
use aqmkit_runs::store::{Kept, Store};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::control::{Cancel, Control, Progress};
use crate::discipline::Prototype;
use crate::outcome::Outcome;
use crate::perform::{Job, Session};
use crate::problem::{RunError, exception, failure};

/// Number of parallel runs: as requested, or one per core.
pub(crate) fn all_cores(asked: Option<u16>) -> usize {
    asked.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Interval between checks for signals and progress reports.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A checked experiment, with the Python disciplines that it refers to.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
pub(crate) struct Plan {
    /// The experiment file's name and text, and the overrides that apply to it.
    file: String,
    text: String,
    overrides: Overrides,
    experiment: Experiment,
    customs: Vec<(String, Py<PyAny>)>,
}

impl Plan {
    /// Factories of the Python disciplines, for runs controlled by `control`.
    fn customs(&self, py: Python<'_>, control: &Arc<Control>) -> Customs {
        let mut customs = Customs::default();
        for (id, object) in &self.customs {
            let make = Prototype { object: object.clone_ref(py), control: Arc::clone(control) };
            customs.insert(id, Arc::new(make));
        }
        customs
    }

    /// The experiment with this number of repeats and, if given, another warm-up.
    fn repeated(&self, repeat: u32, warmup: Option<aqmkit_base::Duration>) -> Result<Experiment, LabError> {
        let mut overrides = Overrides { repeat: Some(repeat), ..self.overrides.clone() };
        overrides.set.extend(warmup.map(|longer| format!("warmup=\"{longer}\"")));
        Ok(Experiment::parse(&self.file, &self.text, &overrides)?)
    }

    /// Does `work` in the directory under [`supervised`].
    fn supervise(
        &self,
        py: Python<'_>,
        dir: &Path,
        jobs: Option<u16>,
        progress: Option<&Py<PyAny>>,
        work: impl FnOnce(Session<'_>) -> Result<Outcome, LabError> + Send,
    ) -> PyResult<Outcome> {
        let control = Arc::new(Control::default());
        let customs = self.customs(py, &control);
        let session = Session { dir, jobs: all_cores(jobs), customs: &customs, control: &control };
        supervised(py, &control, progress, || work(session))
    }

    /// Executes one run of the plan unless it is stored; returns its output and whether it was stored.
    fn perform_one(
        &self,
        index: usize,
        dir: &Path,
        customs: &Customs,
        control: &Control,
        cancel: &AtomicBool,
    ) -> Result<(Done, bool), LabError> {
        let store = Store::open(dir)?;
        let session = Session { dir, jobs: 1, customs, control };
        let (experiment, _) = calibrate(&self.experiment, &store, Workspace { cancel, ..session.workspace() })?;
        let Some(spec) = experiment.plan().into_iter().nth(index) else {
            return Err(Problem::new(format!("the plan has no run {index}")).into());
        };
        let kept = matches!(store.load(&spec.hash), Kept::Found(_));
        let job = Job { spec, customs, control };
        match run::one(&job, RunOptions { jobs: 1, store: &store, watch: control, cancel }) {
            Ok(output) => Ok((Done { labels: job.spec.labels, output }, kept)),
            Err(Stop::Cancelled) => Err(LabError::Stopped("Stopped".to_owned())),
            Err(Stop::Full(why)) => Err(std::io::Error::new(std::io::ErrorKind::StorageFull, why).into()),
            Err(Stop::Failed(why)) => {
                control.fail(RunError::new_err(format!("{}: {why}", run::name(&job.spec.labels))));
                Err(LabError::Environment("the run failed".to_owned()))
            }
        }
    }
}

/// Prefers the exception that a Python discipline raised to the error of the run that it stopped.
fn fault_or<T>(control: &Control, result: Result<T, LabError>) -> PyResult<T> {
    control.fault().map_or_else(|| result.map_err(failure), Err)
}

/// Does `work` on another thread, while this one polls for signals and calls `progress`.
pub(crate) fn supervised<T: Send>(
    py: Python<'_>,
    control: &Control,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> PyResult<T> {
    let result = thread::scope(|scope| {
        let worker = scope.spawn(work);
        loop {
            let ended = py.detach(|| {
                thread::sleep(POLL_INTERVAL);
                worker.is_finished()
            });
            let reported = progress.map_or(Ok(()), |report| {
                let Progress { done, ended, round } = control.progress();
                report.call1(py, (done, ended, round.runs, round.why)).map(|_| ())
            });
            if let Err(error) = py.check_signals().and(reported) {
                control.fail(error);
            }
            if ended {
                return worker.join();
            }
        }
    });
    let result = result.unwrap_or_else(|_| Err(LabError::Environment("the thread of the runs panicked".to_owned())));
    match control.fault() {
        Some(error) if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => match result {
            Err(other) => Err(failure(other)),
            // The work finished before it could be stopped.
            Ok(_) => Err(error),
        },
        Some(error) => Err(error),
        None => result.map_err(failure),
    }
}

#[pymethods]
impl Plan {
    /// Parses an experiment; errors refer to it as `file`. `customs` are the Python disciplines that it refers to, by
    /// id. `scale` is `quick` or `full`.
    #[new]
    #[pyo3(signature = (file, text, customs, *, set, seed, repeat, scale))]
    fn new(
        file: &str,
        text: &str,
        customs: Vec<(String, Py<PyAny>)>,
        set: Vec<String>,
        seed: Option<u64>,
        repeat: Option<u32>,
        scale: &str,
    ) -> PyResult<Plan> {
        let scale = match scale {
            "quick" => Scale::Quick,
            "full" => Scale::Full,
            other => {
                let problem = Problem::new(format!("{other:?} is not a scale"));
                return Err(exception(&problem.right("it must be quick or full")));
            }
        };
        let overrides = Overrides { set, seed, repeat, scale, ..Overrides::default() };
        let experiment = Experiment::parse(file, text, &overrides).map_err(|e| exception(&e))?;
        Ok(Plan { file: file.to_owned(), text: text.to_owned(), overrides, experiment, customs })
    }

    /// Metadata: the experiment's id, title, source and description, its scale, and the hash of all inputs of its
    /// results.
    #[getter]
    fn about(&self) -> BTreeMap<&'static str, String> {
        let e = &self.experiment;
        let scale = if e.scale == Scale::Quick { "quick" } else { "full" };
        [
            ("experiment", e.id.clone()),
            ("title", e.title.clone()),
            ("source", e.source.clone()),
            ("about", e.about.clone()),
            ("hash", e.hash()),
            ("scale", scale.to_owned()),
        ]
        .into()
    }

    /// The seed from which those of the runs are derived.
    #[getter]
    fn seed(&self) -> u64 {
        self.experiment.seed
    }

    /// Number of runs of each combination.
    #[getter]
    fn repeat(&self) -> u32 {
        self.experiment.repeat
    }

    /// The sweep axes in order, each with the labels of its values.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.experiment.axes.iter().map(|a| (a.name.clone(), a.labels.clone())).collect()
    }

    /// Start and end of each measurement window, in seconds.
    #[getter]
    fn windows(&self) -> BTreeMap<String, (f64, f64)> {
        let window = |w: &aqmkit_experiment::Window| (w.name.clone(), (w.from.as_secs_f64(), w.to.as_secs_f64()));
        self.experiment.windows.iter().map(window).collect()
    }

    /// Every run: its labels, and the hash of all its inputs.
    #[getter]
    fn runs(&self) -> Vec<(BTreeMap<String, String>, String)> {
        self.experiment.plan().into_iter().map(|spec| (spec.labels, spec.hash)).collect()
    }

    /// Executes the runs that are not stored in the directory, and writes the results there.
    ///
    /// `progress` is called with the completed work in runs, the number of runs that have ended, the total number of
    /// runs, and their purpose: empty, or a text that ends in a comma and a space.
    #[pyo3(signature = (dir, jobs, progress))]
    fn run(&self, py: Python<'_>, dir: PathBuf, jobs: Option<u16>, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        self.supervise(py, &dir, jobs, progress.as_ref(), |session| session.perform(&self.experiment))
    }

    /// Like `run`, but repeats with further seeds until every mean is known to `precision` (`0.02` or `2%`; the default
    /// if None). With `lengthen`, a warm-up that is too short is lengthened.
    #[pyo3(signature = (dir, jobs, precision, lengthen, progress))]
    fn run_until_known(
        &self,
        py: Python<'_>,
        dir: PathBuf,
        jobs: Option<u16>,
        precision: Option<&str>,
        lengthen: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let share = precision.map(parse_share).transpose();
        let share =
            share.map_err(|e| exception(&Problem::new(format!("precision cannot be {:?}", e.got)).right(e.hint)))?;
        let read = |repeat, warmup| self.repeated(repeat, warmup);
        self.supervise(py, &dir, jobs, progress.as_ref(), |session| session.until_known(read, share, lengthen))
    }

    /// Finds the user populations that produce the requested loads, unless their trial runs are stored in the
    /// directory.
    fn calibrate(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        let control = Control::default();
        py.detach(|| {
            let session = Session { dir: &dir, jobs: all_cores(None), customs: &Customs::default(), control: &control };
            calibrate(&self.experiment, &Store::open(&dir)?, session.workspace()).map(|_| ())
        })
        .map_err(failure)
    }

    /// Executes one run of the plan and stores it, unless it is stored already; returns whether it was.
    #[pyo3(signature = (index, dir, cancel = None))]
    fn run_one(
        &self,
        py: Python<'_>,
        index: usize,
        dir: PathBuf,
        cancel: Option<Bound<'_, Cancel>>,
    ) -> PyResult<(Outcome, bool)> {
        let control = Arc::new(Control::default());
        let customs = self.customs(py, &control);
        let cancel = cancel.map_or_else(|| Arc::new(AtomicBool::new(false)), |c| Arc::clone(&c.get().0));
        if index >= self.experiment.plan().len() {
            return Err(PyIndexError::new_err(format!("the plan has no run {index}")));
        }
        let result = py.detach(|| self.perform_one(index, &dir, &customs, &control, &cancel));
        let (done, kept) = fault_or(&control, result)?;
        Ok((Outcome::of_run(dir, done), kept))
    }
}
