//! `scoreboard`: counts the verdicts stored with the experiments and writes the counts into documents.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use aqmkit_experiment::{Experiment, Overrides, Problem, Scale, catalogue};
use aqmkit_files::{bounded, full, put};
use aqmkit_lab::{LabError, library};
use aqmkit_report::markdown;
use aqmkit_report::scoreboard::lines;
use aqmkit_report::studies::studies;
use aqmkit_report::terminal::{self, Screen};
use aqmkit_results::Results;
use aqmkit_study::verdict::unjudged;

use super::args;
use super::documents::regenerate;
use super::fail::{Failure, wrong};
use super::rerun;
use super::say;

/// The directory of experiments that are compared with live runs rather than published values.
const LIVE: &str = "live/";

/// `aqmkit scoreboard`.
///
/// # Errors
/// When an experiment or its stored verdicts are invalid, a document refers to an unknown count or, with `--check`,
/// contains another value.
pub(super) fn scoreboard(args: &args::Scoreboard) -> Result<(), Failure> {
    let documents: Vec<&Path> = args.update.iter().chain(&args.check).map(AsRef::as_ref).collect();
    if documents.is_empty() {
        let shown = stored_verdicts(args.scale.into())?;
        let refs: Vec<&Results> = shown.iter().collect();
        let text = if args.json {
            let (sources, all) = lines(&refs);
            serde_json::to_string_pretty(
                &serde_json::json!({ "sources": sources, "all": all, "studies": studies(&refs) }),
            )?
        } else {
            terminal::scoreboard(&refs, true, Screen::of_stdout())
        };
        return Ok(say::print(&text)?);
    }
    let read = |path: &Path| bounded::text(path, &bounded::DOCUMENT);
    let texts = documents.iter().map(|path| read(path).map_err(|e| Problem::from(e).right("name a document")));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let both = [stored_verdicts(Scale::Quick)?, stored_verdicts(Scale::Full)?];
    let mut old = Vec::new();
    for (path, text) in documents.into_iter().zip(texts) {
        let new = regenerate(&text, |name| match name.split_once(' ') {
            Some((rerun::NAME, what)) => rerun::table(what),
            _ => markdown::number(name, &both[0], &both[1]),
        });
        let new = new
            .or_else(|e| wrong(format!("{}: {e}", path.display()), format!("{}; {}", markdown::KNOWN, rerun::KNOWN)))?;
        if new == text {
            continue;
        }
        old.push(path.display().to_string());
        if args.check.is_empty() {
            put(path, &new).map_err(|e| LabError::unwritten(&e, full::FILE, "it is a file"))?;
        }
    }
    match (old.is_empty(), args.check.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => Ok(say::print(&format!("Updated: {}", old.join(", ")))?),
        (false, false) => {
            say::message(&format!(
                "error: {} has numbers that differ from those kept beside the experiments\n  aqmkit scoreboard \
                 --update writes them again",
                old.join(", ")
            ));
            Err(Failure::Missed)
        }
    }
}

/// The stored verdicts on the claims of every experiment, at a scale.
fn stored_verdicts(scale: Scale) -> Result<Vec<Results>, Failure> {
    let records = library::records()?;
    let null_test = library::null_test(None)?;
    // Read only once per directory, because that takes the most time.
    let mut published = BTreeMap::new();
    let mut all = Vec::new();
    for id in catalogue().into_iter().map(|e| e.id).filter(|id| !id.starts_with(LIVE)) {
        let exp = Experiment::load(&id, &Overrides { scale, ..Overrides::default() })?;
        let directory = Path::new(&exp.file).parent().map(Path::to_owned);
        let values = match published.entry(directory) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => unread.insert(library::published(&exp)?),
        };
        let mut expectations: Vec<_> = exp.expects.iter().map(|e| unjudged(e, values)).collect();
        null_test.mark(scale, &exp.id, &mut expectations);
        records.restore(scale.name(), &exp.id, &mut expectations);
        all.push(Results {
            experiment: exp.id,
            title: exp.title,
            source: exp.source,
            scale: scale.name().to_owned(),
            expectations,
            tables: exp.tables,
            ..Results::default()
        });
    }
    Ok(all)
}
