//! Errors as exceptions of `aqmkit.errors`.

use aqmkit_lab::cli::fail::Failure;
use aqmkit_lab::experiment::Problem;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

pyo3::import_exception!(aqmkit.errors, ExperimentError);
pyo3::import_exception!(aqmkit.errors, Interrupted);
pyo3::import_exception!(aqmkit.errors, RunError);

/// What is wrong with an experiment, as the command shows it.
pub(crate) fn exception(problem: &Problem) -> PyErr {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    if handler.render_report(&mut text, problem).is_err() {
        text = problem.to_string();
    }
    let help = problem.help().map(|h| h.to_string()).unwrap_or_default();
    let at = problem.location();
    let (line, column) = at.as_ref().map_or((None, None), |at| (Some(at.line), Some(at.column)));
    ExperimentError::new_err((
        problem.to_string(),
        help,
        at.map(|at| at.file),
        line,
        column,
        text.trim_end().to_owned(),
    ))
}

/// Wrong arguments, in the words of the command.
pub(crate) fn usage(error: &clap::Error) -> PyErr {
    exception(&Problem::new(error.to_string().trim().trim_start_matches("error: ")))
}

/// Why the command would have ended.
pub(crate) fn failure(failure: Failure) -> PyErr {
    match failure {
        Failure::Problem(problem) => exception(&problem),
        Failure::Missed | Failure::Command(_) => RunError::new_err("a run failed"),
        Failure::Environment(text) => PyOSError::new_err(text),
        Failure::Stopped(text) => Interrupted::new_err(text),
    }
}
