//! Lists the possible changes and draws a sample.

use std::fs;
use std::path::Path;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::changed::Changed;
use crate::error::{Error, Result};
use crate::places::{Place, places, test_modules};
use crate::workspace::Workspace;

/// A possible change.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The name of its crate.
    pub crate_name: String,
    /// Its file, relative to the root.
    pub file: String,
    /// The line where it begins, without surrounding spaces.
    pub source: String,
    /// Its place in the file, and the replacement.
    pub place: Place,
}

/// A shard: `2/4` is every fourth change, starting with the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of the shard, from 1.
    pub part: usize,
    /// The number of shards.
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("{text:?} is no shard: write 1/4 for the first of four");
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        let (part, of) = (part.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if (1..=of).contains(&part) { Ok(Self { part, of }) } else { Err(wrong()) }
    }
}

impl Shard {
    /// The number of changes in this shard, out of `whole`.
    pub fn share(self, whole: usize) -> usize {
        (whole + self.of - self.part) / self.of
    }
}

/// Every possible change in the sources of these crates and under these paths, in the order of the files.
pub fn mutants(workspace: &Workspace, crates: &[String], paths: &[String]) -> Result<Vec<Mutant>> {
    for name in crates {
        workspace.named(name)?;
    }
    let files = workspace.files()?;
    let sources: Vec<&String> =
        files.iter().filter(|file| file.ends_with(".rs") && source_of(file).is_some()).collect();
    let paths: Vec<Part> = paths.iter().map(|path| Part::of(path)).collect();
    if let Some(nothing) = paths.iter().find(|part| !sources.iter().any(|file| lies_in(file, part.path))) {
        return Err(Error::Asked(format!("{}: no source of a crate lies there", nothing.path)));
    }
    let of_crates = |file: &str| source_of(file).is_some_and(|name| crates.iter().any(|one| one == name));
    let wanted = |file: &str| of_crates(file) || paths.iter().any(|part| lies_in(file, part.path));
    let wanted: Vec<&String> = sources.into_iter().filter(|file| wanted(file)).collect();
    let mut texts = Vec::new();
    let mut for_tests = Vec::new();
    for file in wanted {
        let path = workspace.root.join(file);
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let unread =
            |error: syn::Error| Error::Asked(format!("{file}:{}: this is no Rust: {error}", error.span().start().line));
        for_tests.extend(test_modules(&text).map_err(unread)?.iter().map(|module| below(file, module)));
        texts.push((file, text));
    }
    let mut found = Vec::new();
    for (file, text) in texts {
        if !for_tests.iter().any(|module| lies_in(file, module) || *file == format!("{module}.rs")) {
            let asked = |line| of_crates(file) || paths.iter().any(|part| part.holds(file, line));
            found.extend(of_file(file, &text)?.into_iter().filter(|mutant| asked(mutant.place.line)));
        }
    }
    Ok(found)
}

/// The argument of `--path`: a directory, a file, or one line of a file.
struct Part<'a> {
    path: &'a str,
    line: Option<usize>,
}

impl<'a> Part<'a> {
    fn of(path: &'a str) -> Self {
        let line = path.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
        line.map_or(Part { path, line: None }, |(path, line)| Part { path, line: Some(line) })
    }

    fn holds(&self, file: &str, line: usize) -> bool {
        lies_in(file, self.path) && self.line.is_none_or(|one| one == line)
    }
}

/// The possible changes of one file.
fn of_file(file: &str, text: &str) -> Result<Vec<Mutant>> {
    let lines: Vec<&str> = text.lines().collect();
    let crate_name = source_of(file).unwrap_or_default();
    let found = places(text).map_err(|error| Error::Asked(format!("{file}: this is no Rust: {error}")))?;
    Ok(found
        .into_iter()
        .map(|place| Mutant {
            crate_name: crate_name.to_owned(),
            file: file.to_owned(),
            source: lines.get(place.line - 1).map_or("", |line| line.trim()).to_owned(),
            place,
        })
        .collect())
}

