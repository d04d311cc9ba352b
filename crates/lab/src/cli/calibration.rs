//! Calibrates the populations of an experiment before it runs.

use std::path::Path;

use aqmkit_experiment::Experiment;
use aqmkit_runs::calibrate::{Failed, Found, calibrated};
use aqmkit_runs::run::RunOptions;
use aqmkit_runs::store::Store;

use super::fail::Failure;
use super::progress::{Bar, Talk};
use super::stop::{STOP, listen};

/// The experiment with calibrated populations; trials in the store are not repeated.
///
/// # Errors
/// When a population cannot be found, or Ctrl-C was pressed.
pub(super) fn calibrate_populations(
    exp: &Experiment,
    store: &Store,
    jobs: usize,
    talk: Talk,
    dir: &Path,
) -> Result<(Experiment, Vec<Found>), Failure> {
    if exp.calibrations()?.is_empty() {
        return Ok((exp.clone(), Vec::new()));
    }
    listen()?;
    let bar = Bar::of_trials(talk);
    let result = calibrated(exp, RunOptions { jobs, store, watch: &bar, cancel: &STOP });
    bar.finish();
    result.map_err(|e| match e {
        Failed::Problem(problem) => Failure::Problem(problem),
        Failed::Io(error) => error.into(),
        Failed::Cancelled => Failure::Stopped(format!(
            "Stopped while calibrating. Finished trials are stored in {}; repeat the command to resume.",
            dir.display()
        )),
    })
}
