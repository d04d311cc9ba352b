//! The experiments and their data files as they were when the program was built; empty without the feature `library`.

use std::path::Path;

#[cfg(feature = "library")]
use aqmkit_files::packed::Packed;

#[cfg(feature = "library")]
static TREE: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/experiments.packed")));

/// The path with slashes on all systems.
pub(super) fn slashed(path: &Path) -> String {
    path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// A file of the tree by its path below `experiments`.
#[cfg(feature = "library")]
pub(super) fn file(path: &Path) -> Option<&'static [u8]> {
    TREE.get(&slashed(path))
}

/// The experiments of the tree: their paths below `experiments`, with slashes, and their texts.
#[cfg(feature = "library")]
pub(super) fn experiments() -> Vec<(String, &'static str)> {
    let experiments = TREE.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "toml"));
    experiments.map(|(path, text)| (path.to_owned(), str::from_utf8(text).unwrap_or_default())).collect()
}

#[cfg(not(feature = "library"))]
pub(super) fn file(_path: &Path) -> Option<&'static [u8]> {
    None
}

#[cfg(not(feature = "library"))]
pub(super) fn experiments() -> Vec<(String, &'static str)> {
    Vec::new()
}
