//! `advise`: which discipline serves a wish on a link best.

mod setting;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use aqmkit_advise::advice::{
    Contender, MOST_CONTENDERS, REFERENCES, Words, advise as compose, contenders, elsewhere, ordered,
};
use aqmkit_advise::goals::Goals;
use aqmkit_advise::install::is_in_linux;
#[cfg(live)]
use aqmkit_advise::install::name_in_tc;
use aqmkit_advise::search::{Measure as _, Sample, least_budget, search};
use aqmkit_advise::space::{Candidate, Space};
use aqmkit_advise::trials::{TrialError, Trials, with_candidates};
use aqmkit_advise::wish::Wish;
use aqmkit_aqm::registry::{self, runs_in_kernel};
use aqmkit_base::near::suggest;
use aqmkit_base::rng::derive_seed;
use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem};
use aqmkit_files::put;
use aqmkit_report::terminal::Screen;
use aqmkit_report::{terminal, write_advice};
use aqmkit_results::advice::{Advice, Role};
use aqmkit_runs::run::Watch;
use aqmkit_runs::store::Store;

use super::args;
use super::compare::LIMIT;
use super::estimate::{Effort, about};
use super::fail::{Failure, wrong};
use super::perform::{failures, jobs};
use super::progress::{Bar, Talk};
use super::say;
use super::stop::{STOP, listen};
use setting::Setting;

/// The seed of the search unless another is given.
const SEED: u64 = 1;

/// An advice, and where its files are.
pub struct Advised {
    /// The advice.
    pub advice: Advice,
    /// The page.
    pub page: PathBuf,
    /// Runs that failed, in words.
    pub failed: Vec<String>,
}

/// `aqmkit advise`.
///
/// # Errors
/// When the wish, the link or the traffic is wrong, a run failed, or Ctrl-C was pressed.
pub(super) fn advise(args: &args::Advise, talk: Talk) -> Result<(), Failure> {
    listen()?;
    let bar = Bar::new(most_runs(args), talk);
    let mut advised = advised(args, talk, &bar, &STOP)?;
    bar.finish();
    // advice.html is without it: it may be read on another machine than this one.
    let missing = missing_here(&advised.advice);
    advised.advice.install.note.push_str(&missing);
    if args.json {
        say::print(&serde_json::to_string_pretty(&advised.advice)?)?;
    } else {
        say::print(&format!(
            "{}\nPage: {}",
            terminal::advice(&advised.advice, Screen::of_stdout()),
            advised.page.display()
        ))?;
    }
    failures(&advised.failed)
}

/// A sentence that names what the kernel or the `tc` of this machine lacks for the printed lines, after a space; empty if nothing is known to be missing.
#[cfg(live)]
fn missing_here(advice: &Advice) -> String {
    let Some(choice) = advice.finalists.first().filter(|_| advice.install.with == "tc") else { return String::new() };
    let Some(name) = name_in_tc(&choice.discipline) else { return String::new() };
    let missing = aqmkit_live::doctor::Known::of(name).missing(name);
    if missing.is_empty() { missing } else { format!(" Here: {missing}") }
}

#[cfg(not(live))]
fn missing_here(_: &Advice) -> String {
    String::new()
}

/// How many runs there are at most: those of the search, the candidates under fresh seeds, and the advised one and two others on two other links.
#[must_use]
pub fn most_runs(args: &args::Advise) -> usize {
    args.budget.saturating_add(fresh_runs(args))
}

fn fresh_runs(args: &args::Advise) -> usize {
    let elsewhere = OTHER_LINKS.len() * (1 + BESIDE.len());
    (MOST_CONTENDERS + elsewhere) * args.fresh as usize
}

/// Links on which the advice is tried too: the factor of their rates, and how a sentence about them begins.
const OTHER_LINKS: [(f64, &str); 2] =
    [(0.7, "On a link 30 % slower than said"), (1.3, "On a link 30 % faster than said")];

/// The disciplines whose defaults are run there beside the advised candidate.
const BESIDE: [&str; 2] = ["fq-codel", "cake"];

/// The share of the budget for disciplines that `tc` does not have, where those are tried at all.
const SHARE_BEYOND: f64 = 0.3;

