//! Checks that short runs of every discipline, transport and traffic model, and random experiments with changes, give
//! bit-identical results. Stored runs are reused by later versions of aqmkit as long as `engine::SIMULATOR` is the
//! same; this test fails if results changed and the number did not.
//!
//! `digests.json` has the texts of the experiments, `digests.txt` their digests. The WebAssembly module's test runs the
//! same experiments.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use aqmkit_aqm::registry;
use aqmkit_base::Rng;
use aqmkit_experiment::{Experiment, Overrides, digest, engine};
use aqmkit_sim::{Control, run};
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

/// Probing for more bandwidth behind a queue that drops: the bounds of BBR's model, which [`SMALL`] does not reach.
const RISE: &str = r#"
title = "Digests"
duration = "20s"
[topology]
rate = "3mbit"
delay = "20ms"
aqm = { name = "fifo", limit = 20 }
[transport]
profile = "linux-6"
[[traffic]]
kind = "bulk"
flows = 1
stagger = "0s"
[[changes]]
at = "6s"
topology.rate = "30mbit"
[sweep]
"transport.congestion" = ["bbr", "bbr3"]
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
        ("rise", RISE.to_owned()),
    ]
}

/// Traffic models that need no file, with few users each.
const TRAFFIC: &[&str] = &[
    "kind = \"bulk\"\nflows = 3\nstagger = \"500ms\"",
    "kind = \"cbr\"\nrate = \"600kbit\"\nflows = 2\njitter = 0.3",
    "kind = \"http-unc\"\nusers = 60",
    "kind = \"http-mah\"\nusers = 20",
    "kind = \"web\"\nsessions = 10",
    "kind = \"short-flows\"\nsources = 5",
    "kind = \"on-off\"\nflows = 3",
    "kind = \"dash\"\nviewers = 1",
    "kind = \"voip\"\ncalls = 2",
    "kind = \"game\"\nplayers = 2",
    "kind = \"call\"\ncalls = 1",
    "kind = \"pages\"\nusers = 3",
    "kind = \"mpeg\"\nflows = 1",
    "kind = \"videoconf\"\nflows = 1",
    "kind = \"ramp\"",
];

/// An experiment for each traffic model.
fn of_traffic() -> Vec<(String, String)> {
    let one = |traffic: &&str| {
        let kind = traffic.split('"').nth(1).unwrap_or_default();
        let text = SMALL.replace("AQM", "aqm = \"pie\"").split("[[traffic]]").next().unwrap_or_default().to_owned();
        (format!("{kind}-alone"), format!("{text}[[traffic]]\n{traffic}\n"))
    };
    TRAFFIC.iter().map(one).collect()
}

/// Disciplines added after the random experiments had been defined: adding them to the list would change all draws.
const LATER: [&str; 11] =
    ["docsis-pie", "gred", "hhf", "cobalt", "cake", "tbf", "prio", "pfifo-fast", "ets", "htb", "fq"];

