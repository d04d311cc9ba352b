//! `calibrate`: the populations that offer the loads of an experiment.

use std::path::Path;

use serde_json::json;

use super::args;
use super::fail::{Failure, wrong};
use super::perform::{STOP, directory, jobs, listen};
use super::progress::{Bar, Talk};
use super::say;
use crate::calibrate::{Failed, Found, calibrated};
use crate::experiment::{Experiment, Overrides};
use crate::run::How;
use crate::store::Store;

/// `aqmkit calibrate`.
///
/// # Errors
/// When the experiment is wrong or has no load, when a population cannot be found, or Ctrl-C was pressed.
pub fn calibrate(args: &args::Calibrate, talk: Talk) -> Result<(), Failure> {
    let overrides = Overrides { set: args.set.clone(), scale: args.scale.into(), ..Overrides::default() };
    let exp = Experiment::load(&args.experiment, &overrides)?;
    if exp.sought()?.is_empty() {
        return wrong(
            format!("no traffic of {} has a load", exp.id),
            "write load = \"98%\" in a [[traffic]], or --set traffic.NAME.load=98%",
        );
    }
    let dir = directory(args.out.as_deref(), &exp.id);
    let (_, found) = settle(&exp, &Store::open(&dir)?, jobs(args.jobs), talk, &dir)?;
    if args.json {
        let list = found.iter().map(|f| {
            json!({
                "traffic": f.sought.traffic, "load": f.sought.load, "wanted_bps": f.sought.bps,
                "parameter": f.sought.parameter, "value": f.value, "offered_bps": f.offered_bps, "trials": f.trials,
            })
        });
        return Ok(say::print(&serde_json::to_string_pretty(&list.collect::<Vec<_>>())?)?);
    }
    Ok(say::print(&found.iter().map(line).collect::<String>())?)
}

fn line(found: &Found) -> String {
    let Found { sought, value, offered_bps, trials, .. } = found;
    format!(
        "{}: {} = {value} offers {:.3} Mb/s, {:.2} % of the load {} ({trials} trials)\n",
        sought.traffic,
        sought.parameter,
        offered_bps / 1e6,
        offered_bps / sought.bps as f64 * 100.0,
        sought.load,
    )
}

/// The experiment with all its populations found; trials that the store has are not made again.
///
/// # Errors
/// When a population cannot be found, or Ctrl-C was pressed.
pub(super) fn settle(
    exp: &Experiment,
    store: &Store,
    jobs: usize,
    talk: Talk,
    dir: &Path,
) -> Result<(Experiment, Vec<Found>), Failure> {
    if exp.sought()?.is_empty() {
        return Ok((exp.clone(), Vec::new()));
    }
    listen()?;
    let bar = Bar::of_trials(talk);
    let result = calibrated(exp, How { jobs, store, watch: &bar, cancel: &STOP });
    bar.finish();
    result.map_err(|e| match e {
        Failed::Problem(problem) => Failure::Problem(problem),
        Failed::Io(error) => error.into(),
        Failed::Cancelled => Failure::Stopped(format!(
            "Stopped while calibrating. What was measured is kept in {}; the same command goes on from there.",
            dir.display()
        )),
    })
}
