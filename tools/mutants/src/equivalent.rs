//! Equivalent changes: changes that no test could notice, listed with the reason.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::draw::Mutant;
use crate::error::{Error, Result};

/// A change without any observable effect.
///
/// It is identified by the text of its line instead of the line number, so that it remains valid when the file changes elsewhere. Without
/// line and change it stands for every change of the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Equivalent {
    /// The file, relative to the root.
    pub file: String,
    /// The line on which the change begins, without surrounding spaces.
    pub line: Option<String>,
    /// The change, as printed in the list of survivors.
    pub change: Option<String>,
    /// Why it has no observable effect.
    pub reason: String,
}

/// The list of equivalent changes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Equivalents {
    #[serde(default)]
    equivalent: Vec<Equivalent>,
}

impl Equivalents {
    /// Reads the list; it is empty if the file does not exist.
    pub fn open(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Self::read(&text).map_err(|error| Error::Asked(format!("{}: {error}", path.display()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::file(path)(error)),
        }
    }

    fn read(text: &str) -> std::result::Result<Self, String> {
        let list: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        match list.equivalent.iter().find(|one| one.reason.trim().is_empty()) {
            Some(one) => Err(format!("{} has no reason", one.name())),
            None => match list.equivalent.iter().find(|one| one.line.is_some() != one.change.is_some()) {
                Some(one) => {
                    Err(format!("{} needs both a line and a change, or neither for the whole file", one.name()))
                }
                None => Ok(list),
            },
        }
    }

    /// The entry for a change.
    pub fn of(&self, mutant: &Mutant) -> Option<&Equivalent> {
        self.equivalent.iter().find(|one| one.is(mutant))
    }

    /// Stale entries: those whose file or line no longer exists in the workspace at `root`, and those whose line has changes in
    /// `all`, but not this one.
    pub fn stale<'a>(&'a self, root: &'a Path, all: &'a [Mutant]) -> impl Iterator<Item = &'a Equivalent> {
        self.equivalent.iter().filter(move |one| {
            let mut changes = all.iter().filter(|mutant| one.is_on_line_of(mutant)).peekable();
            let other_change = changes.peek().is_some() && !changes.any(|mutant| one.is(mutant));
            other_change || !one.line_is_in(root)
        })
    }
}

impl Equivalent {
    /// The file and the change, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}: {}", self.file, self.change.as_deref().unwrap_or("every change"))
    }

    fn is(&self, mutant: &Mutant) -> bool {
        self.is_on_line_of(mutant) && self.change.as_ref().is_none_or(|change| *change == mutant.place.change)
    }

    fn is_on_line_of(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.line.as_ref().is_none_or(|line| *line == mutant.source)
    }

    fn line_is_in(&self, root: &Path) -> bool {
        let text = fs::read_to_string(root.join(&self.file));
        text.is_ok_and(|text| self.line.as_ref().is_none_or(|wanted| text.lines().any(|line| line.trim() == wanted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::places;

    fn mutant(file: &str, text: &str) -> Mutant {
        let place = places(text).unwrap().remove(0);
        Mutant { crate_name: "a".to_owned(), file: file.to_owned(), source: text.trim().to_owned(), place }
    }

    const LIST: &str = "[[equivalent]]\nfile = 'crates/a/src/b.rs'\nline = 'fn f() { a + b }'\n\
                        change = 'a + b -> a - b'\nreason = 'b is zero'\n";

    #[test]
    fn is_found_by_what_stands_there() {
        let list = Equivalents::read(LIST).unwrap();
        let same = mutant("crates/a/src/b.rs", "  fn f() { a + b }");
        assert_eq!(list.of(&same).unwrap().reason, "b is zero");
    }

    #[test]
    fn is_stale_when_the_line_or_its_change_is_gone() {
        let list = Equivalents::read(LIST).unwrap();
        let root = tempfile::tempdir().unwrap();
        let stale = |all: &[Mutant]| list.stale(root.path(), all).count();
        assert_eq!(stale(&[]), 1, "there is no such file");
        let file = root.path().join("crates/a/src/b.rs");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "\n  fn f() { a + b }\n").unwrap();
        let same = mutant("crates/a/src/b.rs", "  fn f() { a + b }");
        let elsewhere = mutant("crates/a/src/b.rs", "fn f() { a + c }");
        assert_eq!(stale(&[]), 0, "the line is there, and nobody looked at its changes");
        assert_eq!(
            (stale(std::slice::from_ref(&same)), stale(&[elsewhere.clone(), same.clone()]), stale(&[elsewhere])),
            (0, 0, 0)
        );
        let mut other = same;
        other.place.change = "a + b -> a * b".to_owned();
        assert_eq!(stale(&[other]), 1, "the line has another change only");
        fs::write(&file, "fn f() { a + c }\n").unwrap();
        assert_eq!(stale(&[]), 1, "the line is gone");
    }

    #[test]
    fn a_whole_file_may_be_listed() {
        let list = "[[equivalent]]\nfile = 'crates/a/src/b.rs'\nreason = 'it only fetches'\n";
        let file = Equivalents::read(list).unwrap();
        for text in ["fn f() { a + b }", "fn g() { a && b }"] {
            assert_eq!(file.of(&mutant("crates/a/src/b.rs", text)).unwrap().name(), "crates/a/src/b.rs: every change");
            assert!(file.of(&mutant("crates/a/src/c.rs", text)).is_none());
        }
        let root = tempfile::tempdir().unwrap();
        assert_eq!(file.stale(root.path(), &[]).count(), 1, "there is no such file");
        let half = LIST.replace("line = 'fn f() { a + b }'\n", "");
        assert!(Equivalents::read(&half).unwrap_err().contains("both a line and a change"));
    }

    #[test]
    fn needs_a_reason_and_known_keys() {
        assert!(Equivalents::read(&LIST.replace("b is zero", " ")).unwrap_err().contains("no reason"));
        assert!(Equivalents::read(&LIST.replace("reason", "because")).is_err());
        assert!(Equivalents::read("").unwrap() == Equivalents::default());
    }
}
