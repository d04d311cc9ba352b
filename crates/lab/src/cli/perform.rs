//! Runs the plan of an experiment and writes its files, for all commands that run experiments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_aqm::registry::Link;
use aqmkit_experiment::Experiment;
use aqmkit_report::terminal::{Screen, first_screen, notes, summary, tally, verdicts};
use aqmkit_report::{PlayerPage, ReportInput, write_html};
use aqmkit_results::{Axis, Player, Results};
use aqmkit_runs::export;
use aqmkit_runs::run::{Done, Outcome, RunOptions, Work};
use aqmkit_runs::store::{Parameters, Store, Stored, damage};
use aqmkit_sim::Scenario;
use aqmkit_study::null_test::Outcomes;
use aqmkit_study::run_all;
use aqmkit_study::verdict::Published;

use super::calibration::calibrate_populations;
use super::fail::Failure;
use super::library;
use super::play::links::{page_beside, player};
use super::play::page;
use super::progress::{Bar, Talk};
use super::remaining::Remaining;
use super::say;
use super::stop::{STOP, listen};

/// The number of parallel runs.
pub fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// An experiment that was run.
pub struct Performed {
    /// Its results.
    pub results: Results,
    /// Finished runs, in the order of the plan.
    pub done: Vec<Done>,
    /// Failed runs: labels and reason.
    pub failed: Vec<String>,
    /// The CPU time of its runs and of the trials of its calibration in seconds, as measured when each was run.
    pub cpu_s: f64,
}

/// Runs an experiment and writes its files.
///
/// # Errors
/// When its claims are wrong, the directory cannot be written to, or Ctrl-C was pressed.
pub fn perform(exp: &Experiment, place: Where<'_>) -> Result<Performed, Failure> {
    perform_plan(exp, |exp| Ok(exp.plan()), &[], &Player::default(), place)
}

/// As [`perform`], with a report that opens every run in the page of `aqmkit play`.
///
/// # Errors
/// As [`perform`].
pub fn perform_with_page(exp: &Experiment, place: Where<'_>) -> Result<Performed, Failure> {
    perform_plan(exp, |exp| Ok(exp.plan()), &[], &player(exp), place)
}

/// Runs the plan that `plan` makes of an experiment, and writes its files into the directory of `place`. `axes` are the axes
/// that the plan adds to the experiment's own. The report opens its runs with `player`.
///
/// # Errors
/// As [`perform`], and those of `plan`.
pub fn perform_plan<W: Work>(
    exp: &Experiment,
    plan: impl FnOnce(&Experiment) -> Result<Vec<W>, Failure>,
    axes: &[Axis],
    player: &Player,
    place: Where<'_>,
) -> Result<Performed, Failure> {
    let prepared = Prepared::of(exp, place)?;
    let plan = plan(&prepared.exp)?;
    let (results, outcome) = prepared.run_plan(&plan, axes, "")?;
    prepared.finish_with(results, outcome, player)
}

/// Where an experiment runs, and how.
#[derive(Clone, Copy)]
pub struct Where<'a> {
    /// The directory of its results.
    pub dir: &'a Path,
    /// The number of parallel runs.
    pub jobs: usize,
    /// How much progress is printed.
    pub talk: Talk,
    /// The runs that the command has still to make.
    pub remaining: &'a Arc<Remaining>,
}

/// An experiment that is ready to run: checked, with calibrated populations.
pub(super) struct Prepared<'a> {
    exp: Experiment,
    place: Where<'a>,
    published: Published,
    null_test: Outcomes,
    store: Store,
    /// The CPU time of the trials of its calibration, in seconds.
    of_trials: f64,
}

