//! Errors of the live path.

use std::io;

use aqmkit_aqm::ParamError;

/// An error of the live path. Its message names the problem, the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The machine or the user's permissions do not suffice.
    #[error("{what}\n  {right}")]
    Lacks {
        /// The missing feature or permission.
        what: String,
        /// The remedy.
        right: String,
    },
    /// A parameter is invalid.
    #[error("{direction}: {error}")]
    Parameter {
        /// The direction whose parameter is invalid.
        direction: String,
        /// Parameter, value and reason.
        error: ParamError,
    },
    /// A system call failed.
    #[error("{doing}: {error}")]
    System {
        /// The action attempted.
        doing: String,
        /// The error returned by the system call.
        error: io::Error,
    },
}

impl LiveError {
    /// Something is missing; `right` is the remedy.
    pub fn lacks(what: impl Into<String>, right: impl Into<String>) -> Self {
        LiveError::Lacks { what: what.into(), right: right.into() }
    }

    /// Wraps an I/O error, naming the action attempted.
    pub fn while_doing(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |error| LiveError::System { doing: doing.into(), error }
    }
}
