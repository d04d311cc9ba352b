//! Runs a plan on all cores; the results are the same for any number of jobs.
//!
//! Runs in the [`Store`] are not repeated. Results are in the order of the plan, whatever the order of
//! completion. A run that fails or panics does not affect others.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use aqmkit_experiment::RunSpec;
use aqmkit_files::full;
use aqmkit_measure::output::Engine;
use aqmkit_results::RunData;
use aqmkit_sim::{Control, Error, Output, Progress};

use crate::clock::Meter;
use crate::store::{Kept, Listed, Store, cost_key};

/// A run that always gives the same output.
pub trait Work: Sync {
    /// Labels in results.
    fn labels(&self) -> &BTreeMap<String, String>;
    /// Hash of all inputs, the key in the store.
    fn hash(&self) -> &str;
    /// Expected duration relative to other runs, in any unit; zero if it is negligible.
    fn weight(&self) -> f64 {
        1.0
    }
    /// Executes the run.
    ///
    /// # Errors
    /// When `on_progress` stopped it, or it cannot be run.
    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop>;
}

/// Why a run has no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The user stopped it.
    Cancelled,
    /// It cannot be run, for this reason.
    Failed(String),
    /// It finished, but its result cannot be stored because the disk is full, for this reason.
    Full(String),
}

impl Work for RunSpec {
    fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn hash(&self) -> &str {
        &self.hash
    }

    fn weight(&self) -> f64 {
        self.packets()
    }

    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
        let scenario = self.scenario().map_err(|e| Stop::Failed(e.to_string()))?;
        aqmkit_sim::run(scenario, on_progress).map_err(|e| match e {
            Error::Stopped => Stop::Cancelled,
            other => Stop::Failed(other.to_string()),
        })
    }
}

/// Observes the progress of runs, for example to show a progress bar.
pub trait Watch: Sync {
    /// A run progressed by this many thousandths.
    fn advanced(&self, thousandths: u64);
    /// A run has finished, or was found in the store.
    fn ended(&self, labels: &BTreeMap<String, String>, reused: bool);
    /// A message to the user.
    fn note(&self, text: &str);
}

impl<W: Watch + ?Sized> Watch for &W {
    fn advanced(&self, thousandths: u64) {
        (**self).advanced(thousandths);
    }

    fn ended(&self, labels: &BTreeMap<String, String>, reused: bool) {
        (**self).ended(labels, reused);
    }

    fn note(&self, text: &str) {
        (**self).note(text);
    }
}

/// Settings of the execution of a plan.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// The number of parallel runs.
    pub jobs: usize,
    /// The store of finished runs.
    pub store: &'a Store,
    /// The observer of progress.
    pub watch: &'a dyn Watch,
    /// Set this to stop: finished runs are stored, unfinished ones are abandoned.
    pub cancel: &'a AtomicBool,
}

/// A run with its output.
#[derive(Clone, Debug)]
pub struct Done {
    /// Labels in results.
    pub labels: BTreeMap<String, String>,
    /// Measured values.
    pub output: Output,
}

/// The outcome of a plan.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Finished runs, in the order of the plan.
    pub done: Vec<Done>,
    /// Failed runs: labels and reason.
    pub failed: Vec<String>,
    /// Whether it was cancelled before all runs had finished.
    pub cancelled: bool,
}

impl Outcome {
    /// The runs in the form that reports use.
    #[must_use]
    pub fn data(&self) -> Vec<RunData<'_>> {
        self.done.iter().map(|d| RunData { labels: &d.labels, output: &d.output }).collect()
    }
}

/// Executes all runs that are not in the store.
///
/// # Errors
/// When threads cannot be started or the list of runs cannot be written. Also when the disk is full; then no further
/// run is started.
pub fn execute<W: Work>(work: &[W], options: RunOptions<'_>) -> io::Result<Outcome> {
    let listed = work.iter().map(|w| Listed { labels: w.labels().clone(), hash: w.hash().to_owned() });
    options.store.save_list(&listed.collect::<Vec<_>>())?;
    let slots: Vec<OnceLock<Result<Output, Stop>>> = work.iter().map(|_| OnceLock::new()).collect();
    let order = longest_first(work, options.store);
    let next = AtomicUsize::new(0);
    let full = OnceLock::new();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.jobs.clamp(1, work.len().max(1)));
    pool.build().map_err(io::Error::other)?.broadcast(|_| {
        while full.get().is_none()
            && let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let result = one(&work[*index], options);
            if let Err(Stop::Full(why)) = &result {
                let _ = full.set(format!("{}: {why}", name(work[*index].labels())));
            }
            let _ = slots[*index].set(result);
        }
    });
    let outcome = collect(work, slots);
    match full.into_inner() {
        Some(why) => Err(no_room(&why, outcome.done.len(), work.len(), options.store)),
        None => Ok(outcome),
    }
}

