//! Checks the examples in the document of the format.

use aqmkit_experiment::{Experiment, Overrides, catalogue};

use super::{SMALL, parse};

/// The TOML blocks of the document; the first one is a complete experiment.
fn blocks() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/experiment-format.md");
    let text = std::fs::read_to_string(path).expect("the document is there");
    text.split("```toml\n").skip(1).map(|b| b.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_example_of_the_document_is_an_experiment() {
    let experiment = parse(&blocks()[0]).unwrap_or_else(|e| panic!("{}", super::rendered(&e)));
    assert_eq!(experiment.axes.len(), 3);
    for run in experiment.plan().iter().step_by(4) {
        run.scenario().unwrap();
    }
}

#[test]
fn a_claim_of_an_equation_is_read_as_in_the_document() {
    let blocks = blocks();
    let formula = blocks.iter().find(|b| b.contains("[[expect]]") && b.contains("formula")).unwrap();
    let text = format!("title = \"Equations\"\n{formula}");
    assert_eq!(parse(&text).unwrap().expects[0].id, "CBT-T4.3-TCP-Th");
}

#[test]
fn a_prediction_is_read_as_in_the_document() {
    let blocks = blocks();
    let line = blocks.iter().find(|b| b.contains("[[predict]]")).unwrap();
    let read = parse(&format!("{SMALL}{line}")).unwrap_or_else(|e| panic!("{}", super::rendered(&e)));
    assert_eq!(read.predictions[0].points.len(), 3);
}

#[test]
fn an_experiment_is_loaded_by_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("experiments").join("group").join("small.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, SMALL).unwrap();
    let experiment = Experiment::load(path.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!((experiment.id.as_str(), experiment.title.as_str()), ("group/small", "Small"));
}

#[test]
fn every_experiment_of_the_catalogue_is_right() {
    for entry in catalogue() {
        let loaded = Experiment::load(&entry.id, &Overrides::default());
        loaded.unwrap_or_else(|e| panic!("{}:\n{}", entry.id, super::rendered(&e)));
    }
}
