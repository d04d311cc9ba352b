//! What the tool keeps about the workspace that it is part of.

use std::path::Path;

use mutants::cli::CHANGED;
use mutants::draw::mutants;
use mutants::equivalent::Equivalents;
use mutants::workspace::Workspace;

fn house() -> Workspace {
    Workspace::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the workspace")
}

#[test]
fn every_equivalent_change_is_still_there() {
    let workspace = house();
    let crates: Vec<String> = workspace.crates.iter().map(|one| one.name.clone()).collect();
    let all = mutants(&workspace, &crates, &[]).expect("sources");
    let list = Equivalents::open(&workspace.root.join("tools/mutants/equivalent.toml")).expect("the list");
    let stale: Vec<_> = list.stale(&workspace.root, &all).collect();
    assert!(stale.is_empty(), "{stale:#?}");
}

#[test]
fn the_crates_that_are_changed_by_default_exist() {
    let workspace = house();
    for name in CHANGED {
        assert!(workspace.named(name).is_ok(), "{name}");
    }
}
