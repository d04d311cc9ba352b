//! Files embedded in a program: a build script compresses a directory into a single file with [`pack`], and the program
//! includes it as a [`Packed`].
//!
//! ```no_run
//! // build.rs
//! aqmkit_files::packed::pack("pages".as_ref(), &std::path::Path::new(&std::env::var_os("OUT_DIR").unwrap()).join("pages.packed")).unwrap();
//! ```
//!
//! ```ignore
//! static PAGES: Packed = Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/pages.packed")));
//! ```
//!
//! The packed file is a zstd stream of the files in the order of their paths: for each, length of the path, path,
//! length of the contents, contents. Lengths are 32-bit little-endian integers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

/// Higher levels save no more than a seventh for the files of this project, and make build scripts, which are not
/// optimised, slow.
const LEVEL: i32 = 9;

/// Writes all files below a directory to one packed file. A missing directory counts as empty.
///
/// # Errors
/// When a file cannot be read or written, has a path that is not Unicode, or has 4 GiB or more.
pub fn pack(directory: &Path, packed: &Path) -> io::Result<()> {
    let mut files = BTreeMap::new();
    if directory.is_dir() {
        collect(directory, "", &mut files)?;
    }
    let mut stream = zstd::Encoder::new(fs::File::create(packed)?, LEVEL)?;
    for (path, contents) in &files {
        for part in [path.as_bytes(), contents] {
            let length = u32::try_from(part.len()).map_err(io::Error::other)?;
            stream.write_all(&length.to_le_bytes())?;
            stream.write_all(part)?;
        }
    }
    stream.finish().map(drop)
}

fn collect(directory: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            return Err(io::Error::other(format!("{} is not Unicode", entry.path().display())));
        };
        let path = format!("{below}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// A packed file embedded in the program. It is unpacked on first use, and stays in memory.
#[derive(Debug)]
pub struct Packed {
    packed: &'static [u8],
    files: OnceLock<BTreeMap<String, Vec<u8>>>,
}

impl Packed {
    /// The contents of a file that [`pack`] wrote.
    #[must_use]
    pub const fn new(packed: &'static [u8]) -> Packed {
        Packed { packed, files: OnceLock::new() }
    }

    /// The contents of a file, by its path below the packed directory, with slashes on every system.
    ///
    /// # Panics
    /// When the packed file was not written by [`pack`].
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files().get(path).map(Vec::as_slice)
    }

    /// All files with their paths, sorted by path.
    ///
    /// # Panics
    /// When the packed file was not written by [`pack`].
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files().iter().map(|(path, contents)| (path.as_str(), contents.as_slice()))
    }

    fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        self.files.get_or_init(|| unpack(self.packed).expect("a build script packed these files"))
    }
}

/// The files of a packed file; `None` if it was not written by [`pack`].
fn unpack(packed: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let stream = zstd::decode_all(packed).ok()?;
    let mut rest = stream.as_slice();
    let mut files = BTreeMap::new();
    while !rest.is_empty() {
        let path = String::from_utf8(part(&mut rest)?.to_vec()).ok()?;
        files.insert(path, part(&mut rest)?.to_vec());
    }
    Some(files)
}

/// Removes a length and as many bytes from the front of `rest`, and returns the bytes.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let there = tempfile::tempdir().unwrap();
        let tree = there.path().join("tree");
        for (path, contents) in files {
            let file = tree.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, contents).unwrap();
        }
        let to = there.path().join("tree.packed");
        pack(&tree, &to).unwrap();
        fs::read(to).unwrap()
    }

    #[test]
    fn files_come_out_as_they_went_in() {
        let long: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
        let files: [(&str, &[u8]); 4] = [("a.txt", b"text"), ("b/c/d", &long), ("b/empty", b""), ("e", b"\0\xff")];
        let bytes = packed(&files);
        assert!(bytes.len() < 10_000, "{} bytes", bytes.len());
        let packed = Packed::new(bytes.leak());
        assert_eq!(packed.iter().collect::<Vec<_>>(), files);
        assert_eq!(packed.get("b/c/d"), Some(long.as_slice()));
        assert_eq!(packed.get("b/c"), None);
    }

    #[test]
    fn a_directory_that_is_not_there_has_no_files() {
        let packed = Packed::new(packed(&[]).leak());
        assert_eq!(packed.iter().count(), 0);
    }

    #[test]
    fn other_bytes_are_told_from_packed_ones() {
        assert!(unpack(b"not packed").is_none());
        let cut = zstd::encode_all([9_u8, 0, 0, 0, b'a'].as_slice(), LEVEL).unwrap();
        assert!(unpack(&cut).is_none());
    }
}
