//! Writes the summary to a file.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use crate::fail::{Failure, wrong};

/// A file that is opened before the command runs, so that an error is reported before the measurement. At the end, the
/// process may no longer have permission to open it.
pub(super) struct Output {
    path: PathBuf,
    file: File,
    /// Whether the file was created.
    fresh: bool,
}

impl Output {
    /// Opens the file, keeping its content until the summary is written.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let fresh = !path.exists();
        match File::options().write(true).create(true).truncate(false).open(path) {
            Ok(file) => Ok(Output { path: path.to_owned(), file, fresh }),
            Err(error) => unwritten(path, &error),
        }
    }

    /// Replaces the content.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(mut self, text: &str) -> Result<(), Failure> {
        self.fresh = false;
        self.try_write(text).or_else(|error| unwritten(&self.path, &error))
    }

    fn try_write(&mut self, text: &str) -> io::Result<()> {
        // Pipes cannot be truncated.
        if self.file.metadata()?.is_file() {
            self.file.rewind()?;
            self.file.set_len(0)?;
        }
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.fresh {
            // Removes a file that was created but not written.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn unwritten<T>(path: &Path, error: &io::Error) -> Result<T, Failure> {
    wrong(format!("{} cannot be written: {error}", path.display()), "choose another file with --out")
}
