//! Claims about response times, figures of them, and the network of calibration trials.

use std::fmt::Write as _;

use aqmkit_experiment::Response;
use aqmkit_results::FigureKind;

use super::{parse, rendered};

const WEB: &str = r#"
title = "Web"
duration = "20s"

[topology]
rate = "10mbit"

[sweep]
aqm = ["fifo", "red", "pi", "dcn"]

[[sweep.network]]
label = "busy"

[[sweep.network]]
label = "free"
"topology.uncongested" = true

[[traffic]]
name = "web"
kind = "http-unc"
load = "90%"

[[figure]]
title = "Figure 1"
kind = "tail"
app = "web"
response = "request"
where = { aqm = ["fifo", "red"] }
upto = "50s"

[[expect]]
id = "X-1"
where = { aqm = "red", app = "web" }
metric = "response_time_ms.request"
responses = "crossover"
against = { aqm = "fifo" }

[[expect]]
id = "X-2"
where = { app = "web" }
metric = "response_time_ms.request"
responses = "share<=500ms"
order = "dcn & pi > red & fifo"
"#;

#[test]
fn claims_and_figures_are_read() {
    let exp = parse(WEB).unwrap();
    assert_eq!(exp.expects[0].responses, Some(Response::Crossover));
    assert_eq!(exp.expects[0].against["aqm"], "fifo");
    assert_eq!(exp.expects[1].order.as_ref().unwrap().groups, [["dcn", "pi"], ["red", "fifo"]]);
    let figure = &exp.figures[0];
    assert_eq!((figure.kind, figure.upto_s), (FigureKind::Tail, Some(50.0)));
    assert_eq!(figure.selector["aqm"], ["fifo", "red"]);
}

#[test]
fn an_uncongested_run_has_the_users_of_a_congested_one() {
    // A single population is calibrated, for both networks and all disciplines.
    let exp = parse(WEB).unwrap();
    let calibration = exp.calibrations().unwrap();
    assert_eq!(calibration.len(), 1);
    let settled = exp.settled(&[(calibration[0].clone(), 30.0)]).unwrap();
    let of = |label: &str| {
        let plan = settled.plan();
        let run = plan.iter().find(|r| r.labels["network"] == label && r.labels["aqm"] == "pi").unwrap();
        let scenario = run.scenario().unwrap();
        (scenario.links[0].rate.as_bps(), scenario.links[0].aqm.name(), scenario.groups[0].apps.len())
    };
    assert_eq!(of("busy"), (10_000_000, "pi", 30));
    assert_eq!(of("free"), (100_000_000, "fifo", 30));
}

/// The mistake, a part of the file, and its replacement.
const WRONG: &[(&str, &str, &str)] = &[
    ("an unknown number of responses", "\"crossover\"", "\"crossing\""),
    ("nothing to compare with", "against = { aqm = \"fifo\" }\n", ""),
    ("nothing that compares", "\"crossover\"", "\"p90\""),
    ("no such label to compare with", "against = { aqm = \"fifo\" }", "against = { aqm = \"fifa\" }"),
    ("no such axis to compare with", "against = { aqm", "against = { aqn"),
    ("no distribution of times", "metric = \"response_time_ms.request\"", "metric = \"completed\""),
    ("no app", "{ aqm = \"red\", app = \"web\" }", "{ aqm = \"red\" }"),
    ("an order that ends with &", "red & fifo", "red &"),
    ("a figure of an unknown kind", "kind = \"tail\"", "kind = \"tale\""),
    ("a figure of an unknown traffic", "app = \"web\"\nresponse", "app = \"wab\"\nresponse"),
    ("a figure of an unknown kind of exchanges", "response = \"request\"", "response = \"requests\""),
    (
        "a claim about an unknown kind of exchanges",
        "metric = \"response_time_ms.request\"",
        "metric = \"response_time_ms.requests\"",
    ),
    ("a figure of an unknown label", "[\"fifo\", \"red\"]", "[\"fifo\", \"rad\"]"),
    ("a figure without a time", "upto = \"50s\"", "upto = \"0s\""),
    ("an unknown key of a figure", "upto =", "to ="),
];

#[test]
fn messages_about_responses_and_figures() {
    let mut all = String::new();
    for (what, from, to) in WRONG {
        assert!(WEB.contains(from), "{what}: {from:?} is not in the example");
        let problem = parse(&WEB.replacen(from, to, 1)).expect_err(what);
        write!(all, "### {what}\n\n{}\n", rendered(&problem)).unwrap();
        assert!(problem.location().is_some(), "{what} has no place");
    }
    insta::assert_snapshot!(all);
}
