//! `--live`, `--kernel` and `--kernel-queue` of `run` and `reproduce`: runs experiments with real packets and compares
//! them with the simulator.

use std::path::Path;

use aqmkit_experiment::{Experiment, Problem};
use aqmkit_lab::{LabError, Performed};
use aqmkit_live::kernel::Place;
use aqmkit_report::format::significant;
use aqmkit_report::terminal::{Screen, drawn, head, number};
use aqmkit_results::Agreement;
use aqmkit_testbed::{On, Placed, TestbedError, axis, check_machine, plan, real_time};
use comfy_table::CellAlignment;
use serde_json::json;

use super::args;
use super::fail::Failure;
use super::perform::{Bars, Shown, directory, failures, prepare, show};
use super::progress::Talk;
use super::say;

impl args::Real {
    /// The places of the runs with real packets.
    fn places(self) -> Vec<On> {
        let all = [
            (self.live, On::Live),
            (self.kernel, On::Kernel(Place::Classifier)),
            (self.kernel_queue, On::Kernel(Place::Queue)),
        ];
        all.into_iter().filter(|(asked, _)| *asked).map(|(_, on)| on).collect()
    }
}

/// The directory name for results with real packets, next to that of the simulated ones.
fn beside(id: &str, real: &[On]) -> String {
    let labels = real.iter().map(|on| on.label());
    std::iter::once(id).chain(labels).collect::<Vec<_>>().join("-")
}

/// Runs every combination in the simulator and with real packets.
///
/// # Errors
/// When the machine lacks something, a live link does not support the experiment, or the results do not agree.
pub(super) fn run(exp: &Experiment, args: &args::Run, talk: Talk) -> Result<(), Failure> {
    let real = args.real.places();
    let dir = directory(args.how.out.as_deref(), &beside(&exp.id, &real));
    let performed = perform(exp, &real, &dir, talk)?;
    // Reports failed runs at the end, after the results of the others.
    let shown = show(&performed, &dir, Shown::of(args.how.json, args.explain));
    let list = &performed.results.agreements;
    if !args.how.json {
        say::print(&table(list))?;
    }
    shown?;
    verdict(list)
}

/// `reproduce --live`: runs experiments that specify how closely simulator and live links must agree.
///
/// # Errors
/// As [`run`].
pub(super) fn reproduce(experiments: &[Experiment], args: &args::Reproduce, talk: Talk) -> Result<(), Failure> {
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    let real = args.real.places();
    for exp in experiments {
        let performed = perform(exp, &real, &args.out.join(beside(&exp.id, &real)), talk)?;
        if !args.json {
            let title = say::bold(&format!("{}: {}", performed.results.experiment, performed.results.title));
            say::print(&format!("{title}\n{}", table(&performed.results.agreements)))?;
        }
        results.push(performed.results);
        failed.extend(performed.failed);
    }
    let all: Vec<Agreement> = results.iter().flat_map(|r| r.agreements.clone()).collect();
    if args.json {
        let list =
            results.iter().map(|r| json!({ "experiment": r.experiment, "scale": r.scale, "agreements": r.agreements }));
        say::print(&serde_json::to_string_pretty(&list.collect::<Vec<_>>())?)?;
    } else {
        let agree = all.iter().filter(|a| a.holds()).count();
        say::print(&format!("{agree} of {} values agree", all.len()))?;
    }
    failures(&failed)?;
    verdict(&all)
}

fn verdict(list: &[Agreement]) -> Result<(), Failure> {
    if list.iter().all(Agreement::holds) { Ok(()) } else { Err(Failure::Missed) }
}

/// Executes every combination in the simulator and with real packets.
fn perform(exp: &Experiment, real: &[On], dir: &Path, talk: Talk) -> Result<Performed, Failure> {
    let places: Vec<On> = std::iter::once(On::Simulated).chain(real.iter().copied()).collect();
    check_machine(&places).map_err(|e| refused(exp, &e))?;
    let runs = |calibrated: &Experiment| planned(calibrated, &places, talk);
    prepare(exp, dir, talk)?;
    // One at a time, because live runs would compete for the processors.
    let bars = Bars::of_one(talk);
    Ok(aqmkit_lab::perform(exp, runs, &[axis(&places)], bars.workspace(dir, 1))?)
}

/// The runs of an experiment; prints how long they take.
fn planned(exp: &Experiment, places: &[On], talk: Talk) -> Result<Vec<Placed>, LabError> {
    let plan = plan(exp, places).map_err(|e| refused(exp, &e))?;
    if talk != Talk::Quiet {
        say::message(&format!(
            "runs with real packets take real time: {:.0} s in total",
            real_time(&plan).as_secs_f64()
        ));
    }
    Ok(plan)
}

/// The error for an experiment that cannot run with real packets, with advice.
fn refused(exp: &Experiment, error: &TestbedError) -> LabError {
    let text = error.to_string();
    let without = match error {
        TestbedError::NoPermission => return LabError::Environment(format!("{text}\n  run it as root")),
        TestbedError::Kernel(_) => {
            return LabError::Environment(format!("{text}\n  aqmkit doctor says what the kernel can do"));
        }
        TestbedError::Congestion(_) => return LabError::Environment(text),
        TestbedError::Unfit { on: On::Kernel(Place::Classifier), .. } => "--kernel",
        TestbedError::Unfit { on: On::Kernel(Place::Queue), .. } => "--kernel-queue",
        TestbedError::Unfit { .. } => "--live",
    };
    LabError::Problem(Problem::new(format!("{} {text}", exp.id)).right(format!("run it without {without}")))
}

fn table(list: &[Agreement]) -> String {
    let mut lines = Screen::of_stdout().table();
    let left = ["combination", "quantity"].map(|h| head(h, CellAlignment::Left));
    let right = ["simulated", "real", "where", "may differ by", "agrees"].map(|h| head(h, CellAlignment::Right));
    lines.set_header(left.into_iter().chain(right));
    for a in list {
        let text = [&a.place, &a.what].map(comfy_table::Cell::new);
        let [simulated, real, within] = [a.simulated, a.live, a.within].map(|v| number(significant(v, 3)));
        let agrees = number(if a.holds() { "yes" } else { "no" });
        lines.add_row(text.into_iter().chain([simulated, real, number(&a.on), within, agrees]));
    }
    drawn(lines)
}
