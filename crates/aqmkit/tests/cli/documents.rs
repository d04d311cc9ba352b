//! Checks verdicts quoted in the project's documents, and the pages that these refer to.

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// README and the pages of the studies quote exactly the verdicts stored beside the experiments.
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
    pages.extend(["docs/gallery.md", "docs/guide/reproduce.md"].map(|page| root.join(page)));
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

/// The pages in a directory and its subdirectories.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => pages(&path),
            false => Vec::from_iter(path.extension().is_some_and(|e| e == "md").then_some(path)),
        })
        .collect()
}

/// `llms.txt` describes the product, and links to every page of the site.
#[test]
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn language_models_find_every_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(summary) = std::fs::read_to_string(root.join("docs/SUMMARY.md")) else {
        eprintln!("skipped: this is not the repository");
        return;
    };
    let output = Command::new(root.join("scripts/llms")).arg("https://example.org/").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("# aqmkit\n\n> ") && text.contains("bufferbloat"), "{text}");
    let links: Vec<&str> = text.lines().filter(|line| line.starts_with("- [")).collect();
    assert_eq!(links.len(), summary.lines().filter(|line| line.trim_start().starts_with("- [")).count());
    for link in ["docs/guide/play.html", "docs/disciplines/red.html", "experiments/cbt/index.html", "CHANGELOG.html"] {
        assert!(text.contains(&format!("](https://example.org/{link})")), "{link}: {text}");
    }
    assert!(!text.contains(".md)"), "{text}");
}

/// The site's table of contents and its gallery list exactly the existing pages and pictures.
#[test]
#[allow(clippy::print_stderr, reason = "a test that skips says so")]
fn the_summary_names_every_page_and_the_gallery_every_picture() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let Ok(summary) = std::fs::read_to_string(docs.join("SUMMARY.md")) else {
        eprintln!("skipped: this is not the repository");
        return;
    };
    let named: Vec<PathBuf> = summary
        .split("](")
        .skip(1)
        .map(|rest| docs.join(rest.split(')').next().unwrap()))
        .map(|page| page.canonicalize().unwrap_or_else(|_| panic!("SUMMARY.md names {}", page.display())))
        .collect();
    let mut there = pages(&docs);
    there.extend(pages(&docs.join("../experiments")));
    assert!(there.len() > 40, "{there:?}");
    for page in there.iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(named.contains(&page.canonicalize().unwrap()), "docs/SUMMARY.md leaves out {}", page.display());
    }
    let gallery = std::fs::read_to_string(docs.join("gallery.md")).unwrap();
    for entry in std::fs::read_dir(&docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            !name.ends_with(".png") || gallery.contains(&format!("]({name})")),
            "docs/gallery.md leaves out {name}"
        );
    }
}
