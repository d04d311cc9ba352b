//! The command line: arguments, and the run of the tool.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use rand::TryRng;
use serde::Serialize;

use crate::changed::Changed;
use crate::compile::{Built, build, id};
use crate::draw::{Mutant, Shard, draw, mutants, only_changed};
use crate::equivalent::Equivalents;
use crate::error::{Error, Result};
use crate::progress::{Progress, say};
use crate::score::{Outcome, Row, rows, survivors, table};
use crate::suite::Suite;
use crate::tree::{MOST, Tree};
use crate::trial::{Fate, try_all};
use crate::workspace::Workspace;

/// The crates that are mutated by default.
pub const CHANGED: [&str; 5] = ["aqm", "transport", "traffic", "measure", "sim"];

/// The default size of the sample.
const SAMPLE: usize = 300;

/// Changes the source in one place at a time and counts which changes the tests notice.
#[derive(Clone, Debug, Parser)]
#[command(name = "mutants", version)]
pub struct Arguments {
    /// The crates to change, by their directories [default: aqm, transport, traffic, measure and sim].
    #[arg(long = "crate", value_name = "NAME", value_delimiter = ',')]
    pub crates: Vec<String>,

    /// Files, lines of files (`FILE:LINE`) and directories to change, besides the crates that are named.
    #[arg(long = "path", value_name = "PATH", value_delimiter = ',')]
    pub paths: Vec<String>,

    /// How many changes to draw [default: 300; all of them with --path, --since or --shard].
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,

    /// The seed of the sample, to repeat an earlier one [default: a fresh one, which is printed].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// One part of several, such as 1/4; with --sample, of the sample.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Only lines that changed since a commit.
    #[arg(long, value_name = "COMMIT")]
    pub since: Option<String>,

    /// The crates whose tests are run, in this order after those of the changed crate.
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "base,aqm,transport,traffic,sim")]
    pub tests: Vec<String>,

    /// How many tests run at a time [default: one for each core].
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,

    /// Writes the full result into this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Only lists the changes that would be tested.
    #[arg(long)]
    pub list: bool,

    /// The workspace.
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    pub root: PathBuf,
}

/// The result of a run, as written by `--out`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The commit that is checked out.
    pub commit: String,
    /// The seed of the sample.
    pub seed: u64,
    /// The duration of each phase, in seconds.
    pub seconds: Seconds,
    /// The counts of each crate, then of all crates together.
    pub rows: Vec<(String, Row)>,
    /// Tests that fail without any change, and were therefore left out.
    pub failing: Vec<String>,
    /// Every change that was drawn.
    pub mutants: Vec<Outcome>,
}

/// The duration of each phase, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Seconds {
    /// Building.
    pub building: f64,
    /// Running each test once without any change.
    pub recording: f64,
    /// Testing the changes.
    pub trying: f64,
}

/// Runs the tool with the arguments of the process. Surviving changes are no failure: exit code 1 means that an error stopped the tool.
pub fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the tool with these arguments.
pub fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::open(&arguments.root)?;
    let all = find(&workspace, arguments)?;
    let (seed, drawn, wanted) = choose(&workspace, arguments, all.clone())?;
    if arguments.list {
        return list(&drawn[..wanted]);
    }
    let equivalents = Equivalents::open(&workspace.root.join("tools/mutants/equivalent.toml"))?;
    for one in equivalents.stale(&workspace.root, &all) {
        say(&format!("warning: equivalent.toml: this change no longer exists: {}", one.name()));
    }
    say(&format!("{} changes are possible; {wanted} are tested (--seed {seed})", all.len()));
    if wanted == 0 {
        return Ok(());
    }
    let report = measure(&workspace, arguments, seed, &drawn, wanted, &equivalents)?;
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Error::Asked(format!("the results cannot be written: {error}")))?;
        fs::write(path, text).map_err(Error::file(path))?;
    }
    show(&report)
}

/// Every possible change in the selected crates and paths.
fn find(workspace: &Workspace, arguments: &Arguments) -> Result<Vec<Mutant>> {
    let crates = if arguments.crates.is_empty() && arguments.paths.is_empty() {
        CHANGED.map(str::to_owned).to_vec()
    } else {
        arguments.crates.clone()
    };
    for name in &arguments.tests {
        workspace.named(name)?;
    }
    mutants(workspace, &crates, &arguments.paths)
}

/// The changes in the order of the sample, and how many of them to test.
fn choose(workspace: &Workspace, arguments: &Arguments, mut all: Vec<Mutant>) -> Result<(u64, Vec<Mutant>, usize)> {
    if arguments.shard.is_some() && arguments.sample.is_some() && arguments.seed.is_none() {
        let hint = "--shard and --sample need a --seed, so that all shards are parts of one sample";
        return Err(Error::Asked(hint.to_owned()));
    }
    if let Some(commit) = &arguments.since {
        only_changed(&mut all, &Changed::since(workspace, commit)?);
    }
    let paths_only = !arguments.paths.is_empty() && arguments.crates.is_empty();
    let whole = paths_only || arguments.since.is_some() || arguments.shard.is_some();
    let sample = arguments.sample.or((!whole).then_some(SAMPLE));
    // All shards of everything are in one order.
    let seed = match arguments.seed {
        Some(seed) => seed,
        None if sample.is_none() => 0,
        None => fresh_seed()?,
    };
    let drawn = draw(all, seed, arguments.shard);
    let wanted = match (sample, arguments.shard) {
        (Some(sample), Some(shard)) => shard.share(sample),
        (Some(sample), None) => sample,
        (None, _) => drawn.len(),
    };
    let wanted = wanted.min(drawn.len());
    if wanted >= MOST {
        return Err(Error::Asked(format!("{wanted} changes are too many for one build; select a --shard of them")));
    }
    Ok((seed, drawn, wanted))
}