/// Searches, and runs the best under fresh seeds; writes the page and the experiment of the last runs. `cancel` stops it.
///
/// # Errors
/// As of the command.
pub fn advised(args: &args::Advise, talk: Talk, watch: &dyn Watch, cancel: &AtomicBool) -> Result<Advised, Failure> {
    let wish = match Wish::read(&args.want) {
        Ok(wish) => wish,
        Err(error) => return wrong(format!("--want: {}", error.what), error.right),
    };
    let setting = Setting::of(args, &wish)?;
    let goals = match Goals::of(&wish, &setting.groups) {
        Ok(goals) => goals,
        Err(kind) => {
            return wrong(
                format!("--want: there is no {} on the link", kind.name),
                format!("name it in the wish, or add it: --{} 1", kind.name),
            );
        }
    };
    let limit = args.limit.unwrap_or(LIMIT).to_string();
    let space = |name: &str| Space::of(name, &limit, args.mix.ecn, &setting.both());
    let usual = ["linux".to_owned()];
    let spaces: Vec<Space> = among(args.among.as_deref().unwrap_or(&usual))?.into_iter().filter_map(&space).collect();
    let least = least_budget(spaces.len());
    if args.budget < least {
        return wrong(
            format!("--budget {} is too small for {} disciplines", args.budget, spaces.len()),
            format!("give at least {least}, or choose among fewer: --among linux"),
        );
    }
    let dir = args.out.clone().unwrap_or_else(|| directory(args, &setting));
    let store = Store::open(&dir)?;
    let jobs = jobs(args.jobs);
    let seed = args.seed.unwrap_or(SEED);
    tell_beforehand(args, &setting, &spaces, &dir, jobs, talk)?;
    let references: Vec<Space> = REFERENCES.iter().filter_map(|name| space(name)).collect();
    let trials = |of| Trials {
        setting: &setting.experiment,
        goals: &goals,
        seed: of,
        jobs,
        store: &store,
        watch,
        cancel,
        failed: Vec::new(),
        cpu_s: 0.0,
    };
    let stopped = |error| failure(error, &dir);
    let mut of_search = trials(seed);
    let beyond = beyond(args, &spaces, &space);
    let of_beyond = if beyond.is_empty() { 0 } else { budget_beyond(args, beyond.len()) };
    let found = search(spaces.clone(), &goals, args.budget - of_beyond, seed, &mut of_search).map_err(stopped)?;
    let best_beyond = if beyond.is_empty() {
        None
    } else {
        search(beyond, &goals, of_beyond, seed, &mut of_search).map_err(stopped)?.finalists.into_iter().next()
    };
    let fresh = derive_seed(seed, "fresh");
    let mut of_contenders = trials(fresh);
    let contenders = contenders(&found, &spaces, &references, best_beyond.as_ref());
    let asked = contenders.iter().map(|contender| (contender.candidate.clone(), (1..=args.fresh).collect())).collect();
    let samples = of_contenders.measure(&asked).map_err(stopped)?;
    let (contenders, samples) = advised_first(&contenders, &samples, &goals);
    let choice = contenders.first().map(|first| first.candidate.clone());
    let others: Vec<Candidate> = choice.into_iter().chain(references.iter().map(Space::defaults)).collect();
    let mut on_others = Vec::new();
    for (factor, link) in OTHER_LINKS {
        let scaled = setting.scaled(factor);
        let mut there = Trials { setting: &scaled, ..trials(fresh) };
        on_others.push(on_another_link(link, &goals, &others, args.fresh, &mut there).map_err(stopped)?);
        of_contenders.failed.extend(there.failed);
        of_contenders.cpu_s += there.cpu_s;
    }
    let candidates: Vec<Candidate> = contenders.iter().map(|contender| contender.candidate.clone()).collect();
    save(&setting, &candidates, fresh, args.fresh, &dir)?;
    let mut facts = setting.facts(args, spaces.len(), seed);
    facts.push(("CPU time".to_owned(), format!("{:.0} s", of_search.cpu_s + of_contenders.cpu_s)));
    facts.push((
        "runs of the last comparison".to_owned(),
        format!("aqmkit run {}", dir.join("finalists.toml").display()),
    ));
    let words = Words {
        link: setting.link_words(),
        traffic: setting.traffic_words(),
        wish: args.want.trim().to_owned(),
        elsewhere: on_others,
        facts,
    };
    let advice = compose(words, &goals, &contenders, &samples, &found, setting.rates);
    let page = args.page.clone().unwrap_or_else(|| dir.join("advice.html"));
    write_advice(&page, &advice)?;
    put(&dir.join("advice.json"), &serde_json::to_string_pretty(&advice)?)?;
    let failed = of_search.failed.into_iter().chain(of_contenders.failed).collect();
    Ok(Advised { advice, page, failed })
}

