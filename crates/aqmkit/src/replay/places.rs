//! Checks that a replay reads and writes different files.

use std::path::Path;

use crate::args::wire;
use crate::fail::{Failure, wrong};
use crate::places::Place;

/// Rejects arguments that would overwrite the capture, write two outputs to one file, or write to standard output,
/// which has the summary.
///
/// # Errors
/// When two arguments name one file, or one names `-`.
pub(super) fn check_distinct(args: &wire::Replay) -> Result<(), Failure> {
    let outputs = [("--out", &args.out), ("--fates", &args.fates)];
    let outputs: Vec<_> = outputs.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    if let Some((name, _)) = outputs.iter().find(|(_, path)| *path == Path::new("-")) {
        return wrong(
            format!("{name} - is not possible: standard output is for the summary"),
            "give a file name (./- is a file named -)",
        );
    }
    if let Some((name, path)) = outputs.iter().find(|(_, path)| path.is_dir()) {
        return wrong(format!("{} is a directory", path.display()), format!("give a file with {name}"));
    }
    let input = match args.input.as_path() {
        dash if dash == Path::new("-") => Place::standard_input(dash),
        path => Place::of("the capture", path),
    };
    let mut places = vec![input];
    for (name, path) in outputs {
        let place = Place::of(name, path);
        if let Some(other) = places.iter().find(|p| p.is(&place)) {
            return wrong(
                format!("{} would overwrite {}: {name} is the same file", place.path.display(), other.argument),
                format!("choose another file with {name}"),
            );
        }
        places.push(place);
    }
    Ok(())
}
