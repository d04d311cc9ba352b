//! The command `aqmkit`: parses arguments and prints results. Each subcommand has a file; the work is done in
//! `aqmkit_lab`.

#![forbid(unsafe_code)]

mod advise;
mod args;
mod attack;
mod bench;
#[cfg(live)]
mod bridge;
mod calibrate;
mod cells;
mod characterize;
mod check;
mod compare;
mod config;
#[cfg(live)]
mod ctl;
#[cfg(live)]
mod dashboard;
mod describe;
mod diff;
#[cfg(live)]
mod doctor;
mod documents;
mod explain;
mod export;
mod fail;
mod import;
#[cfg(live)]
mod kernel;
#[cfg(live)]
mod link;
mod list;
#[cfg_attr(not(live), path = "no_live.rs")]
mod live;
mod measure;
mod null_test;
mod page;
mod perform;
mod places;
mod play;
mod progress;
mod queue;
mod rates;
mod record;
mod remaining;
mod replay;
mod report;
mod reproduce;
mod rerun;
mod rounds;
mod run;
mod say;
mod scoreboard;
mod setup;
#[cfg(live)]
mod shape;
#[cfg(live)]
mod standing;
mod stop;

use std::ffi::OsString;
use std::process::ExitCode;

use aqmkit_experiment::Catalogues;
use args::{Cli, Command};
use clap::{CommandFactory, FromArgMatches};
use config::Config;
use fail::Failure;
use progress::Talk;

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs the command; `args` starts with the program name. Returns the exit code.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    run_with(args, &Catalogues::default())
}

/// Like [`run`], with additional disciplines, congestion controls and traffic models. Experiments, `compare`, `replay`,
/// `link` and `bridge` accept their names, and `list` shows them.
#[must_use]
pub fn run_with(args: impl IntoIterator<Item = OsString>, catalogues: &Catalogues) -> u8 {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let (cli, doubts) = match parsed(&args).map(|first| with_file(first, &mut args)) {
        Ok(Ok(parsed)) => parsed,
        Ok(Err(failure)) => return report_failure(failure),
        Err(e) => {
            // clap reports --help and --version as errors too; only real errors go to standard error.
            let code = u8::from(e.use_stderr()) * 2;
            return if e.print().is_ok() { code } else { 2 };
        }
    };
    doubts.iter().for_each(|text| say::message(&format!("warning: {text}")));
    match dispatch(&cli, catalogues) {
        Ok(()) => 0,
        Err(failure) => report_failure(failure),
    }
}

/// Reports a failure; returns the exit code.
fn report_failure(failure: Failure) -> u8 {
    let code = failure.code();
    if let Some(text) = failure.text() {
        say::message(text.trim_end());
    }
    code
}

/// A parsed command line, and warnings about units in it.
type Parsed = (Cli, Vec<String>);

fn parsed(args: &[OsString]) -> Result<Parsed, clap::Error> {
    let mut program = Cli::command();
    let matches = program.try_get_matches_from_mut(args)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut program))?;
    Ok((cli, rates::doubts(&matches)))
}

/// Parses the command line again with the options of its configuration file, if it names one.
fn with_file((cli, doubts): Parsed, args: &mut Vec<OsString>) -> Result<Parsed, Failure> {
    let file = match &cli.command {
        Command::Bridge(bridge) => bridge.config.as_deref(),
        Command::Shape(shape) => shape.config.as_deref(),
        Command::Link(link) => link.config.as_deref(),
        _ => None,
    };
    let Some(file) = file else { return Ok((cli, doubts)) };
    *args = Config::read(file)?.before(args)?;
    match parsed(args) {
        Ok(whole) => Ok(whole),
        Err(error) => fail::wrong(format!("{}: {error}", file.display()), "aqmkit check reads the file alone"),
    }
}

fn dispatch(cli: &Cli, catalogues: &Catalogues) -> Result<(), Failure> {
    let talk = match (cli.quiet, cli.verbose) {
        (true, _) => Talk::Quiet,
        (_, true) => Talk::Verbose,
        _ => Talk::Normal,
    };
    match &cli.command {
        Command::List(args) => list::list(args, catalogues),
        Command::Describe(args) => describe::describe(args, catalogues),
        Command::Compare(args) => compare::compare(args, catalogues, talk),
        Command::Characterize(args) => characterize::characterize(args, catalogues, talk),
        Command::Advise(args) => advise::advise(args, talk),
        Command::Attack(args) => attack::attack(args, catalogues, talk),
        Command::Measure(args) => measure::measure(args, talk),
        Command::Explain(args) => explain::explain(args),
        Command::Import(args) => import::import(args),
        Command::Export(args) => export::export(args),
        Command::Run(args) => run::run(args, catalogues, talk),
        Command::Play(args) => play::play(args, talk),
        Command::Init(args) => check::init(args),
        Command::Check(args) => check::check(args, catalogues),
        Command::Diff(args) => diff::diff(args),
        Command::Completions(args) => setup::completions(args),
        Command::Schema => Ok(say::print(&format!("{:#}", aqmkit_experiment::schema()))?),
        Command::Man(args) => setup::man(args),
        Command::Calibrate(args) => calibrate::calibrate(args, catalogues, talk),
        Command::Reproduce(args) => reproduce::reproduce(args, catalogues, talk),
        Command::Scoreboard(args) => scoreboard::scoreboard(args),
        #[cfg(live)]
        Command::Link(args) => link::link(args, &catalogues.disciplines, talk),
        #[cfg(live)]
        Command::Doctor(args) => doctor::doctor(args),
        Command::Replay(args) => replay::replay(args, &catalogues.disciplines, talk),
        #[cfg(live)]
        Command::Bridge(args) => bridge::bridge(args, &catalogues.disciplines, talk),
        #[cfg(live)]
        Command::Shape(args) => shape::shape(args, &catalogues.disciplines, talk),
        #[cfg(live)]
        Command::Ctl(args) => ctl::ctl(args, &catalogues.disciplines),
        #[cfg(live)]
        Command::Kernel(args) => kernel::kernel(args),
        #[cfg(not(live))]
        Command::Link(_)
        | Command::Doctor(_)
        | Command::Bridge(_)
        | Command::Shape(_)
        | Command::Ctl(_)
        | Command::Kernel(_) => Err(live::absent()),
        Command::Report(args) => report::report(args, talk),
        Command::Bench(args) => bench::bench(args, talk),
    }
}
