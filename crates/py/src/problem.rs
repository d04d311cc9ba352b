//! Converts errors to the exceptions of `aqmkit.errors`.

use aqmkit_experiment::Problem;
use aqmkit_lab::LabError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

pyo3::import_exception!(aqmkit.errors, ExperimentError);
pyo3::import_exception!(aqmkit.errors, Interrupted);
pyo3::import_exception!(aqmkit.errors, RunError);

/// An `ExperimentError` with the report that the command would print.
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
        in_python(&problem.to_string()),
        in_python(&help),
        at.map(|at| at.file),
        line,
        column,
        in_python(text.trim_end()),
    ))
}

/// Replaces the command's options in a message by the corresponding Python arguments.
fn in_python(text: &str) -> String {
    let plain = text.replace("--http ", "http=").replace("--out", "out=");
    let options = ["want", "rate", "rtt", "among", "budget"];
    options.iter().fold(plain, |text, option| text.replace(&format!("--{option}"), option))
}

/// The exception for an error of the library.
pub(crate) fn failure(error: LabError) -> PyErr {
    match error {
        LabError::Problem(problem) => exception(&problem),
        LabError::Environment(text) => PyOSError::new_err(text),
        LabError::Stopped(text) => Interrupted::new_err(format!("{text}; the same call resumes.")),
    }
}
