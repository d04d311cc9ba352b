//! `calibrate`: finds the populations that offer the loads of an experiment.

use std::collections::BTreeMap;

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_runs::calibrate::Found;
use aqmkit_runs::store::Store;
use serde_json::json;

use super::args;
use super::fail::{Failure, wrong};
use super::perform::{Bars, directory, jobs};
use super::progress::Talk;
use super::say;
use super::stop::listen;

/// `aqmkit calibrate`.
///
/// # Errors
/// When the experiment is wrong or has no load, when a population cannot be found, or Ctrl-C was pressed.
pub(super) fn calibrate(args: &args::Calibrate, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    let overrides = Overrides { set: args.set.clone(), scale: args.scale.into(), ..Overrides::default() };
    let exp = Experiment::load_with(&args.experiment, &overrides, catalogues)?;
    if exp.calibrations()?.is_empty() {
        return wrong(
            format!("no traffic of {} has a `load`", exp.id),
            "write load = \"98%\" in a [[traffic]], or --set traffic.NAME.load=98%",
        );
    }
    let dir = directory(args.out.as_deref(), &exp.id);
    listen()?;
    let bars = Bars::of_one(talk);
    let (_, found) = aqmkit_lab::calibrate(&exp, &Store::open(&dir)?, bars.workspace(&dir, jobs(args.jobs)))?;
    let places = found.iter().map(|f| exp.calibrated_runs(&f.calibration)).collect::<Result<Vec<_>, _>>()?;
    if args.json {
        let list = found.iter().zip(&places).map(|(f, place)| {
            json!({
                "traffic": f.calibration.traffic, "where": place, "load": f.calibration.load, "wanted_bps": f.calibration.bps,
                "parameter": f.calibration.parameter, "value": f.value, "offered_bps": f.offered_bps, "trials": f.trials,
            })
        });
        return Ok(say::print(&serde_json::to_string_pretty(&list.collect::<Vec<_>>())?)?);
    }
    Ok(say::print(&found.iter().zip(&places).map(|(f, place)| line(f, place)).collect::<String>())?)
}

fn line(found: &Found, place: &BTreeMap<String, Vec<String>>) -> String {
    let Found { calibration, value, offered_bps, trials, .. } = found;
    let place: Vec<String> = place.iter().map(|(axis, labels)| format!("{axis} {}", labels.join(" or "))).collect();
    let place = if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
    format!(
        "{}{place}: {} = {value} offers {:.3} Mb/s, {:.2} % of the load {} ({trials} trials)\n",
        calibration.traffic,
        calibration.parameter,
        offered_bps / 1e6,
        offered_bps / calibration.bps as f64 * 100.0,
        calibration.load,
    )
}
