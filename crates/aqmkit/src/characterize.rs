//! `characterize`: a report card of disciplines by RFC 7928, or of congestion controls by RFC 9743.

use std::path::{Path, PathBuf};

use aqmkit_aqm::registry;
use aqmkit_characterize::cases::judge;
use aqmkit_characterize::contestant::Contestant;
use aqmkit_characterize::guide::Guide;
use aqmkit_characterize::plan::{Planned, experiments};
use aqmkit_characterize::{rfc7928, rfc9743};
use aqmkit_experiment::{Catalogues, Experiment, Overrides, Problem, Scale};
use aqmkit_lab::characterize::{compose, control, directory, hosts, one};
use aqmkit_lab::estimate::{Effort, about};
use aqmkit_report::terminal;
use aqmkit_report::terminal::Screen;

use super::args;
use super::fail::{Failure, wrong};
use super::perform::{Bars, failures, jobs, perform};
use super::progress::Talk;
use super::remaining::Remaining;
use super::say;

/// The name for every discipline that needs no parameters.
const ALL: &str = "all";

/// `aqmkit characterize`.
///
/// # Errors
/// When a discipline is wrong, a run failed, or Ctrl-C was pressed.
pub(super) fn characterize(args: &args::Characterize, catalogues: &Catalogues, talk: Talk) -> Result<(), Failure> {
    if args.cases.is_some() {
        return cases(args, catalogues);
    }
    let (guide, subjects): (&Guide, _) = if args.control.is_empty() {
        (&rfc7928::GUIDE, subjects(&args.disciplines, talk)?)
    } else {
        (&rfc9743::GUIDE, controls(&args.control, catalogues)?)
    };
    let count = subjects.len();
    let contestants = guide.with_references(subjects).map_err(|e| Problem::new(e.to_string()))?;
    let plan = experiments(guide, &contestants)?;
    let dir = args.how.out.clone().unwrap_or_else(|| directory(&contestants[..count], args.quick));
    let scale = if args.quick { Scale::Quick } else { Scale::Full };
    let overrides = Overrides { seed: args.how.seed, repeat: args.how.repeat, scale, ..Overrides::default() };
    let failed = run(&plan, (&overrides, catalogues), &dir, jobs(args.how.jobs), talk)?;
    let names: Vec<String> = plan.into_iter().map(|planned| planned.name).collect();
    let file = args.card.clone().unwrap_or_else(|| dir.join("card.html"));
    let card = compose(guide, &contestants, count, &names, &dir, &file)?;
    if args.how.json {
        say::print(&serde_json::to_string_pretty(&card)?)?;
    } else {
        say::print(&format!("{}\nCard: {}", terminal::card(&card, Screen::of_stdout()), file.display()))?;
    }
    failures(&failed)
}

/// The example cases of the BBR draft with each control.
fn cases(args: &args::Characterize, catalogues: &Catalogues) -> Result<(), Failure> {
    let judged: Vec<_> =
        args.control.iter().map(|text| Ok(judge(text, &hosts(text, catalogues)?))).collect::<Result<_, Failure>>()?;
    if args.how.json {
        return Ok(say::print(&serde_json::to_string_pretty(&judged)?)?);
    }
    let texts: Vec<String> = judged.iter().map(|cases| terminal::cases(cases, Screen::of_stdout())).collect();
    Ok(say::print(texts.join("\n").trim_end())?)
}

/// The controls to characterise, without duplicates.
fn controls(texts: &[String], catalogues: &Catalogues) -> Result<Vec<Contestant>, Failure> {
    let mut all: Vec<Contestant> = Vec::new();
    for text in texts {
        let contestant = control(text, catalogues)?;
        if !all.iter().any(|c| c.label() == contestant.label()) {
            all.push(contestant);
        }
    }
    Ok(all)
}

/// The disciplines to characterise, without duplicates.
fn subjects(texts: &[String], talk: Talk) -> Result<Vec<Contestant>, Failure> {
    let mut all: Vec<Contestant> = Vec::new();
    for text in texts {
        if Path::new(text).extension().is_some_and(|extension| extension == "py") {
            return wrong(
                format!("{text} is a discipline written in Python, which this program cannot run"),
                "install the Python package (pip install .) and use its command aqmkit, or aqmkit.characterize()",
            );
        }
        let found = if text == ALL { every(talk) } else { vec![one(text)?] };
        for contestant in found {
            if !all.iter().any(|c| c.label() == contestant.label()) {
                all.push(contestant);
            }
        }
    }
    Ok(all)
}

/// Every discipline that needs no parameters; prints the names of the others.
fn every(talk: Talk) -> Vec<Contestant> {
    let mut left_out = Vec::new();
    let mut of = |entry: &registry::Entry| {
        let contestant = Contestant::named(entry.name).ok();
        left_out.extend(contestant.is_none().then_some(entry.name));
        contestant
    };
    let all = registry::ALL.iter().filter_map(&mut of).collect();
    if talk != Talk::Quiet && !left_out.is_empty() {
        say::message(&format!("left out, because they need parameters: {}", left_out.join(", ")));
    }
    all
}

