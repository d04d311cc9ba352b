//! Report cards and advice, as JSON and as plain text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_characterize::contestant::Contestant;
use aqmkit_characterize::plan::experiments;
use aqmkit_characterize::rfc7928::GUIDE;
use aqmkit_experiment::Problem;
use aqmkit_lab::advise::{Inquiry, Request};
use aqmkit_lab::characterize;
use aqmkit_report::terminal::{self, Screen};
use pyo3::prelude::*;

use crate::control::Control;
use crate::plan::supervised;
use crate::problem::{exception, failure};

/// Line width of the text output, in columns.
const WIDTH: usize = 100;

/// A discipline on a card: its label and, if it is written in Python, its sweep entry as JSON.
pub(crate) type Named = (String, Option<String>);

/// An experiment behind a card: the name of its directory, its file name, and its text.
pub(crate) type Planned = (String, String, String);

/// The disciplines on a card, references last, and the number of disciplines to characterise.
fn contestants(disciplines: &[Named]) -> PyResult<(Vec<Contestant>, usize)> {
    let parse = |(text, entry): &Named| match entry {
        None => characterize::one(text).map_err(failure),
        Some(json) => match serde_json::from_str(json) {
            Ok(entry) => Ok(Contestant::custom(entry)),
            Err(error) => Err(exception(&Problem::new(format!("{text}: {error}")))),
        },
    };
    let mut subjects: Vec<Contestant> = Vec::new();
    for discipline in disciplines {
        let contestant = parse(discipline)?;
        if !subjects.iter().any(|before| before.label() == contestant.label()) {
            subjects.push(contestant);
        }
    }
    let count = subjects.len();
    let all = GUIDE.with_references(subjects).map_err(|e| exception(&Problem::new(e.to_string())))?;
    Ok((all, count))
}

/// The directory of a card, and the experiments to run below it.
pub(crate) fn plan(disciplines: &[Named], quick: bool) -> PyResult<(PathBuf, Vec<Planned>)> {
    let (all, count) = contestants(disciplines)?;
    let planned = experiments(&GUIDE, &all).map_err(|e| exception(&e))?;
    let named =
        planned.into_iter().map(|planned| (planned.name, format!("experiments/{}.toml", planned.id), planned.text));
    Ok((characterize::directory(&all[..count], quick), named.collect()))
}

/// Writes the card of finished experiments to `file`; returns it as JSON and as text.
pub(crate) fn card(
    py: Python<'_>,
    disciplines: &[Named],
    names: &[String],
    dir: &Path,
    file: &Path,
) -> PyResult<(String, String)> {
    let (all, count) = contestants(disciplines)?;
    let card = py.detach(|| characterize::compose(&GUIDE, &all, count, names, dir, file)).map_err(failure)?;
    let json = serde_json::to_string(&card).map_err(|e| failure(e.into()))?;
    Ok((json, terminal::card(&card, Screen::from(WIDTH))))
}

/// Computes advice. Returns it as JSON and as text, with the path of its page and the errors of failed runs.
pub(crate) fn advice(
    py: Python<'_>,
    request: &Request,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(String, String, PathBuf, Vec<String>)> {
    let control = Arc::new(Control::default());
    let work = || Inquiry::of(request)?.advise(&*control, &control.stop);
    control.begin(request.most_runs(), "");
    let advised = supervised(py, &control, progress, work)?;
    let json = serde_json::to_string(&advised.advice).map_err(|e| failure(e.into()))?;
    Ok((json, terminal::advice(&advised.advice, Screen::from(WIDTH)), advised.page, advised.failed))
}
