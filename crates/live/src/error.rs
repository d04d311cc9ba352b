//! Errors of the live path.

use std::io;

use aqmkit_aqm::ParamError;

/// An error of the live path. Its message has the problem, the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The machine or the user's rights lack something.
    #[error("{what}\n  {right}")]
    Lacks {
        /// What is missing.
        what: String,
        /// What would help.
        right: String,
    },
    /// A parameter is invalid.
    #[error("{direction}: {error}")]
    Parameter {
        /// Its direction.
        direction: String,
        /// The error.
        error: ParamError,
    },
    /// A system call failed unexpectedly.
    #[error("{doing}: {error}")]
    System {
        /// The attempted action.
        doing: String,
        /// The error.
        error: io::Error,
    },
}

impl LiveError {
    /// Something is missing.
    pub fn lacks(what: impl Into<String>, right: impl Into<String>) -> Self {
        LiveError::Lacks { what: what.into(), right: right.into() }
    }

    /// Adds the attempted action to system errors.
    pub fn while_doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| LiveError::System { doing: doing.into(), error }
    }
}
