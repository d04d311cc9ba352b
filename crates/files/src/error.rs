//! Errors of writing a file.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::full;

/// The error for a file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct ExportError {
    /// The file that could not be written.
    pub path: PathBuf,
    /// The underlying error.
    #[source]
    pub cause: Cause,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Cause {
    /// An error of the file system.
    Io(#[from] std::io::Error),
    /// The values cannot be written as JSON.
    Json(#[from] serde_json::Error),
    /// The values cannot be written as CSV.
    Csv(#[from] csv::Error),
    /// The columns do not form a table, or the table cannot be written.
    Table(Box<dyn Error + Send + Sync>),
}

impl Cause {
    /// Wraps an error of a table library.
    pub fn table(error: impl Error + Send + Sync + 'static) -> Self {
        Cause::Table(Box::new(error))
    }
}

impl ExportError {
    /// The error about `path`.
    pub fn new(path: &Path, cause: impl Into<Cause>) -> Self {
        ExportError { path: path.to_owned(), cause: cause.into() }
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_for_want_of_room(&self) -> bool {
        match &self.cause {
            Cause::Io(e) => full::is(e),
            Cause::Json(e) => e.io_error_kind().is_some_and(|kind| full::is(&kind.into())),
            Cause::Csv(e) => matches!(e.kind(), csv::ErrorKind::Io(e) if full::is(e)),
            Cause::Table(e) => full::caused(e.as_ref()),
        }
    }
}
