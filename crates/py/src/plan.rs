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

/// The number of parallel runs: one per core, unless another number is asked for.
pub(crate) fn all_cores(asked: Option<u16>) -> usize {
    asked.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// How often the thread that waits for runs checks for signals and reports progress.
const LOOK: Duration = Duration::from_millis(20);

/// A checked experiment, with its disciplines in Python.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
pub(crate) struct Plan {
    /// The name and the text of its file, and the changes to it.
    file: String,
    text: String,
    overrides: Overrides,
    experiment: Experiment,
    customs: Vec<(String, Py<PyAny>)>,
}

impl Plan {
    /// The disciplines in Python, for runs that `control` stops.
    fn customs(&self, py: Python<'_>, control: &Arc<Control>) -> Customs {
        let mut customs = Customs::default();
        for (id, object) in &self.customs {
            let make = Prototype { object: object.clone_ref(py), control: Arc::clone(control) };
            customs.insert(id, Arc::new(make));
        }
        customs
    }

    /// The experiment with this number of repeats, and with another warm-up if one is given.
    fn repeated(&self, repeat: u32, warmup: Option<aqmkit_base::Duration>) -> Result<Experiment, LabError> {
        let mut overrides = Overrides { repeat: Some(repeat), ..self.overrides.clone() };
        overrides.set.extend(warmup.map(|longer| format!("warmup=\"{longer}\"")));
        Ok(Experiment::parse(&self.file, &self.text, &overrides)?)
    }

    /// Does `work` in the directory on a thread of its own. Meanwhile this thread checks for signals, and calls `progress`.
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

    /// Makes one run of the plan, unless it is stored; the flag is true if it was.
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

/// The exception that a discipline in Python raised, if one did; otherwise the result of the runs.
fn settle<T>(control: &Control, result: Result<T, LabError>) -> PyResult<T> {
    control.fault().map_or_else(|| result.map_err(failure), Err)
}

/// Does `work` on a thread of its own; meanwhile this thread checks for signals, and calls `progress`.
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
                thread::sleep(LOOK);
                worker.is_finished()
            });
            let told = progress.map_or(Ok(()), |tell| {
                let Progress { done, ended, round } = control.progress();
                tell.call1(py, (done, ended, round.runs, round.why)).map(|_| ())
            });
            if let Err(error) = py.check_signals().and(told) {
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
            // The runs ended before they noticed the signal.
            Ok(_) => Err(error),
        },
        Some(error) => Err(error),
        None => result.map_err(failure),
    }
}

#[pymethods]
impl Plan {
    /// Reads an experiment from a text. Messages call it by the name of its file; `customs` are its disciplines in Python, by
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

    /// The experiment's id, title, source, and description; its scale, and the hash of all that decides its
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

    /// The seed that the runs' seeds are derived from.
    #[getter]
    fn seed(&self) -> u64 {
        self.experiment.seed
    }

    /// The number of runs of each combination.
    #[getter]
    fn repeat(&self) -> u32 {
        self.experiment.repeat
    }

    /// The axes of the sweep with the labels of their values, in order.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.experiment.axes.iter().map(|a| (a.name.clone(), a.labels.clone())).collect()
    }

    /// The windows that are reported: where they start and end, in seconds.
    #[getter]
    fn windows(&self) -> BTreeMap<String, (f64, f64)> {
        let window = |w: &aqmkit_experiment::Window| (w.name.clone(), (w.from.as_secs_f64(), w.to.as_secs_f64()));
        self.experiment.windows.iter().map(window).collect()
    }

    /// Every run: its labels, and the hash of all that decides its output.
    #[getter]
    fn runs(&self) -> Vec<(BTreeMap<String, String>, String)> {
        self.experiment.plan().into_iter().map(|spec| (spec.labels, spec.hash)).collect()
    }

    /// Makes the runs that are not stored in the directory, and writes the files there.
    ///
    /// `progress` is called with the work done (in runs), the number of runs that have ended, the number of all runs, and their
    /// purpose: empty, or a few words that end with a comma and a space.
    #[pyo3(signature = (dir, jobs, progress))]
    fn run(&self, py: Python<'_>, dir: PathBuf, jobs: Option<u16>, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
        self.supervise(py, &dir, jobs, progress.as_ref(), |session| session.perform(&self.experiment))
    }

    /// As `run`, under as many seeds as the means need: until they are known to `precision`, a share such as 0.02 or 2%, or to the
    /// usual one. With `lengthen`, a warm-up that is too short is lengthened.
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
        let asked = precision.map(parse_share).transpose();
        let asked =
            asked.map_err(|e| exception(&Problem::new(format!("precision cannot be {:?}", e.got)).right(e.hint)))?;
        let read = |repeat, warmup| self.repeated(repeat, warmup);
        self.supervise(py, &dir, jobs, progress.as_ref(), |session| session.until_known(read, asked, lengthen))
    }

    /// Finds the populations that offer the loads; stored trials are not repeated.
    fn calibrate(&self, py: Python<'_>, dir: PathBuf) -> PyResult<()> {
        let control = Control::default();
        py.detach(|| {
            let session = Session { dir: &dir, jobs: all_cores(None), customs: &Customs::default(), control: &control };
            calibrate(&self.experiment, &Store::open(&dir)?, session.workspace()).map(|_| ())
        })
        .map_err(failure)
    }

    /// Makes one run of the plan and stores it, unless it is stored already; the flag is true if it was.
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
        let (done, kept) = settle(&control, result)?;
        Ok((Outcome::of_run(dir, done), kept))
    }
}
