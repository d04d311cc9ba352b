//! Errors as exceptions of `aqmkit.errors`.

use std::error::Error as _;

use aqmkit_experiment::Problem;
use aqmkit_lab::cli::fail::Failure;
use clap::error::ContextKind;
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
        spoken(&problem.to_string()),
        spoken(&help),
        at.map(|at| at.file),
        line,
        column,
        spoken(text.trim_end()),
    ))
}

/// A message with the options of the command as the arguments that they are in Python.
fn spoken(text: &str) -> String {
    let plain = text.replace("--http ", "http=").replace("--out", "out=");
    let options = ["want", "rate", "rtt", "among", "budget"];
    options.iter().fold(plain, |told, option| told.replace(&format!("--{option}"), option))
}

/// An argument that the command would not take: `rate cannot be "10mb"`, and why.
pub(crate) fn usage(error: &clap::Error) -> PyErr {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let why = error.source().map(ToString::to_string);
    match (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue), why) {
        (Some(option), Some(value), Some(why)) => {
            // `--rate <RATE>`
            let name = option.trim_start_matches('-').split(' ').next().unwrap_or_default().to_owned();
            exception(&Problem::new(format!("{name} cannot be {value:?}")).right(why))
        }
        _ => exception(&Problem::new(error.kind().to_string())),
    }
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
