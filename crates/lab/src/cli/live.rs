//! `run --live` and `reproduce --live`: experiments in the simulator and on a live link, side by side.

use std::path::Path;

use aqmkit_experiment::Experiment;
use aqmkit_live::capabilities::may_make_links;
use aqmkit_report::format::significant;
use aqmkit_report::terminal::{Screen, drawn, head, number};
use aqmkit_results::{Agreement, Axis};
use aqmkit_runs::store::Players;
use aqmkit_study::agree::AXIS;
use comfy_table::CellAlignment;
use serde_json::json;

use super::args;
use super::fail::{Failure, wrong};
use super::perform::{Performed, directory, failures, perform_plan, show};
use super::progress::Talk;
use super::say;
use crate::live::plan::NotLive;
use crate::live::run::{Placed, real_time};

/// Runs every combination in the simulator and on a live link.
///
/// # Errors
/// When the machine lacks something, the experiment does not suit a live link, or the two do not agree.
pub(super) fn run(exp: &Experiment, args: &args::Run, talk: Talk) -> Result<(), Failure> {
    let dir = directory(args.how.out.as_deref(), &format!("{}-live", exp.id));
    let performed = perform(exp, &dir, talk)?;
    // A run that failed is told of at the end; what the others say is shown all the same.
    let shown = show(&performed, &dir, args.how.json);
    let list = &performed.results.agreements;
    if !args.how.json {
        say::print(&table(list))?;
    }
    shown?;
    verdict(list)
}

/// `reproduce --live`: experiments that say how far the simulator and live links agree.
///
/// # Errors
/// As [`run`].
pub(super) fn reproduce(experiments: &[Experiment], args: &args::Reproduce, talk: Talk) -> Result<(), Failure> {
    let (mut results, mut failed) = (Vec::new(), Vec::new());
    for exp in experiments {
        let performed = perform(exp, &args.out.join(format!("{}-live", exp.id)), talk)?;
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

/// Every combination in the simulator and on a live link.
fn perform(exp: &Experiment, dir: &Path, talk: Talk) -> Result<Performed, Failure> {
    if !may_make_links() {
        let text = "no permission to create network namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN)\n  run it as root";
        return Err(Failure::Environment(text.to_owned()));
    }
    let axis = Axis { name: AXIS.to_owned(), labels: vec!["simulated".to_owned(), "live".to_owned()] };
    // One at a time, for live runs would compete for the processor.
    perform_plan(exp, |exp| plan(exp, talk), &[axis], &Players::new(), dir, 1, talk)
}

/// Every run of an experiment in the simulator, then every one on a live link.
fn plan(exp: &Experiment, talk: Talk) -> Result<Vec<Placed>, Failure> {
    let placed = |live| exp.plan().into_iter().map(move |spec| Placed::new(spec, live));
    let plan: Vec<Placed> = placed(false).chain(placed(true)).collect();
    for run in &plan {
        match run.check() {
            Ok(()) => {}
            Err(NotLive::Lacks(text)) => return Err(Failure::Environment(text)),
            Err(NotLive::Unfit(text)) => {
                return wrong(format!("{} cannot be run live: {text}", exp.id), "run it without --live");
            }
        }
    }
    if talk != Talk::Quiet {
        say::tell(&format!("live runs take real time: {:.0} s in total", real_time(&plan).as_secs_f64()));
    }
    Ok(plan)
}

fn table(list: &[Agreement]) -> String {
    let mut lines = Screen::of_stdout().table();
    let left = ["combination", "quantity"].map(|h| head(h, CellAlignment::Left));
    let right = ["simulated", "live", "may differ by", "agrees"].map(|h| head(h, CellAlignment::Right));
    lines.set_header(left.into_iter().chain(right));
    for a in list {
        let text = [&a.place, &a.what].map(comfy_table::Cell::new);
        let numbers = [a.simulated, a.live, a.within].map(|v| number(significant(v, 3)));
        let agrees = number(if a.holds() { "yes" } else { "no" });
        lines.add_row(text.into_iter().chain(numbers).chain([agrees]));
    }
    drawn(lines)
}
