//! Errors, with messages for users.

use std::path::{Path, PathBuf};

/// An error that stops the tool.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a directory could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A command could not be started, or failed.
    #[error("`{command}` failed{said}")]
    Command {
        /// The command line.
        command: String,
        /// Its output after a colon, or nothing if it had none.
        said: String,
    },
    /// An argument is invalid.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    /// For `map_err`: an error about a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// An error about a command that failed, with its output.
    pub(crate) fn command(command: &str, said: &str) -> Self {
        let said = said.trim();
        let said = if said.is_empty() { String::new() } else { format!(":\n{said}") };
        Self::Command { command: command.to_owned(), said }
    }
}

/// A result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
