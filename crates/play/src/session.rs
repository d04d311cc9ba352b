//! One open run.

use std::collections::BTreeMap;

use aqmkit_base::Instant;
use aqmkit_experiment::number::Measured;
use aqmkit_experiment::{EditableRun, Experiment, Outline, Overrides, Problem, Statistic};
use aqmkit_sim::log::{Log, PacketEvent, Record};
use aqmkit_sim::{Error, Output, Scenario, Simulation};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

use crate::request::End;
use crate::{change, describe, limits};

/// The name of the page's experiment in messages.
const FILE: &str = "experiment";

/// An open run, and what the page has already received of it.
pub(crate) struct Session {
    experiment: Experiment,
    run: EditableRun,
    index: usize,
    pub(crate) outline: Outline,
    pub(crate) simulation: Simulation<'static>,
    /// Indices of the links that the page shows: those with `report` set.
    pub(crate) shown: Vec<usize>,
    /// Packet records taken or lost so far.
    reported: u64,
    /// Packet records lost because the page did not fetch them in time.
    pub(crate) lost: u64,
    /// By application: time of the last rate measurement, bytes delivered by then, and the rate in bit/s.
    pub(crate) rates: BTreeMap<u32, (f64, u64, f64)>,
    /// The same by traffic.
    pub(crate) group_rates: BTreeMap<usize, (f64, u64, f64)>,
}

/// Reads an experiment within the bounds of a page, and opens one of its runs.
fn read(toml: &str, set: &[String], seed: Option<u64>, run: usize) -> Result<(Experiment, EditableRun), Problem> {
    if toml.len() > limits::TEXT {
        let problem = Problem::new(format!("the experiment has {} bytes", toml.len()));
        return Err(problem.right(format!("at most {} can be opened here", limits::TEXT)));
    }
    check_sweep(toml)?;
    let overrides = Overrides { set: set.to_vec(), seed, ..Overrides::default() };
    EditableRun::open(FILE, toml, &overrides, run)
}

/// Refuses a sweep with too many runs before they are created.
fn check_sweep(toml: &str) -> Result<(), Problem> {
    let Ok(document) = DeTable::parse(toml) else { return Ok(()) };
    let table = document.get_ref();
    let repeat = table.get("repeat").and_then(|n| n.get_ref().as_integer()?.as_str().parse::<u64>().ok());
    let runs = table.get("sweep").map_or(1, |sweep| combinations(sweep.get_ref()));
    let runs = runs.saturating_mul(repeat.unwrap_or(1).max(1));
    if runs > limits::RUNS as u64 {
        let problem = Problem::new(format!("the experiment has {runs} runs"));
        return Err(problem.right(format!("at most {} can be opened here: sweep fewer values", limits::RUNS)));
    }
    Ok(())
}

/// The number of combinations of the lists in a table.
fn combinations(value: &DeValue<'_>) -> u64 {
    match value {
        DeValue::Array(values) => values.len().max(1) as u64,
        DeValue::Table(table) => {
            let axes = table.iter().filter(|(key, _)| key.get_ref() != "skip");
            axes.fold(1, |n, (_, axis)| n.saturating_mul(combinations(axis.get_ref())))
        }
        _ => 1,
    }
}

/// Refuses a run that is too large for a page.
fn check_size(outline: &Outline) -> Result<(), Problem> {
    let at_most =
        |what: String, most: String| Err(Problem::new(what).right(format!("at most {most} can be opened here")));
    let seconds = outline.warmup.as_secs_f64() + outline.duration.as_secs_f64();
    if seconds > limits::SECONDS {
        return at_most(format!("the run lasts {seconds} s"), format!("{} s", limits::SECONDS));
    }
    if outline.links.len() > limits::LINKS {
        return at_most(format!("the run has {} links", outline.links.len()), limits::LINKS.to_string());
    }
    let applications: usize = outline.groups.iter().map(|g| g.applications).sum();
    if applications > limits::APPLICATIONS {
        return at_most(format!("the run has {applications} flows and users"), limits::APPLICATIONS.to_string());
    }
    Ok(())
}

