//! The command with its stacks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aqmkit_experiment::{Catalogues, Experiment, Overrides};
use aqmkit_results::Results;
use aqmkit_stack::{Addition, Factory, Kind, Settings};
use aqmkit_stack_quinn::Quinn;

fn aqmkit(line: &str, out: &Path) -> u8 {
    let words = format!("aqmkit-stacks {line}");
    let out = ["--out".into(), out.as_os_str().to_owned(), "--quiet".into()];
    aqmkit_stacks::run(words.split(' ').map(OsString::from).chain(out)).expect("the stacks have different names")
}

fn results(out: &Path) -> Results {
    let text = std::fs::read_to_string(out.join("results.json")).expect("the command writes its results");
    serde_json::from_str(&text).expect("results are JSON")
}

#[test]
fn stacks_share_a_link_and_are_measured_apart() {
    let dir = tempfile::tempdir().unwrap();
    let line = "compare fq-codel --stack quinn,smoltcp,linux-6 --cc cubic,bbr --bulk 5 --rate 20mbit --rtt 20ms --duration 10s \
                --warmup 5s --repeat 1";
    assert_eq!(aqmkit(line, dir.path()), 0);
    let classes = &results(dir.path()).runs[0].classes;
    let mbps: BTreeMap<&str, f64> = classes.iter().map(|(name, c)| (name.as_str(), c.goodput_bps / 1e6)).collect();
    let names = ["linux-6-bbr", "linux-6-cubic", "quinn-bbr", "quinn-cubic", "smoltcp-cubic"];
    assert!(mbps.keys().copied().eq(names), "{mbps:?}");
    // A fair queue gives each its share, up to what the stack can use.
    assert!(mbps.values().all(|rate| (1.0..7.0).contains(rate)), "{mbps:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for line in [
        "compare fifo --stack quin",
        "compare fifo --stack smoltcp --cc bbr",
        "compare fifo --stack quinn,noq --bulk 1",
        "compare fifo --stack smoltcp --ecn",
        "compare fifo --stack quinn --transport rfc",
    ] {
        assert_eq!(aqmkit(line, dir.path()), 2, "{line}");
    }
}

/// The first BBR, in quinn, ignores the marks of CoDel. The reference is another control of quinn.
#[test]
fn a_stack_is_attacked_and_its_experiment_can_be_run() {
    let dir = tempfile::tempdir().unwrap();
    let attack =
        |target: &str| aqmkit(&format!("attack {target} --harm bufferbloat --budget 200 --fresh 4"), dir.path());
    assert_eq!(attack("quinn:reno"), 2);
    assert_eq!(attack("quin:bbr"), 2);
    assert_eq!(attack("quinn:bbr"), 0);
    let file = dir.path().join("attack.toml");
    let again = tempfile::tempdir().unwrap();
    assert_eq!(aqmkit(&format!("run {}", file.display()), again.path()), 0);
    let mut delays: BTreeMap<String, f64> = BTreeMap::new();
    for run in &results(again.path()).runs {
        let delay = run.classes["own"].queue_delay_ms.as_ref().unwrap().p99;
        *delays.entry(run.labels["control"].clone()).or_default() += delay / 4.0;
    }
    assert!(delays["quinn-bbr"] > 1000.0 && delays["quinn-bbr"] > 3.0 * delays["quinn-cubic"], "{delays:?}");
}

/// quinn as it may be with the next change of its adapter.
struct Later;

impl Kind for Later {
    const NAME: &'static str = Quinn::NAME;
    const VERSION: &'static str = "0.11.19/2";
    const PAGE: &'static str = Quinn::PAGE;
    const CONTROLS: &'static [&'static str] = Quinn::CONTROLS;

    type Params = <Quinn as Kind>::Params;

    fn factory(params: &Self::Params, settings: &Settings) -> Arc<dyn Factory> {
        Quinn::factory(params, settings)
    }
}

/// Stored runs have the hash of an experiment as their key.
#[test]
fn the_version_and_the_parameters_of_a_stack_are_part_of_the_key_of_its_runs() {
    let key = |stack: Addition, set: &[&str]| {
        let mut catalogues = Catalogues::default();
        catalogues.stacks.add(stack).unwrap();
        let set = ["ends=quinn cubic"].iter().chain(set).map(ToString::to_string).collect();
        let overrides = Overrides { set, ..Overrides::default() };
        let name = experiments().join("quinn-bbr-queues.toml");
        let experiment = Experiment::load_with(name.to_str().unwrap(), &overrides, &catalogues);
        experiment.map_err(|e| format!("{e:?}")).unwrap().hash()
    };
    let (now, later) = (Addition::of::<Quinn>, Addition::of::<Later>);
    assert_eq!(key(now(), &[]), key(now(), &[]));
    assert_ne!(key(now(), &[]), key(later(), &[]));
    assert_ne!(key(now(), &[]), key(now(), &["transport.quinn.burst=1"]));
}

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments")
}

/// Every experiment beside the stacks can be read, and gives runs that can be simulated.
#[test]
fn every_experiment_is_valid() {
    let catalogues = aqmkit_stacks::catalogues().unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(experiments()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.to_str().unwrap();
        let experiment = Experiment::load_with(name, &Overrides::default(), &catalogues);
        let experiment = experiment.unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
        assert!(experiment.plan().iter().all(|run| run.scenario().is_ok()), "{}", path.display());
        count += 1;
    }
    assert!(count >= 8, "{count}");
}
