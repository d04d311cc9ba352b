//! `run`: runs an experiment, simulated or with real packets.

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_lab::{Workspace, perform_rounds};
use aqmkit_runs::run::{Done, name};

use super::args;
use super::fail::Failure;
use super::live;
use super::perform::{Bars, Shown, directory, jobs, perform, prepare, show};
use super::progress::Talk;
use super::record::record;
use super::rounds::until;
use super::say;

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
    record(&exp, args, talk)?;
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
