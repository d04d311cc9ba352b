//! `reproduce --null`: finds claims that hold even without the scheme under study.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use aqmkit_experiment::{Catalogues, Experiment, Overrides, Scale};
use aqmkit_lab::library::{self, Directory};
use aqmkit_lab::null_test::{self, FOLDER};
use aqmkit_report::terminal::{Screen, drawn, head, number};
use aqmkit_results::WithoutScheme;
use aqmkit_study::null_test::{Outcome, Outcomes};
use comfy_table::{Cell, CellAlignment};

use super::args;
use super::fail::Failure;
use super::perform::{Bars, jobs};
use super::progress::Talk;
use super::remaining::Remaining;
use super::say;
use super::stop::listen;

/// Runs the null test on these experiments, at their scale.
///
/// # Errors
/// When an experiment is invalid, a run failed, or with `--check` an outcome differs from the stored one.
pub(super) fn reproduce(
    experiments: &[Experiment],
    args: &args::Reproduce,
    catalogues: &Catalogues,
    talk: Talk,
) -> Result<(), Failure> {
    let directory = args.record.as_deref().map(Directory::open).transpose()?;
    listen()?;
    let claiming: Vec<&Experiment> = experiments.iter().filter(|exp| !exp.expects.is_empty()).collect();
    let tested: Vec<Tested<'_>> =
        claiming.into_iter().map(|exp| Tested::of(exp, args, catalogues)).collect::<Result<_, _>>()?;
    let each: Vec<(&Experiment, &Path)> = tested.iter().map(|one| (&one.without, one.apart.as_path())).collect();
    let bars = Bars { talk, remaining: Remaining::of(&each) };
    let mut outcomes = Vec::new();
    for one in &tested {
        bars.remaining.next_experiment();
        outcomes.extend(one.outcomes(args, &bars)?);
    }
    let scale = experiments.first().map_or(Scale::Quick, |exp| exp.scale);
    let ids: Vec<&str> = experiments.iter().map(|exp| exp.id.as_str()).collect();
    let found = Outcomes::of(&outcomes);
    if args.json {
        say::print(&serde_json::to_string_pretty(&outcomes)?)?;
    } else {
        say::print(&table(&outcomes))?;
    }
    if let Some(directory) = directory {
        return Ok(directory.record_null_test(scale, &ids, found)?);
    }
    if args.check { compare(&library::null_test(None)?.only(scale, &ids), &found) } else { Ok(()) }
}

/// An experiment with and without its scheme.
struct Tested<'a> {
    exp: &'a Experiment,
    without: Experiment,
    /// The results directories of both.
    dir: PathBuf,
    apart: PathBuf,
}

impl<'a> Tested<'a> {
    fn of(exp: &'a Experiment, args: &args::Reproduce, catalogues: &Catalogues) -> Result<Tested<'a>, Failure> {
        let overrides = Overrides { scale: exp.scale, without_scheme: true, ..Overrides::default() };
        // Embedded experiments have no file.
        let name = if Path::new(&exp.file).is_file() { &exp.file } else { &exp.id };
        let without = Experiment::load_with(name, &overrides, catalogues)?;
        let dir = args.out.join(&exp.id);
        Ok(Tested { exp, without, apart: dir.join(FOLDER), dir })
    }

    /// Executes the runs without the scheme; returns the outcome of each claim.
    fn outcomes(&self, args: &args::Reproduce, bars: &Bars) -> Result<Vec<Outcome>, Failure> {
        let workspace = bars.workspace(&self.dir, jobs(args.jobs));
        Ok(null_test::outcomes(self.exp, &self.without, workspace)?)
    }
}

/// A table that counts, for each experiment, the claims that hold without the scheme and those that do not; and a list
/// of the former.
fn table(outcomes: &[Outcome]) -> String {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut met: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for outcome in outcomes {
        let place = match outcome.without_scheme {
            WithoutScheme::Missed => 0,
            WithoutScheme::Met => 1,
            WithoutScheme::NoScheme | WithoutScheme::NotTried => 2,
        };
        counts.entry(&outcome.experiment).or_default()[place] += 1;
        if outcome.without_scheme == WithoutScheme::Met {
            met.entry(&outcome.experiment).or_default().push(&outcome.id);
        }
    }
    let mut lines = Screen::of_stdout().table();
    let right =
        ["missed without it", "also met without it", "no scheme involved"].map(|n| head(n, CellAlignment::Right));
    lines.set_header(std::iter::once(head("claims of", CellAlignment::Left)).chain(right));
    let mut all = [0; 3];
    for (experiment, count) in &counts {
        lines.add_row(std::iter::once(Cell::new(experiment)).chain(count.map(number)));
        all.iter_mut().zip(count).for_each(|(sum, one)| *sum += one);
    }
    lines.add_row(std::iter::once(Cell::new("all")).chain(all.map(number)));
    let listed: Vec<_> = met.iter().map(|(experiment, ids)| format!("{experiment}: {}", ids.join(", "))).collect();
    let listed = if listed.is_empty() {
        String::new()
    } else {
        format!("\nMet without the scheme too:\n{}\n", listed.join("\n"))
    };
    format!("{}\n{listed}", drawn(lines))
}

/// Compares outcomes with the stored ones.
fn compare(kept: &Outcomes, found: &Outcomes) -> Result<(), Failure> {
    let (kept, found) = (kept.list(), found.list());
    let mut differ: Vec<String> = Vec::new();
    let told = |o: &Outcome, which: &str| {
        format!("{} {} (claim {}): {which} {:?}", o.experiment, o.id, o.claim, o.without_scheme)
    };
    differ.extend(found.iter().filter(|o| !kept.contains(o)).map(|o| told(o, "found")));
    differ.extend(kept.iter().filter(|o| !found.contains(o)).map(|o| told(o, "kept ")));
    if differ.is_empty() {
        return Ok(());
    }
    differ.sort();
    say::message(&format!(
        "{}\nerror: null-test.csv differs from the outcome of the null test\n  aqmkit reproduce --null --record \
         experiments writes it again",
        differ.join("\n")
    ));
    Err(Failure::Missed)
}
