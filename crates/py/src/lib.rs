//! The Python extension module `aqmkit._aqmkit`, on which the package in `python/aqmkit` is built.
//!
//! It only converts types, and releases the GIL while runs are made. `aqmkit_lab` makes the runs and writes the files.
//!
//! | module | holds |
//! |---|---|
//! | `plan` | an experiment that can be run, whole or run by run |
//! | `perform` | runs an experiment, and writes its files |
//! | `control` | stop flag, progress and warnings of runs |
//! | `outcome` | results |
//! | `table` | tables in Arrow's C interface |
//! | `discipline` | a discipline that is written in Python |
//! | `evaluate` | report cards and advice |
//! | `options` | arguments that are named like options of the command |
//! | `problem` | errors as exceptions |

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python arrive by value")]
#![allow(clippy::shadow_unrelated, reason = "what PyO3 makes of an enum does")]

mod control;
mod discipline;
mod evaluate;
mod options;
mod outcome;
mod perform;
mod plan;
mod problem;
mod table;

use pyo3::prelude::*;

/// The extension module of the package `aqmkit`; programs use the package.
#[pymodule]
mod _aqmkit {
    use std::ffi::OsString;
    use std::path::PathBuf;

    use aqmkit_aqm::registry;
    use aqmkit_lab::compare;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::control::Cancel;
    #[pymodule_export]
    use super::discipline::{Env, Link, Packet, Queue, Verdict};
    #[pymodule_export]
    use super::outcome::Outcome;
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::table::Table;

    /// The version of aqmkit.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command `aqmkit` with these arguments, the first of which is its name, and returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| aqmkit::run(args))
    }

    /// The name under which an experiment is found, by its id or the path of its file, and its text.
    #[pyfunction]
    fn find(name: &str) -> PyResult<(String, String)> {
        aqmkit_experiment::find(name).map_err(|e| super::problem::exception(&e))
    }

    /// Every experiment that can be loaded by its id: id, title, source.
    #[pyfunction]
    fn catalogue() -> Vec<(String, String, String)> {
        aqmkit_experiment::catalogue().into_iter().map(|e| (e.id, e.title, e.source)).collect()
    }

    /// Every discipline: its name and a one-line description.
    #[pyfunction]
    fn disciplines() -> Vec<(&'static str, &'static str)> {
        registry::ALL.iter().map(|e| (e.name, e.summary())).collect()
    }

    /// The reference page of a discipline in Markdown, or None.
    #[pyfunction]
    fn page(name: &str) -> Option<String> {
        registry::page(name)
    }

    /// The experiment of a comparison, as the text of its file. `options` are the arguments by name, as texts.
    #[pyfunction]
    fn comparison(
        disciplines: Vec<String>,
        options: Vec<(String, String)>,
        sweep: Vec<String>,
        ecn: bool,
    ) -> PyResult<String> {
        let asked = super::options::comparison(disciplines, &options, sweep, ecn)?;
        let file = asked.experiment(&aqmkit_experiment::Catalogues::default());
        file.map(|file| file.to_string()).map_err(super::problem::failure)
    }

    /// The name of the directory of a comparison, from the text of its experiment.
    #[pyfunction]
    fn comparison_name(text: &str) -> String {
        compare::short_name(&text.parse().unwrap_or_default(), text)
    }

    /// The directory of a report card, and its experiments: name, file, text. A discipline is given by its name, and its entry in a
    /// sweep as JSON if it is one in Python.
    #[pyfunction]
    fn card_plan(
        disciplines: Vec<(String, Option<String>)>,
        quick: bool,
    ) -> PyResult<(PathBuf, Vec<super::evaluate::Planned>)> {
        super::evaluate::plan(&disciplines, quick)
    }

    /// The report card of experiments that have been run below `dir`, as JSON and as text; its page is written to `file`.
    #[pyfunction]
    fn card(
        py: Python<'_>,
        disciplines: Vec<(String, Option<String>)>,
        names: Vec<String>,
        dir: PathBuf,
        file: PathBuf,
    ) -> PyResult<(String, String)> {
        super::evaluate::card(py, &disciplines, &names, &dir, &file)
    }

    /// The advice on a wish: JSON, text, the page, the runs that failed. `options` are the arguments by name, as texts; `progress` is called as by
    /// `Plan.run`.
    #[pyfunction]
    #[pyo3(signature = (want, options, *, alone, ecn, jobs = None, progress = None))]
    fn advise(
        py: Python<'_>,
        want: &str,
        options: Vec<(String, String)>,
        alone: bool,
        ecn: bool,
        jobs: Option<u16>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String, PathBuf, Vec<String>)> {
        let asked = super::options::request(want, &options, alone, ecn, super::plan::all_cores(jobs))?;
        super::evaluate::advice(py, &asked, progress.as_ref())
    }
}
