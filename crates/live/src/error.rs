//! What can go wrong on the live path.

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
    /// A parameter cannot be used.
    #[error("{direction}: {error}")]
    Parameter {
        /// Which direction it is of.
        direction: String,
        /// What is wrong with it.
        error: ParamError,
    },
    /// A system call failed where it should not.
    #[error("{doing}: {error}")]
    System {
        /// What was being done.
        doing: String,
        /// What the kernel said.
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
