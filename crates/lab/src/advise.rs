//! Advice: which discipline best serves a wish on a link.

mod request;
mod setting;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use aqmkit_advise::advice::{Contender, REFERENCES, Words, advise as compose, contenders, elsewhere, ordered};
use aqmkit_advise::goals::Goals;
use aqmkit_advise::install::is_in_linux;
use aqmkit_advise::search::{Found, Measure as _, Sample, least_budget, search};
use aqmkit_advise::space::{Candidate, Space};
use aqmkit_advise::trials::{TrialError, Trials, with_candidates};
use aqmkit_advise::wish::Wish;
use aqmkit_aqm::registry::{self, runs_in_kernel};
use aqmkit_base::near::suggest;
use aqmkit_base::rng::derive_seed;
use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_files::put;
use aqmkit_report::write_advice;
use aqmkit_results::advice::{Advice, Role};
use aqmkit_runs::run::Watch;
use aqmkit_runs::store::Store;
use toml::Table;

use crate::compare::LIMIT;
use crate::error::{LabError, wrong};
use crate::estimate::Effort;
pub use request::{BUDGET, FRESH, Request};
use setting::Setting;

/// The result of [`Inquiry::advise`].
pub struct Advised {
    /// The ranking of the disciplines, with its evidence.
    pub advice: Advice,
    /// Path of the HTML page.
    pub page: PathBuf,
    /// Error messages of the runs that failed.
    pub failed: Vec<String>,
}

/// The default seed of the search.
const SEED: u64 = 1;

/// Other links on which the advised discipline is tried: the factor of the rates, and the start of the sentence about
/// it.
const OTHER_LINKS: [(f64, &str); 2] =
    [(0.7, "On a link 30 % slower than said"), (1.3, "On a link 30 % faster than said")];

/// The disciplines to compare with there, with their default parameters.
const BESIDE: [&str; 2] = ["fq-codel", "cake"];

/// The share of the budget for disciplines that `tc` lacks, if those are tried at all.
const SHARE_BEYOND: f64 = 0.3;

/// The results of both searches.
struct Searched {
    /// Among the disciplines to choose from.
    best: Found,
    /// The best candidate among the disciplines that `tc` lacks.
    beyond: Option<Candidate>,
}

/// A parsed request: the disciplines to search, and the goals to judge them by.
pub struct Inquiry<'a> {
    asked: &'a Request,
    setting: Setting,
    goals: Goals,
    /// The limit of every queue, as the `limit` of an experiment.
    limit: String,
    /// The disciplines to choose from, with the ranges of their parameters.
    spaces: Vec<Space>,
    /// The experiment with the defaults of each discipline to choose from.
    defaults: Experiment,
    /// The directory of the results.
    dir: PathBuf,
}

