//! How the command ends when it does not end well.

use std::fmt::Write as _;

#[cfg(live)]
use aqmkit_live::LiveError;

use crate::experiment::Problem;
use crate::export::ExportError;
use crate::store::StoreError;

/// Why the command ends without success.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or a wrong file: exit code 2.
    Problem(Problem),
    /// A published value was missed, or a run failed; said already: exit code 1.
    Missed,
    /// The environment lacks something: exit code 3.
    Environment(String),
    /// A command that was run for the user ended like this.
    Command(u8),
    /// Ctrl-C; the text says how to go on: exit code 130.
    Stopped(String),
}

impl Failure {
    /// The exit code.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Failure::Missed => 1,
            Failure::Problem(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Command(code) => *code,
            Failure::Stopped(_) => 130,
        }
    }

    /// What to tell, if it was not told yet.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Failure::Missed | Failure::Command(_) => None,
            Failure::Problem(problem) => {
                let mut text = String::new();
                let _ = write!(text, "{:?}", miette::Report::new(problem));
                Some(text)
            }
            Failure::Environment(text) => Some(format!("error: {text}")),
            Failure::Stopped(text) => Some(text),
        }
    }
}

/// Wrong usage: what is wrong, and what would be right.
pub fn wrong<T>(what: impl Into<String>, right: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Problem(Problem::new(what).right(right)))
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let right = match error {
            StoreError::Unwritable { .. } => "choose another directory with --out",
            StoreError::Unreadable { .. } => "name a directory in which aqmkit left results",
        };
        Failure::Problem(Problem::new(error.to_string()).right(right))
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        Failure::Problem(Problem::new(error.to_string()).right("choose another directory with --out"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::Environment(error.to_string())
    }
}

#[cfg(live)]
impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Parameter { direction, error } => {
                let cite =
                    if error.source_text.is_empty() { String::new() } else { format!(" ({})", error.source_text) };
                let problem = Problem::new(format!("{direction}: {} cannot be {}", error.field, error.got));
                Failure::Problem(problem.right(format!("{}{cite}", error.want)))
            }
            LiveError::Lacks { .. } | LiveError::System { .. } => Failure::Environment(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Failure::Environment(error.to_string())
    }
}
