//! Which file an argument names: what is written takes the place of what was there, and must not be what is read.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A file that an argument names.
pub(super) struct Place<'a> {
    /// How the argument is written.
    pub(super) argument: &'static str,
    pub(super) path: &'a Path,
    /// Device and number of the file, where there is one.
    file: Option<(u64, u64)>,
    /// Where a file of this name is, or would be: its directory without detours, and its name in there.
    at: Option<PathBuf>,
}

impl<'a> Place<'a> {
    /// The file that the argument names by its path.
    pub(super) fn of(argument: &'static str, path: &'a Path) -> Self {
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
    pub(super) fn standard_input(path: &'a Path) -> Self {
        let about = io::stdin().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
        let file = about.ok().filter(std::fs::Metadata::is_file).map(|m| (m.dev(), m.ino()));
        Place { argument: "the capture", path, file, at: None }
    }

    /// Whether both name one file, there or not.
    pub(super) fn is(&self, other: &Place<'_>) -> bool {
        (self.file.is_some() && self.file == other.file) || (self.at.is_some() && self.at == other.at)
    }
}