/// What `tc` does not have, where the user leaves the choice of disciplines open and the budget has room for it.
fn beyond(args: &args::Advise, spaces: &[Space], space: &dyn Fn(&str) -> Option<Space>) -> Vec<Space> {
    if args.among.is_some() {
        return Vec::new();
    }
    let all = registry::ALL.iter().map(|entry| entry.name).filter(|name| !is_in_linux(name));
    let beyond: Vec<Space> = all.filter_map(space).collect();
    let room = args.budget >= least_budget(spaces.len()) + budget_beyond(args, beyond.len());
    if room { beyond } else { Vec::new() }
}

/// The runs for so many disciplines that `tc` does not have.
fn budget_beyond(args: &args::Advise, disciplines: usize) -> usize {
    least_budget(disciplines).max((SHARE_BEYOND * args.budget as f64) as usize)
}

/// A sentence that `link` begins: what the first of these achieves on another link, beside those of [`BESIDE`].
fn on_another_link(
    link: &str,
    goals: &Goals,
    candidates: &[Candidate],
    seeds: u32,
    there: &mut Trials<'_>,
) -> Result<String, TrialError> {
    let Some((choice, others)) = candidates.split_first() else { return Ok(String::new()) };
    let beside = others.iter().filter(|other| BESIDE.contains(&other.label.as_str()) && *other != choice);
    let all: Vec<Candidate> = std::iter::once(choice).chain(beside).cloned().collect();
    // Only those beside the choice are named.
    let names: Vec<String> = all.iter().map(|one| format!("{} with its defaults", one.label)).collect();
    let asked = all.into_iter().map(|candidate| (candidate, (1..=seeds).collect())).collect();
    Ok(elsewhere(link, goals, &names, &there.measure(&asked)?))
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

/// The disciplines to choose from, each once.
fn among(names: &[String]) -> Result<Vec<&'static str>, Failure> {
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

/// Where the results of an advice go: the same command finds its finished runs there.
fn directory(args: &args::Advise, setting: &Setting) -> PathBuf {
    let limit = args.limit.map(|limit| limit.to_string()).unwrap_or_default();
    let text = format!(
        "{} {} {} {limit} {}",
        setting.experiment,
        args.want,
        args.among.as_deref().unwrap_or_default().join(","),
        args.mix.ecn
    );
    let hash = blake3::hash(text.as_bytes()).to_hex();
    Path::new("results/advise").join(format!("{}-{}", setting.short(), &hash[..6]))
}

/// Prints the number of runs and an estimate of their duration.
fn tell_beforehand(
    args: &args::Advise,
    setting: &Setting,
    spaces: &[Space],
    dir: &Path,
    jobs: usize,
    talk: Talk,
) -> Result<(), Failure> {
    let candidates: Vec<Candidate> = spaces.iter().map(Space::defaults).collect();
    let file = with_candidates(&setting.experiment, &candidates);
    let experiment = Experiment::from_table("advise", &file, &Overrides::default(), &Catalogues::default())?;
    if talk == Talk::Quiet {
        return Ok(());
    }
    // Of a directory without runs, so that the time of a whole search comes out.
    let one_of_each = Effort::of(&[(&experiment, &dir.join("none"))], jobs)?;
    let runs = most_runs(args);
    let seconds = one_of_each.seconds(jobs) / candidates.len().max(1) as f64 * runs as f64;
    say::tell(&format!(
        "{} disciplines, at most {} runs of the search and at most {} under fresh seeds: {}, {jobs} at a time. Finished runs are kept: after Ctrl-C the same command resumes.",
        candidates.len(),
        args.budget,
        fresh_runs(args),
        about(seconds)
    ));
    Ok(())
}

/// Writes the experiment of the last runs, which `aqmkit run` repeats with the report of any other.
fn save(setting: &Setting, candidates: &[Candidate], seed: u64, repeat: u32, dir: &Path) -> Result<(), Failure> {
    let mut file = with_candidates(&setting.experiment, candidates);
    // TOML has signed numbers.
    if let Ok(seed) = i64::try_from(seed) {
        file.insert("seed".to_owned(), toml::Value::Integer(seed));
    }
    file.insert("repeat".to_owned(), toml::Value::Integer(repeat.into()));
    Ok(put(&dir.join("finalists.toml"), &file.to_string())?)
}

fn failure(error: TrialError, dir: &Path) -> Failure {
    match error {
        TrialError::Problem(problem) => Failure::Problem(Problem::without_place(problem, "")),
        TrialError::Io(error) => error.into(),
        TrialError::Stopped => {
            Failure::Stopped(format!("Stopped. Finished runs are kept in {}; the same command resumes.", dir.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use aqmkit_runs::run::Notes;

    use super::*;
    use crate::cli::args::{Cli, Command};

    fn asked(line: &[&str]) -> args::Advise {
        let cli = Cli::try_parse_from(["aqmkit", "advise"].iter().chain(line)).unwrap();
        let Command::Advise(args) = cli.command else { panic!("not advise") };
        *args
    }

    fn run(line: &[&str]) -> Result<Advised, Failure> {
        advised(&asked(line), Talk::Quiet, &Notes::default(), &AtomicBool::new(false))
    }

    /// A search among three disciplines in runs of some seconds: its parts come together, and the same command runs nothing again.
    #[test]
    fn an_advice_has_its_evidence_and_is_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().to_str().unwrap();
        let line = [
            "--rate",
            "2mbit/1mbit",
            "--rtt",
            "10ms..40ms",
            "--bulk",
            "2",
            "--alone",
            "--want",
            "p99 < 100ms; min delay, max goodput",
            "--among",
            "fifo,codel,blue",
        ];
        let line: Vec<&str> = line
            .into_iter()
            .chain([
                "--budget",
                "150",
                "--fresh",
                "3",
                "--duration",
                "2s",
                "--warmup",
                "11s",
                "--jobs",
                "2",
                "--out",
                out,
            ])
            .collect();
        let first = run(&line).unwrap();
        assert_eq!(first.failed, Vec::<String>::new());
        let advice = &first.advice;
        assert_eq!(advice.finalists[0].role, Role::Choice);
        assert_eq!(advice.finalists.iter().filter(|f| f.role == Role::Choice).count(), 1);
        assert!(advice.finalists.iter().any(|f| f.discipline == "cake"), "always beside the others");
        assert_eq!(advice.elsewhere.len(), 2, "{:?}", advice.elsewhere);
        assert!(
            advice.finalists.iter().any(|f| f.label == "fifo")
                && advice.finalists.iter().any(|f| f.label == "fq-codel"),
            "{:?}",
            advice.finalists
        );
        assert!(
            advice.tried.len() > 20 && advice.tried.iter().any(|tried| tried.best_goodput),
            "{:?}",
            advice.tried.len()
        );
        assert!(
            !advice.install.lines.is_empty()
                && advice.link.contains("2mbit down and 1mbit up, round trips of 10ms to 40ms"),
            "{}",
            advice.link
        );
        let page = std::fs::read_to_string(&first.page).unwrap();
        assert!(page.contains(&advice.install.lines[0]) && page.contains("<figure"));
        let runs = || std::fs::read_dir(dir.path().join("runs")).unwrap().count();
        let before = runs();
        let again = run(&line).unwrap();
        assert_eq!((again.advice.finalists, runs()), (first.advice.finalists, before));
        let file = dir.path().join("finalists.toml");
        assert!(Experiment::load(file.to_str().unwrap(), &Overrides::default()).is_ok());
    }

    #[test]
    fn wrong_arguments_are_named() {
        let told = |line: &[&str]| run(line).err().and_then(Failure::text).unwrap_or_default();
        assert!(told(&["--want", "vidio"]).contains("did you mean video?"));
        let line = ["aqmkit", "advise", "--want", "video", "--rate"];
        let refused = |rate: &str| Cli::try_parse_from(line.iter().chain([&rate])).unwrap_err().to_string();
        assert!(refused("5mbt").contains("--rate") && refused("5mbit/1mbit/2mbit").contains("two directions"));
        assert!(told(&["--want", "video", "--rate", "5mbit/0bit"]).contains("above zero"));
        assert!(told(&["--want", "video", "--rtt", "9ms..2ms"]).contains("--rtt"));
        assert!(told(&["--want", "video", "--among", "fq-cdel"]).contains("did you mean fq-codel?"));
        assert!(told(&["--want", "video", "--budget", "9"]).contains("too small"));
        assert!(told(&["--want", "game p99 < 5ms", "--rate", "5mbit"]).contains("there is no game on the link"));
        assert!(told(&["--want", "2 video", "--video", "3"]).contains("twice"));
        assert!(told(&["--want", "upload", "--rate", "5mbit"]).contains("DOWN/UP"));
        assert!(told(&["--want", "web", "--preset", "cabel"]).contains("did you mean cable?"));
    }
}
