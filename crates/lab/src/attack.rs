//! Attacks: the scenario that brings out the worst of a discipline or of a congestion control.

#[cfg(test)]
mod tests;
mod written;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use aqmkit_advise::attack::hunt::{Hunted, LEAST, Try, Values, hunt};
use aqmkit_advise::attack::scenario::AXES;
use aqmkit_advise::attack::{Harm, Scenario, Space, Target};
use aqmkit_advise::trials::{TrialError, execute_all, numbers};
use aqmkit_base::rng::derive_seed;
use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem, RunSpec};
use aqmkit_files::put;
use aqmkit_results::statistics::Stat;
use aqmkit_runs::run::{RunOptions, Watch};
use aqmkit_runs::store::Store;
use serde::Serialize;

use crate::compare::ends::of_tcp;
use crate::error::{LabError, wrong};
use crate::player::player;
use written::{EXPERIMENT, TEST};

/// The default budget of the hunt, in runs.
pub const BUDGET: usize = 1000;
/// The default number of fresh seeds.
pub const FRESH: u32 = 8;
/// The part of the harm that must be there under fresh seeds.
const CONFIRMED: f64 = 0.8;
/// The default seed.
const SEED: u64 = 1;

/// What to attack, and by what.
#[derive(Clone, Debug)]
pub struct Request {
    /// The name of a discipline or of a congestion control; that of a stack is `quinn:bbr`.
    pub target: String,
    /// The harm: `bufferbloat`, `starvation`, `unfairness`, `loss`, `voip mos`, `underuse`.
    pub harm: String,
    /// The disciplines behind which a congestion control is attacked; `None` for a choice of them.
    pub queues: Option<Vec<String>>,
    /// The buffer of a `fifo` in bandwidth-delay products, or a range of them: `0.1..1.5`.
    pub buffer: Option<String>,
    /// About how many runs the hunt may take.
    pub budget: usize,
    /// The number of seeds that the hunt has not used, under which the result is confirmed.
    pub fresh: u32,
    /// The seed of the hunt.
    pub seed: Option<u64>,
    /// The number of parallel runs.
    pub jobs: usize,
    /// The results directory.
    pub out: Option<PathBuf>,
}

/// The result of an attack.
#[derive(Clone, Debug, Serialize)]
pub struct Attacked {
    /// The attacked discipline or control.
    pub target: String,
    /// The harm.
    pub harm: String,
    /// The quantity that measures it, in words.
    pub quantity: String,
    /// The worst scenario as found.
    pub worst: Judged,
    /// The smallest scenario that is nearly as bad, under fresh seeds.
    pub small: Judged,
    /// The reference: the same scenario with the discipline or control that the attacked one is compared with.
    pub reference: Judged,
    /// Whether at least four fifths of the harm are there under fresh seeds.
    pub confirmed: bool,
    /// The most flows at a time in the smallest scenario.
    pub flows: u32,
    /// The number of runs of the hunt.
    pub runs: usize,
    /// CPU time of all runs in seconds, when they were run.
    pub cpu_s: f64,
    /// The experiment with the smallest scenario.
    pub file: PathBuf,
    /// A test with this experiment, which fails until the target does better.
    pub test: PathBuf,
    /// The fragment of an address that opens the experiment in the page of `play`: `#e=…`. `None` where the page lacks
    /// the stack.
    pub play: Option<String>,
    /// Error messages of runs that failed.
    pub failed: Vec<String>,
}

/// A scenario with the harm in it.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// The scenario in words.
    pub scenario: String,
    /// The discipline or control.
    pub name: String,
    /// The mean, in the unit of results.
    pub value: f64,
    /// The mean with its unit, and its 95 % interval where there are several runs.
    pub written: String,
}

/// A checked request.
pub struct Attack<'a> {
    asked: &'a Request,
    catalogues: &'a Catalogues,
    space: Space,
    dir: PathBuf,
}

