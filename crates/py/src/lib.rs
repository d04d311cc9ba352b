//! The native module `aqmkit._aqmkit`, on which the package in `python/aqmkit` is built.
//!
//! A thin layer: it converts values, and releases the GIL during runs. The runs themselves are made by `aqmkit_lab`.
//!
//! | module | contents |
//! |---|---|
//! | `plan` | an experiment that can be run, whole or run by run |
//! | `perform` | runs an experiment, and writes its files |
//! | `control` | cancellation and progress |
//! | `outcome` | results |
//! | `table` | tables in Arrow's C interface |
//! | `discipline` | disciplines written in Python |
//! | `evaluate` | report cards and advice |
//! | `options` | parses arguments that correspond to options of the command |
//! | `path` | paths for tests of transport stacks |
//! | `problem` | converts errors to exceptions |

#![allow(clippy::needless_pass_by_value, reason = "PyO3 passes arguments by value")]
#![allow(clippy::shadow_unrelated, reason = "code that PyO3 generates for an enum shadows")]

mod control;
mod discipline;
mod evaluate;
mod options;
mod outcome;
mod path;
mod perform;
mod plan;
mod problem;
mod table;

use pyo3::prelude::*;

/// The native part of aqmkit. Use the package `aqmkit` instead, which is built on it.
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
    use super::path::{Arrival, NativePath, PathDelays, PathReport};
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::table::Table;

    /// The version of aqmkit, as in `Cargo.toml`.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command `aqmkit`; `args` starts with the program name. Returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| aqmkit::run(args))
    }

    /// Finds an experiment by its id or the path of its file. Returns its file name and text.
    #[pyfunction]
    fn find(name: &str) -> PyResult<(String, String)> {
        aqmkit_experiment::find(name).map_err(|e| super::problem::exception(&e))
    }

    /// Every experiment that can be loaded by id: id, title, source.
    #[pyfunction]
    fn catalogue() -> Vec<(String, String, String)> {
        aqmkit_experiment::catalogue().into_iter().map(|e| (e.id, e.title, e.source)).collect()
    }

    /// Every built-in discipline: name and one-line description.
    #[pyfunction]
    fn disciplines() -> Vec<(&'static str, &'static str)> {
        registry::ALL.iter().map(|e| (e.name, e.summary())).collect()
    }

    /// The reference page of a discipline in Markdown; None if there is no such discipline.
    #[pyfunction]
    fn page(name: &str) -> Option<String> {
        registry::page(name)
    }

    /// Builds the experiment of a comparison, as the text of its file. `options` are the arguments as (name, text)
    /// pairs.
    #[pyfunction]
    fn comparison(
        disciplines: Vec<String>,
        options: Vec<(String, String)>,
        sweep: Vec<String>,
        ecn: bool,
    ) -> PyResult<String> {
        let comparison = super::options::comparison(disciplines, &options, sweep, ecn)?;
        let file = comparison.experiment(&aqmkit_experiment::Catalogues::default());
        file.map(|file| file.to_string()).map_err(super::problem::failure)
    }

    /// The directory name of a comparison, derived from the text of its experiment.
    #[pyfunction]
    fn comparison_name(text: &str) -> String {
        compare::short_name(&text.parse().unwrap_or_default(), text)
    }

    /// The directory of a report card, and its experiments: name, file, text. Each discipline is a label and, if it is
    /// written in Python, its sweep entry as JSON.
    #[pyfunction]
    fn card_plan(
        disciplines: Vec<(String, Option<String>)>,
        quick: bool,
    ) -> PyResult<(PathBuf, Vec<super::evaluate::Planned>)> {
        super::evaluate::plan(&disciplines, quick)
    }

    /// Composes the report card from the experiments run below `dir` and writes its page to `file`. Returns the card as
    /// JSON and as text.
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

    /// Searches for the best discipline for a wish. Returns JSON, text, the path of the page, and the errors of failed
    /// runs. `options` are the arguments as (name, text) pairs; `progress` is called as by `Plan.run`.
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
        let request = super::options::request(want, &options, alone, ecn, super::plan::all_cores(jobs))?;
        super::evaluate::advice(py, &request, progress.as_ref())
    }
}
