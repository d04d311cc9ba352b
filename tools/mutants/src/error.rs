//! What can go wrong, in words for people.

use std::path::{Path, PathBuf};

/// What stopped the tool.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a directory could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A command could not be started, or failed.
    #[error("`{command}` failed{said}")]
    Command {
        /// As it would be typed.
        command: String,
        /// What it said, after a colon; empty where it said nothing.
        said: String,
    },
    /// Something asked for makes no sense.
    #[error("{0}")]
    Asked(String),
}

impl Error {
    /// For `map_err`: what happened to a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// A command that failed, with what it said.
    pub(crate) fn command(command: &str, said: &str) -> Self {
        let said = said.trim();
        let said = if said.is_empty() { String::new() } else { format!(":\n{said}") };
        Self::Command { command: command.to_owned(), said }
    }
}

/// A result whose error is for people.
pub type Result<T> = std::result::Result<T, Error>;
