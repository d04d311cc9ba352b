//! Traffic with a load: the calibrations that are needed, the runs that use them, and the resulting populations.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_experiment::{Calibration, Experiment};

use super::parse;

const LOADED: &str = r#"title = "Loaded"
duration = "20s"
warmup = "5s"
[topology]
rate = "10mbit"
mean_packet = "500b"
[sweep]
aqm = ["fifo", "red"]
"topology.rate" = ["10mbit", "20mbit"]
[[sweep.mix]]
label = "web"
use = ["web"]
[[sweep.mix]]
label = "none"
use = ["blast"]
[[traffic]]
kind = "web"
load = "4mbit"
[[traffic]]
name = "blast"
kind = "cbr"
rate = "1mbit"
"#;

fn loaded() -> (Experiment, Vec<Calibration>) {
    let experiment = parse(LOADED).unwrap_or_else(|e| panic!("{e}"));
    let calibrations = experiment.calibrations().unwrap();
    (experiment, calibrations)
}

/// The load does not depend on the discipline, only on the network: one calibration per network.
#[test]
fn a_population_is_sought_once_for_each_network() {
    let (experiment, calibrations) = loaded();
    assert_eq!(calibrations.len(), 2);
    for (calibration, rate) in calibrations.iter().zip(["10mbit", "20mbit"]) {
        assert_eq!(
            (calibration.traffic.as_str(), calibration.load.as_str(), calibration.bps),
            ("web", "4mbit", 4_000_000)
        );
        assert_eq!((calibration.parameter, calibration.first), ("sessions", 50.0));
        // All disciplines use it: the axis is left out.
        let runs = experiment.calibrated_runs(calibration).unwrap();
        let wanted =
            [("mix", "web"), ("topology.rate", rate)].map(|(axis, label)| (axis.to_owned(), vec![label.to_owned()]));
        assert_eq!(runs, wanted.into());
        // 4 Mbit/s for 25 s in packets of 500 bytes.
        assert_eq!(calibration.packets(), 4e6 * 25.0 / 8.0 / 500.0);
    }
}

#[test]
fn a_trial_has_the_amount_nearest_to_what_is_asked_for() {
    let (_, calibrations) = loaded();
    let trial = calibrations[0].trial(12.4).unwrap().unwrap();
    assert_eq!((trial.amount, trial.value), (12.0, 12.0));
    assert_eq!(trial.run.labels["calibration"], "web at 4mbit");
    assert_eq!(trial.run.labels["sessions"], "12");
    assert!(calibrations[0].trial(1e9).unwrap().is_none(), "so many are taken for a mistake");
}

/// After calibration, runs with the load have the calibrated population; other runs are unchanged.
#[test]
fn runs_have_the_population_that_was_found() {
    let (experiment, calibrations) = loaded();
    let found: Vec<_> = calibrations.into_iter().zip([7.0, 11.0]).collect();
    let settled = experiment.settled(&found).unwrap();
    for (before, after) in experiment.plan().iter().zip(settled.plan()) {
        let applications: Vec<usize> = after.outline().groups.iter().map(|group| group.applications).collect();
        let sought = match (after.labels["mix"].as_str(), after.labels["topology.rate"].as_str()) {
            ("web", "10mbit") => 7,
            ("web", _) => 11,
            _ => {
                assert_eq!(before.hash, after.hash);
                continue;
            }
        };
        assert_eq!(applications, [sought], "{:?}", after.labels);
    }
}

