//! Estimates the remaining time of a command, over all its experiments.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aqmkit_experiment::Experiment;
use aqmkit_runs::clock::now;

use aqmkit_lab::estimate::{about, packets_left};

/// No estimate is made before this time.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// Suffix of the estimate if a command has several experiments.
const IN_ALL: &str = "left in all";

/// The remaining work of a command, in units of [`aqmkit_runs::run::Work::weight`]. Stored runs count as no work.
pub(super) struct Remaining {
    began: Instant,
    /// The suffix of the estimate.
    left: &'static str,
    runs: Mutex<Runs>,
    /// When the last progress line was printed, or the command started.
    line: Mutex<Instant>,
}

impl Remaining {
    /// For a command that runs a single experiment.
    #[must_use]
    pub(super) fn of_one() -> Arc<Remaining> {
        Remaining::new("left", VecDeque::new())
    }

    /// The remaining time of a command that runs these experiments in this order, each with its results directory.
    #[must_use]
    pub(super) fn of(experiments: &[(&Experiment, &Path)]) -> Arc<Remaining> {
        let later = experiments.iter().map(|(exp, dir)| packets_left(exp, dir)).collect();
        Remaining::new(if experiments.len() > 1 { IN_ALL } else { "left" }, later)
    }

    fn new(left: &'static str, later: VecDeque<f64>) -> Arc<Remaining> {
        Remaining::begun(now(), left, Runs { later, ..Runs::default() })
    }

    fn begun(began: Instant, left: &'static str, runs: Runs) -> Arc<Remaining> {
        Arc::new(Remaining { began, left, runs: Mutex::new(runs), line: Mutex::new(began) })
    }

    /// Moves on to the next experiment.
    pub(super) fn next_experiment(&self) {
        self.lock().later.pop_front();
    }

    /// Starts a plan; `missing` are the labels and work of the runs that are not stored.
    pub(super) fn begin(&self, missing: impl Iterator<Item = (BTreeMap<String, String>, f64)>) {
        self.lock().begin(missing);
    }

    /// Adds progress of a run, in thousandths.
    pub(super) fn advanced(&self, thousandths: u64) {
        self.lock().partly += thousandths as f64 / 1000.0;
    }

    /// Marks a run as ended; `reused` if it was stored.
    pub(super) fn ended(&self, labels: &BTreeMap<String, String>, reused: bool) {
        self.lock().ended(labels, reused);
    }

    /// The estimate as text: `about 40 s left`. `None` if it is too early to tell.
    pub(super) fn words(&self) -> Option<String> {
        let left = self.lock().left(self.began.elapsed())?;
        Some(format!("{} {}", about(left.as_secs_f64()), self.left))
    }

    /// Time since the last progress line, or since the command started.
    pub(super) fn since_line(&self) -> Duration {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Records that a progress line has been printed.
    pub(super) fn line_written(&self) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = now();
    }

    /// Two experiments, one of which was completed in this time.
    #[cfg(test)]
    pub(super) fn half_done_after(time: Duration) -> Arc<Remaining> {
        let runs = Runs { later: [10.0].into(), done: 10.0, ..Runs::default() };
        Remaining::begun(now().checked_sub(time).unwrap(), IN_ALL, runs)
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The work that is done, in progress and left.
#[derive(Debug, Default)]
struct Runs {
    /// The work of each experiment that has not started.
    later: VecDeque<f64>,
    /// The work of each run of the current plan that has not ended, and the sum of these.
    open: BTreeMap<BTreeMap<String, String>, f64>,
    sum: f64,
    /// Progress of unfinished runs, in runs.
    partly: f64,
    /// The work of the runs that have ended.
    done: f64,
}

impl Runs {
    fn begin(&mut self, open: impl Iterator<Item = (BTreeMap<String, String>, f64)>) {
        self.open = open.collect();
        self.sum = self.open.values().sum();
        self.partly = 0.0;
    }

    fn ended(&mut self, labels: &BTreeMap<String, String>, reused: bool) {
        self.partly = (self.partly - 1.0).max(0.0);
        let Some(weight) = self.open.remove(labels) else { return };
        self.sum -= weight;
        if !reused {
            self.done += weight;
        }
    }

    /// The remaining time after `elapsed`. Progress of unfinished runs is weighted by their mean work.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let open = self.open.len() as f64;
        let partly = if self.open.is_empty() { 0.0 } else { self.sum / open * self.partly.min(open) };
        time_left(elapsed, self.done + partly, self.sum - partly + self.later.iter().sum::<f64>())
    }
}

/// The time for the remaining work at the speed so far. `None` if it is too early to tell.
fn time_left(elapsed: Duration, done: f64, rest: f64) -> Option<Duration> {
    if done <= 0.0 || elapsed < FIRST_LOOK {
        return None;
    }
    Duration::try_from_secs_f64(elapsed.as_secs_f64() * rest.max(0.0) / done).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn run(repeat: u32) -> BTreeMap<String, String> {
        [("repeat".to_owned(), repeat.to_string())].into()
    }

    #[test]
    fn the_rest_takes_as_long_for_its_work_as_what_is_done() {
        assert_eq!(time_left(s(30), 10.0, 40.0), Some(s(120)));
        assert_eq!(time_left(s(30), 10.0, 0.0), Some(s(0)));
        assert_eq!(time_left(s(30), 0.0, 40.0), None, "nothing is done");
        assert_eq!(time_left(s(1), 10.0, 40.0), None, "too early");
        assert_eq!(time_left(s(30), 1e-300, 1e300), None, "more than a time can be");
    }

    /// A command with many short experiments prints lines too.
    #[test]
    fn lines_are_counted_from_the_last_one_of_the_command() {
        let remaining = Remaining::half_done_after(s(40));
        assert!(remaining.since_line() >= s(40));
        remaining.line_written();
        assert!(remaining.since_line() < s(40));
    }

    #[test]
    fn runs_count_by_their_work_and_in_parts() {
        let mut runs = Runs { later: [60.0, 20.0].into(), ..Runs::default() };
        runs.later.pop_front();
        runs.begin([(run(1), 10.0), (run(2), 30.0), (run(3), 20.0)].into_iter());
        assert_eq!(runs.left(s(10)), None);
        runs.partly = 1.0;
        runs.ended(&run(1), false);
        assert_eq!(runs.left(s(10)), Some(s(70)), "50 of this experiment and 20 of the next after 10");
        // Half of a run, with a mean work of 25.
        runs.partly = 0.5;
        assert_eq!(runs.left(s(45)), Some(s(115)), "57.5 after 22.5");
    }

    #[test]
    fn stored_runs_are_done_without_telling_the_speed() {
        let mut runs = Runs::default();
        runs.begin([(run(1), 10.0), (run(2), 10.0)].into_iter());
        // Run 3 was known to be stored; run 1 has been stored in the meantime.
        for stored in [3, 1] {
            runs.partly += 1.0;
            runs.ended(&run(stored), true);
        }
        assert_eq!((runs.left(s(10)), runs.sum), (None, 10.0));
        runs.partly = 0.5;
        assert_eq!(runs.left(s(10)), Some(s(10)));
    }
}
