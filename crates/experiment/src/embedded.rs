//! The experiments and their data files as they were when the program was built; none without the feature `library`.

use std::path::Path;

#[cfg(feature = "library")]
use include_dir::{Dir, include_dir};

#[cfg(feature = "library")]
static TREE: Dir<'_> = include_dir!("$OUT_DIR/experiments");

/// A path with slashes on every system.
pub(super) fn slashed(path: &Path) -> String {
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// A file of the tree by its path below `experiments`.
#[cfg(feature = "library")]
pub(super) fn file(path: &Path) -> Option<&'static [u8]> {
    TREE.get_file(path).map(include_dir::File::contents)
}

/// The experiments of the tree: their paths below `experiments`, with slashes, and their texts.
#[cfg(feature = "library")]
pub(super) fn experiments() -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    list(&TREE, &mut found);
    found
}

#[cfg(feature = "library")]
fn list(directory: &Dir<'static>, found: &mut Vec<(String, &'static str)>) {
    for file in directory.files().filter(|f| f.path().extension().is_some_and(|e| e == "toml")) {
        found.push((slashed(file.path()), file.contents_utf8().unwrap_or_default()));
    }
    directory.dirs().for_each(|d| list(d, found));
}

#[cfg(not(feature = "library"))]
pub(super) fn file(_path: &Path) -> Option<&'static [u8]> {
    None
}

#[cfg(not(feature = "library"))]
pub(super) fn experiments() -> Vec<(String, &'static str)> {
    Vec::new()
}
