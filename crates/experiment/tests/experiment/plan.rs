//! Combinations, repeats, seeds, hashes, and scenarios of the simulator.

use std::collections::BTreeSet;

use aqmkit_base::{Duration, Instant};
use aqmkit_experiment::{Experiment, Overrides, RunSpec};
use aqmkit_sim::scenario::Delays;

use super::{SMALL, parse, quick, with};

fn labels(runs: &[RunSpec]) -> Vec<String> {
    runs.iter().map(|r| format!("{} {} {}", r.labels["aqm"], r.labels["mix"], r.labels["repeat"])).collect()
}

#[test]
fn a_run_without_axes_is_called_by_its_discipline() {
    let text = "title = \"One\"\nduration = \"5s\"\n[topology]\nrate = \"10mbit\"\naqm = \"codel\"\n[[traffic]]\nkind = \"bulk\"\n";
    assert_eq!(parse(text).unwrap().plan()[0].labels["aqm"], "codel");
    let swept = text.to_owned() + "[sweep]\n\"topology.rate\" = [\"1mbit\"]\n";
    assert!(!parse(&swept).unwrap().plan()[0].labels.contains_key("aqm"));
}

#[test]
fn every_combination_is_run_as_often_as_asked() {
    let runs = parse(SMALL).unwrap().plan();
    let expected = [
        "fifo bulk 1",
        "fifo bulk 2",
        "fifo both 1",
        "fifo both 2",
        "red bulk 1",
        "red bulk 2",
        "red both 1",
        "red both 2",
    ];
    assert_eq!(labels(&runs), expected);
}

#[test]
fn a_repeat_has_the_same_seed_in_every_combination() {
    let runs = parse(SMALL).unwrap().plan();
    let of =
        |repeat: &str| runs.iter().filter(|r| r.labels["repeat"] == repeat).map(|r| r.seed).collect::<BTreeSet<_>>();
    assert_eq!((of("1").len(), of("2").len()), (1, 1));
    assert_ne!(of("1"), of("2"));
    assert!(runs.iter().all(|r| r.labels["seed"] == r.seed.to_string()));
    let other = Overrides { seed: Some(2), ..Overrides::default() };
    let others = Experiment::parse("small.toml", SMALL, &other).unwrap().plan();
    assert_ne!(runs[0].seed, others[0].seed);
}

/// With seeds per cell no two runs share a seed, and a run's seed does not depend on the other cells.
#[test]
fn cells_may_have_seeds_of_their_own() {
    let text = SMALL.replacen("[topology]", "seeds = \"per-cell\"\n[topology]", 1);
    let seeds = |written: &str, overrides: &Overrides| {
        let runs = Experiment::parse("small.toml", written, overrides).unwrap().plan();
        runs.iter().map(|r| r.seed).collect::<Vec<_>>()
    };
    let all = seeds(&text, &Overrides::default());
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (8, 8));
    let red = Overrides { set: vec!["aqm=red".to_owned()], ..Overrides::default() };
    assert_eq!(seeds(&text, &red), all[4..]);
    let without = Overrides { without_scheme: true, ..Overrides::default() };
    assert_eq!(seeds(&text, &without), all, "the null test has the users of the runs that it is compared with");
    let other = Overrides { seed: Some(2), ..Overrides::default() };
    assert!(seeds(&text, &other).iter().zip(&all).all(|(a, b)| a != b));
    let common = text.replace("per-cell", "common");
    assert_eq!(seeds(&common, &Overrides::default()), seeds(SMALL, &Overrides::default()));
}

#[test]
fn the_hash_is_of_what_decides_the_output() {
    let hash = |text: &str| parse(text).unwrap().plan().iter().map(|r| r.hash.clone()).collect::<Vec<_>>();
    let original = hash(SMALL);
    assert_eq!(original.iter().collect::<BTreeSet<_>>().len(), 8, "each run has its own");
    let same = |from: &str, to: &str| assert_eq!(hash(&SMALL.replace(from, to)), original, "{from} -> {to}");
    same("title = \"Small\"", "title = \"Other\"");
    same("label = \"both\"", "label = \"both\"\n# a comment");
    same("[params.red]", "[params.cbt]\nlimit = 3\n[params.red]");
    same("rate = \"10mbit\"", "rate = \"10000kbit\"");
    same("delay = \"1ms\"", "delay = \"1ms\"\noverhead = \"0b\"\nlinklayer = \"ethernet\"");
    for (from, to) in [
        ("delay = \"1ms\"", "delay = \"2ms\""),
        ("limit = 100", "limit = 101"),
        ("delay = \"1ms\"", "delay = \"1ms\"\nlinklayer = \"atm\""),
        ("delay = \"1ms\"", "delay = \"1ms\"\nmpu = \"64b\""),
        ("flows = 4", "flows = 5"),
        ("rate = \"10mbit\"", "rate = \"11mbit\""),
        ("[windows]", "[windows]\nx = [\"1s\", \"2s\"]"),
        ("\"4ms\"", "\"5ms\""),
        ("[sweep]", "[transport]\nmss = \"1000b\"\n[sweep]"),
    ] {
        assert_ne!(hash(&SMALL.replace(from, to)), original, "{from} -> {to}");
    }
}

