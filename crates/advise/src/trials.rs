//! Runs candidates on all cores; results are stored like those of any experiment.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;

use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem, RunSpec};
use aqmkit_results::{Entry, flatten};
use aqmkit_runs::run::{Done, Outcome, RunOptions, Watch, execute};
use aqmkit_runs::store::Store;
use toml::{Table, Value};

use crate::goals::Goals;
use crate::quantity::{Numbers, Quantity};
use crate::search::{Asked, Measure, Outline, Sample};
use crate::space::Candidate;

/// Why no more runs are possible.
#[derive(Debug)]
pub enum TrialError {
    /// The experiment cannot be run.
    Problem(Problem),
    /// The store cannot be written to, or threads cannot be started.
    Io(io::Error),
    /// It was stopped; finished runs are kept.
    Stopped,
}

/// Runs candidates on a link with its traffic.
pub struct Trials<'a> {
    /// The experiment, without a sweep.
    pub setting: &'a Table,
    /// The goals of the wish.
    pub goals: &'a Goals,
    /// Base seed from which the seeds of repeats are derived.
    pub seed: u64,
    /// Number of parallel runs.
    pub jobs: usize,
    /// Store of finished runs.
    pub store: &'a Store,
    /// Receives the progress.
    pub watch: &'a dyn Watch,
    /// Set this to stop.
    pub cancel: &'a AtomicBool,
    /// Failed runs with their errors.
    pub failed: Vec<String>,
    /// CPU time of the runs in seconds, measured when they were run.
    pub cpu_s: f64,
}

/// The experiment `setting` with a sweep over these candidates.
#[must_use]
pub fn with_candidates(setting: &Table, candidates: &[Candidate]) -> Table {
    let list = candidates.iter().map(|candidate| Value::Table(candidate.entry())).collect();
    let mut file = setting.clone();
    file.insert("sweep".to_owned(), Value::Table([("aqm".to_owned(), Value::Array(list))].into_iter().collect()));
    file
}

/// Executes a plan to its end.
///
/// # Errors
/// When the store cannot be written to, or it was stopped.
pub fn execute_all(plan: &[RunSpec], options: RunOptions<'_>) -> Result<Outcome, TrialError> {
    let outcome = execute(plan, options).map_err(TrialError::Io)?;
    if outcome.cancelled { Err(TrialError::Stopped) } else { Ok(outcome) }
}

/// The numbers of a run over the whole measurement, by their paths in the results; empty if it has none.
#[must_use]
pub fn numbers(done: &Done) -> Numbers {
    let whole = done.output.windows.first();
    whole.map(|window| flatten(&Entry::of(&done.labels, window, done.output.engine))).unwrap_or_default()
}

impl Measure for Trials<'_> {
    type Error = TrialError;

    fn measure(&mut self, asked: &Asked) -> Result<Vec<Vec<Sample>>, TrialError> {
        let last = asked.iter().flat_map(|(_, repeats)| repeats).copied().max();
        let Some(last) = last else { return Ok(vec![Vec::new(); asked.len()]) };
        let candidates: Vec<Candidate> = asked.iter().map(|(candidate, _)| candidate.clone()).collect();
        let file = with_candidates(self.setting, &candidates);
        let overrides = Overrides { seed: Some(self.seed), repeat: Some(last), ..Overrides::default() };
        let experiment = Experiment::from_table("advise", &file, &overrides, &Catalogues::default());
        let experiment = experiment.map_err(TrialError::Problem)?;
        let wanted: BTreeMap<&str, &Vec<u32>> =
            asked.iter().map(|(candidate, repeats)| (candidate.label.as_str(), repeats)).collect();
        let is_asked = |run: &RunSpec| {
            key(&run.labels)
                .is_some_and(|(label, repeat)| wanted.get(label).is_some_and(|repeats| repeats.contains(&repeat)))
        };
        let plan: Vec<RunSpec> = experiment.plan().into_iter().filter(is_asked).collect();
        let options = RunOptions { jobs: self.jobs, store: self.store, watch: self.watch, cancel: self.cancel };
        let outcome = execute_all(&plan, options)?;
        self.failed.extend(outcome.failed);
        self.cpu_s += outcome.done.iter().map(|done| done.output.engine.cpu_s).sum::<f64>();
        let found: BTreeMap<(&str, u32), Sample> =
            outcome.done.iter().filter_map(|done| Some((key(&done.labels)?, sample(done, self.goals)))).collect();
        // A failed run has no values, which costs more than any measured value.
        let of = |candidate: &Candidate, repeat: u32| {
            found
                .get(&(candidate.label.as_str(), repeat))
                .cloned()
                .unwrap_or_else(|| Sample { values: vec![None; self.goals.all.len()], ..Sample::default() })
        };
        Ok(asked
            .iter()
            .map(|(candidate, repeats)| repeats.iter().map(|repeat| of(candidate, *repeat)).collect())
            .collect())
    }
}

