//! One build that contains every change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::draw::Mutant;
use crate::error::{Error, Result};
use crate::rewrite::{Placed, rewrite};
use crate::tree::Tree;
use crate::workspace::{Workspace, cargo};

/// The result of the build.
#[derive(Debug)]
pub struct Built {
    /// The changes that compile, as indices into the list, in ascending order.
    pub kept: Vec<usize>,
    /// Those that do not compile, up to the last one that does.
    pub refused: Vec<usize>,
    /// The artifacts that cargo built.
    pub artifacts: Vec<Artifact>,
}

/// An artifact, as in cargo's JSON messages.
#[derive(Clone, Debug, Deserialize)]
pub struct Artifact {
    /// The manifest of its package.
    pub manifest_path: PathBuf,
    /// Its target.
    pub target: Target,
    /// The profile.
    pub profile: Profile,
    /// The executable, if it is one.
    pub executable: Option<PathBuf>,
}

/// The target of an artifact.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its kinds.
    pub kind: Vec<String>,
}

/// The profile of an artifact.
#[derive(Clone, Debug, Deserialize)]
pub struct Profile {
    /// Whether it was built for tests.
    pub test: bool,
}

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

/// The messages of one run of cargo.
struct Said {
    ok: bool,
    errors: Vec<Message>,
    artifacts: Vec<Artifact>,
    stderr: String,
}

/// Compiles changes in the order of the list until `wanted` of them compile, then the tests of some crates.
///
/// This takes several rounds, because the compiler does not report all errors at once; `progress` is called in each.
pub fn build(
    workspace: &Workspace,
    tree: &Tree,
    mutants: &[Mutant],
    wanted: usize,
    tests: &[String],
    progress: &dyn Fn(&str),
) -> Result<Built> {
    let packages = packages(workspace, mutants.iter().map(|mutant| mutant.crate_name.as_str()))?;
    let mut sources = Sources::new(workspace, tree, mutants)?;
    let mut refused = BTreeSet::new();
    // Some more than wanted, since some will not compile.
    let mut tried = mutants.len().min(wanted + wanted / 6 + 4);
    loop {
        let kept: Vec<usize> = (0..tried).filter(|i| !refused.contains(i)).collect();
        sources.write(&kept)?;
        progress(&format!("checking that {} changes compile", kept.len()));
        let said = run_cargo(tree, "check", &packages, &["--keep-going"])?;
        if !said.ok {
            refused.extend(sources.guilty(&kept, &said)?);
        } else if kept.len() < wanted && tried < mutants.len() {
            tried = mutants.len().min(tried + wanted - kept.len() + 4);
        } else {
            break;
        }
    }
    let tests = self::packages(workspace, tests.iter().map(String::as_str))?;
    loop {
        let kept: Vec<usize> = (0..tried).filter(|i| !refused.contains(i)).take(wanted).collect();
        sources.write(&kept)?;
        progress(&format!("building the tests with {} changes", kept.len()));
        let said = run_cargo(tree, "test", &tests, &["--no-run", "--tests"])?;
        if said.ok {
            let end = if kept.len() < wanted { tried } else { kept.last().map_or(0, |last| last + 1) };
            let refused = refused.into_iter().filter(|i| *i < end).collect();
            return Ok(Built { kept, refused, artifacts: said.artifacts });
        }
        refused.extend(sources.guilty(&kept, &said)?);
    }
}

/// The number of the `i`th change of the list in the switch.
pub fn id(i: usize) -> u32 {
    u32::try_from(i + 1).unwrap_or(u32::MAX)
}

/// The packages of some crates, without duplicates.
fn packages<'a>(workspace: &Workspace, crates: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let names: BTreeSet<&str> = crates.collect();
    names.into_iter().map(|name| Ok(workspace.named(name)?.package.clone())).collect()
}

/// The files that contain changes.
struct Sources<'a> {
    workspace: &'a Workspace,
    tree: &'a Tree,
    mutants: &'a [Mutant],
    switch: String,
    texts: BTreeMap<&'a str, String>,
    placed: BTreeMap<&'a str, Vec<Placed>>,
}

impl<'a> Sources<'a> {
    fn new(workspace: &'a Workspace, tree: &'a Tree, mutants: &'a [Mutant]) -> Result<Self> {
        let mut texts = BTreeMap::new();
        for mutant in mutants {
            if !texts.contains_key(mutant.file.as_str()) {
                let path = workspace.root.join(&mutant.file);
                texts.insert(mutant.file.as_str(), fs::read_to_string(&path).map_err(Error::file(&path))?);
            }
        }
        Ok(Self { workspace, tree, mutants, switch: workspace.switch()?, texts, placed: BTreeMap::new() })
    }