/// Executes the experiments of a card, each in its own directory below `dir`; returns the errors of failed runs.
fn run(
    plan: &[Planned],
    (overrides, catalogues): (&Overrides, &Catalogues),
    dir: &Path,
    jobs: usize,
    talk: Talk,
) -> Result<Vec<String>, Failure> {
    let all: Vec<Experiment> =
        plan.iter().map(|planned| planned.experiment(overrides, catalogues)).collect::<Result<_, _>>()?;
    let dirs: Vec<PathBuf> = plan.iter().map(|planned| dir.join(&planned.name)).collect();
    let tell = |text: &str| {
        if talk != Talk::Quiet {
            say::message(text);
        }
    };
    let each: Vec<_> = all.iter().zip(dirs.iter().map(PathBuf::as_path)).collect();
    let left = Effort::of(&each, jobs)?;
    if left.runs > 0 {
        tell(&format!(
            "{} experiments, {} runs to do: {}, {jobs} at a time. Finished runs are stored: after Ctrl-C, repeat the command to resume.",
            all.len(),
            left.runs,
            about(left.seconds(jobs))
        ));
    }
    let bars = Bars { talk, remaining: Remaining::of(&each) };
    let mut failed = Vec::new();
    for (i, (planned, (experiment, place))) in plan.iter().zip(each).enumerate() {
        bars.remaining.next_experiment();
        let performed = perform(experiment, bars.workspace(place, jobs), talk)?;
        failed.extend(performed.failed);
        tell(&format!("{:>2} of {}  section {:6} {}", i + 1, plan.len(), planned.number, experiment.title));
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use aqmkit_results::card::Verdict;

    use super::*;

    /// Every rule of every section finds its metric in runs of a few seconds, and the page shows all rules.
    #[test]
    fn a_card_has_a_number_for_every_rule() {
        let contestants = rfc7928::GUIDE.with_references(vec![one("pie:target=10ms").unwrap()]).unwrap();
        let mut plan = experiments(&rfc7928::GUIDE, &contestants).unwrap();
        // The windows of this experiment are its phases.
        let phases = plan.iter().position(|planned| planned.name == "varying-congestion").unwrap();
        plan[phases].text = plan[phases].text.replace("\"100s\"", "\"10s\"");
        for (second, place) in ["5", "20", "25", "40", "45", "60", "65", "80", "85"].iter().zip(1..) {
            plan[phases].text = plan[phases].text.replace(&format!("\"{second}s\""), &format!("\"{place}s\""));
        }
        let set = vec!["duration=10s".to_owned(), "warmup=14s".to_owned()];
        let overrides = Overrides { set, repeat: Some(1), ..Overrides::default() };
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            run(&plan, (&overrides, &Catalogues::default()), dir.path(), 2, Talk::Quiet).unwrap(),
            Vec::<String>::new()
        );
        let names: Vec<String> = plan.iter().map(|planned| planned.name.clone()).collect();
        let file = dir.path().join("card.html");
        let card = compose(&rfc7928::GUIDE, &contestants, 1, &names, dir.path(), &file).unwrap();
        assert_eq!(card.disciplines, ["pie:target=10ms", "fifo", "fq-codel"]);
        for section in &card.sections {
            let row = &section.rows[0];
            let measured = row.cells.iter().all(|cell| cell.value.is_some() && cell.holds.is_some());
            assert!(measured, "{} {}: {row:?}", section.number, section.title);
            assert!(section.picture.is_some() || section.number == "12", "{}", section.number);
        }
        let verdict = |number: &str, place: usize| {
            card.sections.iter().find(|section| section.number == number).map(|section| section.rows[place].verdict)
        };
        assert_eq!(verdict("4.5", 1), Some(Verdict::NotApplicable), "fifo does not mark");
        assert_eq!(verdict("12", 1), Some(Verdict::NotApplicable), "fifo has no parameters");
        let page = std::fs::read_to_string(file).unwrap();
        assert!(card.sections.iter().all(|section| page.contains(&section.title)));
        assert_eq!(page.matches("<figure").count(), card.sections.len() - 1);
    }

    #[test]
    fn all_stands_for_those_that_need_no_parameters() {
        let all = subjects(&["all".to_owned(), "red".to_owned()], Talk::Quiet).unwrap();
        let labels: Vec<&str> = all.iter().map(Contestant::label).collect();
        assert!(labels.contains(&"fifo") && labels.contains(&"dualpi2"), "{labels:?}");
        assert_eq!(labels.iter().filter(|label| **label == "red").count(), 1);
        assert!(
            experiments(&rfc7928::GUIDE, &all).unwrap().len() > 40,
            "each with parameters has an experiment of its own"
        );
        for wrong in ["redd", "red:mxa=3", "red:min=-1", "mine.py"] {
            assert!(subjects(&[wrong.to_owned()], Talk::Quiet).is_err(), "{wrong}");
        }
    }
}