impl<'a> Prepared<'a> {
    /// Checks the claims of an experiment, opens its directory, warns, and calibrates.
    ///
    /// # Errors
    /// When its claims are wrong, the directory cannot be written to, or Ctrl-C was pressed.
    pub(super) fn of(exp: &Experiment, place: Where<'a>) -> Result<Prepared<'a>, Failure> {
        let published = library::checked(exp)?;
        let null_test = library::null_test(Some(&exp.file))?;
        let store = Store::open(place.dir)?;
        warn(exp);
        note_replaced(exp, &store, place.talk);
        let (exp, found) = calibrate_populations(exp, &store, place.jobs, place.talk, place.dir)?;
        listen()?;
        let of_trials = found.iter().map(|found| found.cpu_s).sum();
        Ok(Prepared { exp, place, published, null_test, store, of_trials })
    }

    /// The same experiment as it was read again, with another number of repeats or another warm-up, where nothing of it needs
    /// calibration.
    ///
    /// # Errors
    /// As [`Prepared::of`].
    pub(super) fn again(self, exp: &Experiment) -> Result<Prepared<'a>, Failure> {
        let (exp, found) = calibrate_populations(exp, &self.store, self.place.jobs, self.place.talk, self.place.dir)?;
        let of_trials = self.of_trials + found.iter().map(|found| found.cpu_s).sum::<f64>();
        Ok(Prepared { exp, of_trials, ..self })
    }

    /// Runs its plan; `why` begins the message of the progress bar.
    ///
    /// # Errors
    /// When a file cannot be written, or Ctrl-C was pressed.
    pub(super) fn run(&self, why: &str) -> Result<(Results, Outcome), Failure> {
        self.run_plan(&self.exp.plan(), &[], why)
    }

    fn run_plan<W: Work>(&self, plan: &[W], axes: &[Axis], why: &str) -> Result<(Results, Outcome), Failure> {
        self.place.remaining.begin(plan, &self.store);
        let bar = Bar::of_plan(plan.len(), self.place.talk, Arc::clone(self.place.remaining)).named(why);
        let how = RunOptions { jobs: self.place.jobs, store: &self.store, watch: &bar, cancel: &STOP };
        let (results, outcome) = run_all(&self.exp, plan, axes, &self.published, how)?;
        bar.finish();
        if outcome.cancelled {
            let text = stopped(&outcome, results.planned, self.place.dir);
            self.finish_with(results, outcome, &Player::default())?;
            return Err(Failure::Stopped(text));
        }
        Ok((results, outcome))
    }

    /// Writes the files of an experiment whose report opens every run in the page of `aqmkit play`.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn finish(&self, results: Results, outcome: Outcome) -> Result<Performed, Failure> {
        self.finish_with(results, outcome, &player(&self.exp))
    }

    /// Writes the files; the report opens the runs with `player`.
    fn finish_with(&self, mut results: Results, outcome: Outcome, player: &Player) -> Result<Performed, Failure> {
        self.null_test.mark(self.exp.scale, &self.exp.id, &mut results.expectations);
        let parameters = parameters(&self.exp);
        results.queues = queues(&parameters);
        write(&self.store, &results, &outcome, &parameters, player)?;
        let of_runs: f64 = outcome.done.iter().map(|done| done.output.engine.cpu_s).sum();
        Ok(Performed { results, done: outcome.done, failed: outcome.failed, cpu_s: self.of_trials + of_runs })
    }
}

/// Prints the warnings about an experiment. The embedded experiments are not warned about.
pub(super) fn warn(exp: &Experiment) {
    for warning in exp.warnings.iter().filter(|_| !exp.file.starts_with("experiments/")) {
        let place = warning.location().map_or_else(String::new, |at| format!("{}:{}: ", at.file, at.line));
        say::tell(&format!("warning: {place}{}", warning.in_one_line()));
    }
}

/// Prints that the tables and the report of another experiment in this directory are about to be replaced.
fn note_replaced(exp: &Experiment, store: &Store, talk: Talk) {
    let Ok(Stored { results: before, seal }) = store.results() else { return };
    if let Some(text) = damage::changed(store, seal) {
        say::tell(&format!("warning: {text}"));
    }
    if talk != Talk::Quiet && (&before.title, &before.source) != (&exp.title, &exp.source) {
        let dir = store.dir().display();
        say::tell(&format!(
            "note: {dir} contains results of {:?}: its tables and report are replaced, its runs are kept; use --out \
             for another directory",
            before.title
        ));
    }
}

