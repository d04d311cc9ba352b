//! `reproduce`: compares measured with published values.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aqmkit_experiment::{Catalogues, Experiment, Overrides, Scale, catalogue};
use aqmkit_lab::estimate::{Effort, about};
use aqmkit_lab::{Performed, library};
use aqmkit_report::terminal::{Screen, counts, scoreboard, verdicts};
use aqmkit_results::Results;
use serde_json::json;

use super::args;
use super::fail::{Failure, wrong};
use super::live;
use super::null_test;
use super::perform::{Bars, LISTED, failures, jobs, perform};
use super::progress::Talk;
use super::remaining::Remaining;
use super::say;

/// The environment variable with the directory of the published distributions for `http-unc`, for experiments that do
/// not specify one.
const UNC_DATA: &str = "AQMKIT_UNC_DATA";
/// The directory of the experiments for `--live`.
const LIVE: &str = "live/";
/// The experiment for `--kernel`: all its disciplines run inside the kernel.
const KERNEL: &str = "live/kernel";

/// Shorter durations are not announced.
const WORTH_SAYING_S: f64 = 30.0;
/// Up to this number of experiments, the estimate itself is not announced.
const FEW: usize = 5;

/// `aqmkit reproduce`.
///
/// # Errors
/// When an experiment is wrong, a published value was missed, or a run failed.
pub(super) fn reproduce(args: &args::Reproduce, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    let all: Vec<String> = catalogue().into_iter().map(|e| e.id).collect();
    if all.is_empty() && args.ids.is_empty() {
        return wrong("no experiments found", "give a file, or set AQMKIT_EXPERIMENTS to a directory of experiments");
    }
    let live = args.real.any();
    let ids = match (args.ids.is_empty(), args.real) {
        (false, _) => named(&args.ids, &all),
        (true, args::Real { kernel: true, .. }) => vec![KERNEL.to_owned()],
        (true, args::Real { live: true, .. }) => all.into_iter().filter(|id| id.starts_with(LIVE)).collect(),
        (true, _) => all,
    };
    let record = args.record.as_deref().map(library::Directory::open).transpose()?;
    let shortened = if args.ids.is_empty() || args.null { Scale::Quick } else { Scale::Full };
    let scale = args.scale.map_or(shortened, Scale::from);
    // Reads all experiments before executing any, so that errors are reported immediately.
    let overrides = Overrides { scale, unc_data: unc_data()?, ..Overrides::default() };
    if overrides.unc_data.is_some() && args.record.is_some() {
        return wrong(
            format!("verdicts on the users of ${UNC_DATA} cannot be recorded"),
            "recorded verdicts are those of the built-in users: unset it",
        );
    }
    let read = |id: &String| Experiment::load_with(id, &overrides, catalogues);
    let mut experiments = ids.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if args.ids.is_empty() && !live {
        // By default, all experiments with published values.
        experiments.retain(|experiment| !experiment.expects.is_empty());
    }
    if live {
        return live::reproduce(&experiments, args, talk);
    }
    if args.null {
        return null_test::reproduce(&experiments, args, catalogues, talk);
    }
    announce(&experiments, args, talk)?;
    let dirs: Vec<PathBuf> = experiments.iter().map(|exp| args.out.join(&exp.id)).collect();
    let each: Vec<(&Experiment, &Path)> = experiments.iter().zip(dirs.iter().map(PathBuf::as_path)).collect();
    let bars = Bars { talk, remaining: Remaining::of(&each) };
    let few = experiments.iter().map(|exp| exp.expects.len()).sum::<usize>() <= LISTED;
    let mut done = Vec::new();
    for (exp, dir) in each {
        bars.remaining.next_experiment();
        let performed = perform(exp, bars.workspace(dir, jobs(args.jobs)), talk)?;
        if !args.json {
            say::print(&verdict_text(&performed.results, args.explain || few))?;
        }
        if let Some(directory) = &record {
            directory.record(&performed.results)?;
        }
        done.push(performed);
    }
    finish(args, done, few, talk)
}

/// The directory in the environment variable, as an absolute path, because paths of data files are relative to the
/// experiment.
fn unc_data() -> Result<Option<String>, Failure> {
    let Some(named) = std::env::var_os(UNC_DATA).filter(|named| !named.is_empty()) else { return Ok(None) };
    let found = std::fs::canonicalize(&named).ok().filter(|path| path.is_dir());
    match found.as_deref().map(Path::to_str) {
        Some(Some(directory)) => Ok(Some(directory.to_owned())),
        Some(None) => wrong(format!("${UNC_DATA} is not UTF-8"), "rename the directory"),
        None => wrong(
            format!("${UNC_DATA} = {} is not a directory", named.display()),
            "set it to the directory with the six files (aqmkit describe http-unc), or unset it",
        ),
    }
}

