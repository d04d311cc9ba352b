//! The null test: which claims of an experiment hold even without the scheme under study.

use std::sync::atomic::Ordering;

use aqmkit_experiment::Experiment;
use aqmkit_runs::run::RunOptions;
use aqmkit_runs::store::Store;
use aqmkit_study::null_test::{Outcome, test};

use crate::error::LabError;
use crate::library;
use crate::perform::{Begun, Workspace, calibrate};

/// The subdirectory of an experiment's results for the runs without the scheme.
pub const FOLDER: &str = "without-scheme";

/// The outcomes for the claims of an experiment; `without` is the same experiment without its scheme.
///
/// # Errors
/// When a claim is invalid, the directory cannot be written to, a run failed, or it was stopped.
pub fn outcomes(exp: &Experiment, without: &Experiment, workspace: Workspace<'_>) -> Result<Vec<Outcome>, LabError> {
    let published = library::checked(exp)?;
    let store = Store::open(workspace.dir)?;
    let (exp, _) = calibrate(exp, &store, workspace)?;
    let (without, _) = calibrate(without, &store, workspace)?;
    let apart = Store::open(&workspace.dir.join(FOLDER))?;
    let watch = workspace.progress.runs(&Begun::of(&without.plan(), &apart, ""));
    let how = RunOptions { jobs: workspace.jobs, store: &apart, watch: &*watch, cancel: workspace.cancel };
    let outcomes = test(&exp, &without, &published, how);
    if workspace.cancel.load(Ordering::Relaxed) {
        return Err(LabError::Stopped(format!("Stopped. Finished runs are stored in {}", workspace.dir.display())));
    }
    Ok(outcomes?)
}