impl<'a> Inquiry<'a> {
    /// Parses the wish, the link and the traffic of a request, and checks the experiment to be searched, before any run.
    ///
    /// # Errors
    /// When one of them is invalid, or the budget is too small for the number of disciplines.
    pub fn of(asked: &'a Request) -> Result<Inquiry<'a>, LabError> {
        let wish = match Wish::read(&asked.want) {
            Ok(wish) => wish,
            Err(error) => return wrong(format!("--want: {}", error.what), error.right),
        };
        let setting = Setting::of(asked, &wish)?;
        let goals = match Goals::of(&wish, &setting.groups) {
            Ok(goals) => goals,
            Err(kind) => {
                return wrong(
                    format!("--want: there is no {} on the link", kind.name),
                    format!("name it in the wish, or add it: --{} 1", kind.name),
                );
            }
        };
        let dir = asked.out.clone().unwrap_or_else(|| directory(asked, &setting));
        if let Some(limit) = asked.limit.filter(|limit| limit.value() < 1.0) {
            return wrong(
                format!("--limit {limit}: no packet fits into the queue"),
                "for example --limit 1000 or 90kb",
            );
        }
        let limit = asked.limit.unwrap_or(LIMIT).to_string();
        let usual = ["linux".to_owned()];
        let names = among(asked.among.as_deref().unwrap_or(&usual))?;
        let spaces: Vec<Space> =
            names.into_iter().filter_map(|name| Space::of(name, &limit, asked.mix.ecn, &setting.both())).collect();
        let least = least_budget(spaces.len());
        if asked.budget < least {
            return wrong(
                format!("--budget {} is too small for {} disciplines", asked.budget, spaces.len()),
                format!("give at least {least}, or choose among fewer: --among linux"),
            );
        }
        let candidates: Vec<Candidate> = spaces.iter().map(Space::defaults).collect();
        let file = with_candidates(&setting.experiment, &candidates);
        let defaults = Experiment::from_table("advise", &file, &Overrides::default(), &Catalogues::default())
            .map_err(|problem| problem.without_place(""))?;
        Ok(Inquiry { asked, setting, goals, limit, spaces, defaults, dir })
    }

    /// The number of disciplines to choose from.
    #[must_use]
    pub fn disciplines(&self) -> usize {
        self.spaces.len()
    }

    /// The estimated time of all runs, in seconds.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn seconds(&self) -> Result<f64, LabError> {
        // A directory without runs, so that the estimate is for the whole search.
        let one_of_each = Effort::of(&[(&self.defaults, &self.dir.join("none"))], self.asked.jobs)?;
        let runs = self.asked.most_runs();
        Ok(one_of_each.seconds(self.asked.jobs) / self.spaces.len().max(1) as f64 * runs as f64)
    }

    /// Searches, compares the best candidates under fresh seeds, and writes the page and the experiment of that
    /// comparison. Setting `cancel` stops it.
    ///
    /// # Errors
    /// When a file cannot be written, or it was stopped.
    pub fn advise(&self, watch: &dyn Watch, cancel: &AtomicBool) -> Result<Advised, LabError> {
        let store = Store::open(&self.dir)?;
        let seed = self.asked.seed.unwrap_or(SEED);
        let own = &self.setting.experiment;
        let mut searching = self.trials(own, seed, &store, watch, cancel);
        let found = self.search(&mut searching, seed).map_err(|error| LabError::of_trial(error, &self.dir))?;
        let fresh = derive_seed(seed, "fresh");
        let mut comparing = self.trials(own, fresh, &store, watch, cancel);
        let (contenders, samples) =
            self.compared(&found, &mut comparing).map_err(|error| LabError::of_trial(error, &self.dir))?;
        let mut others = Vec::new();
        for (factor, link) in OTHER_LINKS {
            let scaled = self.setting.scaled(factor);
            let mut there = self.trials(&scaled, fresh, &store, watch, cancel);
            let choice = contenders.first().map(|first| &first.candidate);
            others.push(
                self.on_another_link(link, choice, &mut there).map_err(|error| LabError::of_trial(error, &self.dir))?,
            );
            comparing.failed.extend(there.failed);
            comparing.cpu_s += there.cpu_s;
        }
        let candidates: Vec<Candidate> = contenders.iter().map(|contender| contender.candidate.clone()).collect();
        self.save(&candidates, fresh)?;
        let words = self.words(others, seed, searching.cpu_s + comparing.cpu_s);
        let advice = compose(words, &self.goals, &contenders, &samples, &found.best, self.setting.rates);
        let page = self.write(&advice)?;
        let failed = searching.failed.into_iter().chain(comparing.failed).collect();
        Ok(Advised { advice, page, failed })
    }

