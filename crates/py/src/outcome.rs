//! Results for Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aqmkit_lab::LabError;
use aqmkit_report::terminal::{self, summary, verdicts};
use aqmkit_results::{Entry, Results, RunData};
use aqmkit_runs::export::{self, Kind};
use aqmkit_runs::run::Done;
use aqmkit_runs::store::{Listed, Runs, Store, StoreError, damage};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;

use crate::problem::failure;
use crate::table::{Table, arrow_error};

/// The results of an experiment's runs.
#[pyclass(frozen, module = "aqmkit._aqmkit")]
pub(crate) struct Outcome {
    /// The results directory.
    #[pyo3(get)]
    dir: PathBuf,
    results: Results,
    runs: Vec<Done>,
    /// Error messages of the runs that failed.
    #[pyo3(get)]
    failed: Vec<String>,
    /// Warnings for the user.
    #[pyo3(get)]
    warnings: Vec<String>,
}

impl Outcome {
    pub(crate) fn new(dir: PathBuf, results: Results, runs: Vec<Done>) -> Self {
        Outcome { dir, results, runs, failed: Vec::new(), warnings: Vec::new() }
    }

    /// The outcome of a single run.
    pub(crate) fn of_run(dir: PathBuf, run: Done) -> Self {
        let output = &run.output;
        let entries = output.windows.iter().map(|w| Entry::of(&run.labels, w, output.engine)).collect();
        Outcome::new(dir, Results { runs: entries, planned: 1, ..Results::default() }, vec![run])
    }

    pub(crate) fn with_news(self, failed: Vec<String>, warnings: Vec<String>) -> Self {
        Outcome { failed, warnings, ..self }
    }

    fn read_dir(dir: &Path) -> Result<Outcome, LabError> {
        let store = Store::existing(dir)?;
        let stored = store.results()?;
        // A directory may have been copied without the runs; the other results come from its other files.
        let (runs, wrong) = match store.load_list() {
            Ok(runs) => (runs, None),
            Err(StoreError::Unreadable(e)) if e.is_missing() => (Runs::default(), None),
            Err(e) => (Runs::default(), Some(e.to_string())),
        };
        let warnings = damage::warnings(&store, &stored, &runs).into_iter().chain(wrong).collect();
        let done = |(listed, output): (Listed, _)| Done { labels: listed.labels, output };
        let runs = runs.found.into_iter().map(done).collect();
        Ok(Outcome::new(dir.to_owned(), stored.results, runs).with_news(Vec::new(), warnings))
    }
}

#[pymethods]
impl Outcome {
    /// Reads the results in a directory.
    #[staticmethod]
    fn read(py: Python<'_>, dir: PathBuf) -> PyResult<Outcome> {
        py.detach(|| Outcome::read_dir(&dir)).map_err(failure)
    }

    /// A table by name: runs, means, series, flows, exchanges, distributions, verdicts.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let of_runs = |kind| {
            let data: Vec<_> = self.runs.iter().map(|d| RunData { labels: &d.labels, output: &d.output }).collect();
            Table::of(&export::table(kind, &data))
        };
        let made = match name {
            "runs" => py.detach(|| Table::of(&export::runs(&self.results))),
            "means" => py.detach(|| Table::of(&export::means(&aqmkit_results::means(&self.results.runs)))),
            "verdicts" => py.detach(|| Table::of(&export::verdicts(&self.results))),
            "series" => py.detach(|| of_runs(Kind::Series)),
            "flows" => py.detach(|| of_runs(Kind::Flows)),
            "exchanges" => py.detach(|| of_runs(Kind::Exchanges)),
            "distributions" => py.detach(|| of_runs(Kind::Distributions)),
            _ => return Err(PyKeyError::new_err(name.to_owned())),
        };
        made.map_err(|e| arrow_error(&e))
    }

    /// The contents of `results.json`.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.results).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The comparison as a text table, `width` columns wide.
    fn summary(&self, width: usize) -> String {
        summary(&self.results, width)
    }

    /// The notes as text, `width` columns wide.
    fn notes_text(&self, width: usize) -> String {
        terminal::notes(&self.results, width)
    }

    /// Caveats: means that are not precise enough, and factors other than the queue that decided the results.
    #[getter]
    fn notes(&self) -> Vec<String> {
        aqmkit_report::notes(&self.results)
    }

    /// The comparison and the verdicts as HTML tables.
    fn html(&self) -> PyResult<String> {
        aqmkit_report::html::tables(&self.results).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Published and measured values as a text table, `width` columns wide.
    fn verdicts(&self, width: usize) -> String {
        verdicts(&self.results, width)
    }

    /// Number of finished runs.
    #[getter]
    fn done(&self) -> usize {
        self.runs.len()
    }

    /// Number of planned runs.
    #[getter]
    fn planned(&self) -> usize {
        self.results.planned
    }

    /// The experiment's settings: (property, value) pairs.
    #[getter]
    fn setting(&self) -> Vec<(String, String)> {
        self.results.setting.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect()
    }

    /// The sweep axes in order, each with the labels of its values.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.results.axes.iter().map(|a| (a.name.clone(), a.labels.clone())).collect()
    }

    /// Start and end of each measurement window, in seconds.
    #[getter]
    fn windows(&self) -> BTreeMap<String, (f64, f64)> {
        let all = self.runs.iter().flat_map(|d| &d.output.windows);
        all.map(|w| (w.name.clone(), (w.from_s, w.to_s))).collect()
    }

    /// Metadata: the experiment's id, title, source and description, its hash and scale, and the version of aqmkit.
    #[getter]
    fn about(&self) -> BTreeMap<&'static str, String> {
        let r = &self.results;
        [
            ("experiment", &r.experiment),
            ("title", &r.title),
            ("source", &r.source),
            ("about", &r.about),
            ("version", &r.version),
            ("hash", &r.hash),
            ("scale", &r.scale),
        ]
        .into_iter()
        .map(|(name, text)| (name, text.clone()))
        .collect()
    }
}
