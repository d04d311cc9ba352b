//! Stopping a run from outside, and telling outside how far it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aqmkit_lab::{Begun, Progress as Runs};
use aqmkit_runs::run::Watch;
use pyo3::prelude::*;

/// The state that a run, its disciplines in Python and the thread that waits for it share.
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

/// The runs that are in progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Round {
    /// How many there are.
    pub(crate) runs: usize,
    /// What they are for; empty, or it ends with a comma and a space.
    pub(crate) why: String,
}

/// How far the runs are.
pub(crate) struct Progress {
    /// How much is done, counted in runs: a part of a run counts as a part.
    pub(crate) done: f64,
    /// How many runs have ended.
    pub(crate) ended: u64,
    /// Of which runs.
    pub(crate) round: Round,
}

impl Control {
    /// Stops for this reason; the first one counts.
    pub(crate) fn fail(&self, error: PyErr) {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Why it was stopped, if not from outside.
    pub(crate) fn fault(&self) -> Option<PyErr> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether it is to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Begins with these runs, of which none is done.
    pub(crate) fn begin(&self, runs: usize, why: &str) {
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        self.thousandths.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
        *round = Round { runs, why: why.to_owned() };
    }

    /// How far the runs are.
    pub(crate) fn progress(&self) -> Progress {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        Progress {
            done: self.thousandths.load(Ordering::Relaxed) as f64 / 1000.0,
            ended: self.ended.load(Ordering::Relaxed),
            round: round.clone(),
        }
    }

    /// What the user should be warned of.
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

/// A wish to stop that any thread can express.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
#[derive(Default)]
pub(crate) struct Cancel(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops every run that was given this.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
