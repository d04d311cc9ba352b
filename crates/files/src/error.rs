//! What can go wrong when a file is written.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::full;

/// A file that could not be written, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {cause}", path.display())]
pub struct ExportError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub cause: Cause,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Cause {
    /// The disk or its rights.
    Io(#[from] std::io::Error),
    /// The values do not go into JSON.
    Json(#[from] serde_json::Error),
    /// The values do not go into CSV.
    Csv(#[from] csv::Error),
    /// The columns do not make a table, or the table does not go into its file.
    Table(Box<dyn Error + Send + Sync>),
}

impl Cause {
    /// The error of a library of tables.
    pub fn table(error: impl Error + Send + Sync + 'static) -> Self {
        Cause::Table(Box::new(error))
    }
}

impl ExportError {
    /// The error about `path`.
    pub fn new(path: &Path, cause: impl Into<Cause>) -> Self {
        ExportError { path: path.to_owned(), cause: cause.into() }
    }

    /// Whether there is no room for it on the disk.
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
