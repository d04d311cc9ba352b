//! Published tables that are claimed cell by cell, and messages about wrong ones.

use std::fmt::Write as _;

use aqmkit_results::Table;

use super::{SMALL, parse, rendered};

const SWEPT: &str = r#"
[[sweep.point]]
label = "first"
as = { gamma = 0.5 }
"params.red.weight" = 0.01

[[sweep.point]]
label = "second"
as = { gamma = 2 }
"params.red.weight" = 0.02
"#;

const TABLE: &str = r#"
[[expect_table]]
id = "X-{mix}-{weight}-{gamma}"
where = { aqm = "red", point = ["second", "first"], window = "blast", class = "tcp" }
metric = "goodput_bps"
"#;

const COMPUTED: &str = r#"
[[expect_table]]
id = "Y-{n}-{class}"
title = "thresholds"
formula = "cbt-threshold"
args = { latency = "100ms" }
cells = [
  { n = 1, class = "mm", bandwidth = "220kibps", packet = "889b" },
  { n = 2, class = "TCP", bandwidth = "855kibps", packet = "1053b" },
]
"#;

fn both() -> String {
    format!("{}{TABLE}", SMALL.replacen("[[sweep.mix]]", &format!("{SWEPT}\n[[sweep.mix]]"), 1))
}

fn cells(table: &Table) -> Vec<(&str, &str, &str)> {
    table.cells.iter().map(|c| (c.row.as_str(), c.column.as_str(), c.id.as_str())).collect()
}

#[test]
fn names_stand_for_axes_keys_and_names_of_values() {
    let experiment = parse(&both()).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    let table = &experiment.tables[0];
    assert_eq!((table.title.as_str(), table.rows.as_str()), ("X-{mix}-{weight}-{gamma}", "mix"));
    assert_eq!(
        cells(table),
        [
            ("bulk", "0.01 0.5", "X-bulk-0.01-0.5"),
            ("bulk", "0.02 2", "X-bulk-0.02-2"),
            ("both", "0.01 0.5", "X-both-0.01-0.5"),
            ("both", "0.02 2", "X-both-0.02-2"),
        ]
    );
    let last = experiment.expects.iter().find(|e| e.id == "X-both-0.02-2").unwrap();
    assert_eq!((&last.selector["mix"], &last.selector["point"]), (&vec!["both".into()], &vec!["second".into()]));
    assert_eq!((last.class.as_deref(), &last.selector["aqm"]), (Some("tcp"), &vec!["red".into()]));
}

/// A table with one placeholder has one row: each value is a column.
#[test]
fn a_table_of_one_name_is_a_row() {
    let text = both().replace("X-{mix}-{weight}-{gamma}", "X-{mix}").replace(
        "where = { aqm = \"red\", point = [\"second\", \"first\"],",
        "where = { aqm = \"red\", point = \"first\",",
    );
    let table = &parse(&text).unwrap_or_else(|e| panic!("{}", rendered(&e))).tables[0];
    assert_eq!((table.rows.as_str(), table.columns.as_str()), ("", "mix"));
    assert_eq!(cells(table), [("", "bulk", "X-bulk"), ("", "both", "X-both")]);
}

/// A placeholder that is not an axis is a key that some axis changes.
#[test]
fn a_key_is_found_with_the_axis_that_changes_it() {
    let text = both().replace("[sweep]\naqm = [", "[sweep]\n\"topology.delay\" = [\"1ms\", \"2ms\"]\naqm = [");
    let text = text
        .replace("{mix}-{weight}-{gamma}", "{delay}-{gamma}")
        .replace("where = { aqm = \"red\", point", "where = { aqm = \"red\", mix = \"both\", point");
    let table = &parse(&text).unwrap_or_else(|e| panic!("{}", rendered(&e))).tables[0];
    let wanted = ["X-1ms-0.5", "X-1ms-2", "X-2ms-0.5", "X-2ms-2"];
    assert_eq!(cells(table).iter().map(|cell| cell.2).collect::<Vec<_>>(), wanted);
}

#[test]
fn where_leaves_out_cells() {
    let text = both().replace("point = [\"second\", \"first\"]", "point = \"second\", mix = \"bulk\"");
    assert_eq!(cells(&parse(&text).unwrap().tables[0]), [("bulk", "0.02 2", "X-bulk-0.02-2")]);
}

#[test]
fn cells_may_be_listed() {
    let experiment =
        parse(&format!("title = \"Equations\"\n{COMPUTED}")).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    let table = &experiment.tables[0];
    assert_eq!((table.title.as_str(), table.rows.as_str(), table.columns.as_str()), ("thresholds", "n", "class"));
    assert_eq!(cells(table), [("1", "mm", "Y-1-mm"), ("2", "TCP", "Y-2-TCP")]);
    let args = &experiment.expects[1].args;
    assert_eq!((args["latency"].as_str(), args["packet"].as_str(), args.len()), (Some("100ms"), Some("1053b"), 3));
}

/// The mistake, a part of the text, and its replacement.
const WRONG: &[(&str, &str, &str)] = &[
    ("one table", "[[expect_table]]", "[expect_table]"),
    ("no name in braces", "X-{mix}-{weight}-{gamma}", "X"),
    ("an open brace", "{weight}", "{weight"),
    ("neither an axis nor a key", "{weight}", "{wieght}"),
    ("an unknown key", "metric =", "metrik ="),
    ("no such class", "class = \"tcp\"", "class = \"tpc\""),
    ("no such label", "[\"second\", \"first\"]", "[\"third\"]"),
    ("names that are no table", "as = { gamma = 0.5 }", "as = 0.5"),
    (
        "a selection that is no table",
        "{ aqm = \"red\", point = [\"second\", \"first\"], window = \"blast\", class = \"tcp\" }",
        "\"blast\"",
    ),
    ("arguments that are no table", "{ latency = \"100ms\" }", "\"100ms\""),
    ("a cell without one of the names", "n = 1, ", ""),
    ("no cells", "cells = [", "cells = [] # "),
];

#[test]
fn messages_about_tables() {
    let mut all = String::new();
    for (what, from, to) in WRONG {
        let text = if COMPUTED.contains(from) && !both().contains(from) {
            format!("title = \"Equations\"\n{}", COMPUTED.replacen(from, to, 1))
        } else {
            assert!(both().contains(from), "{what}: {from:?} is not in the example");
            both().replacen(from, to, 1)
        };
        let text = if *what == "no cells" { text.split("# ").next().unwrap_or_default().to_owned() } else { text };
        let problem = parse(&text).expect_err(what);
        write!(all, "### {what}\n\n{}\n", rendered(&problem)).unwrap();
        assert!(problem.location().is_some(), "{what} has no place");
    }
    insta::assert_snapshot!(all);
}
