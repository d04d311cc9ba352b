//! Cancels runs from another thread, and reports their progress to it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_lab::{Begun, Progress as Runs};
use aqmkit_runs::run::Watch;
use pyo3::prelude::*;

/// State shared by the runs, their Python disciplines and the thread that waits for them.
#[derive(Default)]
pub(crate) struct Control {
    /// Whether the runs should stop.
    pub(crate) stop: AtomicBool,
    fault: Mutex<Option<PyErr>>,
    thousandths: AtomicU64,
    ended: AtomicU64,
    round: Mutex<Round>,
    warnings: Mutex<Vec<String>>,
}

/// A set of runs that are executed together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Round {
    /// Number of runs.
    pub(crate) runs: usize,
    /// Their purpose, for the progress bar: empty, or a text that ends in a comma and a space.
    pub(crate) why: String,
}

/// A snapshot of the progress.
pub(crate) struct Progress {
    /// Completed work in runs, including fractions of unfinished ones.
    pub(crate) done: f64,
    /// Number of runs that have ended.
    pub(crate) ended: u64,
    /// The runs that are counted.
    pub(crate) round: Round,
}

impl Control {
    /// Stops the runs with this error. Only the first error is kept.
    pub(crate) fn fail(&self, error: PyErr) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the error passed to [`Control::fail`], if any.
    pub(crate) fn fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the runs should stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Resets the counters for a new set of runs.
    pub(crate) fn begin(&self, runs: usize, why: &str) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        self.thousandths.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
        *round = Round { runs, why: why.to_owned() };
    }

    /// A snapshot of the progress.
    pub(crate) fn progress(&self) -> Progress {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        Progress {
            done: self.thousandths.load(Ordering::Relaxed) as f64 / 1000.0,
            ended: self.ended.load(Ordering::Relaxed),
            round: round.clone(),
        }
    }

    /// The warnings collected so far.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Runs for Control {
    fn trials(&self) -> Box<dyn Watch + '_> {
        Box::new(self)
    }

    fn runs(&self, plan: &Begun<'_>) -> Box<dyn Watch + '_> {
        self.begin(plan.runs, plan.why);
        Box::new(self)
    }
}

impl Watch for Control {
    fn advanced(&self, thousandths: u64) {
        self.thousandths.fetch_add(thousandths, Ordering::Relaxed);
    }

    fn ended(&self, _labels: &BTreeMap<String, String>, _reused: bool) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, text: &str) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}

/// A cancellation flag that can be set from any thread.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
#[derive(Default)]
pub(crate) struct Cancel(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops every run that was started with this flag.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
