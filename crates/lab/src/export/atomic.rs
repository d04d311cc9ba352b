//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::error::{Cause, ExportError};

/// Writes `path` through `fill`: into a new file beside it, which takes its place when all went well.
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
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".aqmkit-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(dir)?;
    let mut out = BufWriter::new(file.as_file());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