    /// Prepares runs of candidates in a setting, with seeds derived from `seed`.
    fn trials<'t>(
        &'t self,
        setting: &'t Table,
        seed: u64,
        store: &'t Store,
        watch: &'t dyn Watch,
        cancel: &'t AtomicBool,
    ) -> Trials<'t> {
        let (goals, jobs) = (&self.goals, self.asked.jobs);
        Trials { setting, goals, seed, jobs, store, watch, cancel, failed: Vec::new(), cpu_s: 0.0 }
    }

    /// Searches the disciplines to choose from and, if the budget allows, those that `tc` lacks.
    fn search(&self, trials: &mut Trials<'_>, seed: u64) -> Result<Searched, TrialError> {
        let beyond = self.beyond();
        let budget_beyond = if beyond.is_empty() { 0 } else { self.budget_beyond(beyond.len()) };
        let best = search(self.spaces.clone(), &self.goals, self.asked.budget - budget_beyond, seed, trials)?;
        let best_beyond = if beyond.is_empty() {
            None
        } else {
            search(beyond, &self.goals, budget_beyond, seed, trials)?.finalists.into_iter().next()
        };
        Ok(Searched { best, beyond: best_beyond })
    }

    /// Runs the contenders under fresh seeds; returns them with their samples, the advised one first.
    fn compared(
        &self,
        found: &Searched,
        trials: &mut Trials<'_>,
    ) -> Result<(Vec<Contender>, Vec<Vec<Sample>>), TrialError> {
        let contenders = contenders(&found.best, &self.spaces, &self.references(), found.beyond.as_ref());
        let seeds = || (1..=self.asked.fresh).collect();
        let asked = contenders.iter().map(|contender| (contender.candidate.clone(), seeds())).collect();
        let samples = trials.measure(&asked)?;
        Ok(advised_first(&contenders, &samples, &self.goals))
    }

    /// The search space of a discipline on this link; `None` if it cannot be searched.
    fn space(&self, name: &str) -> Option<Space> {
        Space::of(name, &self.limit, self.asked.mix.ecn, &self.setting.both())
    }

    /// The disciplines that are always in the table.
    fn references(&self) -> Vec<Space> {
        REFERENCES.iter().filter_map(|name| self.space(name)).collect()
    }

    /// The disciplines that `tc` lacks, if the user left the choice open and the budget suffices.
    fn beyond(&self) -> Vec<Space> {
        if self.asked.among.is_some() {
            return Vec::new();
        }
        let all = registry::ALL.iter().map(|entry| entry.name).filter(|name| !is_in_linux(name));
        let beyond: Vec<Space> = all.filter_map(|name| self.space(name)).collect();
        let room = self.asked.budget >= least_budget(self.spaces.len()) + self.budget_beyond(beyond.len());
        if room { beyond } else { Vec::new() }
    }

    /// The budget for searching this number of disciplines that `tc` lacks.
    fn budget_beyond(&self, disciplines: usize) -> usize {
        least_budget(disciplines).max((SHARE_BEYOND * self.asked.budget as f64) as usize)
    }

    /// A sentence about the advised candidate on another link, compared with the disciplines of [`BESIDE`]. `link` is
    /// its start.
    fn on_another_link(
        &self,
        link: &str,
        choice: Option<&Candidate>,
        there: &mut Trials<'_>,
    ) -> Result<String, TrialError> {
        let defaults: Vec<Candidate> = self.references().iter().map(Space::defaults).collect();
        let Some(choice) = choice.or(defaults.first()) else { return Ok(String::new()) };
        let beside = defaults.iter().filter(|other| BESIDE.contains(&other.label.as_str()) && *other != choice);
        let all: Vec<Candidate> = std::iter::once(choice).chain(beside).cloned().collect();
        // The advised candidate is not named: the sentence is about it.
        let names: Vec<String> = all.iter().map(|one| format!("{} with its defaults", one.label)).collect();
        let asked = all.into_iter().map(|candidate| (candidate, (1..=self.asked.fresh).collect())).collect();
        Ok(elsewhere(link, &self.goals, &names, &there.measure(&asked)?))
    }

    /// The texts of the answer: link, traffic, wish, and how the advice was found.
    fn words(&self, elsewhere: Vec<String>, seed: u64, cpu_s: f64) -> Words {
        let mut facts = self.setting.facts(self.asked, self.spaces.len(), seed);
        facts.push(("CPU time".to_owned(), format!("{cpu_s:.0} s")));
        let last = format!("aqmkit run {}", self.dir.join("finalists.toml").display());
        facts.push(("runs of the last comparison".to_owned(), last));
        Words {
            link: self.setting.link_words(),
            traffic: self.setting.traffic_words(),
            wish: self.asked.want.trim().to_owned(),
            elsewhere,
            facts,
        }
    }

    /// Writes the advice to the results directory; returns the path of the page.
    fn write(&self, advice: &Advice) -> Result<PathBuf, LabError> {
        let page = self.asked.page.clone().unwrap_or_else(|| self.dir.join("advice.html"));
        write_advice(&page, advice)?;
        put(&self.dir.join("advice.json"), &serde_json::to_string_pretty(advice)?)?;
        Ok(page)
    }

    /// Writes the experiment of the final comparison, for `aqmkit run`.
    fn save(&self, candidates: &[Candidate], seed: u64) -> Result<(), LabError> {
        let mut file = with_candidates(&self.setting.experiment, candidates);
        // TOML integers are signed.
        if let Ok(seed) = i64::try_from(seed) {
            file.insert("seed".to_owned(), toml::Value::Integer(seed));
        }
        file.insert("repeat".to_owned(), toml::Value::Integer(self.asked.fresh.into()));
        Ok(put(&self.dir.join("finalists.toml"), &file.to_string())?)
    }
}

