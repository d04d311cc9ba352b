//! The runtime directory of sockets and records.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, fstat, open};

use crate::user::outside;

/// The environment variable that overrides the directory.
pub const DIRECTORY: &str = "AQMKIT_RUNTIME_DIR";

/// The directory of root.
pub const OF_ROOT: &str = "/run/aqmkit";

/// The runtime directory: `$AQMKIT_RUNTIME_DIR`; otherwise `/run/aqmkit` for root and `$XDG_RUNTIME_DIR/aqmkit` for
/// other users. Root in a user namespace that does not own `/run` counts as another user.
#[must_use]
pub fn directory() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    if let Some(directory) = named(DIRECTORY) {
        return directory;
    }
    let user = rustix::process::geteuid();
    if user.is_root() && std::fs::metadata("/run").is_ok_and(|run| run.uid() == 0) {
        return OF_ROOT.into();
    }
    let fallback = || std::env::temp_dir().join(format!("aqmkit-{}", outside(user.as_raw()).unwrap_or(user.as_raw())));
    named("XDG_RUNTIME_DIR").map_or_else(fallback, |directory| directory.join("aqmkit"))
}

/// Creates the directory if it is missing.
///
/// # Errors
/// When it cannot be created, or is not safe ([`is_safe`]).
pub fn prepare(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    is_safe(directory)
}

/// Checks that no other user can have written to a directory: it is not a symbolic link, belongs to this user, and is
/// writable by this user only.
///
/// # Errors
/// Why the directory is unsafe, or that it does not exist.
pub fn is_safe(directory: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let about = fstat(open(directory, flags, Mode::empty())?)?;
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if about.st_uid != rustix::process::geteuid().as_raw() {
        return refused(format!("the directory belongs to user {}", about.st_uid));
    }
    if about.st_mode & 0o022 != 0 {
        return refused("others may write to the directory".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_others_can_fill_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("a/b");
        prepare(&own).unwrap();
        assert_eq!(std::fs::metadata(&own).unwrap().mode() & 0o777, 0o700);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        assert!(prepare(&link).is_err(), "a symbolic link");
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(prepare(&own).unwrap_err().to_string().contains("others may write"));
        std::fs::set_permissions(&own, PermissionsExt::from_mode(0o700)).unwrap();
        // Only root may chown.
        if std::os::unix::fs::chown(&own, Some(65534), None).is_ok() {
            assert!(prepare(&own).unwrap_err().to_string().contains("belongs to user 65534"));
        }
    }
}
