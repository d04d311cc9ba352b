//! Failures of the command, and their exit codes.

use std::fmt::Write as _;

#[cfg(live)]
use aqmkit_live::LiveError;

use aqmkit_experiment::Problem;
use aqmkit_files::ExportError;
use aqmkit_lab::LabError;
use aqmkit_runs::store::StoreError;

/// Why the command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Invalid arguments or an invalid file: exit code 2.
    Problem(Problem),
    /// A published value was missed or a run failed, as already reported: exit code 1.
    Missed,
    /// The environment prevents it, such as a missing permission: exit code 3.
    Environment(String),
    /// The user's command failed: its exit code.
    #[cfg_attr(not(live), allow(dead_code, reason = "only live links run a command of the user"))]
    Command(u8),
    /// Stopped by Ctrl-C; the text explains how to resume: exit code 130.
    Stopped(String),
}

impl Failure {
    /// The exit code.
    #[must_use]
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Missed => 1,
            Failure::Problem(_) => 2,
            Failure::Environment(_) => 3,
            Failure::Command(code) => *code,
            Failure::Stopped(_) => 130,
        }
    }

    /// The message to print, unless it has been printed already.
    #[must_use]
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Failure::Missed | Failure::Command(_) => None,
            Failure::Problem(problem) => {
                // miette keeps the first hook and rejects later ones, which are identical.
                let _ = miette::set_hook(Box::new(|_| Box::new(handler())));
                let mut text = String::new();
                let _ = write!(text, "{:?}", miette::Report::new(problem));
                Some(text)
            }
            Failure::Environment(text) => Some(format!("error: {text}")),
            Failure::Stopped(text) => Some(text),
        }
    }
}

/// Formats errors. Lines are broken at spaces only, so that names such as `red-pd/fig8-lists` stay whole.
fn handler() -> miette::MietteHandler {
    let options = miette::MietteHandlerOpts::new().word_separator(textwrap::WordSeparator::AsciiSpace);
    options.word_splitter(textwrap::WordSplitter::NoHyphenation).build()
}

/// Invalid usage: the error and its correction.
pub(crate) fn wrong<T>(what: impl Into<String>, right: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Problem(Problem::new(what).right(right)))
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Problem(problem)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Problem(problem) => Failure::Problem(problem),
            LabError::Environment(text) => Failure::Environment(text),
            LabError::Stopped(text) => Failure::Stopped(format!("{text}; repeat the command to resume.")),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        LabError::from(error).into()
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        LabError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        LabError::from(error).into()
    }
}

#[cfg(live)]
impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Parameter { direction, error } => Failure::Problem(
                Problem::from(error.explain("a parameter", "")).without_place(&format!("{direction}: ")),
            ),
            LiveError::Lacks { .. } | LiveError::System { .. } => Failure::Environment(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        LabError::from(error).into()
    }
}
