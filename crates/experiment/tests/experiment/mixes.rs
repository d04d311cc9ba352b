//! Sweeps over two populations: skipped combinations, empty populations, the overview, claims about exchanges.

use aqmkit_experiment::Quantity;

use super::{parse, rendered};

const MIXES: &str = r#"
title = "Mixes"
duration = "10s"

[topology]
rate = "10mbit"

[sweep]
aqm = ["fifo", "red"]
"traffic.a.flows" = [0, 1, 2]
"traffic.b.sources" = [0, 1]
skip = [{ "traffic.a.flows" = 0, "traffic.b.sources" = 0 }, { aqm = "red", "traffic.a.flows" = [1, 2] }]

[[traffic]]
name = "a"
kind = "bulk"
flows = 1

[[traffic]]
name = "b"
kind = "short-flows"

[overview]
rows = "traffic.a.flows"
columns = "traffic.b.sources"
rate = "10mbit"
rtt = "7ms"

[[expect]]
id = "X"
where = { aqm = "fifo", app = "b" }
exchanges = { size = ["1b", "3kb"], time = ["0s", "2s"] }
metric = "time_ms.p50"
"#;

#[track_caller]
fn refused(from: &str, to: &str, why: &str) {
    assert!(MIXES.contains(from));
    let message = rendered(&parse(&MIXES.replacen(from, to, 1)).expect_err(why));
    assert!(message.contains(why), "{message}");
}

#[test]
fn what_is_skipped_is_not_planned() {
    let plan = parse(MIXES).unwrap().plan();
    let of = |aqm: &str| plan.iter().filter(|run| run.labels["aqm"] == aqm).count();
    assert_eq!((of("fifo"), of("red")), (5, 1));
    assert!(!plan.iter().any(|r| r.labels["traffic.a.flows"] == "0" && r.labels["traffic.b.sources"] == "0"));
}

#[test]
fn a_population_of_none_keeps_silent() {
    let plan = parse(MIXES).unwrap().plan();
    let silent = plan.iter().find(|run| run.labels["traffic.a.flows"] == "0").unwrap();
    let output = aqmkit_sim::run(silent.scenario().unwrap(), &mut |_| aqmkit_sim::Control::Continue).unwrap();
    let classes = &output.windows[0].classes;
    assert!(classes["a"].throughput_bps == 0.0 && classes["b"].throughput_bps > 0.0);
}

#[test]
fn skips_name_axes_and_labels() {
    refused("\"traffic.a.flows\" = 0,", "\"traffic.c.flows\" = 0,", "traffic.c.flows is not an axis");
    refused("\"traffic.a.flows\" = 0,", "\"traffic.a.flows\" = 3,", "traffic.a.flows has no value \"3\"");
    refused("skip = [", "skip = [{}, ", "this table skips nothing");
    refused("skip = [", "skip = [{ aqm = [\"fifo\", \"red\"] }, ", "skip removes all combinations");
}

#[test]
fn an_overview_has_two_axes() {
    assert_eq!(parse(MIXES).unwrap().overview.unwrap().rtt_s, Some(0.007));
    refused("rows = \"traffic.a.flows\"", "rows = \"mix\"", "mix is not an axis");
    refused("rows = \"traffic.a.flows\"", "rows = \"traffic.b.sources\"", "the same axis");
}

#[test]
fn claims_about_exchanges_are_checked() {
    refused("app = \"b\"", "class = \"b\"", "exchanges belong to an app");
    refused("[\"1b\", \"3kb\"]", "[\"3kb\", \"1b\"]", "the size range is empty");
    refused("time_ms.p50", "goodput_bps", "is not defined for exchanges");
    assert_eq!(Quantity::parse("time_ms.p99.5"), Some(Quantity::Percentile(99.5)));
    assert_eq!((Quantity::parse("time_ms.p101"), Quantity::parse("p50")), (None, None));
}
