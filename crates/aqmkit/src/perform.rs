//! Executes experiments for the commands, and prints their results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_experiment::Experiment;
use aqmkit_lab::{Begun, Performed, Progress, Workspace};
use aqmkit_report::terminal::{Screen, first_screen, notes, summary, tally, verdicts};
use aqmkit_runs::run::Watch;
use aqmkit_runs::store::{Store, Stored, damage};

use super::fail::Failure;
use super::progress::{Bar, Talk};
use super::remaining::Remaining;
use super::say;
use super::stop::{STOP, listen};

/// Number of parallel runs: as requested, or one per core.
pub(super) fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// Reports progress as bars on standard error.
pub(super) struct Bars {
    /// How much progress is printed.
    pub(super) talk: Talk,
    /// The remaining work of the command.
    pub(super) remaining: Arc<Remaining>,
}

impl Bars {
    /// For a command that runs a single experiment.
    pub(super) fn of_one(talk: Talk) -> Bars {
        Bars { talk, remaining: Remaining::of_one() }
    }

    /// The settings for `aqmkit_lab`; Ctrl-C stops the runs.
    pub(super) fn workspace<'a>(&'a self, dir: &'a Path, jobs: usize) -> Workspace<'a> {
        Workspace { dir, jobs, play: false, progress: self, cancel: &STOP }
    }
}

impl Progress for Bars {
    fn trials(&self) -> Box<dyn Watch + '_> {
        Box::new(Bar::of_trials(self.talk))
    }

    fn runs(&self, plan: &Begun<'_>) -> Box<dyn Watch + '_> {
        self.remaining.begin(plan.missing.iter().cloned());
        Box::new(Bar::of_plan(plan.runs, self.talk, Arc::clone(&self.remaining)).named(plan.why))
    }
}

/// Executes an experiment and writes its files.
///
/// # Errors
/// When a claim is invalid, the directory cannot be written to, or Ctrl-C was pressed.
pub(super) fn perform(exp: &Experiment, workspace: Workspace<'_>, talk: Talk) -> Result<Performed, Failure> {
    prepare(exp, workspace.dir, talk)?;
    Ok(aqmkit_lab::perform(exp, |exp| Ok(exp.plan()), &[], workspace)?)
}

/// Prepares the execution of an experiment: prints warnings, and lets Ctrl-C stop it. Results go to `dir`.
///
/// # Errors
/// When Ctrl-C cannot be handled.
pub(super) fn prepare(exp: &Experiment, dir: &Path, talk: Talk) -> Result<(), Failure> {
    warn(exp);
    note_replaced(exp, dir, talk);
    listen()
}

/// Prints the warnings about an experiment, unless it is an embedded one.
pub(super) fn warn(exp: &Experiment) {
    for warning in exp.warnings.iter().filter(|_| !exp.file.starts_with("experiments/")) {
        let place = warning.location().map_or_else(String::new, |at| format!("{}:{}: ", at.file, at.line));
        say::message(&format!("warning: {place}{}", warning.in_one_line()));
    }
}

/// Warns that tables and report of another experiment in this directory will be replaced.
fn note_replaced(exp: &Experiment, dir: &Path, talk: Talk) {
    let store = Store::perhaps(dir);
    let Ok(Stored { results: before, seal }) = store.results() else { return };
    if let Some(text) = damage::changed(&store, seal) {
        say::message(&format!("warning: {text}"));
    }
    if talk != Talk::Quiet && (&before.title, &before.source) != (&exp.title, &exp.source) {
        let dir = dir.display();
        say::message(&format!(
            "note: {dir} contains results of {:?}: its tables and report are replaced, its runs are kept; use --out \
             for another directory",
            before.title
        ));
    }
}

/// How much of the results to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// One screen: a table, and how many published values were met.
    Screen,
    /// All tables, and each published value.
    Everything,
    /// The contents of `results.json`.
    Json,
}

impl Shown {
    /// As requested by the options.
    pub(super) fn of(json: bool, explain: bool) -> Shown {
        match (json, explain) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Everything,
            (false, false) => Shown::Screen,
        }
    }
}

/// Maximum number of published values to list without `--explain`.
pub(super) const LISTED: usize = 12;

/// Prints the results of an experiment.
///
/// # Errors
/// When standard output is closed, or a run failed.
pub(super) fn show(performed: &Performed, dir: &Path, shown: Shown) -> Result<(), Failure> {
    let results = &performed.results;
    if shown == Shown::Json {
        say::print(&serde_json::to_string_pretty(results)?)?;
    } else {
        let screen = Screen::of_stdout();
        let everything = shown == Shown::Everything;
        let mut text = if everything { summary(results, screen) } else { first_screen(results, screen) };
        text.push_str(&notes(results, screen));
        if !results.expectations.is_empty() {
            text.push('\n');
            let listed = everything || results.expectations.len() <= LISTED;
            text.push_str(&if listed { verdicts(results, screen) } else { tally(results, screen) });
        }
        say::print(&format!("{text}\nReport: {}", dir.join("report.html").display()))?;
    }
    failures(&performed.failed)
}

/// Prints the errors of failed runs.
///
/// # Errors
/// When there is one.
pub(super) fn failures(failed: &[String]) -> Result<(), Failure> {
    for text in failed {
        say::message(&format!("error: run {text}"));
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Missed) }
}

/// The results directory of an experiment.
#[must_use]
pub(super) fn directory(out: Option<&Path>, id: &str) -> PathBuf {
    out.map(Path::to_owned).unwrap_or_else(|| Path::new("results").join(id))
}
