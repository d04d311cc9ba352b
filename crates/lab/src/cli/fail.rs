//! Failures of the command, and their exit codes.

use std::fmt::Write as _;
use std::path::Path;

#[cfg(live)]
use aqmkit_live::LiveError;

use aqmkit_experiment::Problem;
use aqmkit_files::ExportError;
use aqmkit_files::full;
use aqmkit_runs::store::StoreError;

/// Why the command failed.
#[derive(Debug)]
pub enum Failure {
    /// Invalid arguments or an invalid file: exit code 2.
    Problem(Problem),
    /// A published value was missed or a run failed, as already reported: exit code 1.
    Missed,
    /// A property of the environment: exit code 3.
    Environment(String),
    /// The exit code of the user's command.
    Command(u8),
    /// Stopped by Ctrl-C; the text explains how to resume: exit code 130.
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

    /// A file that does not fit on its disk, with advice.
    pub(super) fn without_room(path: &Path, why: &str, right: &str) -> Failure {
        Failure::Environment(format!("{} cannot be written: {why}\n  {right}", path.display()))
    }

    /// A file that cannot be written, with advice if the disk is full and otherwise.
    pub(super) fn unwritten(error: &ExportError, if_full: &str, right: &str) -> Failure {
        let (path, why) = (&error.path, full::reason(&error.cause));
        if error.is_for_want_of_room() {
            return Failure::without_room(path, &why, if_full);
        }
        Failure::Problem(Problem::new(format!("{} cannot be written: {why}", path.display())).right(right))
    }

    /// The message to print, unless it was printed already.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Failure::Missed | Failure::Command(_) => None,
            Failure::Problem(problem) => {
                // The handler is the same at every call; a second one is refused, and the first stays.
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

/// Breaks lines between words only: names such as `red-pd/fig8-lists` stay whole.
fn handler() -> miette::MietteHandler {
    let options = miette::MietteHandlerOpts::new().word_separator(textwrap::WordSeparator::AsciiSpace);
    options.word_splitter(textwrap::WordSplitter::NoHyphenation).build()
}

/// Invalid usage: the error and its correction.
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
        match error {
            StoreError::Unwritable { dir, cause } if full::is(&cause) => {
                Failure::without_room(&dir, &full::reason(&cause), full::RESULTS)
            }
            StoreError::Unwritable { .. } => {
                Failure::Problem(Problem::new(error.to_string()).right("choose another directory with --out"))
            }
            StoreError::Unreadable(unread) => {
                Failure::Problem(Problem::from(unread).right("give a directory with results of aqmkit"))
            }
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        Failure::unwritten(&error, full::RESULTS, "choose another directory with --out")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let why = full::reason(&error);
        Failure::Environment(if full::is(&error) { format!("{why}\n  {}", full::AGAIN) } else { why })
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
        Failure::Environment(error.to_string())
    }
}