/// A change during a run keeps the calibrated population.
#[test]
fn a_change_keeps_the_population() {
    let text = LOADED
        .replace("[sweep]\naqm = [\"fifo\", \"red\"]\n\"topology.rate\" = [\"10mbit\", \"20mbit\"]\n", "[sweep]\n")
        + "[[changes]]\nat = \"5s\"\ntopology.rate = \"8mbit\"\n";
    let text = text.replace("use = [\"web\"]", "use = [\"blast\", \"web\"]");
    let experiment = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let calibrations = experiment.calibrations().unwrap();
    let found: Vec<_> = calibrations.into_iter().map(|calibration| (calibration, 9.0)).collect();
    let settled = experiment.settled(&found).unwrap();
    let scenario = settled.plan()[0].scenario().unwrap();
    // Only the link changes: the traffic continues.
    assert_eq!(scenario.changes.len(), 1, "{:?}", scenario.changes.iter().map(|c| c.at).collect::<Vec<_>>());
}

/// The effort is the number of 500-byte packets that fill a link of 10 or 20 Mbit/s for 25 s.
#[test]
fn the_effort_is_the_packets_that_fill_the_links() {
    let (experiment, _) = loaded();
    for run in experiment.plan() {
        let rate = if run.labels["topology.rate"] == "10mbit" { 10e6 } else { 20e6 };
        assert_eq!(run.packets(), rate * 25.0 / 8.0 / 500.0, "{:?}", run.labels);
    }
    // The smallest packet has one byte.
    let tiny = parse(&LOADED.replace("mean_packet = \"500b\"", "mean_packet = \"1b\"")).unwrap().plan();
    assert_eq!(tiny[0].packets(), 10e6 * 25.0 / 8.0);
    // Packets have 1000 bytes by default.
    let usual = parse(&LOADED.replace("mean_packet = \"500b\"\n", "")).unwrap().plan();
    assert_eq!(usual[0].packets(), 10e6 * 25.0 / 8.0 / 1000.0);
}

/// The load in bits per second of traffic `web` with this `load`, on a link of 10 Mbit/s.
fn load(text: &str) -> Result<u64, String> {
    let text = LOADED.replace("load = \"4mbit\"", &format!("load = \"{text}\""));
    let calibrations = parse(&text).and_then(|experiment| experiment.calibrations()).map_err(|e| e.in_one_line())?;
    Ok(calibrations[0].bps)
}

/// A load is a rate or a share of the link's rate, and at most half of what the links of trials carry.
#[test]
fn a_load_is_a_rate_or_a_share_of_the_link() {
    assert_eq!((load("98%"), load("98 %"), load("12.5%")), (Ok(9_800_000), Ok(9_800_000), Ok(1_250_000)));
    assert_eq!((load("500%"), load("50mbit"), load("1bit")), (Ok(50_000_000), Ok(50_000_000), Ok(1)));
    for wrong in ["0%", "-1%", "501%", "51mbit", "0bit", "many", "%", ""] {
        let message = load(wrong).expect_err(wrong);
        assert!(message.contains("is not a load; use a percentage of the link above 0% and at most 500%"), "{message}");
    }
}

/// The load refers to the measured link if the traffic crosses it, otherwise to the slowest link on its path.
#[test]
fn a_load_refers_to_a_link_of_the_path() {
    let of = |path: &str, more: &str| {
        let text = format!(
            "title = \"x\"\nduration = \"20s\"\n[topology]\nmeasured = \"b\"\nlinks = [{{ name = \"a\", rate = \"10mbit\" }}, {{ name = \"b\", rate = \"40mbit\" }}, {{ name = \"c\", rate = \"20mbit\" }}]\n[[traffic]]\nkind = \"web\"\nload = \"50%\"\npath = {path}\n{more}"
        );
        let experiment = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let calibration = experiment.calibrations().unwrap().remove(0);
        (calibration.bps / 1_000_000, calibration.trial(10.0).unwrap().unwrap().links.join(" "))
    };
    assert_eq!(of("[\"a\", \"b\"]", ""), (20, "b".to_owned()), "the measured link");
    assert_eq!(of("[\"c\", \"a\"]", ""), (5, "a".to_owned()), "the slowest");
    let back = "reverse = [\"b\", \"c\"]\nboth_ways = true\n";
    assert_eq!(of("[\"a\"]", back), (5, "a c".to_owned()), "and the slowest of the way back");
}
