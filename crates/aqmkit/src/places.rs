//! Checks whether arguments name the same file. An output replaces an existing file, so it must not be an input.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// A file named by an argument.
pub(super) struct Place<'a> {
    /// The argument as written.
    pub(super) argument: &'static str,
    pub(super) path: &'a Path,
    /// Device and inode number of the file, if it exists.
    file: Option<(u64, u64)>,
    /// The canonical path; the file itself need not exist.
    at: Option<PathBuf>,
}

impl<'a> Place<'a> {
    /// The file with this path.
    pub(super) fn of(argument: &'static str, path: &'a Path) -> Self {
        let about = path.metadata().ok();
        // A device such as /dev/null may be used for several outputs.
        if about.as_ref().is_some_and(is_device) {
            return Place { argument, path, file: None, at: None };
        }
        let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let at = directory.canonicalize().ok().and_then(|d| Some(d.join(path.file_name()?)));
        Place { argument, path, file: about.as_ref().and_then(number), at }
    }

    /// The file that standard input is redirected from, if any.
    pub(super) fn standard_input(path: &'a Path) -> Self {
        let about = standard_input().and_then(|file| file.metadata());
        let file = about.ok().filter(Metadata::is_file).as_ref().and_then(number);
        Place { argument: "the capture", path, file, at: None }
    }

    /// Whether both arguments name the same file, which need not exist.
    pub(super) fn is(&self, other: &Place<'_>) -> bool {
        (self.file.is_some() && self.file == other.file) || (self.at.is_some() && self.at == other.at)
    }
}

/// Standard input as a file.
///
/// # Errors
/// When it is closed.
pub(super) fn standard_input() -> io::Result<File> {
    #[cfg(unix)]
    let input = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let input = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    input.map(File::from)
}

/// Device and inode number of a file on Unix; on other systems only paths are compared.
#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have none")]
fn number(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn number(_about: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Whether it is a character device.
#[cfg(unix)]
fn is_device(about: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&about.file_type())
}

#[cfg(not(unix))]
fn is_device(_about: &Metadata) -> bool {
    false
}
