//! `advise`: finds the discipline that best serves a wish on a link.

#[cfg(live)]
use aqmkit_advise::install::name_in_tc;
use aqmkit_lab::advise::{Inquiry, Request};
use aqmkit_lab::estimate::about;
use aqmkit_lab::measure::measured;
use aqmkit_report::terminal::{self, Screen};
use aqmkit_results::advice::Advice;

use super::args;
use super::fail::Failure;
use super::perform::{failures, jobs};
use super::progress::{Bar, Talk};
use super::say;
use super::stop::{STOP, listen};

/// `aqmkit advise`.
///
/// # Errors
/// When the wish, the link or the traffic is wrong, a run failed, or Ctrl-C was pressed.
pub(super) fn advise(args: &args::Advise, talk: Talk) -> Result<(), Failure> {
    let request = request(args)?;
    let inquiry = Inquiry::of(&request)?;
    announce(&request, &inquiry, talk)?;
    listen()?;
    let bar = Bar::new(request.most_runs(), talk);
    let mut advised = inquiry.advise(&bar, &STOP)?;
    drop(bar);
    // Not in advice.html, which may be read on another machine.
    let missing = missing_here(&advised.advice);
    advised.advice.install.note.push_str(&missing);
    if args.json {
        say::print(&serde_json::to_string_pretty(&advised.advice)?)?;
    } else {
        let advice = terminal::advice(&advised.advice, Screen::of_stdout());
        say::print(&format!("{advice}\nPage: {}", advised.page.display()))?;
    }
    failures(&advised.failed)
}

/// Converts the arguments to a request.
///
/// # Errors
/// When the estimate of `--measured` cannot be used.
fn request(args: &args::Advise) -> Result<Request, Failure> {
    let measured = args.measured.as_deref().map(measured).transpose()?;
    let (rate, rtt) = match measured {
        Some((measured, rates)) => (Some(rates), measured.rtt.map(|rtt| rtt.to_string())),
        None => (args.rate, args.rtt.clone()),
    };
    Ok(Request {
        want: args.want.clone(),
        rate,
        rtt,
        framing: args.framing.framing(),
        preset: args.preset.clone(),
        mix: args.mix.clone(),
        alone: args.alone,
        among: args.among.clone(),
        budget: args.budget,
        fresh: args.fresh,
        limit: args.limit,
        duration: args.duration,
        warmup: args.warmup,
        seed: args.seed,
        jobs: jobs(args.jobs),
        out: args.out.clone(),
        page: args.page.clone(),
    })
}

/// Prints the number of runs and the estimated time.
fn announce(request: &Request, inquiry: &Inquiry<'_>, talk: Talk) -> Result<(), Failure> {
    if talk == Talk::Quiet {
        return Ok(());
    }
    say::message(&format!(
        "{} disciplines, at most {} runs of the search and at most {} under fresh seeds: {}, {} at a time. Finished runs are stored: after Ctrl-C, repeat the command to resume.",
        inquiry.disciplines(),
        request.budget,
        request.fresh_runs(),
        about(inquiry.seconds()?),
        request.jobs
    ));
    Ok(())
}

/// A sentence, preceded by a space, about features that the printed commands need and this machine's kernel or `tc`
/// lacks; empty if none is known to be missing.
#[cfg(live)]
fn missing_here(advice: &Advice) -> String {
    let Some(choice) = advice.finalists.first().filter(|_| advice.install.with == "tc") else { return String::new() };
    let Some(name) = name_in_tc(&choice.discipline) else { return String::new() };
    let missing = aqmkit_live::doctor::Known::of(name).missing(name);
    if missing.is_empty() { missing } else { format!(" Here: {missing}") }
}

