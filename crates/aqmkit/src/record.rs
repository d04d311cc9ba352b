//! `run --pcap` and `run --qlog`: what else is written of the first run of a plan.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use aqmkit_experiment::{Experiment, RunSpec};
use aqmkit_files::full;
use aqmkit_lab::LabError;
use aqmkit_runs::capture::{CaptureError, capture};
use aqmkit_runs::qlog::{Destination, QlogError, Version, trace};
use aqmkit_runs::run::name;
use aqmkit_sim::{Control, Progress};

use super::args::{self, QlogVersion};
use super::fail::{Failure, wrong};
use super::places::Place;
use super::progress::Talk;
use super::say;
use super::stop::{listen, stopping};

/// Simulates the first run of the plan, even if it is stored, for each file that is asked for.
///
/// # Errors
/// When there is no run, a file cannot be written, or the user stops the run.
pub(super) fn record(exp: &Experiment, args: &args::Run, talk: Talk) -> Result<(), Failure> {
    if let Some(file) = &args.pcap {
        is_not_the_experiment("--pcap", file, &args.experiment)?;
        write_pcap(&first(exp, "--pcap")?, file, talk)?;
    }
    if let Some(path) = &args.qlog {
        is_not_the_experiment("--qlog", path, &args.experiment)?;
        write_qlog(&first(exp, "--qlog")?, path, args.qlog_version, talk)?;
    }
    Ok(())
}

/// Rejects an output that is the experiment itself.
fn is_not_the_experiment(argument: &'static str, path: &Path, experiment: &str) -> Result<(), Failure> {
    if Place::of(argument, path).is(&Place::of("the experiment", Path::new(experiment))) {
        return wrong(
            format!("{argument} {experiment} is the experiment itself"),
            format!("give another file with {argument}"),
        );
    }
    Ok(())
}

/// The first run of the plan.
fn first(exp: &Experiment, argument: &str) -> Result<RunSpec, Failure> {
    match exp.plan().into_iter().next() {
        Some(spec) => Ok(spec),
        None => wrong(
            "this experiment sends no packets",
            format!("omit {argument}: this experiment only computes equations"),
        ),
    }
}

fn on_progress(_: Progress) -> Control {
    if stopping() { Control::Stop } else { Control::Continue }
}

fn write_pcap(spec: &RunSpec, path: &Path, talk: Talk) -> Result<(), Failure> {
    let file = match File::create(path) {
        Ok(file) => BufWriter::new(file),
        Err(e) => return wrong(format!("cannot write to {}: {e}", path.display()), "give another file with --pcap"),
    };
    listen()?;
    let packets = capture(spec, file, &mut on_progress).map_err(|e| match e {
        CaptureError::Stopped => Failure::Stopped(format!("Stopped. {} is incomplete.", path.display())),
        other if full::caused(&other) => LabError::without_room(path, &other.to_string(), full::FILE).into(),
        other => Failure::Environment(format!("{}: {other}", path.display())),
    })?;
    if talk != Talk::Quiet {
        say::message(&format!("{packets} packets of run {} are in {}", name(&spec.labels), path.display()));
    }
    Ok(())
}

fn write_qlog(spec: &RunSpec, path: &Path, version: QlogVersion, talk: Talk) -> Result<(), Failure> {
    let to = Destination::of(path);
    if matches!(to, Destination::Directory(_)) && path.is_file() {
        let right = "name a directory, or a file that ends in .sqlog";
        return wrong(format!("--qlog {} is a file whose name does not end in .sqlog", path.display()), right);
    }
    listen()?;
    let version = match version {
        QlogVersion::Draft => Version::Draft,
        QlogVersion::V03 => Version::V03,
    };
    let traced = match trace(spec, &to, version, &mut on_progress) {
        Ok(traced) => traced,
        Err(QlogError::Stopped) => {
            return Err(Failure::Stopped(format!("Stopped. The traces in {} are incomplete.", path.display())));
        }
        Err(e @ QlogError::Write { .. }) if full::caused(&e) => {
            return Err(LabError::without_room(path, &e.to_string(), full::FILE).into());
        }
        Err(e @ QlogError::Write { .. }) => return wrong(e.to_string(), "give another place with --qlog"),
        Err(other) => return Err(Failure::Environment(format!("{}: {other}", path.display()))),
    };
    if traced.connections == 0 {
        let right = "omit --qlog, or give the experiment traffic over TCP or a stack";
        return wrong("no connection sends data over the measured link of this run", right);
    }
    if talk != Talk::Quiet {
        let (traces, are) = match traced.connections {
            1 => ("The trace of 1 connection".to_owned(), "is"),
            more => (format!("The traces of {more} connections"), "are"),
        };
        let left_out = match traced.left_out {
            0 => String::new(),
            more => format!("; {more} more sent data over the link"),
        };
        say::message(&format!("{traces} of run {} {are} in {}{left_out}", name(&spec.labels), path.display()));
    }
    Ok(())
}
