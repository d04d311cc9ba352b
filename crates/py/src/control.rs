//! Stopping a run from outside, and telling outside how far it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    notes: Mutex<Vec<String>>,
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

    /// How much is done, counted in runs, and how many runs have ended.
    pub(crate) fn progress(&self) -> (f64, u64) {
        (self.thousandths.load(Ordering::Relaxed) as f64 / 1000.0, self.ended.load(Ordering::Relaxed))
    }

    /// What the user should know.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
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