fn no_room(why: &str, done: usize, all: usize, store: &Store) -> io::Error {
    let dir = store.dir().display();
    let text = format!(
        "{why}; {done} of {all} runs are finished and stored in {dir}; repeat the command to continue from there"
    );
    io::Error::new(io::ErrorKind::StorageFull, text)
}

fn collect<W: Work>(work: &[W], slots: Vec<OnceLock<Result<Output, Stop>>>) -> Outcome {
    let mut outcome = Outcome::default();
    for (w, slot) in work.iter().zip(slots) {
        match slot.into_inner() {
            Some(Ok(output)) => outcome.done.push(Done { labels: w.labels().clone(), output }),
            Some(Err(Stop::Failed(why))) => outcome.failed.push(format!("{}: {why}", name(w.labels()))),
            Some(Err(Stop::Cancelled | Stop::Full(_))) | None => outcome.cancelled = true,
        }
    }
    outcome
}

/// Labels in one line.
#[must_use]
pub fn name(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ")
}

/// The order in which to start runs: those of unknown duration first, in plan order, then by descending duration of
/// their last execution, so that no long run is left for the end.
fn longest_first<W: Work>(work: &[W], store: &Store) -> Vec<usize> {
    let costs = store.costs();
    let cost = |i: &usize| costs.get(&cost_key(work[*i].labels())).copied().unwrap_or(f64::INFINITY);
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    order
}

/// Executes one run unless it is in the store.
///
/// # Errors
/// When it was stopped or cannot be run, or the disk is full.
pub fn one<W: Work>(work: &W, options: RunOptions<'_>) -> Result<Output, Stop> {
    if options.cancel.load(Ordering::Relaxed) {
        return Err(Stop::Cancelled);
    }
    match options.store.load(work.hash()) {
        Kept::Found(output) => {
            options.watch.advanced(1000);
            options.watch.ended(work.labels(), true);
            return Ok(*output);
        }
        Kept::Broken(why) => {
            options.watch.note(&format!(
                "{}: its stored result cannot be read ({why}), so it is run again",
                name(work.labels())
            ));
        }
        Kept::Missing => {}
    }
    let meter = Meter::start();
    let mut output = watched(work, options)?;
    output.engine = Engine { packets: output.engine.packets, events: output.engine.events, ..meter.cost() };
    if let Err(e) = options.store.save(work.hash(), &output) {
        let why = format!("its result cannot be stored: {}", full::reason(&e));
        if full::is(&e) {
            return Err(Stop::Full(why));
        }
        options.watch.note(&format!("{}: {why}", name(work.labels())));
    }
    options.watch.ended(work.labels(), false);
    Ok(output)
}

/// Executes a run, reports its progress in thousandths, and stops on request.
fn watched<W: Work>(work: &W, options: RunOptions<'_>) -> Result<Output, Stop> {
    let mut reported = 0;
    let mut on_progress = |p: Progress| {
        let thousandths = (p.now.as_secs_f64() / p.end.as_secs_f64().max(1e-9) * 1000.0) as u64;
        options.watch.advanced(thousandths.saturating_sub(reported));
        reported = reported.max(thousandths);
        if options.cancel.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    };
    let result = guarded(|| work.run(&mut on_progress));
    options.watch.advanced(1000_u64.saturating_sub(reported));
    result
}

thread_local! {
    /// The message of the last panic of a run on this thread; `None` outside of runs.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Converts a panic of a run into an error.
fn guarded(run: impl FnOnce() -> Result<Output, Stop>) -> Result<Output, Stop> {
    static HOOK: Once = Once::new();
    HOOK.call_once(keep_panics);
    PANIC.set(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let said = PANIC.take().unwrap_or_default();
    result.unwrap_or_else(|_| Err(Stop::Failed(format!("internal error: {said}"))))
}

/// Installs a panic hook that records the messages of panicking runs; other panics are reported as usual.
fn keep_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let of_run = PANIC.with_borrow_mut(|kept| kept.as_mut().map(|text| *text = panic_message(info)).is_some());
        if !of_run {
            before(info);
        }
    }));
}

fn panic_message(info: &panic::PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
    format!("{}{place}", text.unwrap_or("unknown"))
}

/// An observer that collects messages, for tests and quiet commands.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Vec<String>>);

impl Notes {
    /// The messages so far.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watch for Notes {
    fn advanced(&self, _thousandths: u64) {}

    fn ended(&self, _labels: &BTreeMap<String, String>, _reused: bool) {}

    fn note(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}

#[cfg(test)]
mod tests;
