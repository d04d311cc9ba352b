//! `attack`: the scenario that brings out the worst of a discipline or of a congestion control.

use aqmkit_experiment::Catalogues;
use aqmkit_lab::attack::{Attack, Attacked, Request};

use super::args;
use super::fail::Failure;
use super::perform::{failures, jobs};
use super::progress::{Bar, Talk};
use super::say;
use super::stop::{STOP, listen};

/// `aqmkit attack`.
///
/// # Errors
/// When the target or the harm is unknown, a run failed, or Ctrl-C was pressed.
pub(super) fn attack(args: &args::Attack, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    let request = request(args);
    let attack = Attack::of(&request, catalogues)?;
    if talk != Talk::Quiet {
        say::message(&format!(
            "About {} runs, {} at a time. Finished runs are stored: after Ctrl-C, repeat the command to resume.",
            attack.most_runs(),
            request.jobs
        ));
    }
    listen()?;
    let bar = Bar::new(attack.most_runs(), talk);
    let attacked = attack.attack(&bar, &STOP)?;
    drop(bar);
    let text = if args.json { serde_json::to_string_pretty(&attacked)? } else { answer(&attacked) };
    say::print(&text)?;
    failures(&attacked.failed)
}

fn request(args: &args::Attack) -> Request {
    Request {
        target: args.target.clone(),
        harm: args.harm.clone(),
        queues: args.queue.clone(),
        buffer: args.buffer.clone(),
        budget: args.budget,
        fresh: args.fresh,
        seed: args.seed,
        jobs: jobs(args.jobs),
        out: args.out.clone(),
    }
}

/// The result in sentences.
fn answer(attacked: &Attacked) -> String {
    let Attacked { target, harm, quantity, worst, small, reference, flows, runs, cpu_s, .. } = attacked;
    let plural = if *flows == 1 { "" } else { "s" };
    let verdict = if attacked.confirmed {
        "Fresh seeds confirm it."
    } else {
        "Fresh seeds do not confirm it: less than four fifths of the harm are there. Another --seed or a larger --budget may find more."
    };
    let file = attacked.file.display();
    let watch = attacked.play.as_ref().map_or_else(
        || "To watch it: the page of play lacks this stack.".to_owned(),
        |fragment| format!("To watch it: aqmkit play {file}, or as a link: play.html{fragment}"),
    );
    format!(
        "{harm} by {target}, in {flows} flow{plural}: {quantity} {}\n  {}\nWith {} in its place: {}\n{verdict}\n\n\
         The worst before it was made small: {}\n  {}\n{runs} runs of the hunt, {cpu_s:.0} s of CPU time.\n\
         To run it again: aqmkit run {file}\nA test to paste: {}\n{watch}",
        small.written,
        small.scenario,
        reference.name,
        reference.written,
        worst.written,
        worst.scenario,
        attacked.test.display()
    )
}