/// The candidate and the repeat of a run.
fn key(labels: &BTreeMap<String, String>) -> Option<(&str, u32)> {
    Some((labels.get("aqm")?.as_str(), labels.get("repeat")?.parse().ok()?))
}

/// The goals' values, over the whole measurement.
fn sample(done: &Done, goals: &Goals) -> Sample {
    let numbers = numbers(done);
    let of = |name: &str| Quantity::find(name)?.value(&numbers, &[]);
    let page_ms = numbers.get("apps.web.response_time_ms.page.mean").copied();
    Sample {
        values: goals.values(&numbers),
        outline: Outline { delay_ms: of("delay"), goodput_bps: of("goodput"), page_ms },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use aqmkit_base::BitRate;
    use aqmkit_runs::run::Notes;

    use super::*;
    use crate::space::Space;
    use crate::wish::Wish;

    /// Each repeat is a different run, the same for all candidates; the second time, all are found in the store.
    #[test]
    fn candidates_are_run_under_the_repeats_that_are_asked_for() {
        let text = "title = 't'\nduration = '4s'\nwarmup = '10s'\n[topology]\nrate = '2mbit'\ndelays = '20ms'\n[[traffic]]\nkind = 'bulk'\nname = 'bulk'\nclass = 'bulk'\nflows = 2\n";
        let setting: Table = text.parse().unwrap();
        let goals = Goals::of(&Wish::read("bulk p99 < 20ms, max goodput").unwrap(), &["bulk".to_owned()]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (store, notes, cancel) = (Store::open(dir.path()).unwrap(), Notes::default(), AtomicBool::new(false));
        let mut trials = Trials {
            setting: &setting,
            goals: &goals,
            seed: 7,
            jobs: 2,
            store: &store,
            watch: &notes,
            cancel: &cancel,
            failed: Vec::new(),
            cpu_s: 0.0,
        };
        let space = |name: &str| Space::of(name, "1000p", false, &[BitRate::from_mbps(2)]).unwrap();
        let asked = vec![(space("fifo").defaults(), vec![1, 3]), (space("codel").at(&[-0.3, 0.0]).unwrap().0, vec![3])];
        let first = trials.measure(&asked).unwrap();
        assert_eq!(trials.failed, Vec::<String>::new(), "{first:?}");
        assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_ne!(first[0][0], first[0][1], "another seed");
        let p99 = |sample: &Sample| sample.values[0].unwrap();
        assert!(p99(&first[1][0]) < p99(&first[0][1]), "codel keeps the queue shorter under the same seed");
        assert!(first[0][0].outline.goodput_bps.unwrap() > 1e6 && first[0][0].outline.page_ms.is_none());
        assert_eq!(trials.measure(&asked).unwrap(), first);
        assert_eq!(
            std::fs::read_dir(dir.path().join("runs"))
                .unwrap()
                .filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|e| e == "zst"))
                .count(),
            3
        );
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let fresh = vec![(space("pie").defaults(), vec![1])];
        assert!(matches!(trials.measure(&fresh), Err(TrialError::Stopped)));
    }
}
