//! Files that are replaced atomically.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Cause, ExportError};

/// Writes `path` through `fill`: into a temporary file beside it, which is renamed when everything is on the disk. The
/// data is synchronised first, because some disks report a lack of space only then.
///
/// # Errors
/// When `fill` fails or the file cannot be created; `path` is then unchanged.
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

/// A temporary file beside `path`.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".aqmkit-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(dir)
}

/// A temporary file that is renamed when it is complete. A path that exists and is not an ordinary file, such as a
/// pipe, is written to directly.
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
    /// Creates the temporary file for `path`.
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

    /// Renames the complete file to its path.
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

/// Replaces a file by `text` atomically: if it does not fit on the disk, the old file remains. A symbolic link to the
/// file remains a link.
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