/// A random seed, short enough to be typed.
fn fresh_seed() -> Result<u64> {
    let number = rand::rngs::SysRng
        .try_next_u32()
        .map_err(|error| Error::Asked(format!("the system gives no random number; pass a --seed: {error}")))?;
    Ok(u64::from(number))
}

fn list(drawn: &[Mutant]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for mutant in drawn {
        let place = &mutant.place;
        writeln!(out, "{}:{}: {}   [{}]", mutant.file, place.line, place.change, place.operator.code())
            .map_err(Error::file(Path::new("standard output")))?;
    }
    Ok(())
}

/// Builds the copy, runs each test once without a change, then tests the changes.
fn measure(
    workspace: &Workspace,
    arguments: &Arguments,
    seed: u64,
    drawn: &[Mutant],
    wanted: usize,
    equivalents: &Equivalents,
) -> Result<Report> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root.join("target"), PathBuf::from);
    let directory = workspace.root.join(target).join("mutants");
    let _alone = alone_in(&directory)?;
    let tree = Tree::copy(workspace, &directory)?;
    let started = Instant::now();
    let built = build(workspace, &tree, drawn, wanted, &crates_with_tests(arguments, drawn), &say)?;
    let building = started.elapsed();
    say(&format!("built in {}; {} changes do not compile", spent(building), built.refused.len()));

    let jobs = arguments.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let (suite, recording) = record(&tree, &built, &directory, jobs)?;
    let progress = Progress::new("testing the changes", built.kept.len());
    let done = |i: usize, fate: &Fate| {
        if let (Fate::Survived { tests }, None) = (fate, equivalents.of(&drawn[i])) {
            progress.tell(&survivor(&drawn[i], *tests));
        }
        progress.step();
    };
    let fates = try_all(&suite, drawn, &built.kept, &arguments.tests, jobs, &done)?;
    let trying = progress.finish();
    say(&format!("tested in {}", spent(trying)));

    let mut outcomes: Vec<Outcome> = built
        .kept
        .iter()
        .zip(&fates)
        .chain(built.refused.iter().map(|i| (i, &Fate::Refused)))
        .map(|(i, fate)| Outcome::new(id(*i), &drawn[*i], fate, equivalents))
        .collect();
    outcomes.sort_by_key(|outcome| outcome.id);
    let seconds =
        Seconds { building: building.as_secs_f64(), recording: recording.as_secs_f64(), trying: trying.as_secs_f64() };
    let rows = rows(&outcomes);
    Ok(Report { commit: workspace.commit(), seed, seconds, rows, failing: suite.failing, mutants: outcomes })
}

/// Locks the copy: no other run rewrites it while this file is held.
fn alone_in(directory: &Path) -> Result<fs::File> {
    fs::create_dir_all(directory).map_err(Error::file(directory))?;
    let path = directory.join("lock");
    let file = fs::File::create(&path).map_err(Error::file(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::Asked(format!("{}: another run is using this copy", directory.display())))
        }
        Err(fs::TryLockError::Error(error)) => Err(Error::file(&path)(error)),
    }
}

/// The crates whose tests are built: those selected with `--tests`, and those that are changed.
fn crates_with_tests(arguments: &Arguments, drawn: &[Mutant]) -> Vec<String> {
    let mut names = arguments.tests.clone();
    names.extend(drawn.iter().map(|mutant| mutant.crate_name.clone()));
    names.sort();
    names.dedup();
    names
}

/// The line about a change that no test noticed, printed at once.
fn survivor(mutant: &Mutant, tests: usize) -> String {
    let place = &mutant.place;
    format!("survived {tests} tests: {}:{}: {}", mutant.file, place.line, place.change)
}

fn record(tree: &Tree, built: &Built, directory: &Path, jobs: usize) -> Result<(Suite, Duration)> {
    let progress = std::sync::OnceLock::new();
    let step = |_: usize, count: usize| progress.get_or_init(|| Progress::new("running each test once", count)).step();
    let started = Instant::now();
    let suite = Suite::record(tree, &built.artifacts, &directory.join("notes"), jobs, &step)?;
    let recording = started.elapsed();
    if let Some(progress) = progress.into_inner() {
        progress.finish();
    }
    say(&format!("{} tests ran once in {}", suite.tests.len(), spent(recording)));
    for test in &suite.failing {
        say(&format!("warning: left out, because it fails without any change: {test}"));
    }
    Ok((suite, recording))
}

/// A duration in words.
fn spent(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) }
}

fn show(report: &Report) -> Result<()> {
    let mut text = table(&report.rows);
    let survived = survivors(&report.mutants);
    if !survived.is_empty() {
        text.push_str("\n\nNo test noticed:\n");
        text.push_str(&survived);
    }
    let again = format!("--seed {} at {}", report.seed, report.commit);
    writeln!(std::io::stdout(), "{text}\n{again}").map_err(Error::file(Path::new("standard output")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_are_for_readers() {
        assert_eq!(spent(Duration::from_secs(119)), "119 s");
        assert_eq!(spent(Duration::from_secs(125)), "2 min 5 s");
    }
}
