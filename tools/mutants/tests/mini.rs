//! The tool from beginning to end, on a workspace of two small crates.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// What each file of the workspace holds.
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[workspace]\nresolver = '3'\nmembers = ['crates/*']\n"),
    (".gitignore", "/target\n"),
    ("crates/base/Cargo.toml", "[package]\nname = 'mini-base'\nversion = '0.0.0'\nedition = '2024'\n"),
    ("crates/base/src/lib.rs", "//! Nothing.\n"),
    (
        "crates/a/Cargo.toml",
        "[package]\nname = 'mini-a'\nversion = '0.0.0'\nedition = '2024'\n[dependencies]\nmini-base = { path = '../base' }\n",
    ),
    ("crates/a/src/lib.rs", SOURCE),
    ("crates/a/tests/outside.rs", "#[test]\nfn twice() {\n    assert_eq!(mini_a::twice(3), 6);\n}\n"),
    ("crates/a/tests/counted.rs", COUNTED),
];

/// A test that counts allocations, and the first that it does is to reach a change.
const COUNTED: &str = r"
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

struct Counted;

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

#[test]
fn small_numbers_take_no_memory() {
    let before = COUNT.get();
    let small = mini_a::is_small(3);
    assert_eq!((small, COUNT.get() - before), (true, 0));
}
";

const SOURCE: &str = r#"//! A few functions.

/// Held by a test.
pub fn is_small(n: u32) -> bool {
    n < 10
}

/// Held by a test outside.
pub fn twice(n: u32) -> u32 {
    n + n
}

/// Called by no test.
pub fn alone(n: u32) -> u32 {
    n - 1
}

/// Cannot be a difference.
pub fn greeting(name: &str) -> String {
    String::from("hello ") + name
}

/// Never ends when its step is left out.
pub fn count(n: u32) -> u32 {
    let mut i = 0;
    while i != n {
        i += 1;
    }
    i
}

#[cfg(test)]
mod tests {
    #[test]
    fn nine_is_small() {
        assert!(super::is_small(9) && !super::is_small(11));
    }

    #[test]
    fn counts() {
        assert_eq!(super::count(5), 5);
    }
}
"#;

fn git(root: &Path, arguments: &[&str]) {
    let names = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let done = Command::new("git").args(names).args(arguments).current_dir(root).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (file, text) in FILES {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let equivalent = "[[equivalent]]\nfile = 'crates/a/src/lib.rs'\nline = 'n < 10'\nchange = 'n < 10 -> n <= 10'\n\
                      reason = 'nobody asks about ten'\n\n[[equivalent]]\nfile = 'crates/a/src/lib.rs'\n\
                      line = 'n < 11'\nchange = 'n < 11 -> n <= 11'\nreason = 'gone'\n";
    fs::create_dir_all(root.path().join("tools/mutants")).unwrap();
    fs::write(root.path().join("tools/mutants/equivalent.toml"), equivalent).unwrap();
    git(root.path(), &["init", "--quiet"]);
    git(root.path(), &["add", "."]);
    git(root.path(), &["commit", "--quiet", "--message", "Begin"]);
    root
}

/// Runs the tool; what it wrote to standard output, and to standard error.
fn mutants(root: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mutants"));
    command.args(["--crate", "a", "--tests", "a", "--jobs", "2"]).args(arguments).current_dir(root);
    let done = command.env("CARGO_TARGET_DIR", "target").output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{error}");
    (out.into_owned(), error.into_owned())
}

fn fate<'a>(report: &'a serde_json::Value, change: &str) -> &'a serde_json::Value {
    report["mutants"].as_array().unwrap().iter().find(|one| one["change"] == change).unwrap()
}

#[test]
fn scores_every_change_of_a_small_crate() {
    let root = workspace();
    let (out, error) = mutants(root.path(), &["--shard", "1/1", "--json", "found.json"]);
    let text = fs::read_to_string(root.path().join("found.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    let named = |change: &str| fate(&report, change)["fate"].as_str().unwrap();

    assert_eq!(report["failing"], serde_json::json!([]), "the switch itself is not noticed");
    assert_eq!(named("n < 10 -> n >= 10"), "killed");
    assert_eq!(named("n < 10 -> n <= 10"), "equivalent");
    assert_eq!(named("n + n -> n - n"), "killed");
    assert_eq!(fate(&report, "n + n -> n - n")["test"], "a outside::twice");
    assert_eq!(named("i += 1; -> left out"), "late");
    assert_eq!(fate(&report, "n - 1 -> n + 1")["tests"], 0);
    let refused = report["mutants"].as_array().unwrap().iter().filter(|one| one["fate"] == "refused");
    assert_eq!(refused.map(|one| one["operator"].as_str().unwrap()).collect::<Vec<_>>(), ["AOR"]);

    assert!(out.contains("crates/a/src/lib.rs:15: n - 1 -> n + 1   [AOR "), "{out}");
    assert!(error.contains("this change no longer exists: ") && error.contains("n < 11 -> n <= 11"), "{error}");
    let original = fs::read_to_string(root.path().join("crates/a/src/lib.rs")).unwrap();
    assert_eq!(original, SOURCE, "the source itself stays as it is");
}

#[test]
fn looks_at_changed_lines_only() {
    let root = workspace();
    let path = root.path().join("crates/a/src/lib.rs");
    fs::write(&path, SOURCE.replace("n + n", "2 * n")).unwrap();
    let (out, _) = mutants(root.path(), &["--since", "HEAD", "--list"]);
    let mut lines: Vec<&str> = out.lines().map(|line| line.rsplit_once("   [").unwrap().0).collect();
    lines.sort_unstable();
    let at = |change: &str| format!("crates/a/src/lib.rs:10: {change}");
    assert_eq!(lines, [at("2 * n -> 2 / n"), at("2 -> 0"), at("2 -> 3"), at("2 -> 4")]);
}

#[test]
fn says_what_is_wrong_with_what_was_asked() {
    let root = workspace();
    let refuse = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mutants"));
        let done = command.args(["--tests", "a"]).args(arguments).current_dir(root.path()).output().unwrap();
        assert!(!done.status.success());
        String::from_utf8_lossy(&done.stderr).into_owned()
    };
    assert!(refuse(&["--crate", "z"]).contains("no crate \"z\" here; there are: a, base"));
    assert!(refuse(&["--path", "crates/a/src/none.rs"]).contains("no source of a crate lies there"));
    assert!(refuse(&["--crate", "a", "--shard", "5/4"]).contains("is no shard"));
    assert!(refuse(&["--crate", "a", "--shard", "1/4", "--sample", "8"]).contains("need a --seed"));
    assert!(refuse(&["--crate", "a", "--since", "nowhere"]).contains("git"));
}
