//! Errors of the library.

use std::path::Path;

use aqmkit_advise::trials::TrialError;
use aqmkit_experiment::Problem;
use aqmkit_files::{ExportError, full};
use aqmkit_runs::store::StoreError;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// An invalid experiment, value or file, with its location and the remedy.
    #[error("{}", .0.in_one_line())]
    Problem(Problem),
    /// A failure of the machine, such as a full disk or a thread that cannot be started.
    #[error("{0}")]
    Environment(String),
    /// The caller cancelled. The text says where the finished runs are, without a full stop.
    #[error("{0}")]
    Stopped(String),
}

impl LabError {
    /// The error for a file that does not fit on its disk, with advice.
    #[must_use]
    pub fn without_room(path: &Path, why: &str, right: &str) -> LabError {
        LabError::Environment(format!("{} cannot be written: {why}\n  {right}", path.display()))
    }

    /// The error for a file that cannot be written, with separate advice for a full disk.
    #[must_use]
    pub fn unwritten(error: &ExportError, if_full: &str, right: &str) -> LabError {
        let (path, why) = (&error.path, full::reason(&error.cause));
        if error.is_for_want_of_room() {
            return LabError::without_room(path, &why, if_full);
        }
        LabError::Problem(Problem::new(format!("{} cannot be written: {why}", path.display())).right(right))
    }

    /// The error of a search that ended before its result, whose finished runs are stored in `dir`.
    pub(crate) fn of_trial(error: TrialError, dir: &Path) -> LabError {
        match error {
            TrialError::Problem(problem) => LabError::Problem(problem.without_place("")),
            TrialError::Io(error) => error.into(),
            TrialError::Stopped => LabError::Stopped(format!("Stopped. Finished runs are stored in {}", dir.display())),
        }
    }
}

/// An error with its remedy.
pub(crate) fn wrong<T>(what: impl Into<String>, right: impl Into<String>) -> Result<T, LabError> {
    Err(LabError::Problem(Problem::new(what).right(right)))
}

impl From<Problem> for LabError {
    fn from(problem: Problem) -> Self {
        LabError::Problem(problem)
    }
}

impl From<StoreError> for LabError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unwritable { dir, cause } if full::is(&cause) => {
                LabError::without_room(&dir, &full::reason(&cause), full::RESULTS)
            }
            StoreError::Unwritable { .. } => {
                LabError::Problem(Problem::new(error.to_string()).right("choose another directory with --out"))
            }
            StoreError::Unreadable(unread) => {
                LabError::Problem(Problem::from(unread).right("give a directory with results of aqmkit"))
            }
        }
    }
}

impl From<ExportError> for LabError {
    fn from(error: ExportError) -> Self {
        LabError::unwritten(&error, full::RESULTS, "choose another directory with --out")
    }
}

impl From<std::io::Error> for LabError {
    fn from(error: std::io::Error) -> Self {
        let why = full::reason(&error);
        LabError::Environment(if full::is(&error) { format!("{why}\n  {}", full::AGAIN) } else { why })
    }
}

impl From<serde_json::Error> for LabError {
    fn from(error: serde_json::Error) -> Self {
        LabError::Environment(error.to_string())
    }
}
