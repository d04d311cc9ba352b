//! What can go wrong when a file is written.

use std::path::{Path, PathBuf};

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
    Csv(#[from] ::csv::Error),
    /// The columns do not make a table.
    Arrow(#[from] arrow_schema::ArrowError),
    /// The table does not go into Parquet.
    Parquet(#[from] parquet::errors::ParquetError),
}

impl ExportError {
    /// The error about `path`.
    pub fn new(path: &Path, cause: impl Into<Cause>) -> Self {
        ExportError { path: path.to_owned(), cause: cause.into() }
    }
}