    /// Writes the copy with these changes.
    fn write(&mut self, kept: &[usize]) -> Result<()> {
        let mut of_files: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for i in kept {
            let mutant = &self.mutants[*i];
            of_files.entry(&mutant.file).or_default().push((id(*i), &mutant.place));
        }
        let mut rewritten = BTreeMap::new();
        self.placed.clear();
        for (file, changes) in of_files {
            let (text, placed) = rewrite(&self.texts[file], &self.switch, &changes);
            rewritten.insert(file.to_owned(), text);
            self.placed.insert(file, placed);
        }
        self.tree.write(self.workspace, &rewritten)
    }

    /// The changes that cause the compiler's errors.
    ///
    /// # Errors
    /// When an error is caused by none of them.
    fn guilty(&self, kept: &[usize], said: &Said) -> Result<BTreeSet<usize>> {
        let mut guilty = BTreeSet::new();
        for error in &said.errors {
            let about = self.about(error);
            if about.is_empty() && !error.spans.is_empty() && kept.is_empty() {
                return Err(Error::command("cargo", error.rendered.as_deref().unwrap_or_default()));
            }
            guilty.extend(about);
        }
        if guilty.is_empty() {
            let texts: Vec<&str> = said.errors.iter().filter_map(|error| error.rendered.as_deref()).collect();
            let text = if texts.is_empty() { said.stderr.clone() } else { texts.join("\n") };
            return Err(Error::command("cargo", &text));
        }
        Ok(guilty)
    }

    /// The changes that cause one error: those at whose new text it points, or else those around the place it points at, or else
    /// those of the function around that place.
    fn about(&self, error: &Message) -> BTreeSet<usize> {
        let pointed: Vec<(&Span, &Vec<Placed>)> =
            error.spans.iter().filter_map(|span| Some((span, self.placed.get(span.file_name.as_str())?))).collect();
        let select = |primary: bool, part: Part| {
            let mut hit: Vec<&Placed> = Vec::new();
            for (span, placed) in pointed.iter().filter(|(span, _)| span.is_primary == primary) {
                let touched = placed.iter().filter(|placed| touches(part(placed), span));
                // The innermost: what lies around it may well compile.
                let least = touched.clone().map(|one| part(one).len()).min();
                hit.extend(touched.filter(|one| Some(part(one).len()) == least));
            }
            hit.into_iter().map(|placed| index(placed.id)).collect::<BTreeSet<usize>>()
        };
        let attempts: [(bool, Part); 4] =
            [(true, |p| &p.instead), (true, |p| &p.whole), (false, |p| &p.instead), (false, |p| &p.whole)];
        for (primary, part) in attempts {
            let found = select(primary, part);
            if !found.is_empty() {
                return found;
            }
        }
        self.in_the_function(&pointed)
    }

    fn in_the_function(&self, pointed: &[(&Span, &Vec<Placed>)]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for (span, placed) in pointed {
            let nearest = placed.iter().min_by_key(|placed| placed.whole.start.abs_diff(span.byte_start));
            if let Some(nearest) = nearest {
                let function = &self.mutants[index(nearest.id)].place.function;
                let same = placed.iter().filter(|one| self.mutants[index(one.id)].place.function == *function);
                found.extend(same.map(|one| index(one.id)));
            }
        }
        found
    }
}

/// Selects the new text of a change, or the whole switched expression.
type Part = fn(&Placed) -> &Range<usize>;

fn index(id: u32) -> usize {
    id as usize - 1
}

fn touches(range: &Range<usize>, span: &Span) -> bool {
    span.byte_start < range.end && range.start < span.byte_end.max(span.byte_start + 1)
}

/// Runs cargo in the copy.
fn run_cargo(tree: &Tree, what: &str, packages: &[String], arguments: &[&str]) -> Result<Said> {
    let mut command = Command::new(cargo());
    command.current_dir(&tree.root).arg(what).arg("--message-format=json").args(arguments);
    for package in packages {
        command.args(["--package", package]);
    }
    command
        .env("CARGO_TARGET_DIR", &tree.built)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        // Built once, run thousands of times.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "2")
        // A change may leave something unused, or divide by a constant zero: that is no reason not to compile it.
        .env("RUSTFLAGS", "--cap-lints=allow");
    let failed = |error: std::io::Error| Error::command(&format!("cargo {what}"), &error.to_string());
    let done = command.output().map_err(failed)?;
    let mut said = Said {
        ok: done.status.success(),
        errors: Vec::new(),
        artifacts: Vec::new(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    };
    for text in String::from_utf8_lossy(&done.stdout).lines() {
        let Ok(line) = serde_json::from_str::<Line>(text) else { continue };
        match (line.reason.as_str(), line.message) {
            ("compiler-message", Some(message)) if message.level == "error" => said.errors.push(message),
            ("compiler-artifact", _) => said.artifacts.extend(serde_json::from_str(text)),
            _ => {}
        }
    }
    Ok(said)
}