#[cfg(not(live))]
fn missing_here(_: &Advice) -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use std::sync::atomic::AtomicBool;

    use aqmkit_experiment::{Experiment, Overrides};
    use aqmkit_lab::advise::Advised;
    use aqmkit_results::advice::Role;
    use aqmkit_runs::run::Notes;

    use super::*;
    use crate::args::{Cli, Command};

    fn asked(line: &[&str]) -> args::Advise {
        let cli = Cli::try_parse_from(["aqmkit", "advise"].iter().chain(line)).unwrap();
        let Command::Advise(args) = cli.command else { panic!("not advise") };
        *args
    }

    fn run(line: &[&str]) -> Result<Advised, Failure> {
        let request = request(&asked(line))?;
        Ok(Inquiry::of(&request)?.advise(&Notes::default(), &AtomicBool::new(false))?)
    }

    /// A search among three disciplines with runs of a few seconds: the answer is complete, and repeating the command
    /// runs nothing.
    #[test]
    fn an_advice_has_its_evidence_and_is_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().to_str().unwrap();
        let line = [
            "--rate",
            "2mbit/1mbit",
            "--rtt",
            "10ms..40ms",
            "--bulk",
            "2",
            "--alone",
            "--want",
            "p99 < 100ms; min delay, max goodput",
            "--among",
            "fifo,codel,blue",
        ];
        let line: Vec<&str> = line
            .into_iter()
            .chain([
                "--budget",
                "150",
                "--fresh",
                "3",
                "--duration",
                "2s",
                "--warmup",
                "11s",
                "--jobs",
                "2",
                "--out",
                out,
            ])
            .collect();
        let first = run(&line).unwrap();
        assert_eq!(first.failed, Vec::<String>::new());
        let advice = &first.advice;
        assert_eq!(advice.finalists[0].role, Role::Choice);
        assert_eq!(advice.finalists.iter().filter(|f| f.role == Role::Choice).count(), 1);
        assert!(advice.finalists.iter().any(|f| f.discipline == "cake"), "always beside the others");
        assert_eq!(advice.elsewhere.len(), 2, "{:?}", advice.elsewhere);
        assert!(
            advice.finalists.iter().any(|f| f.label == "fifo")
                && advice.finalists.iter().any(|f| f.label == "fq-codel"),
            "{:?}",
            advice.finalists
        );
        assert!(
            advice.tried.len() > 20 && advice.tried.iter().any(|tried| tried.best_goodput),
            "{:?}",
            advice.tried.len()
        );
        assert!(
            !advice.install.lines.is_empty()
                && advice.link.contains("2mbit down and 1mbit up, round trips of 10ms to 40ms"),
            "{}",
            advice.link
        );
        let page = std::fs::read_to_string(&first.page).unwrap();
        assert!(page.contains(&advice.install.lines[0]) && page.contains("<figure"));
        let runs = || std::fs::read_dir(dir.path().join("runs")).unwrap().count();
        let before = runs();
        let again = run(&line).unwrap();
        assert_eq!((again.advice.finalists, runs()), (first.advice.finalists, before));
        let file = dir.path().join("finalists.toml");
        assert!(Experiment::load(file.to_str().unwrap(), &Overrides::default()).is_ok());
    }

    #[test]
    fn wrong_arguments_are_named() {
        let told = |line: &[&str]| run(line).err().and_then(Failure::text).unwrap_or_default();
        assert!(told(&["--want", "vidio"]).contains("did you mean video?"));
        let line = ["aqmkit", "advise", "--want", "video", "--rate"];
        let refused = |rate: &str| Cli::try_parse_from(line.iter().chain([&rate])).unwrap_err().to_string();
        assert!(refused("5mbt").contains("--rate") && refused("5mbit/1mbit/2mbit").contains("two directions"));
        assert!(told(&["--want", "video", "--rate", "5mbit/0bit"]).contains("above zero"));
        assert!(told(&["--want", "video", "--rtt", "9ms..2ms"]).contains("--rtt"));
        assert!(told(&["--want", "video", "--among", "fq-cdel"]).contains("did you mean fq-codel?"));
        assert!(told(&["--want", "video", "--budget", "9"]).contains("too small"));
        assert!(told(&["--want", "game p99 < 5ms", "--rate", "5mbit"]).contains("there is no game on the link"));
        assert!(told(&["--want", "2 video", "--video", "3"]).contains("twice"));
        assert!(told(&["--want", "upload", "--rate", "5mbit"]).contains("DOWN/UP"));
        assert!(told(&["--want", "web", "--preset", "cabel"]).contains("did you mean cable?"));
    }
}
