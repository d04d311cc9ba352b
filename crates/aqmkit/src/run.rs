//! `run`: runs an experiment, simulated or with real packets, and writes a capture of it.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_files::full;
use aqmkit_lab::{LabError, Workspace, perform_rounds};
use aqmkit_runs::capture::{CaptureError, capture};
use aqmkit_runs::run::{Done, name};
use aqmkit_sim::{Control, Progress};

use super::args;
use super::fail::{Failure, wrong};
use super::live;
use super::perform::{Bars, Shown, directory, jobs, perform, prepare, show};
use super::places::Place;
use super::progress::Talk;
use super::rounds::until;
use super::say;
use super::stop::{listen, stopping};

/// `aqmkit run`.
///
/// # Errors
/// Like [`perform`] and [`show`].
pub(super) fn run(args: &args::Run, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    let overrides = Overrides {
        set: args.set.clone(),
        seed: args.how.seed,
        repeat: args.how.repeat,
        scale: args.scale.into(),
        ..Overrides::default()
    };
    let exp = Experiment::load_with(&args.experiment, &overrides, catalogues)?;
    if args.real.any() {
        return live::run(&exp, args, talk);
    }
    if let Some(file) = &args.pcap {
        is_not_the_experiment(file, &args.experiment)?;
        write_pcap(&exp, file, talk)?;
    }
    let dir = directory(args.how.out.as_deref(), &exp.id);
    let bars = Bars::of_one(talk);
    let workspace = Workspace { play: true, ..bars.workspace(&dir, jobs(args.how.jobs)) };
    let performed = match args.precision {
        None => perform(&exp, workspace, talk)?,
        Some(_) => {
            let read = |repeat, _| {
                let overrides = Overrides { repeat: Some(repeat), ..overrides.clone() };
                Ok(Experiment::load_with(&args.experiment, &overrides, catalogues)?)
            };
            prepare(&exp, &dir, talk)?;
            perform_rounds(read, Experiment::plan, &until(args.precision, false), workspace)?.performed
        }
    };
    if !args.how.json && (args.digests || performed.done.len() == 1) {
        show(&performed, &dir, Shown::of(false, args.explain))?;
        return digests(&performed.done);
    }
    show(&performed, &dir, Shown::of(args.how.json, args.explain))
}

/// Prints the digest of each run.
fn digests(done: &[Done]) -> Result<(), Failure> {
    for run in done {
        let labels = if done.len() == 1 { String::new() } else { format!("  {}", name(&run.labels)) };
        say::print(&format!("Digest: {}{labels}", aqmkit_experiment::digest(&run.output)))?;
    }
    Ok(())
}

/// Rejects a capture file that is the experiment itself.
fn is_not_the_experiment(pcap: &Path, experiment: &str) -> Result<(), Failure> {
    if Place::of("--pcap", pcap).is(&Place::of("the experiment", Path::new(experiment))) {
        return wrong(format!("--pcap {experiment} is the experiment itself"), "give another file with --pcap");
    }
    Ok(())
}

/// Simulates the first run of the plan, even if it is stored, and writes a capture of it.
fn write_pcap(exp: &Experiment, path: &Path, talk: Talk) -> Result<(), Failure> {
    let Some(spec) = exp.plan().into_iter().next() else {
        return wrong("this experiment sends no packets", "omit --pcap: this experiment only computes equations");
    };
    let file = match File::create(path) {
        Ok(file) => BufWriter::new(file),
        Err(e) => return wrong(format!("cannot write to {}: {e}", path.display()), "give another file with --pcap"),
    };
    listen()?;
    let mut on_progress = |_: Progress| if stopping() { Control::Stop } else { Control::Continue };
    let packets = capture(&spec, file, &mut on_progress).map_err(|e| match e {
        CaptureError::Stopped => Failure::Stopped(format!("Stopped. {} is incomplete.", path.display())),
        other if full::caused(&other) => LabError::without_room(path, &other.to_string(), full::FILE).into(),
        other => Failure::Environment(format!("{}: {other}", path.display())),
    })?;
    if talk != Talk::Quiet {
        say::message(&format!("{packets} packets of run {} are in {}", name(&spec.labels), path.display()));
    }
    Ok(())
}
