//! Plans of the null test: the same runs without their scheme.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_experiment::{Experiment, Overrides};

use super::{SMALL, parse};

fn without(text: &str) -> Experiment {
    let overrides = Overrides { without_scheme: true, ..Overrides::default() };
    Experiment::parse("experiments/small.toml", text, &overrides).unwrap()
}

/// The bottleneck's discipline in each run, with its limit.
fn queues(exp: &Experiment) -> Vec<(String, String)> {
    let queue = |run: &aqmkit_experiment::RunSpec| {
        let scenario = run.scenario().unwrap();
        let aqm = &scenario.links[scenario.measured].aqm;
        (aqm.name().to_owned(), toml::Table::try_from(aqm).unwrap()["limit"].to_string())
    };
    exp.plan().iter().map(queue).collect()
}

#[test]
fn drop_tail_takes_the_place_of_every_discipline_and_keeps_its_limit() {
    let (own, bare) = (parse(SMALL).unwrap(), without(SMALL));
    let names: Vec<_> = own.plan().into_iter().map(|run| run.labels).collect();
    assert_eq!(names, bare.plan().into_iter().map(|run| run.labels).collect::<Vec<_>>(), "labels stay");
    let found = queues(&bare);
    assert_eq!(found.len(), 8);
    assert!(found.iter().all(|(name, _)| name == "fifo"), "{found:?}");
    assert_eq!(found[0].1, queues(&own)[0].1, "drop-tail stays as it is");
    assert_eq!(found[4].1, "\"100p\"", "red's own limit");
    let changed: Vec<_> = own.plan().iter().zip(bare.plan()).map(|(a, b)| a.hash != b.hash).collect();
    assert_eq!(changed, [false, false, false, false, true, true, true, true]);
}

/// A drop-tail queue is not a scheme: it keeps its parameters, even if the file has `[params.fifo]`.
#[test]
fn a_drop_tail_queue_keeps_its_own_limit() {
    let text = SMALL.replacen("[\"fifo\",", "[{ name = \"fifo\", limit = 33 },", 1);
    let text = text.replacen("[params.red]", "[params.fifo]\nlimit = 70\n[params.red]", 1);
    let found = queues(&without(&text));
    assert_eq!((found[0].1.as_str(), found[4].1.as_str()), ("\"33p\"", "\"70p\""));
}

#[test]
fn drop_tail_has_the_parameters_of_the_file() {
    let found = queues(&without(&SMALL.replacen("[params.red]", "[params.fifo]\nlimit = 70\n[params.red]", 1)));
    assert_eq!(found[4], ("fifo".to_owned(), "\"70p\"".to_owned()));
}

#[test]
fn the_file_says_what_takes_the_scheme_away() {
    let text = SMALL.replacen("[quick]", "[null]\n\"params.red.max_p\" = 0.0\n[quick]", 1);
    let text = text.replacen("max = 30", "max = 30, gentle = false", 1);
    let (own, bare) = (parse(&text).unwrap(), without(&text));
    assert_eq!(queues(&own), queues(&bare), "the disciplines stay");
    let changed: Vec<_> = own.plan().iter().zip(bare.plan()).map(|(a, b)| a.hash != b.hash).collect();
    assert_eq!(changed, [false, false, false, false, true, true, true, true]);
}