#[test]
fn the_runs_of_one_discipline_keep_their_hash_when_another_joins_the_sweep() {
    let more = SMALL.replace("aqm = [\"fifo\",", "aqm = [\"fifo\", \"erd\",");
    let hashes = |text: &str, aqm: &str| {
        let runs = parse(text).unwrap().plan();
        runs.into_iter().filter(|r| r.labels["aqm"] == aqm).map(|r| r.hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(SMALL, "red"), hashes(&more, "red"));
}

#[test]
fn a_quick_run_has_its_changes() {
    let experiment = quick(SMALL).unwrap();
    assert_eq!(experiment.repeat, 1);
    let scenario = experiment.plan()[0].scenario().unwrap();
    assert_eq!(scenario.origin, Instant::ZERO + Duration::from_secs(1));
}

#[test]
fn quick_changes_nested_keys_and_leaves_their_neighbours() {
    let text = SMALL.replace("warmup = \"1s\"", "topology.rate = \"5mbit\"\n\"traffic.blast.rate\" = \"6mbit\"");
    let scenario = quick(&text).unwrap().plan()[0].scenario().unwrap();
    let bottleneck = &scenario.links[scenario.measured];
    assert_eq!((bottleneck.rate.to_string(), bottleneck.delay.to_string()), ("5mbit".into(), "1ms".into()));
}

#[test]
fn settings_reach_every_combination() {
    let runs = with(SMALL, &["topology.aqm.limit=77"]).unwrap().plan();
    for run in &runs {
        let scenario = run.scenario().unwrap();
        assert!(format!("{:?}", scenario.links[scenario.measured].aqm).contains("limit: Packets(77.0)"));
    }
}

#[test]
fn a_setting_of_an_axis_chooses_its_value() {
    let runs = with(SMALL, &["aqm=red", "mix=both", "repeat=1"]).unwrap().plan();
    assert_eq!(labels(&runs), ["red both 1"]);
    let afresh = with(SMALL, &["topology.aqm=erd", "mix=bulk", "repeat=1"]).unwrap().plan();
    assert_eq!(labels(&afresh), ["erd bulk 1"]);
}

#[test]
fn labels_that_repeat_are_numbered() {
    let text = SMALL.replace("aqm = [\"fifo\",", "aqm = [\"red\", \"fifo\",");
    let text = text.replace("min = 10", "min = 11").replace("where = { aqm = \"red\"", "where = { aqm = \"red-2\"");
    assert_eq!(parse(&text).unwrap().axes[0].labels, ["red", "fifo", "red-2"]);
}

#[test]
fn the_simulator_is_told_of_times_routes_and_delays() {
    let runs = parse(SMALL).unwrap().plan();
    let run = runs.iter().find(|r| r.labels["mix"] == "both").unwrap();
    let scenario = run.scenario().unwrap();
    assert_eq!(scenario.duration, Duration::from_secs(25));
    assert_eq!(scenario.origin, Instant::ZERO + Duration::from_secs(5));
    assert_eq!(scenario.classes, ["tcp", "other"]);
    let windows: Vec<_> =
        scenario.windows.iter().map(|w| (w.name.as_str(), w.from.as_secs_f64(), w.to.as_secs_f64())).collect();
    assert_eq!(windows, [("calm", 5.0, 10.0), ("blast", 11.0, 20.0)]);
    let names: Vec<_> = scenario.links.iter().map(|l| (l.name.as_str(), l.report)).collect();
    assert_eq!(names, [("bottleneck", true), ("blast.access.0", false), ("blast.access.1", false)]);
    let [bulk, blast] = &scenario.groups[..] else { panic!("two groups") };
    assert_eq!((bulk.apps.len(), bulk.routes.len(), bulk.start), (4, 2, Instant::ZERO));
    assert_eq!(bulk.routes[1].reverse_delay, Duration::from_millis(1));
    assert!(matches!(&bulk.delays, Delays::Matrix(rows) if rows[1][0] == Duration::from_millis(3)));
    assert_eq!((blast.start.as_secs_f64(), blast.stop.as_secs_f64()), (10.0, 20.0));
    assert_eq!(blast.routes[1].forward, [2, 0]);
    assert_eq!(blast.delays, Delays::None);
}

#[test]
fn listed_links_are_crossed_in_the_order_of_the_path() {
    let text = r#"
title = "Chain"
duration = "5s"
[topology]
aqm = "red"
measured = "b"
links = [{ name = "a", rate = "1mbit", delay = "3ms", aqm = "fifo" }, { name = "b", rate = "2mbit", delay = "4ms" }]
[[traffic]]
kind = "bulk"
path = ["a", "b"]
"#;
    let scenario = parse(text).unwrap().plan()[0].scenario().unwrap();
    assert_eq!(scenario.measured, 1);
    assert_eq!(scenario.links[1].aqm.name(), "red");
    assert_eq!(scenario.groups[0].routes[0].forward, [0, 1]);
    assert_eq!(scenario.groups[0].routes[0].reverse_delay, Duration::from_millis(7));
    assert_eq!(scenario.windows[0].name, "all");
}

/// With listed links, a traffic's access links come before its path.
#[test]
fn servers_have_interfaces_before_listed_links() {
    let text = r#"
title = "Hosts"
duration = "5s"
[topology]
servers = 2
links = [{ name = "a", rate = "1mbit" }]
[[traffic]]
kind = "bulk"
path = ["a"]
[[traffic]]
name = "own"
kind = "bulk"
path = ["a"]
access = "5mbit"
"#;
    let scenario = parse(text).unwrap().plan()[0].scenario().unwrap();
    let names: Vec<_> = scenario.links.iter().map(|l| (l.name.as_str(), l.rate.as_bps() / 1_000_000)).collect();
    assert_eq!(names, [("a", 1), ("own.access.0", 5), ("own.access.1", 5)]);
    let ways = |i: usize| scenario.groups[i].routes.iter().map(|r| r.forward.clone()).collect::<Vec<_>>();
    assert_eq!(ways(0), [vec![0], vec![0]]);
    assert_eq!(ways(1), [vec![1, 0], vec![2, 0]]);
}

/// A directory of published distributions for each `http-unc` without `data` changes the hash of the run, which gets
/// the data and their hashes, and the report mentions it. The header of the files is not valid UTF-8.
#[test]
fn published_web_users_are_taken_from_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    for (name, table) in [
        ("top_responses", "1000 1"),
        ("embedded_responses", "500 1"),
        ("top_requests", "300 1"),
        ("embedded_requests", "200 1"),
        ("objects", "2 1"),
        ("think_times", "1000 1"),
    ] {
        let file = [b"# \xa9 made up\n", table.as_bytes(), b"\n"].concat();
        std::fs::write(directory.path().join(format!("{name}.cdf")), file).unwrap();
    }
    let path = directory.path().to_str().unwrap().to_owned();
    let text = "title = \"T\"\nduration = \"5s\"\n[topology]\nrate = \"10mbit\"\n[[traffic]]\nkind = \"http-unc\"\nusers = 9\n";
    let overrides = Overrides { unc_data: Some(path.clone()), ..Overrides::default() };
    let read = |toml: &str| Experiment::parse("t.toml", toml, &overrides);
    let (plain, given) = (parse(text).unwrap(), read(text).unwrap());
    assert_ne!(plain.hash(), given.hash());
    assert!(given.setting().iter().any(|fact| fact.value.contains(&path)), "{:?}", given.setting());
    let own = read(&format!("{text}data = \"elsewhere\"\n")).unwrap_err().to_string();
    assert!(own.contains("elsewhere/top_responses.cdf"), "{own}");
    // The same file name with other contents gives another hash.
    std::fs::write(directory.path().join("objects.cdf"), "3 1\n").unwrap();
    assert_ne!(read(text).unwrap().hash(), given.hash());
    std::fs::remove_file(directory.path().join("objects.cdf")).unwrap();
    assert!(read(text).unwrap_err().to_string().contains("objects.cdf"));
}

#[test]
fn an_experiment_of_equations_has_nothing_to_run() {
    let text = "title = \"Equations\"\n[[expect]]\nid = \"E-1\"\nformula = \"cbt-threshold\"\nargs = { latency = \"100ms\" }\n";
    let experiment = parse(text).unwrap();
    assert!(experiment.plan().is_empty());
    assert_eq!(experiment.expects[0].formula.as_deref(), Some("cbt-threshold"));
}

#[test]
fn the_simulator_runs_what_it_is_told() {
    let run = &with(SMALL, &["aqm=red", "mix=both", "warmup=1s"]).unwrap().plan()[0];
    let output = aqmkit_sim::run(run.scenario().unwrap(), &mut |_| aqmkit_sim::Control::Continue).unwrap();
    let blast = output.windows.iter().find(|w| w.name == "blast").unwrap();
    assert_eq!((blast.from_s, blast.to_s), (6.0, 15.0));
    assert!(blast.links["bottleneck"].utilization > 0.9, "{:?}", blast.links["bottleneck"]);
    let names: Vec<_> = blast.classes.keys().collect();
    assert_eq!(names, ["other", "tcp"]);
}
