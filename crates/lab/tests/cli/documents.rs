//! What the project's own documents say of verdicts.

use std::path::Path;

use assert_cmd::Command;

/// README and the studies' pages quote the verdicts that are kept beside the experiments, and nothing else.
#[test]
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn documents_have_the_numbers_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join("experiments/published.csv").is_file() {
        eprintln!("skipped: this is not the repository");
        return;
    }
    let mut pages: Vec<_> = std::fs::read_dir(root.join("experiments"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("README.md"))
        .filter(|page| page.is_file())
        .collect();
    pages.push(root.join("README.md"));
    assert!(pages.len() > 5, "{pages:?}");
    let mut command = Command::cargo_bin("aqmkit").unwrap();
    let output = command
        .current_dir(&root)
        .env_remove("AQMKIT_EXPERIMENTS")
        .args(["scoreboard", "--check"])
        .args(&pages)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
