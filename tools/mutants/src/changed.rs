//! The lines that changed since a commit.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;

use crate::error::Result;
use crate::workspace::{Workspace, output};

/// For each file, the lines that are new or different, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    lines: BTreeMap<String, Vec<Range<usize>>>,
}

impl Changed {
    /// The differences between a commit and the files in the working tree, including untracked ones.
    pub fn since(workspace: &Workspace, commit: &str) -> Result<Self> {
        let git = |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&workspace.root));
        let diff = git(&[
            "-c",
            "core.quotepath=off",
            "diff",
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-renames",
            "--relative",
            "--dst-prefix=b/",
            commit,
            "--",
        ])?;
        let mut changed = Self::read(&diff);
        let new = git(&["ls-files", "-z", "--others", "--exclude-standard"])?;
        for file in new.split('\0').filter(|file| !file.is_empty()) {
            changed.lines.entry(file.to_owned()).or_default().push(1..usize::MAX);
        }
        Ok(changed)
    }

    /// Parses a diff without context lines.
    fn read(diff: &str) -> Self {
        let mut lines: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
        let mut file = None;
        // What a hunk still holds: lines of the source may look like headers.
        let mut left = 0;
        for line in diff.lines() {
            if left > 0 && line.starts_with(['+', '-']) {
                left -= 1;
            } else if let Some(name) = line.strip_prefix("+++ ") {
                file = name.strip_prefix("b/").map(|name| name.trim_end_matches('\t').to_owned());
            } else if let Some((old, new)) = hunk(line) {
                left = old.len() + new.len();
                if let (Some(file), false) = (&file, new.is_empty()) {
                    lines.entry(file.clone()).or_default().push(new);
                }
            }
        }
        Self { lines }
    }

    /// Whether a line of a file changed.
    pub fn has(&self, file: &str, line: usize) -> bool {
        self.lines.get(file).is_some_and(|ranges| ranges.iter().any(|range| range.contains(&line)))
    }
}

/// The lines of `@@ -10,2 +12,3 @@`, before and after.
fn hunk(line: &str) -> Option<(Range<usize>, Range<usize>)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let start: usize = start.parse().ok()?;
        Some(start..start + count.parse::<usize>().ok()?)
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_a_diff() {
        let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3 @@ fn f()\n-a\n-b\n+c\n@@ -9,0 +9,2 @@\n\
                    +++ b/not_a_file.rs\n+d\n--- a/y.rs\n+++ b/y.rs\n@@ -1 +0,0 @@\n-z\n--- a/w.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-w\n";
        let changed = Changed::read(diff);
        let lines: Vec<usize> = (0..20).filter(|line| changed.has("x.rs", *line)).collect();
        assert_eq!(lines, [3, 9, 10]);
        assert!(!changed.has("y.rs", 1) && !changed.has("not_a_file.rs", 1) && !changed.has("w.rs", 1));
    }

    #[test]
    fn what_is_no_hunk_is_none() {
        assert_eq!(hunk("@@ -3,2 +3 @@ fn f()"), Some((3..5, 3..4)));
        for line in ["@@ -x +3 @@", "@@ nothing", "+@@ -1 +1 @@"] {
            assert_eq!(hunk(line), None);
        }
    }
}