/// An experiment with everything drawn at random: discipline, transport, network, traffic, changes.
fn random(number: usize) -> (String, String) {
    let mut rng = Rng::stream(number as u64, "random experiments");
    let mut pick = |n: usize| rng.below(n as u64) as usize;
    let one_of = |list: &[&'static str], n: usize| list[n % list.len()];
    let left_out = |name: &&str| ["cbt", "cbq"].contains(name) || LATER.contains(name);
    let disciplines: Vec<&str> = registry::ALL.iter().map(|d| d.name).filter(|name| !left_out(name)).collect();
    let controls: Vec<&str> = congestion::ALL.iter().map(|c| c.name).collect();
    let rates = ["1mbit", "3mbit", "8mbit", "700kbit"];
    let delays = ["\"10ms\"", "{ uniform = [\"5ms\", \"90ms\"] }", "{ each = [\"3ms\", \"40ms\"] }", "\"100ms\""];
    let wires = [
        "",
        "loss = 0.01",
        "jitter = \"3ms\"",
        "reorder = { chance = 0.02, delay = \"4ms\" }",
        "mark = 0.02",
        "overhead = \"18b\"",
    ];
    let mut text = format!("title = \"Random\"\nseed = {number}\nduration = \"2s\"\nwarmup = \"500ms\"\n[topology]\n");
    let (rate, back) = (one_of(&rates, pick(4)), pick(2) == 0);
    let _ = writeln!(text, "rate = \"{rate}\"\ndelay = \"{}ms\"\ndelays = {}", pick(9), one_of(&delays, pick(4)));
    let _ = writeln!(text, "{}\naqm = \"{}\"", one_of(&wires, pick(6)), one_of(&disciplines, pick(1000)));
    if back {
        let _ = writeln!(text, "reverse = {{ rate = \"{}\", aqm = \"fifo\" }}", one_of(&rates, pick(4)));
    }
    let profile = one_of(&profile::NAMES, pick(100));
    let _ = writeln!(
        text,
        "[transport]\nprofile = \"{profile}\"\ncongestion = \"{}\"\necn = {}",
        one_of(&controls, pick(100)),
        pick(2) == 0
    );
    let first = pick(TRAFFIC.len());
    for traffic in [0, 1 + pick(TRAFFIC.len() - 1)].map(|more| TRAFFIC[(first + more) % TRAFFIC.len()]) {
        let _ = writeln!(text, "[[traffic]]\n{traffic}");
    }
    let kind = TRAFFIC[first].split('"').nth(1).unwrap_or_default();
    for change in 0..pick(4) {
        let ms = 300 * (change + 1) + pick(300);
        let _ = writeln!(text, "[[changes]]\nat = \"{ms}ms\"");
        let _ = match pick(5) {
            0 => writeln!(text, "topology.rate = \"{}\"", one_of(&rates, pick(4))),
            1 => writeln!(text, "topology.delay = \"{}ms\"", pick(30)),
            2 => writeln!(text, "topology.delays = {}", one_of(&delays, pick(4))),
            3 => writeln!(text, "traffic.{kind}.active = {}", pick(2) == 0),
            _ => writeln!(text, "transport.congestion = \"{}\"", one_of(&controls, pick(100))),
        };
    }
    (format!("random-{number:03}"), text)
}

/// Number of random experiments.
const RANDOM: usize = 150;

/// All experiments that need no file, by name.
fn texts() -> BTreeMap<String, String> {
    let named = experiments().into_iter().map(|(name, text)| (name.to_owned(), text));
    named.chain(of_traffic()).chain((0..RANDOM).map(random)).collect()
}

fn digests() -> BTreeMap<String, String> {
    let short = Overrides { set: vec!["duration=3s".into(), "warmup=1s".into()], ..Overrides::default() };
    let traffic = Experiment::load("live/traffic", &short).unwrap_or_else(|e| panic!("{e}"));
    let mut found = vec![("traffic".to_owned(), traffic)];
    for (name, text) in texts() {
        let read = Experiment::parse(&name, &text, &Overrides::default());
        let experiment = read.unwrap_or_else(|e| panic!("{name}: {e} {:?}\n{text}", e.location()));
        found.push((name, experiment));
    }
    let mut all = BTreeMap::new();
    for (name, experiment) in found {
        for spec in experiment.plan() {
            let scenario = spec.scenario().unwrap_or_else(|e| panic!("{name}: {e}"));
            let output = run(scenario, &mut |_| Control::Continue).unwrap_or_else(|e| panic!("{name}: {e}"));
            let labels: Vec<_> =
                spec.labels.iter().filter(|(key, _)| *key != "seed").map(|(_, v)| v.as_str()).collect();
            all.insert(format!("{name} {}", labels.join(" ")), digest(&output));
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
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.json");
    let written = serde_json::to_string_pretty(&texts()).expect("texts are plain data") + "\n";
    if std::env::var_os("UPDATE_DIGESTS").is_some() {
        std::fs::write(&experiments, &written).expect("the tests' folder can be written to");
    }
    let same = std::fs::read_to_string(&experiments).unwrap_or_default() == written;
    assert!(same, "digests.json is not up to date: UPDATE_DIGESTS=1 cargo test -p aqmkit-experiment --test digests");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept == text {
        return;
    }
    let raised = kept.lines().next() != text.lines().next();
    // Additions must not change any previous result.
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
