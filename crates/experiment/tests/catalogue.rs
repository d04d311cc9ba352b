//! Experiments in the directory `experiments` of the working directory are found by id or path. The only test of its
//! program, because it changes the working directory.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::Path;

use aqmkit_experiment::{CatalogueEntry, Experiment, Overrides, catalogue, find, library_files};

fn text(title: &str) -> String {
    format!("title = \"{title}\"\nduration = \"5s\"\n[topology]\nrate = \"10mbit\"\n[[traffic]]\nkind = \"bulk\"\n")
}

fn write(path: &str, text: &str) {
    fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn entry<'a>(all: &'a [CatalogueEntry], id: &str) -> Option<&'a CatalogueEntry> {
    all.iter().find(|entry| entry.id == id)
}

#[test]
fn experiments_are_found_in_the_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::env::set_current_dir(directory.path()).unwrap();
    write("experiments/own.toml", &text("Own"));
    write("experiments/study/deep/one.toml", &text("One"));
    write("experiments/study/notes.txt", &text("Not an experiment"));
    write("experiments/study/broken.toml", "title = ");
    write("experiments/published.csv", "own");
    write("experiments/study/deep/published.csv", "deep");
    write("elsewhere", &text("Without an ending"));
    let beside = tempfile::tempdir().unwrap();
    write(beside.path().join("far.toml").to_str().unwrap(), &text("Far"));
    #[cfg(unix)]
    std::os::unix::fs::symlink(".", "experiments/study/again").unwrap();

    let all = catalogue();
    let title = |id: &str| entry(&all, id).map(|found| found.title.as_str());
    assert_eq!((title("own"), title("study/deep/one")), (Some("Own"), Some("One")));
    assert!(title("study/broken").unwrap().starts_with("does not read: "), "{:?}", title("study/broken"));
    assert!(!all.iter().any(|found| found.id.contains("notes") || found.id.contains("again")), "{all:?}");
    assert_eq!(entry(&all, "own").unwrap().path.as_deref(), Some(Path::new("experiments/own.toml")));
    let ids: Vec<&str> = all.iter().map(|found| found.id.as_str()).collect();
    assert!(ids.is_sorted(), "{ids:?}");

    // By id, and by path with and without extension; the working directory takes precedence for ids.
    for (name, file, found) in [
        ("own", "experiments/own.toml", "Own"),
        ("study/deep/one", "experiments/study/deep/one.toml", "One"),
        ("experiments/own.toml", "experiments/own.toml", "Own"),
        ("elsewhere", "elsewhere", "Without an ending"),
        (beside.path().join("far.toml").to_str().unwrap(), beside.path().join("far.toml").to_str().unwrap(), "Far"),
    ] {
        assert_eq!(find(name).unwrap(), (file.to_owned(), text(found)), "{name}");
    }
    let message = find("study/deep/two").unwrap_err().in_one_line();
    assert!(
        message.contains("no experiment is called \"study/deep/two\"") && message.contains("study/deep/one"),
        "{message}"
    );
    let missing = find("none.toml").unwrap_err().in_one_line();
    assert!(missing.contains("none.toml cannot be read"), "{missing}");
    assert_eq!(Experiment::load("study/deep/one", &Overrides::default()).unwrap().id, "study/deep/one");

    // Files beside an experiment: the embedded one, then the directory's, then the experiment's, each once.
    let texts = |experiment| {
        let found = library_files("published.csv", experiment).unwrap();
        let own: Vec<String> = found.into_iter().map(|(_, text)| text).filter(|text| text.len() < 10).collect();
        own.join(" ")
    };
    assert_eq!(texts(None), "own");
    assert_eq!(texts(Some("experiments/study/deep/one.toml")), "own deep");
    assert_eq!(texts(Some("experiments/own.toml")), "own", "the same directory");
    assert!(library_files("none.csv", None).unwrap().is_empty());
    fs::remove_file("experiments/published.csv").unwrap();
    write("experiments/published.csv", "a\0b");
    assert!(library_files("published.csv", None).is_err(), "it is there and cannot be read");
    // Checks the directory first, then that the process can leave it.
    std::env::set_current_dir(beside.path()).unwrap();
    assert!(entry(&catalogue(), "own").is_none());
    std::env::set_current_dir("/").unwrap();
}
