//! The copy of the workspace in which the changes are made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::workspace::{SWITCH_CRATE, Workspace};

/// The highest number of changes that the switch supports.
pub const MOST: usize = 1 << 16;

/// A copy of a workspace.
///
/// Only files that differ are written, so that cargo builds only what changed since the last time.
#[derive(Debug)]
pub struct Tree {
    /// The copy's directory.
    pub root: PathBuf,
    /// Where cargo builds it.
    pub built: PathBuf,
    /// The original contents of the files that differ in the copy.
    files: Vec<String>,
}

impl Tree {
    /// Copies `workspace` to `directory` and adds the switch.
    pub fn copy(workspace: &Workspace, directory: &Path) -> Result<Self> {
        let root = directory.join("tree");
        let files = workspace.files()?;
        let tree = Self { root, built: directory.join("build"), files };
        fs::create_dir_all(&tree.root).map_err(Error::file(&tree.root))?;
        tree.remove_what_is_gone()?;
        Ok(tree)
    }

    /// Updates every file: as in the workspace, or as in `rewritten`.
    pub fn write(&self, workspace: &Workspace, rewritten: &BTreeMap<String, String>) -> Result<()> {
        let switched = format!("crates/{SWITCH_CRATE}/src/lib.rs");
        for file in &self.files {
            if workspace.root.join(file).is_symlink() {
                link(&workspace.root.join(file), &self.root.join(file))?;
                continue;
            }
            let text = match rewritten.get(file) {
                Some(text) => text.clone().into_bytes(),
                None => {
                    let path = workspace.root.join(file);
                    fs::read(&path).map_err(Error::file(&path))?
                }
            };
            let text = if *file == switched { with_switch(workspace, text)? } else { text };
            write_if_different(&workspace.root.join(file), &self.root.join(file), &text)?;
        }
        let module = self.root.join(format!("crates/{SWITCH_CRATE}/src/mutant_switch.rs"));
        write_if_different(&module, &module, include_bytes!("switch.rs"))
    }

    /// Removes files of the copy that no longer exist in the workspace, except for those of cargo and the switch.
    fn remove_what_is_gone(&self) -> Result<()> {
        let wanted: BTreeSet<PathBuf> = self.files.iter().map(|file| self.root.join(file)).collect();
        let own = [format!("crates/{SWITCH_CRATE}/src/mutant_switch.rs"), "Cargo.lock".to_owned()];
        let own: Vec<PathBuf> = own.iter().map(|file| self.root.join(file)).collect();
        let mut directories = vec![self.root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).map_err(Error::file(&directory))? {
                let entry = entry.map_err(Error::file(&directory))?;
                let path = entry.path();
                if entry.file_type().map_err(Error::file(&path))?.is_dir() {
                    directories.push(path);
                } else if !wanted.contains(&path) && !own.contains(&path) {
                    fs::remove_file(&path).map_err(Error::file(&path))?;
                }
            }
        }
        Ok(())
    }
}

/// The root module of the crate that contains the switch, extended by the switch and by a name under which the crate itself finds it.
fn with_switch(workspace: &Workspace, mut text: Vec<u8>) -> Result<Vec<u8>> {
    let name = workspace.named(SWITCH_CRATE)?.package.replace('-', "_");
    text.extend_from_slice(
        format!("\nextern crate self as {name};\n#[doc(hidden)]\npub mod mutant_switch;\n").as_bytes(),
    );
    Ok(text)
}

/// Makes a link like `from`: a crate may take its files from elsewhere in the workspace.
fn link(from: &Path, to: &Path) -> Result<()> {
    let target = fs::read_link(from).map_err(Error::file(from))?;
    if fs::read_link(to).is_ok_and(|there| there == target) {
        return Ok(());
    }
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    if to.is_symlink() || to.is_file() {
        fs::remove_file(to).map_err(Error::file(to))?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&target, to).map_err(Error::file(to))?;
    Ok(())
}

fn write_if_different(from: &Path, to: &Path, text: &[u8]) -> Result<()> {
    if fs::read(to).is_ok_and(|there| there == text) {
        return Ok(());
    }
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    fs::write(to, text).map_err(Error::file(to))?;
    // Scripts stay executable.
    if let Ok(metadata) = fs::metadata(from) {
        fs::set_permissions(to, metadata.permissions()).map_err(Error::file(to))?;
    }
    Ok(())
}
