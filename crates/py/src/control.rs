//! The state that runs share with the Python thread that started them: a stop flag, progress, warnings.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_lab::{Begun, Progress as Runs};
use aqmkit_runs::run::Watch;
use pyo3::prelude::*;

/// State shared by the runs, their disciplines in Python, and the thread that waits for them.
#[derive(Default)]
pub(crate) struct Control {
    /// Set to stop.
    pub(crate) stop: AtomicBool,
    fault: Mutex<Option<PyErr>>,
    thousandths: AtomicU64,
    ended: AtomicU64,
    round: Mutex<Round>,
    warnings: Mutex<Vec<String>>,
}

/// The plan in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Round {
    /// The number of its runs.
    pub(crate) runs: usize,
    /// The purpose of the runs: empty, or a few words that end with a comma and a space.
    pub(crate) why: String,
}

/// The progress of a plan.
pub(crate) struct Progress {
    /// Work done, in runs; a run that is half done counts as 0.5.
    pub(crate) done: f64,
    /// The number of runs that have ended.
    pub(crate) ended: u64,
    /// The plan that these numbers are about.
    pub(crate) round: Round,
}

impl Control {
    /// Stops the runs and keeps the exception, unless one is kept already.
    pub(crate) fn fail(&self, error: PyErr) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Takes the exception that stopped the runs, if one did.
    pub(crate) fn fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the runs are asked to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A plan with this number of runs begins.
    pub(crate) fn begin(&self, runs: usize, why: &str) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        self.thousandths.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
        *round = Round { runs, why: why.to_owned() };
    }

    /// The progress of the plan.
    pub(crate) fn progress(&self) -> Progress {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        Progress {
            done: self.thousandths.load(Ordering::Relaxed) as f64 / 1000.0,
            ended: self.ended.load(Ordering::Relaxed),
            round: round.clone(),
        }
    }

    /// Warnings for the user.
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

/// A stop flag that any thread can set.
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
