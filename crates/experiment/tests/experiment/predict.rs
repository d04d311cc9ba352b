//! Predictions by equations, and messages about wrong ones.

use std::fmt::Write as _;

use aqmkit_experiment::{Experiment, Overrides};
use aqmkit_results::Overlay;

use super::{SMALL, parse, rendered};

const LINE: &str = r#"
[[predict]]
quantity = "classes.tcp.latency_ms.mean"
label = "L'"
where = { aqm = "red" }
formula = "queue-latency"
args = { packet = "1000b", rate = "8mbit" }
points = [{ t = "0s", queue = 5 }, { t = "5s", queue = 10 }, { t = "5s", queue = 10, rate = "4mbit" }]
"#;

#[test]
fn points_change_the_arguments() {
    let line = parse(&format!("{SMALL}{LINE}")).unwrap().predictions.remove(0);
    assert_eq!((line.quantity.as_str(), line.label.as_str()), ("classes.tcp.latency_ms.mean", "L'"));
    assert_eq!(line.selector["aqm"], ["red"]);
    assert_eq!(line.points, [(0.0, 5.0), (5.0, 10.0), (5.0, 20.0)]);
}

/// The mistake, a part of the text, and its replacement.
const WRONG: &[(&str, &str, &str)] = &[
    ("one table", "[[predict]]", "[predict]"),
    ("an unknown key", "label =", "labell ="),
    ("no label", "label = \"L'\"\n", ""),
    ("no points", "points = [{ t = \"0s\", queue = 5 }, ", "points = [] # "),
    ("an unknown class", "classes.tcp", "classes.tpc"),
    ("a column that the series do not have", "latency_ms.mean", "latency_ms.p90"),
    ("an unknown formula", "\"queue-latency\"", "\"queue-latncy\""),
    ("a formula of another dimension", "latency_ms.mean", "goodput_bps"),
    ("an argument of the wrong unit", "\"8mbit\"", "\"8ms\""),
    ("an argument that is missing", "packet = \"1000b\", ", ""),
    ("an unknown argument at a point", "queue = 10,", "queue = 10, queues = 2,"),
    ("a point without a time", "{ t = \"0s\", queue", "{ queue"),
    ("a bare number for a time", "t = \"0s\"", "t = 0"),
    ("points out of order", "t = \"0s\"", "t = \"6s\""),
    ("no such axis in where", "aqm = \"red\"", "aqn = \"red\""),
    ("no such label in where", "aqm = \"red\"", "aqm = \"rde\""),
];

#[test]
fn messages_about_predictions() {
    let mut all = String::new();
    for (what, from, to) in WRONG {
        assert!(LINE.contains(from), "{what}: {from:?} is not in the example");
        let problem = parse(&format!("{SMALL}{}", LINE.replacen(from, to, 1))).expect_err(what);
        write!(all, "### {what}\n\n{}\n", rendered(&problem)).unwrap();
        assert!(problem.location().is_some(), "{what} has no place");
    }
    insta::assert_snapshot!(all);
}

/// The value of the line at a time; at a step, the value before it.
fn at(line: &Overlay, time: f64) -> f64 {
    let next = line.points.iter().position(|(t, _)| *t >= time).expect("the line ends before");
    let ((t1, y1), (t0, y0)) = (line.points[next], line.points[next.saturating_sub(1)]);
    if t1 > t0 { y0 + (y1 - y0) * (time - t0) / (t1 - t0) } else { y1 }
}

/// Tables 4.8 and 4.9, where they have one number for a period; 272.5 is the middle of the plateau.
#[test]
fn the_lines_of_the_ramp_are_those_of_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/cbt/ramp.toml");
    let ramp = Experiment::load(path, &Overrides::default()).unwrap();
    let line = |quantity: &str| ramp.predictions.iter().find(|p| p.quantity == quantity).unwrap();
    let kb = |class: &str, time: f64| at(line(&format!("classes.{class}.throughput_bps")), time) / 8192.0;
    for (time, tcp, multimedia, other) in [
        (20.0, 1225.0, 0.0, 0.0),
        (66.0, 972.0, 253.0, 0.0),
        (133.0, (972.0 + 575.0) / 2.0, (253.0 + 150.0) / 2.0, 250.0),
        (200.0, 575.0, 150.0, 500.0),
        (272.5, 575.0, 150.0, 500.0),
        (347.0, (972.0 + 575.0) / 2.0, (253.0 + 150.0) / 2.0, 250.0),
        (450.0, 972.0, 253.0, 0.0),
        (560.0, 1225.0, 0.0, 0.0),
    ] {
        for (class, wanted) in [("tcp", tcp), ("multimedia", multimedia), ("other", other)] {
            let predicted = kb(class, time);
            assert!((predicted - wanted).abs() < 1.0, "{class} at {time} s: {predicted} KB/s, not {wanted}");
        }
    }
    let latency = line("classes.multimedia.latency_ms.mean");
    for (time, wanted) in [(66.0, 61.0), (240.0, 100.0), (450.0, 61.0)] {
        assert!((at(latency, time) - wanted).abs() <= 0.5, "{} ms at {time} s, not {wanted}", at(latency, time));
    }
    assert_eq!((latency.points[0].0, latency.points[5].0), (42.0, 515.0));
}
