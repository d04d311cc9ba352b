//! Estimates the duration of runs before they start.

use std::path::Path;
use std::time::Duration;

use aqmkit_experiment::{Calibration, Experiment, RunSpec};
use aqmkit_runs::calibrate::calibrated_before;
use aqmkit_runs::clock::cpu;
use aqmkit_runs::store::Store;
use aqmkit_sim::{Control, Progress};
use rayon::prelude::*;

use crate::bench::packets_per_cpu_second;
use crate::error::LabError;

/// How many runs of an experiment are sampled, and for how long each.
const LOOKED_AT: usize = 6;
const LOOK: Duration = Duration::from_millis(60);

/// The cost of a packet relative to the benchmark, for runs that cannot be sampled before calibration. The benchmark
/// has neither requests nor short connections (experiments/dcn/README.md has both).
const DEARER: f64 = 4.0;
/// The usual number of trials of a calibration.
const TRIALS: f64 = 5.0;
/// The simulated time of the benchmark.
const BENCHMARK: aqmkit_base::Duration = aqmkit_base::Duration::from_secs(60);

/// An estimate of the remaining work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// The number of runs that are not in the store.
    pub runs: usize,
    /// The number of loads to calibrate first.
    pub loads: usize,
    /// The estimated CPU time, in seconds.
    cpu_s: f64,
}

impl Effort {
    /// Estimates the remaining work of experiments, each given with its results directory. Samples a few runs of each,
    /// as many in parallel as later, because parallel runs compete for memory and caches.
    ///
    /// # Errors
    /// When a load contradicts its network, or threads cannot be started.
    pub fn of(experiments: &[(&Experiment, &Path)], jobs: usize) -> Result<Effort, LabError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build().map_err(std::io::Error::other)?;
        let each =
            pool.install(|| experiments.par_iter().map(|(exp, dir)| Effort::of_one(exp, dir)).collect::<Vec<_>>());
        each.into_iter().try_fold(Effort::default(), |sum, one| {
            let one = one?;
            Ok(Effort { runs: sum.runs + one.runs, loads: sum.loads + one.loads, cpu_s: sum.cpu_s + one.cpu_s })
        })
    }

    fn of_one(exp: &Experiment, dir: &Path) -> Result<Effort, LabError> {
        let store = Store::perhaps(dir);
        // Calibration errors are ignored here, since the calibration itself reports them.
        if let Ok(Some(settled)) = calibrated_before(exp, &store) {
            let left = left_of(&settled, &store);
            return Ok(Effort { runs: left.len(), loads: 0, cpu_s: begun(&left) });
        }
        let (left, calibration) = (left_of(exp, &store), exp.calibrations()?);
        Ok(Effort { runs: left.len(), loads: calibration.len(), cpu_s: counted(&left, &calibration)? })
    }

    /// The estimated time in seconds with this number of parallel runs.
    #[must_use]
    pub fn seconds(&self, jobs: usize) -> f64 {
        self.cpu_s / jobs.max(1) as f64
    }
}

/// The runs that are not in the store.
fn left_of(exp: &Experiment, store: &Store) -> Vec<RunSpec> {
    exp.plan().into_iter().filter(|run| !store.has(&run.hash)).collect()
}

/// The number of packets in the runs of an experiment that are not stored in its directory.
#[must_use]
pub fn packets_left(exp: &Experiment, dir: &Path) -> f64 {
    let store = Store::perhaps(dir);
    let settled = calibrated_before(exp, &store).ok().flatten();
    left_of(settled.as_ref().unwrap_or(exp), &store).iter().map(RunSpec::packets).sum()
}

/// The cost of runs, extrapolated from samples of a few evenly spaced ones.
fn begun(runs: &[RunSpec]) -> f64 {
    let looked_at = runs.len().min(LOOKED_AT);
    let costs: f64 = (0..looked_at).map(|i| begin(&runs[(2 * i + 1) * runs.len() / (2 * looked_at)])).sum();
    costs * runs.len() as f64 / looked_at.max(1) as f64
}

