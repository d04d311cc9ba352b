//! That a replay reads and writes different files.
//!
//! What is written takes the place of what was there at the end, so the capture would be lost.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::cli::args::wire;
use crate::cli::fail::{Failure, wrong};

/// A file that an argument names.
struct Place<'a> {
    /// How the argument is written.
    argument: &'static str,
    path: &'a Path,
    /// Device and number of the file, where there is one.
    file: Option<(u64, u64)>,
    /// Where a file of this name is, or would be: its directory without detours, and its name in there.
    at: Option<PathBuf>,
}

impl<'a> Place<'a> {
    fn of(argument: &'static str, path: &'a Path) -> Self {
        let about = path.metadata().ok();
        // A device, such as /dev/null, takes what two write to it.
        if about.as_ref().is_some_and(|m| m.file_type().is_char_device()) {
            return Place { argument, path, file: None, at: None };
        }
        let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let at = directory.canonicalize().ok().and_then(|d| Some(d.join(path.file_name()?)));
        Place { argument, path, file: about.map(|m| (m.dev(), m.ino())), at }
    }

    /// What standard input is, which may be a file as well.
    fn standard_input(path: &'a Path) -> Self {
        let about = io::stdin().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
        let file = about.ok().filter(std::fs::Metadata::is_file).map(|m| (m.dev(), m.ino()));
        Place { argument: "the capture", path, file, at: None }
    }

    fn is(&self, other: &Place<'_>) -> bool {
        (self.file.is_some() && self.file == other.file) || (self.at.is_some() && self.at == other.at)
    }
}

/// Refuses to write over the capture, or two files into one; and to write to standard output, where the summary is.
///
/// # Errors
/// When two arguments name one file, or one names `-`.
pub(super) fn are_apart(args: &wire::Replay) -> Result<(), Failure> {
    let outputs = [("--out", &args.out), ("--fates", &args.fates)];
    let outputs: Vec<_> = outputs.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    if let Some((name, _)) = outputs.iter().find(|(_, path)| *path == Path::new("-")) {
        return wrong(
            format!("{name} - is no file, and standard output is for the summary"),
            "name a file; ./- is one that is called so",
        );
    }
    if let Some((name, path)) = outputs.iter().find(|(_, path)| path.is_dir()) {
        return wrong(format!("{} is a directory", path.display()), format!("name a file with {name}"));
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
                format!(
                    "{} would be written over {}: {name} names the same file",
                    place.path.display(),
                    other.argument
                ),
                format!("choose another file with {name}"),
            );
        }
        places.push(place);
    }
    Ok(())
}
