//! `diff`: compares two directories of results.

use std::path::Path;

use aqmkit_report::difference::differences;
use aqmkit_report::terminal::Screen;
use aqmkit_results::Results;
use aqmkit_runs::store::{Parameters, Store};

use super::args::files::Diff;
use super::fail::Failure;
use super::say;

/// `aqmkit diff`.
///
/// # Errors
/// When a directory holds no results.
pub(super) fn diff(args: &Diff) -> Result<(), Failure> {
    let (before, old) = stored(&args.before)?;
    let (after, new) = stored(&args.after)?;
    let mut text = String::new();
    for (what, a, b) in [("experiment", &before.title, &after.title), ("version", &before.version, &after.version)] {
        if a != b {
            text += &format!("{what}: {a} before, {b} after\n");
        }
    }
    text += &parameters(&old, &new);
    if before.hash == after.hash {
        text += "Both have the same inputs, hence the same runs.\n";
    }
    text += &differences(&before, &after, args.all, Screen::of_stdout());
    Ok(say::print(&text)?)
}

fn stored(dir: &Path) -> Result<(Results, Parameters), Failure> {
    let store = Store::existing(dir)?;
    let parameters = store.parameters().unwrap_or_default();
    Ok((store.results()?.results, parameters))
}

/// The parameters that differ, one per line.
fn parameters(before: &Parameters, after: &Parameters) -> String {
    let mut text = String::new();
    for (label, old) in before {
        let Some(new) = after.get(label) else { continue };
        for (name, value) in old {
            match new.iter().find(|(other, _)| other == name) {
                Some((_, other)) if other != value => {
                    text += &format!("{label}: {name} = {value} before, {other} after\n");
                }
                _ => {}
            }
        }
    }
    text
}