/// The CPU time of runs, as measured when each was executed.
fn cpu_time(runs: usize, cpu_s: f64) -> String {
    let (runs, time) = (number(runs, "run"), about(cpu_s));
    format!("{runs}: {time} of CPU time, counting calibration and runs that were stored before.")
}

/// Formats a count with its noun.
fn number(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The experiments with these names, without duplicates. The name of a study, such as `dualq`, selects all its
/// experiments.
fn named(names: &[String], all: &[String]) -> Vec<String> {
    let mut ids = Vec::new();
    for name in names {
        let study = format!("{}/", name.trim_end_matches('/'));
        let below: Vec<_> = all.iter().filter(|id| id.starts_with(&study)).cloned().collect();
        ids.extend(if below.is_empty() { vec![name.clone()] } else { below });
    }
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

/// Prints the expected duration if it is long.
fn announce(experiments: &[Experiment], args: &args::Reproduce, talk: Talk) -> Result<(), Failure> {
    if talk == Talk::Quiet || experiments.iter().all(|exp| exp.scale == Scale::Quick) {
        return Ok(());
    }
    if experiments.len() > FEW {
        say::message("estimating the run time …");
    }
    let jobs = jobs(args.jobs);
    let dirs: Vec<_> = experiments.iter().map(|exp| args.out.join(&exp.id)).collect();
    let each: Vec<_> = experiments.iter().zip(dirs.iter().map(PathBuf::as_path)).collect();
    let left = Effort::of(&each, jobs)?;
    if left.seconds(jobs) < WORTH_SAYING_S {
        return Ok(());
    }
    let loads = match left.loads {
        0 => String::new(),
        n => format!(", {} to calibrate", number(n, "load")),
    };
    say::message(&format!(
        "{}, {}{loads}: {}, {jobs} at a time. Finished runs are stored: after Ctrl-C, repeat the command to resume.",
        number(experiments.len(), "experiment"),
        number(left.runs, "run"),
        about(left.seconds(jobs))
    ));
    Ok(())
}

/// The verdicts on an experiment: a single line, or each of them with `explain`.
fn verdict_text(results: &Results, explain: bool) -> String {
    if results.expectations.is_empty() {
        return format!("{}: no published values", say::bold(&results.experiment));
    }
    if !explain {
        return format!("{}: {}", say::bold(&results.experiment), counts(results));
    }
    let title = say::bold(&format!("{}: {}", results.experiment, results.title));
    format!("{title}\n{}", verdicts(results, Screen::of_stdout()))
}

fn finish(args: &args::Reproduce, done: Vec<Performed>, few: bool, talk: Talk) -> Result<(), Failure> {
    let runs = done.iter().map(|performed| performed.done.len()).sum();
    let cpu_s = done.iter().map(|performed| performed.cpu_s).sum();
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for performed in done {
        results.push(performed.results);
        failed.extend(performed.failed);
    }
    if args.json {
        let list = results
            .iter()
            .map(|r| json!({ "experiment": r.experiment, "scale": r.scale, "expectations": r.expectations }));
        say::print(&serde_json::to_string_pretty(&list.collect::<Vec<_>>())?)?;
    } else {
        let board = scoreboard(&results.iter().collect::<Vec<_>>(), args.explain, Screen::of_stdout());
        let more = if args.explain || few { "" } else { "\n--explain prints each value, the reports say why.\n" };
        say::print(&format!("{board}{more}"))?;
    }
    if talk != Talk::Quiet && cpu_s >= WORTH_SAYING_S {
        say::message(&cpu_time(runs, cpu_s));
    }
    failures(&failed)?;
    let missed = results.iter().flat_map(|r| &r.expectations).any(|e| e.pass == Some(false));
    if missed { Err(Failure::Missed) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use aqmkit_results::Expectation;

    use super::*;

    #[test]
    fn an_experiment_has_a_line_unless_all_its_values_are_asked_for() {
        let claim = |pass| Expectation { pass: Some(pass), published: "9 ms".to_owned(), ..Expectation::default() };
        let expectations = vec![claim(true), claim(false)];
        let results = Results { experiment: "a/b".to_owned(), expectations, ..Results::default() };
        assert_eq!(verdict_text(&results, false), "a/b: 1 of 2 published values met");
        assert_eq!(verdict_text(&results, true).matches("9 ms").count(), 2);
        assert_eq!(verdict_text(&Results::default(), true), ": no published values");
    }

    #[test]
    fn the_time_of_runs_is_told() {
        let rest = "of CPU time, counting calibration and runs that were stored before.";
        assert_eq!(cpu_time(1, 40.0), format!("1 run: about 40 s {rest}"));
        assert_eq!(cpu_time(90, 7200.0), format!("90 runs: about 2.0 h {rest}"));
    }
}