impl<'a> Attack<'a> {
    /// Checks the names and the budget, before any run.
    ///
    /// # Errors
    /// When one of them is wrong.
    pub fn of(asked: &'a Request, catalogues: &'a Catalogues) -> Result<Attack<'a>, LabError> {
        let target =
            Target::find(&asked.target, &of_tcp(catalogues), catalogues).or_else(|(what, right)| wrong(what, right))?;
        let harm =
            Harm::find(&asked.harm).or_else(|near| wrong(format!("--harm: {:?} is not a harm", asked.harm), near))?;
        let mut space = Space::of(target, harm, catalogues);
        if let Some(queues) = &asked.queues {
            space =
                space.behind(queues, catalogues).or_else(|(what, right)| wrong(format!("--queue: {what}"), right))?;
        }
        if let Some(buffer) = &asked.buffer {
            space = space.buffered(buffer).or_else(|(what, right)| wrong(format!("--buffer: {what}"), right))?;
        }
        if asked.budget < LEAST {
            let what = format!("--budget {} is too small for a hunt", asked.budget);
            return wrong(what, format!("give at least {LEAST}"));
        }
        let name = format!("{}-{}", target.label(), harm.name().replace(' ', "-"));
        let dir = asked.out.clone().unwrap_or_else(|| PathBuf::from("results").join("attack").join(name));
        let attack = Attack { asked, catalogues, space, dir };
        attack.check()?;
        Ok(attack)
    }

    /// Refuses disciplines that need parameters which only their user knows.
    fn check(&self) -> Result<(), LabError> {
        let queues = self.space.queues();
        for queue in queues {
            let scenario = Scenario { queue, ecn: false, ..self.space.at(&[0.0; AXES]) };
            if let Err(problem) = self.experiment(&scenario, "attacked", 1, 1) {
                let what = format!("{queue} cannot be used: {}", problem.without_place("").in_one_line());
                return wrong(what, "give a discipline that works with its defaults");
            }
        }
        Ok(())
    }

    /// The experiment of a scenario, whose runs have `label`.
    fn experiment(&self, scenario: &Scenario, label: &str, seed: u64, repeats: u32) -> Result<Experiment, Problem> {
        let overrides = Overrides { seed: Some(seed), repeat: Some(repeats), ..Overrides::default() };
        Experiment::from_table("attack", &scenario.file(label), &overrides, self.catalogues)
    }

    /// About the largest number of runs.
    #[must_use]
    pub fn most_runs(&self) -> usize {
        self.asked.budget + 2 * self.asked.fresh as usize
    }

    /// Hunts, makes small, confirms, and writes the experiment. Setting `cancel` stops it.
    ///
    /// # Errors
    /// When a file cannot be written, it was stopped, or no scenario shows the harm.
    pub fn attack(&self, watch: &dyn Watch, cancel: &AtomicBool) -> Result<Attacked, LabError> {
        let store = Store::open(&self.dir)?;
        let seed = self.asked.seed.unwrap_or(SEED);
        let options = RunOptions { jobs: self.asked.jobs, store: &store, watch, cancel };
        let mut tries = Tries { attack: self, seed, options, failed: Vec::new(), cpu_s: 0.0 };
        let hunted = hunt(&self.space, self.asked.budget, seed, &mut tries);
        let Some(hunted) = hunted.map_err(|error| LabError::of_trial(error, &self.dir))? else {
            return wrong(
                format!(
                    "no scenario of {} could be measured for {:?}",
                    self.space.target.name(),
                    self.space.harm.name()
                ),
                tries.failed.first().cloned().unwrap_or_else(|| "try another harm".to_owned()),
            );
        };
        tries.seed = derive_seed(seed, "fresh");
        self.confirm(&hunted, &mut tries)
    }

    fn confirm(&self, hunted: &Hunted, tries: &mut Tries<'_>) -> Result<Attacked, LabError> {
        let repeats: Vec<u32> = (1..=self.asked.fresh).collect();
        let Space { target, reference: other, harm, .. } = self.space;
        let (small, with_other) = (&hunted.small.0, hunted.small.0.with(other));
        let both = [small.clone(), with_other.clone()];
        let values = tries.samples(&both, &repeats).map_err(|error| LabError::of_trial(error, &self.dir))?;
        let [own, reference] = [0, 1].map(|i| values.get(i).map(Vec::as_slice).unwrap_or_default());
        let small_judged = self.judged(small, target, own);
        let reference = self.judged(&with_other, other, reference);
        let (file, experiment) = self.save(small, tries.seed)?;
        let test = self.dir.join(TEST);
        put(&test, &self.test(small, &small_judged, &reference))?;
        let fragment = Some(player(&experiment).fragment).filter(|fragment| !fragment.is_empty());
        let has_stack = [small.control, with_other.control].iter().any(|control| control.stack.is_some());
        let confirmed_from = harm.score(hunted.small.1.own) + CONFIRMED.ln();
        Ok(Attacked {
            target: target.name(),
            harm: harm.name().to_owned(),
            quantity: harm.quantity().words.to_owned(),
            worst: self.judged(&hunted.worst.0, target, &[hunted.worst.1.own]),
            confirmed: !own.is_empty() && harm.score(small_judged.value) >= confirmed_from,
            small: small_judged,
            reference,
            flows: small.all_flows(),
            runs: hunted.runs,
            cpu_s: tries.cpu_s,
            file,
            test,
            play: fragment.filter(|_| !has_stack).map(|fragment| format!("#{fragment}")),
            failed: std::mem::take(&mut tries.failed),
        })
    }

    fn judged(&self, scenario: &Scenario, target: Target, values: &[f64]) -> Judged {
        let quantity = self.space.harm.quantity();
        let stat = Stat::of(values);
        let mean = stat.map_or(f64::NAN, |stat| stat.mean);
        let interval = stat.and_then(|stat| stat.interval());
        let written = match interval {
            Some(interval) => {
                let ends = [interval.low, interval.high].map(|end| quantity.write(end));
                format!("{} ({} to {})", quantity.write(mean), ends[0], ends[1])
            }
            None => quantity.write(mean),
        };
        Judged { scenario: scenario.words(), name: target.name(), value: mean, written }
    }

    /// Writes the experiment with the target and its reference under the fresh seeds.
    fn save(&self, scenario: &Scenario, seed: u64) -> Result<(PathBuf, Experiment), LabError> {
        let text = self.experiment_file(scenario, seed).to_string();
        let path = self.dir.join(EXPERIMENT);
        // A file that cannot be run would be no result.
        let experiment = Experiment::parse_with(EXPERIMENT, &text, &Overrides::default(), self.catalogues)?;
        put(&path, &text)?;
        Ok((path, experiment))
    }
}

