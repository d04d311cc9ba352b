//! The workspace under test: its crates and files.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::error::{Error, Result};

/// The directory under the root that holds the crates.
const CRATES: &str = "crates";

/// The crate on which every other depends; the switch is added to it.
pub const SWITCH_CRATE: &str = "base";

/// A workspace.
#[derive(Clone, Debug)]
pub struct Workspace {
    /// Its directory.
    pub root: PathBuf,
    /// Its crates, sorted by name.
    pub crates: Vec<Crate>,
}

/// A crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crate {
    /// The name of its directory under `crates`.
    pub name: String,
    /// The package's name.
    pub package: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

impl Workspace {
    /// Reads the workspace at `root`.
    pub fn open(root: &Path) -> Result<Self> {
        let root = root.canonicalize().map_err(Error::file(root))?;
        let metadata =
            output(Command::new(cargo()).args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(&root))?;
        let metadata: Metadata = serde_json::from_str(&metadata)
            .map_err(|error| Error::Asked(format!("cargo described the workspace in an unknown way: {error}")))?;
        let mut crates: Vec<Crate> = metadata
            .packages
            .into_iter()
            .filter_map(|package| {
                let directory = package.manifest_path.parent()?;
                let inside = directory.strip_prefix(root.join(CRATES)).ok()?;
                Some(Crate { name: inside.to_str()?.to_owned(), package: package.name })
            })
            .collect();
        crates.sort();
        let workspace = Self { root, crates };
        workspace.named(SWITCH_CRATE)?;
        Ok(workspace)
    }

    /// The crate with this name.
    pub fn named(&self, name: &str) -> Result<&Crate> {
        self.crates.iter().find(|one| one.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.crates.iter().map(|one| one.name.as_str()).collect();
            Error::Asked(format!("{}: no crate {name:?} here; there are: {}", self.root.display(), names.join(", ")))
        })
    }

    /// The Rust path of the switch function.
    pub fn switch(&self) -> Result<String> {
        let package = &self.named(SWITCH_CRATE)?.package;
        Ok(format!("::{}::mutant_switch::is", package.replace('-', "_")))
    }

    /// Every file that git tracks or would add, relative to the root, sorted.
    pub fn files(&self) -> Result<Vec<String>> {
        let mut command = Command::new("git");
        command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&self.root);
        let listed = output(&mut command)?;
        let mut files: Vec<String> = listed
            .split('\0')
            .filter(|file| !file.is_empty() && (self.root.join(file).is_file() || self.root.join(file).is_symlink()))
            .map(str::to_owned)
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The commit that is checked out; empty where there is none.
    pub fn commit(&self) -> String {
        let mut command = Command::new("git");
        command.args(["rev-parse", "--short", "HEAD"]).current_dir(&self.root);
        output(&mut command).map(|commit| commit.trim().to_owned()).unwrap_or_default()
    }
}

/// The command that builds.
pub(crate) fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Runs a command and returns its output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let written = format!("{command:?}").replace('"', "");
    let done = command.output().map_err(|error| Error::command(&written, &error.to_string()))?;
    if !done.status.success() {
        return Err(Error::command(&written, &String::from_utf8_lossy(&done.stderr)));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
