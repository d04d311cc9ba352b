//! The table of profiles in the documentation, held to the code.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_flows::transport::Profile;
use aqmkit_flows::transport::profile::NAMES;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/profiles.md");

/// A value in a cell: durations and sizes as in experiment files.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(on) => (if *on { "yes" } else { "no" }).to_owned(),
        Value::Array(all) => all.iter().map(cell).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => fields.iter().map(|(k, v)| format!("{k} {}", cell(v))).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn table() -> String {
    let profiles: Vec<_> = NAMES.iter().map(|n| serde_json::to_value(Profile::named(n).unwrap()).unwrap()).collect();
    let mut text = format!("| | {} |\n|---|{}\n", NAMES.join(" | "), "---|".repeat(NAMES.len()));
    for field in profiles[0].as_object().unwrap().keys() {
        let values: Vec<_> = profiles.iter().map(|p| &p[field]).collect();
        // Parameters of one control: those that are not the same everywhere. Its page has the others.
        if values.iter().all(|v| v.is_object()) {
            for name in values[0].as_object().unwrap().keys() {
                let inner: Vec<_> = values.iter().map(|v| &v[name]).collect();
                if inner.iter().any(|v| *v != inner[0]) {
                    text.push_str(&row(&format!("{field}.{name}"), &inner));
                }
            }
        } else {
            text.push_str(&row(field, &values));
        }
    }
    text
}

fn row(field: &str, values: &[&Value]) -> String {
    let cells: Vec<_> = values.iter().map(|v| cell(v)).collect();
    format!("| `{field}` | {} |\n", cells.join(" | "))
}

#[test]
fn the_page_has_the_values_of_the_code() {
    let table = table();
    assert!(PAGE.contains(&table), "the table of docs/profiles.md has to be:\n{table}");
}
