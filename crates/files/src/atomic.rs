//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Cause, ExportError};

/// Writes `path` through `fill`: into a new file beside it, which takes its place when all of it is on the disk. Some disks find
/// out only then that there is no room.
///
/// # Errors
/// When `fill` fails or the file cannot be made; `path` is then as it was.
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Cause>,
) -> Result<(), ExportError> {
    try_write(path, fill).map_err(|cause| ExportError::new(path, cause))
}

fn try_write(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> Result<(), Cause>) -> Result<(), Cause> {
    let file = beside(path)?;
    let mut out = BufWriter::new(file.as_file());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// A new file beside `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".aqmkit-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(dir)
}

/// A file that grows beside its place, and takes it at the end. What is there already and no ordinary file, such as
/// a pipe, is written to as it is.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    file: Place,
}

#[derive(Debug)]
enum Place {
    Beside(NamedTempFile),
    Itself(File),
}

impl Temporary {
    /// A file that will be at `path`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn beside(path: &Path) -> Result<Self, ExportError> {
        let special = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
        let file = match special {
            true => File::options().write(true).open(path).map(Place::Itself),
            false => beside(path).map(Place::Beside),
        };
        let file = file.map_err(|error| ExportError::new(path, error))?;
        Ok(Temporary { path: path.to_owned(), file })
    }

    /// The end: it is at its place now.
    ///
    /// # Errors
    /// When it cannot be put there.
    pub fn take_its_place(self) -> Result<(), ExportError> {
        match self.file {
            Place::Itself(_) => Ok(()),
            Place::Beside(file) => {
                let kept = file.as_file().sync_all().and_then(|()| Ok(file.persist(&self.path)?));
                kept.map(|_| ()).map_err(|e| ExportError::new(&self.path, e))
            }
        }
    }
}

/// Puts `text` into a file, whole or not at all: one that does not fit on the disk leaves what was there. Where a link leads to the file, the link stays.
///
/// # Errors
/// When it cannot be written.
pub fn put(path: &Path, text: &str) -> Result<(), ExportError> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut file = Temporary::beside(&place)?;
    file.write_all(text.as_bytes()).map_err(|error| ExportError::new(path, error))?;
    file.take_its_place()
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Place::Beside(file) => file.write(bytes),
            Place::Itself(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Place::Beside(file) => file.flush(),
            Place::Itself(file) => file.flush(),
        }
    }
}