/// Contenders and their samples, the advised one first.
fn advised_first(
    contenders: &[Contender],
    samples: &[Vec<Sample>],
    goals: &Goals,
) -> (Vec<Contender>, Vec<Vec<Sample>>) {
    let order = ordered(contenders, samples, goals);
    let of = |(place, i): (usize, &usize)| {
        let mut contender = contenders[*i].clone();
        contender.role = match (place, contender.role) {
            (0, _) => Role::Choice,
            (_, Role::Choice) => Role::RunnerUp,
            (_, role) => role,
        };
        (contender, samples[*i].clone())
    };
    order.iter().enumerate().map(of).unzip()
}

/// The disciplines to choose from, without duplicates.
fn among(names: &[String]) -> Result<Vec<&'static str>, LabError> {
    let mut all: Vec<&'static str> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        let every = registry::ALL.iter().map(|entry| entry.name);
        let found: Vec<&'static str> = match name {
            "all" => every.collect(),
            "linux" => every.filter(|one| is_in_linux(one)).collect(),
            "kernel" => every.filter(|one| is_in_linux(one) || runs_in_kernel(one).is_ok()).collect(),
            _ => match registry::find(name) {
                Some(entry) => vec![entry.name],
                None => {
                    let known = ["all", "linux", "kernel"].into_iter().chain(every);
                    return wrong(format!("--among: there is no discipline {name:?}"), suggest(name, known));
                }
            },
        };
        all.extend(found.into_iter().filter(|one| !all.contains(one)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// The default results directory. It depends on all inputs, so that the same command finds its finished runs.
fn directory(asked: &Request, setting: &Setting) -> PathBuf {
    let limit = asked.limit.map(|limit| limit.to_string()).unwrap_or_default();
    let text = format!(
        "{} {} {} {limit} {}",
        setting.experiment,
        asked.want,
        asked.among.as_deref().unwrap_or_default().join(","),
        asked.mix.ecn
    );
    let hash = blake3::hash(text.as_bytes()).to_hex();
    Path::new("results/advise").join(format!("{}-{}", setting.short(), &hash[..6]))
}

#[cfg(test)]
mod tests {
    use aqmkit_base::{Amount, Duration};

    use super::*;

    #[test]
    fn an_error_in_the_experiment_shows_before_any_run() {
        let among = Some(vec!["fifo".to_owned(), "codel".to_owned()]);
        let right = Request { among, limit: Some(Amount::Packets(50.0)), ..Request::new("video", 1) };
        assert!(Inquiry::of(&right).is_ok());
        let refused = |request: &Request| Inquiry::of(request).err().map(|error| error.to_string()).unwrap_or_default();
        let instant = refused(&Request { duration: Duration::ZERO, ..right.clone() });
        assert!(instant.contains("duration is zero"), "{instant}");
        let empty = refused(&Request { limit: Some(Amount::Packets(0.0)), ..right });
        assert!(empty.contains("--limit 0"), "{empty}");
    }
}