/// Writes all files of an experiment into its directory.
///
/// # Errors
/// When a file cannot be written.
pub fn write(
    store: &Store,
    results: &Results,
    outcome: &Outcome,
    parameters: &Parameters,
    player: &Player,
) -> Result<(), Failure> {
    let data = outcome.data();
    store.save_parameters(parameters)?;
    store.save_player(player)?;
    export::write(store.dir(), results, &data)?;
    let input =
        ReportInput { parameters: parameters.clone(), player: player.clone(), ..ReportInput::new(results, &data) };
    html(store.dir(), &ReportInput { page: page(), ..input })
}

/// The parameters of the discipline of each label of `aqm`, including derived ones.
#[must_use]
pub fn parameters(exp: &Experiment) -> Parameters {
    let mut found = Parameters::new();
    for spec in exp.plan() {
        let Some(label) = spec.labels.get("aqm") else { continue };
        if !found.contains_key(label) {
            let listed = spec.scenario().ok().and_then(|s| of_measured(&s)).unwrap_or_default();
            found.insert(label.clone(), listed);
        }
    }
    found
}

/// The queue limit for each label, if its discipline has a single limit.
#[must_use]
pub fn queues(parameters: &Parameters) -> BTreeMap<String, String> {
    let limit = |list: &[(String, String)]| list.iter().find(|(name, _)| name == "limit").map(|(_, v)| v.clone());
    parameters.iter().filter_map(|(label, list)| Some((label.clone(), capacity(&limit(list)?)))).collect()
}

/// A limit with its unit: `1000` is `1000p`.
fn capacity(limit: &str) -> String {
    if limit.parse::<f64>().is_ok() { format!("{limit}p") } else { limit.to_owned() }
}

fn of_measured(scenario: &Scenario) -> Option<Vec<(String, String)>> {
    let link = scenario.links.get(scenario.measured)?;
    let at = Link { rate: link.rate, mean_packet: link.mean_packet, classes: scenario.classes.clone() };
    let spec = link.aqm.effective(&at).ok()?;
    let table = toml::Table::try_from(&spec).ok()?;
    let text = |v: &toml::Value| v.as_str().map_or_else(|| super::describe::rounded(v).to_string(), str::to_owned);
    Some(table.iter().map(|(k, v)| (k.clone(), text(v))).collect())
}

/// Writes the report into `dir`, and the page of `aqmkit play` beside it where its links lead there.
///
/// # Errors
/// When it cannot be written.
pub(super) fn html(dir: &Path, input: &ReportInput<'_>) -> Result<(), Failure> {
    if write_html(&dir.join("report.html"), input)? == PlayerPage::Beside {
        page_beside(dir)?;
    }
    Ok(())
}

fn stopped(outcome: &Outcome, planned: usize, dir: &Path) -> String {
    format!(
        "Stopped. {} of {planned} runs are done and stored in {}; repeat the command to resume.",
        outcome.done.len(),
        dir.display()
    )
}

/// How much of the results of an experiment is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// One screen: a table, and the number of published values met.
    Screen,
    /// Every table, and each published value.
    Everything,
    /// `results.json`.
    Json,
}

impl Shown {
    /// By the options of a command.
    pub(super) fn of(json: bool, explain: bool) -> Shown {
        match (json, explain) {
            (true, _) => Shown::Json,
            (false, true) => Shown::Everything,
            (false, false) => Shown::Screen,
        }
    }
}

/// The most published values that are listed without being asked for.
const LISTED: usize = 12;

/// Prints the results of an experiment.
///
/// # Errors
/// When standard output is gone, or a run failed.
pub fn show(performed: &Performed, dir: &Path, shown: Shown) -> Result<(), Failure> {
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

/// Reports failed runs.
///
/// # Errors
/// When there is one.
pub fn failures(failed: &[String]) -> Result<(), Failure> {
    for text in failed {
        say::tell(&format!("error: run {text}"));
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Missed) }
}

/// The directory of an experiment's results.
#[must_use]
pub fn directory(out: Option<&Path>, id: &str) -> PathBuf {
    out.map(Path::to_owned).unwrap_or_else(|| Path::new("results").join(id))
}
