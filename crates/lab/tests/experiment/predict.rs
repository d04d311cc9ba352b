//! Lines that equations predict, and what is said of wrong ones.

use std::fmt::Write as _;

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

/// What is wrong, a part of the line, and what stands in its place.
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