/// Runs scenarios on all cores; results are stored like those of any experiment.
struct Tries<'a> {
    attack: &'a Attack<'a>,
    seed: u64,
    options: RunOptions<'a>,
    failed: Vec<String>,
    cpu_s: f64,
}

impl Tries<'_> {
    /// The values of each scenario, one for each repeat that measured it.
    fn samples(&mut self, scenarios: &[Scenario], repeats: &[u32]) -> Result<Vec<Vec<f64>>, TrialError> {
        let last = repeats.iter().copied().max().unwrap_or_default();
        let mut plan: Vec<RunSpec> = Vec::new();
        for (i, scenario) in scenarios.iter().enumerate() {
            // A discipline may refuse the rate, and a stack ECN.
            let Ok(experiment) = self.attack.experiment(scenario, &i.to_string(), self.seed, last) else { continue };
            plan.extend(experiment.plan());
        }
        let outcome = execute_all(&plan, self.options)?;
        self.cpu_s += outcome.done.iter().map(|done| done.output.engine.cpu_s).sum::<f64>();
        let mut samples = vec![Vec::new(); scenarios.len()];
        for done in &outcome.done {
            let place = done.labels.get("aqm").and_then(|label| label.parse::<usize>().ok());
            let Some((i, scenario)) = place.and_then(|i| Some((i, scenarios.get(i)?))) else { continue };
            samples[i].extend(self.attack.space.harm.value(
                self.attack.space.target,
                scenario.others(),
                &numbers(done),
            ));
        }
        self.failed.extend(outcome.failed);
        Ok(samples)
    }
}

impl Try for Tries<'_> {
    type Error = TrialError;

    fn values(&mut self, scenarios: &[Scenario], repeats: &[u32]) -> Result<Vec<Option<Values>>, TrialError> {
        let other = self.attack.space.reference;
        let both: Vec<Scenario> = scenarios.iter().flat_map(|one| [one.clone(), one.with(other)]).collect();
        let samples = self.samples(&both, repeats)?;
        let mean = |values: &[f64]| {
            (values.len() == repeats.len()).then(|| values.iter().sum::<f64>() / values.len().max(1) as f64)
        };
        let judged = samples.chunks(2).map(|pair| {
            let [own, reference] = pair else { return None };
            Some(Values { own: mean(own)?, reference: mean(reference)? })
        });
        Ok(judged.collect())
    }
}