/// The crate to which a source file belongs.
fn source_of(file: &str) -> Option<&str> {
    let (name, rest) = file.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// Whether a file has this path or is below it.
fn lies_in(file: &str, path: &str) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path of a module that a file declares, without extension.
fn below(file: &str, module: &str) -> String {
    let path = Path::new(file);
    let directory = path.parent().unwrap_or(Path::new(""));
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let directory = if matches!(stem, "lib" | "main" | "mod") { directory.to_owned() } else { directory.join(stem) };
    format!("{}/{module}", directory.display())
}

/// Keeps the changes that begin on a line that differs from the commit.
pub fn only_changed(mutants: &mut Vec<Mutant>, changed: &Changed) {
    mutants.retain(|mutant| changed.has(&mutant.file, mutant.place.line));
}

/// Shuffles the changes with a seed; shards are taken from this order.
pub fn draw(mut mutants: Vec<Mutant>, seed: u64, shard: Option<Shard>) -> Vec<Mutant> {
    mutants.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    match shard {
        None => mutants,
        Some(shard) => mutants.into_iter().skip(shard.part - 1).step_by(shard.of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_parts_of_a_whole() {
        let shard: Shard = "2/4".parse().unwrap();
        assert_eq!(shard, Shard { part: 2, of: 4 });
        for wrong in ["0/4", "5/4", "1", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let shares: Vec<usize> = (1..=4).map(|part| Shard { part, of: 4 }.share(10)).collect();
        assert_eq!(shares, [3, 3, 2, 2]);
    }

    #[test]
    fn shards_divide_what_one_seed_draws() {
        let all = of_file("crates/a/src/lib.rs", "fn f() { g = [1, 2, 3, 4, 5, 6, 7] }").unwrap();
        let names = |mutants: Vec<Mutant>| mutants.into_iter().map(|m| m.place.change).collect::<Vec<_>>();
        let whole = names(draw(all.clone(), 7, None));
        let mut parts: Vec<_> =
            (1..=3).flat_map(|part| names(draw(all.clone(), 7, Some(Shard { part, of: 3 })))).collect();
        assert_ne!(whole, names(draw(all.clone(), 8, None)));
        let mut sorted = whole;
        sorted.sort();
        parts.sort();
        assert_eq!(sorted, parts);
    }

    #[test]
    fn a_module_lies_beside_or_below_its_file() {
        assert_eq!(below("crates/a/src/lib.rs", "tests"), "crates/a/src/tests");
        assert_eq!(below("crates/a/src/b/mod.rs", "tests"), "crates/a/src/b/tests");
        assert_eq!(below("crates/a/src/b.rs", "tests"), "crates/a/src/b/tests");
    }

    #[test]
    fn a_path_is_a_file_or_a_directory() {
        assert!(lies_in("crates/a/src/b.rs", "crates/a/src/b.rs") && lies_in("crates/a/src/b.rs", "./crates/a/"));
        assert!(!lies_in("crates/ab/src/b.rs", "crates/a"));
        assert_eq!(source_of("crates/a/src/b/c.rs"), Some("a"));
        assert_eq!(source_of("crates/a/tests/b.rs"), None);
    }

    #[test]
    fn a_path_may_end_in_a_line() {
        let part = Part::of("crates/a/src/b.rs:7");
        assert!(part.holds("crates/a/src/b.rs", 7) && !part.holds("crates/a/src/b.rs", 8));
        assert!(Part::of("crates/a/src").holds("crates/a/src/b.rs", 8));
    }

    #[test]
    fn only_lines_that_changed() {
        let mut all = of_file("crates/a/src/lib.rs", "fn f() {\n 1;\n 2;\n}").unwrap();
        only_changed(&mut all, &Changed::default());
        assert!(all.is_empty());
    }
}
