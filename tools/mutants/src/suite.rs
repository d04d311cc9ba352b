//! The tests, their durations, and the changes that each reaches.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::compile::Artifact;
use crate::error::{Error, Result};
use crate::parallel::in_parallel;
use crate::process::{End, run};
use crate::tree::Tree;
use crate::workspace::output;

/// The time limit of a test without a change.
const LONGEST: Duration = Duration::from_secs(900);

/// A test binary.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The name of its crate.
    pub crate_name: String,
    /// Its name: that of the crate for unit tests, otherwise that of the file.
    pub name: String,
    program: PathBuf,
    directory: PathBuf,
    variables: Vec<(String, PathBuf)>,
}

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// The index of its binary in the list.
    pub binary: usize,
    /// Its name.
    pub name: String,
    /// Its duration.
    pub takes: Duration,
    /// The numbers of the changes that it reaches, sorted.
    pub reaches: Vec<u32>,
}

/// Every test that passes without a change.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The programs.
    pub binaries: Vec<Binary>,
    /// The tests.
    pub tests: Vec<Test>,
    /// Tests that fail even without a change, and are therefore left out.
    pub failing: Vec<String>,
}

impl Binary {
    /// The command for one test, or with other `arguments`.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        // The same random cases each time, none kept, and no search for a smaller one.
        command
            .env("PROPTEST_RNG_SEED", "1")
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .env("INSTA_UPDATE", "no")
            .env("RUST_BACKTRACE", "0")
            .env_remove("AQMKIT_MUTANT")
            .env_remove("AQMKIT_MUTANTS_REACHED");
        command
    }

    fn names(&self, more: &[&str]) -> Result<Vec<String>> {
        let listed = output(self.command().args(["--list", "--format", "terse"]).args(more))?;
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs one test with change `id` active.
    pub fn run(&self, test: &str, id: u32, limit: Duration) -> Result<End> {
        let mut command = self.command();
        command.args([test, "--exact"]).env("AQMKIT_MUTANT", id.to_string());
        Ok(run(&mut command, limit).map_err(Error::file(&self.program))?.0)
    }
}

impl Suite {
    /// Runs every test once without a change, and records the changes that it reaches.
    pub fn record(
        tree: &Tree,
        artifacts: &[Artifact],
        notes: &Path,
        jobs: usize,
        done: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self> {
        let binaries = binaries(tree, artifacts);
        let mut names = Vec::new();
        for (i, binary) in binaries.iter().enumerate() {
            let ignored = binary.names(&["--ignored"])?;
            names.extend(binary.names(&[])?.into_iter().filter(|name| !ignored.contains(name)).map(|name| (i, name)));
        }
        fs::create_dir_all(notes).map_err(Error::file(notes))?;
        let count = names.len();
        let results = in_parallel(jobs, names, |at, (binary, name)| {
            done(at, count);
            let note = notes.join(format!("{at}.txt"));
            record_one(&binaries[*binary], *binary, name, &note)
        });
        let mut suite = Self { binaries, tests: Vec::new(), failing: Vec::new() };
        for result in results {
            let (end, test) = result?;
            match end {
                End::Passed => suite.tests.push(test),
                End::Failed | End::Late => suite.failing.push(suite.title(&test)),
            }
        }
        Ok(suite)
    }

    /// The full name of a test, with its crate and binary.
    pub fn title(&self, test: &Test) -> String {
        let binary = &self.binaries[test.binary];
        format!("{} {}::{}", binary.crate_name, binary.name, test.name)
    }

    /// The tests that reach a change: those of its own crate first, then those of the other crates in their
    /// order; fast ones first.
    pub fn reaching(&self, id: u32, own: &str, order: &[String]) -> Vec<&Test> {
        let mut tests: Vec<&Test> = self.tests.iter().filter(|test| test.reaches.binary_search(&id).is_ok()).collect();
        tests.sort_by_key(|test| {
            let name = &self.binaries[test.binary].crate_name;
            (name != own, order.iter().position(|one| one == name), test.takes)
        });
        tests
    }
}

/// Runs one test without a change.
fn record_one(binary: &Binary, at: usize, name: &str, note: &Path) -> Result<(End, Test)> {
    fs::write(note, "").map_err(Error::file(note))?;
    let mut command = binary.command();
    command.args([name, "--exact"]).env("AQMKIT_MUTANTS_REACHED", note);
    let (end, takes) = run(&mut command, LONGEST).map_err(Error::file(&binary.program))?;
    let text = fs::read_to_string(note).map_err(Error::file(note))?;
    fs::remove_file(note).map_err(Error::file(note))?;
    let mut reaches: Vec<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    reaches.sort_unstable();
    reaches.dedup();
    Ok((end, Test { binary: at, name: name.to_owned(), takes, reaches }))
}

/// The test binaries among the artifacts.
fn binaries(tree: &Tree, artifacts: &[Artifact]) -> Vec<Binary> {
    let mut programs: BTreeMap<&Path, Vec<(String, PathBuf)>> = BTreeMap::new();
    for artifact in artifacts.iter().filter(|one| !one.profile.test && one.target.kind.iter().any(|k| k == "bin")) {
        if let Some(program) = &artifact.executable {
            let variable = (format!("CARGO_BIN_EXE_{}", artifact.target.name), program.clone());
            programs.entry(&artifact.manifest_path).or_default().push(variable);
        }
    }
    let tests = artifacts.iter().filter(|artifact| artifact.profile.test);
    tests
        .filter_map(|artifact| {
            let directory = artifact.manifest_path.parent()?;
            let crate_name = directory.strip_prefix(tree.root.join("crates")).ok()?.to_str()?.to_owned();
            let mut variables = programs.get(artifact.manifest_path.as_path()).cloned().unwrap_or_default();
            variables.push(("INSTA_WORKSPACE_ROOT".to_owned(), tree.root.clone()));
            Some(Binary {
                crate_name,
                name: artifact.target.name.clone(),
                program: artifact.executable.clone()?,
                directory: directory.to_owned(),
                variables,
            })
        })
        .collect()
}