/// The answer to `check`.
pub(crate) fn check(toml: &str, set: &[String]) -> Result<Value, Problem> {
    let (experiment, _) = read(toml, set, None, 0)?;
    let plan = experiment.plan();
    let outline = plan[0].outline();
    let runs = plan.iter().enumerate().map(|(index, spec)| describe::run(index, spec, &spec.outline()));
    Ok(json!({
        "title": experiment.title,
        "about": experiment.about,
        "duration": outline.duration.as_secs_f64(),
        "warmup": outline.warmup.as_secs_f64(),
        "runs": runs.collect::<Vec<_>>(),
        "warnings": describe::warnings(&experiment),
    }))
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn problem(error: Error) -> Problem {
    Problem::new(error.to_string())
}

impl Session {
    pub(crate) fn open(toml: &str, run: usize, set: &[String], seed: Option<u64>) -> Result<Session, Problem> {
        let (experiment, held) = read(toml, set, seed, run)?;
        let outline = held.spec().outline();
        check_size(&outline)?;
        let shown: Vec<usize> = (0..outline.links.len()).filter(|&link| outline.links[link].report).collect();
        let simulation = Session::begin(held.spec().scenario()?, &shown)?;
        let (rates, group_rates) = Default::default();
        let (run, index) = (held, run);
        Ok(Session { experiment, run, index, outline, simulation, shown, reported: 0, lost: 0, rates, group_rates })
    }

    fn begin(scenario: Scenario, shown: &[usize]) -> Result<Simulation<'static>, Problem> {
        let mut simulation = Simulation::new(scenario).map_err(problem)?;
        simulation.set_log(Some(Log::new(shown.iter().copied(), limits::RECORDS)));
        Ok(simulation)
    }

    /// Restarts the run; changes made by hand are undone or, with `keep`, applied again at their times.
    pub(crate) fn restart(&mut self, keep: bool) -> Result<(), Problem> {
        if !keep {
            self.run.revert()?;
        }
        self.simulation = Session::begin(self.run.spec().scenario()?, &self.shown)?;
        self.outline = self.run.spec().outline();
        (self.reported, self.lost) = (0, 0);
        self.rates.clear();
        self.group_rates.clear();
        Ok(())
    }

    /// The answer to `open`.
    pub(crate) fn describe(&self, handle: u32) -> Value {
        json!({
            "handle": handle,
            "title": self.experiment.title,
            "start": -self.outline.warmup.as_secs_f64(),
            "end": self.outline.duration.as_secs_f64(),
            "now": self.now(),
            "run": describe::run(self.index, self.run.spec(), &self.outline),
            "watched": self.shown.iter().position(|&link| link == self.outline.measured),
            "queues": self.queues(),
            "groups": self.groups(),
            "warnings": describe::warnings(&self.experiment),
        })
    }

    pub(crate) fn queues(&self) -> Value {
        self.shown.iter().map(|&link| describe::queue(&self.outline.links[link])).collect()
    }

    pub(crate) fn groups(&self) -> Value {
        describe::groups(&self.outline.groups)
    }

    /// The time relative to the end of the warm-up.
    pub(crate) fn time(&self, at: Instant) -> f64 {
        // Computed from whole nanoseconds, so that a time passed back denotes the same instant.
        (i128::from(at.as_nanos()) - i128::from(self.outline.warmup.as_nanos())) as f64 / 1e9
    }

    pub(crate) fn now(&self) -> f64 {
        self.time(self.simulation.now())
    }

    pub(crate) fn finished(&self) -> bool {
        self.simulation.now() >= self.simulation.end()
    }

    fn instant(&self, t: f64) -> Instant {
        let nanoseconds = (t * 1e9).round() + self.outline.warmup.as_nanos() as f64;
        Instant::from_nanos(if nanoseconds.is_finite() { nanoseconds.max(0.0) as u64 } else { u64::MAX })
    }

    pub(crate) fn advance(&mut self, until: Option<f64>, events: Option<u64>) -> Result<Value, Problem> {
        let until = until.map_or(self.simulation.end(), |t| self.instant(t));
        let before = self.simulation.events();
        let mut left = events.unwrap_or(u64::MAX);
        loop {
            let slice = left.min(limits::SLICE);
            let there = self.simulation.advance_by(until, slice).map_err(problem)?;
            self.check_memory()?;
            left -= slice;
            if there || left == 0 {
                break;
            }
        }
        if self.run.has_changes() {
            self.outline = self.run.outline_at(self.simulation.now());
        }
        let made = self.simulation.events() - before;
        Ok(json!({"now": self.now(), "finished": self.finished(), "events": made}))
    }

    fn check_memory(&self) -> Result<(), Problem> {
        let waiting: u64 =
            (0..self.simulation.links().len()).map(|link| self.simulation.link(link).backlog.packets).sum();
        if waiting <= limits::WAITING {
            return Ok(());
        }
        let problem = Problem::new(format!("{waiting} packets wait in the queues"));
        Err(problem.right(format!("at most {} can be held here: lower the limit of the discipline", limits::WAITING)))
    }

    pub(crate) fn step(&mut self) -> Result<Value, Problem> {
        let end = self.simulation.end();
        let stepped = self.simulation.step(end).map_err(problem)?;
        let latest = self.simulation.log().and_then(|log| log.records().last().copied());
        let event = latest.filter(|_| stepped).map(|record| {
            let kind = match record.what {
                PacketEvent::Arrival => "arrival",
                PacketEvent::Departure => "departure",
                PacketEvent::Drop => "drop",
                PacketEvent::Mark => "mark",
            };
            let queue = self.shown.iter().position(|&link| link == usize::from(record.link));
            json!({
                "kind": kind, "flow": record.app, "bytes": record.len, "queue": queue, "group": record.group,
                "delay": record.waited.as_secs_f64(),
            })
        });
        Ok(json!({"now": self.now(), "finished": self.finished(), "event": event}))
    }

    /// Applies changes now, after all other events of this instant.
    pub(crate) fn change(&mut self, set: &Map<String, Value>) -> Result<Value, Problem> {
        self.simulation.advance(self.simulation.now()).map_err(problem)?;
        let now = self.simulation.now();
        let settings = change::settings(set, &self.outline)?;
        let made = self.run.set(now, &settings)?;
        for change in made.now {
            self.simulation.change(change).map_err(problem)?;
        }
        self.simulation.set_changes(made.later).map_err(problem)?;
        self.outline = self.run.outline_at(now);
        check_size(&self.outline)?;
        Ok(json!({"now": self.now(), "queues": self.queues(), "groups": self.groups()}))
    }

    pub(crate) fn experiment(&self, end: Option<End>) -> Value {
        json!({"toml": self.run.text(end.map(|End::Now| self.simulation.now()))})
    }

    /// A number from the results so far, and whether the run is finished.
    pub(crate) fn number(&self, window: &str, metric: &str, seconds: Option<&str>) -> Result<Value, Problem> {
        let statistic = seconds.map(Statistic::parse).transpose()?;
        let output = self.simulation.output_so_far();
        let missing = |what: String| Problem::new(format!("the results of this run have no {what}"));
        let measured = Measured::window(&output, window).ok_or_else(|| missing(format!("window {window:?}")))?;
        let value = measured.number(metric, statistic).map_err(missing)?;
        Ok(json!({"value": value, "now": self.now(), "finished": self.finished()}))
    }

    /// The digest of the results. Before the end of the run, it is the digest of the experiment that ends at the
    /// current time, which is simulated again from the start.
    pub(crate) fn digest(&self) -> Result<Value, Problem> {
        let output = if self.finished() { self.simulation.output_so_far() } else { self.ended_now()? };
        let digest = aqmkit_experiment::digest(&output);
        Ok(json!({"digest": digest, "now": self.now(), "finished": self.finished()}))
    }

    /// The results of the experiment that ends at the current time.
    fn ended_now(&self) -> Result<Output, Problem> {
        let text = self.run.text(Some(self.simulation.now()));
        let experiment = Experiment::parse(FILE, &text, &Overrides::default())?;
        let last = experiment.plan().pop().ok_or_else(|| Problem::new("the experiment has no run"))?;
        let mut simulation = Simulation::new(last.scenario()?).map_err(problem)?;
        simulation.advance(simulation.end()).map_err(problem)?;
        Ok(simulation.output())
    }

    /// The packet records since the last call, encoded as [`crate::Player::records`] describes.
    pub(crate) fn records(&mut self) -> Vec<u8> {
        let Some(log) = self.simulation.log() else { return Vec::new() };
        let seen = log.seen();
        let records = log.take();
        self.lost += seen - self.reported - records.len() as u64;
        self.reported = seen;
        let mut bytes = Vec::with_capacity(24 * records.len());
        for record in &records {
            self.write(record, &mut bytes);
        }
        bytes
    }

    fn write(&self, record: &Record, bytes: &mut Vec<u8>) {
        let queue = self.shown.iter().position(|&link| link == usize::from(record.link)).unwrap_or(255);
        bytes.extend(self.time(record.at).to_le_bytes());
        bytes.extend(record.app.to_le_bytes());
        bytes.extend(record.len.to_le_bytes());
        bytes.extend((record.waited.as_secs_f64() as f32).to_le_bytes());
        bytes.push(record.what as u8);
        bytes.push(u8::try_from(queue).unwrap_or(255));
        bytes.extend(record.group.to_le_bytes());
    }
}
