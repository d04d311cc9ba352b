//! What short runs of every discipline, transport and traffic model give, to the bit. Stored runs are reused by a later version of
//! aqmkit as long as `engine::SIMULATOR` is the same; this test fails when results changed and the number did not.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use aqmkit_aqm::registry;
use aqmkit_experiment::{Experiment, Overrides, engine};
use aqmkit_sim::output::Engine;
use aqmkit_sim::{Control, Output, run};
use aqmkit_transport::{congestion, profile, rate};

/// Bulk transfers and datagrams over one link; [`WEB`] adds web pages.
const SMALL: &str = r#"
title = "Digests"
duration = "4s"
warmup = "1s"
[topology]
rate = "10mbit"
delays = { uniform = ["10ms", "60ms"] }
loss = 0.001
AQM
[[traffic]]
kind = "bulk"
flows = 4
[[traffic]]
kind = "cbr"
rate = "1mbit"
"#;

const WEB: &str = "[[traffic]]\nkind = \"http-unc\"\nusers = 300\n";

fn quoted(names: impl IntoIterator<Item = &'static str>) -> String {
    names.into_iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

fn experiments() -> Vec<(&'static str, String)> {
    let disciplines = quoted(registry::ALL.iter().map(|d| d.name));
    let controls = quoted(congestion::ALL.iter().map(|c| c.name));
    let rate_based = quoted(rate::ALL.iter().map(|c| c.name));
    let red = "aqm = { name = \"red\", ecn = true }\n[sweep]\n";
    let with = |swept: String| SMALL.replace("AQM", &swept);
    let and_web = |swept: String| with(swept) + WEB;
    vec![
        ("disciplines", and_web(format!("[transport]\necn = true\n[sweep]\naqm = [{disciplines}]"))),
        ("profiles", and_web(format!("{red}\"transport.profile\" = [{}]", quoted(profile::NAMES)))),
        ("controls", and_web(format!("{red}\"transport.congestion\" = [{controls}]"))),
        ("rate-based", with(format!("{red}\"transport.congestion\" = [{rate_based}]"))),
    ]
}

/// The digest of a run without what it cost.
fn digest(mut output: Output) -> String {
    output.engine = Engine { packets: output.engine.packets, events: output.engine.events, ..Engine::default() };
    let text = serde_json::to_vec(&output).expect("results are plain data");
    blake3::hash(&text).to_hex()[..16].to_owned()
}

fn digests() -> BTreeMap<String, String> {
    let short = Overrides { set: vec!["duration=3s".into(), "warmup=1s".into()], ..Overrides::default() };
    let traffic = Experiment::load("live/traffic", &short).unwrap_or_else(|e| panic!("{e}"));
    let mut found = vec![("traffic", traffic)];
    for (name, text) in experiments() {
        found.push((
            name,
            Experiment::parse(name, &text, &Overrides::default()).unwrap_or_else(|e| panic!("{name}: {e}")),
        ));
    }
    let mut all = BTreeMap::new();
    for (name, experiment) in found {
        for spec in experiment.plan() {
            let scenario = spec.scenario().unwrap_or_else(|e| panic!("{name}: {e}"));
            let output = run(scenario, &mut |_| Control::Continue).unwrap_or_else(|e| panic!("{name}: {e}"));
            let labels: Vec<_> =
                spec.labels.iter().filter(|(key, _)| *key != "seed").map(|(_, v)| v.as_str()).collect();
            all.insert(format!("{name} {}", labels.join(" ")), digest(output));
        }
    }
    all
}

#[test]
fn results_change_only_with_the_version_of_the_engine() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.txt");
    let mut text = format!("version {}\n", engine::SIMULATOR);
    for (name, digest) in digests() {
        writeln!(text, "{name}: {digest}").expect("a string takes text");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept == text {
        return;
    }
    let raised = kept.lines().next() != text.lines().next();
    // What was added changes no result that was there.
    let only_added = kept.lines().all(|line| text.lines().any(|now| now == line));
    if (raised || only_added) && std::env::var_os("UPDATE_DIGESTS").is_some() {
        std::fs::write(&path, text).expect("the tests' folder can be written to");
        return;
    }
    let changed: Vec<_> = text.lines().filter(|line| !kept.lines().any(|k| k == *line)).collect();
    panic!(
        "{} results are not those of tests/digests.txt, the first is \"{}\". If this is meant, raise SIMULATOR in crates/experiment/src/engine.rs \
         and run UPDATE_DIGESTS=1 cargo test -p aqmkit-experiment --test digests",
        changed.len(),
        changed.first().unwrap_or(&"one that is gone"),
    );
}