/// The cost of a run, extrapolated from its start; zero if it cannot be run, which is reported later.
fn begin(run: &RunSpec) -> f64 {
    let Ok(scenario) = run.scenario() else { return 0.0 };
    let start = cpu();
    let mut done = 0.0;
    let mut on_progress = |p: Progress| {
        done = p.now.as_secs_f64() / p.end.as_secs_f64().max(1e-9);
        if cpu().saturating_sub(start) < LOOK { Control::Continue } else { Control::Stop }
    };
    let whole = aqmkit_sim::run(scenario, &mut on_progress).is_ok();
    let cost = cpu().saturating_sub(start).as_secs_f64();
    if whole || done <= 0.0 { cost } else { cost / done }
}

/// The cost of runs that need calibration first, derived from the number of packets on their links.
fn counted(runs: &[RunSpec], calibration: &[Calibration]) -> Result<f64, LabError> {
    let trials: f64 = calibration.iter().map(|s| s.packets() * TRIALS).sum();
    let packets = trials + runs.iter().map(RunSpec::packets).sum::<f64>();
    Ok(packets * DEARER / packets_per_cpu_second(BENCHMARK)?)
}

/// Formats an approximate time.
#[must_use]
pub fn about(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    match minutes {
        m if m < 1.5 => format!("about {:.0} s", (seconds / 10.0).ceil() * 10.0),
        m if m < 90.0 => format!("about {m:.0} min"),
        m => format!("about {:.1} h", m / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use aqmkit_experiment::Overrides;
    use aqmkit_runs::calibrate::calibrated;
    use aqmkit_runs::run::{RunOptions, Watch};

    struct Silent;

    impl Watch for Silent {
        fn advanced(&self, _thousandths: u64) {}
        fn ended(&self, _labels: &BTreeMap<String, String>, _reused: bool) {}
        fn note(&self, _text: &str) {}
    }

    fn experiment(more: &str) -> Experiment {
        let text = format!(
            "title = \"t\"\nduration = \"80s\"\nwarmup = \"20s\"\n{more}\n[topology]\nrate = \"10mbit\"\nmean_packet = \"1250b\"\n\
             [[traffic]]\nkind = \"bulk\"\nflows = 2\n"
        );
        Experiment::parse("t", &text, &Overrides::default()).unwrap()
    }

    #[test]
    fn a_full_link_carries_its_rate() {
        // 10 Mbit/s are a thousand packets of 1250 bytes a second.
        let packets: Vec<f64> = experiment("repeat = 2").plan().iter().map(RunSpec::packets).collect();
        assert_eq!(packets, [100_000.0, 100_000.0]);
    }

    #[test]
    fn runs_cost_as_much_as_their_beginnings_say_and_done_ones_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let exp = experiment("repeat = 10");
        let all = Effort::of(&[(&exp, dir.path())], 1).unwrap();
        assert!(all.runs == 10 && all.cpu_s > 0.0, "{all:?}");
        assert_eq!(packets_left(&exp, dir.path()), 1e6);
        for run in exp.plan() {
            let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
            store.save(&run.hash, &output).unwrap();
        }
        assert_eq!(Effort::of(&[(&exp, dir.path())], 1).unwrap(), Effort::default());
        assert_eq!(packets_left(&exp, dir.path()), 0.0);
    }

    #[test]
    fn a_load_whose_population_was_found_is_not_sought_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let text = "title = \"t\"\nduration = \"20s\"\n[topology]\nrate = \"2mbit\"\n[[traffic]]\nkind = \"short-flows\"\n\
                    size_max = \"20kb\"\ninterval = \"1s\"\nload = \"60%\"\n";
        let exp = Experiment::parse("t", text, &Overrides::default()).unwrap();
        let before = Effort::of(&[(&exp, dir.path())], 1).unwrap();
        assert_eq!((before.runs, before.loads), (1, 1));
        let cancel = AtomicBool::new(false);
        let how = RunOptions { jobs: 1, store: &store, watch: &Silent, cancel: &cancel };
        let (_, found) = calibrated(&exp, how).unwrap();
        assert!(found[0].cpu_s > 0.0, "{found:?}");
        let after = Effort::of(&[(&exp, dir.path())], 1).unwrap();
        assert_eq!((after.runs, after.loads), (1, 0));
    }

    #[test]
    fn times_are_rounded_as_they_are_known() {
        assert_eq!(
            [12.0, 89.0, 90.0, 5000.0, 9000.0].map(about),
            ["about 20 s", "about 90 s", "about 2 min", "about 83 min", "about 2.5 h"]
        );
    }
}
