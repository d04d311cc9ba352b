//! The table of profiles in the documentation, held to the code.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_transport::Profile;
use aqmkit_transport::profile::{NAMES, Overrides};
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

/// `SO_RCVBUF`: a window that is set stays as it is; both at once contradict each other.
#[test]
fn a_window_that_is_set_is_not_tuned() {
    let of = |text: &str| serde_json::from_str::<Overrides>(text).unwrap().apply(Profile::linux_6());
    let fixed = of(r#"{"receive_window": "3145728b"}"#).unwrap();
    assert_eq!((fixed.first_receive_window(), fixed.largest_receive_window()), (3 << 20, 3 << 20));
    assert!(of(r#"{"tcp_rmem": ["1b", "2b", "9b"]}"#).unwrap().tcp_moderate_rcvbuf);
    let error = of(r#"{"receive_window": "1b", "tcp_moderate_rcvbuf": true}"#).unwrap_err().to_string();
    assert!(error.contains("leave one of the two out"), "{error}");
}

/// Changes with `$` in place of a value; the values at the ends that are taken, and those beyond that are not.
type Bound = (&'static str, &'static [&'static str], &'static [&'static str]);

const BOUNDS: &[Bound] = &[
    (r#"{"mss": $}"#, &[r#""1b""#, r#""65535b""#], &[r#""0b""#, r#""65536b""#]),
    (r#"{"receive_window": $}"#, &[r#""1b""#, r#""4294967295b""#], &[r#""0b""#, r#""4294967296b""#]),
    (r#"{"tcp_rmem": ["1b", "2b", $]}"#, &[r#""2b""#, r#""4294967295b""#], &[r#""1b""#, r#""4294967296b""#]),
    (r#"{"tcp_wmem": [$, "2b", "2b"]}"#, &[r#""1b""#, r#""2b""#], &[r#""0b""#, r#""3b""#]),
    (r#"{"scaling_ratio": $}"#, &["1e-300", "1.0"], &["0.0", "1.000000001"]),
    (r#"{"max_backoff": $}"#, &["1"], &["0"]),
    (r#"{"initial_window": $}"#, &["1"], &["0"]),
    (r#"{"least_after_mark": $}"#, &["1"], &["0"]),
    (r#"{"mss": "1000b", "cwnd_limit": $}"#, &[r#""1000b""#], &[r#""999b""#]),
    (r#"{"max_rto": "50s", "min_rto": $}"#, &[r#""1ns""#, r#""50s""#], &[r#""0s""#, r#""50000000001ns""#]),
    (r#"{"max_rto": "50s", "initial_rto": $}"#, &[r#""1ns""#, r#""50s""#], &[r#""0s""#, r#""50000000001ns""#]),
    (r#"{"syn": $}"#, &[r#"["1ns"]"#], &["[]", r#"["1s", "0s"]"#]),
    (r#"{"syn_ack": $}"#, &[r#"["1ns"]"#], &["[]", r#"["1s", "0s"]"#]),
    (r#"{"cubic": {"c": $}}"#, &["1e-300", "1e300"], &["0.0", "-1.0"]),
    (r#"{"cubic": {"beta": $}}"#, &["1e-300", "0.999999999"], &["0.0", "1.0"]),
    (r#"{"cubic": {"first_growth": $}}"#, &["0.0", "1.0"], &["-1e-300", "1.000000001"]),
    (r#"{"dctcp": {"g": $}}"#, &["1e-300", "1.0"], &["0.0", "1.000000001"]),
    (r#"{"dctcp": {"alpha": $}}"#, &["0.0", "1.0"], &["-1e-300", "1.000000001"]),
    (r#"{"prague": {"g": $}}"#, &["1e-300", "1.0"], &["0.0", "1.000000001"]),
    (r#"{"prague": {"rtt_target": $}}"#, &[r#""1ns""#], &[r#""0s""#]),
    (r#"{"ledbat": {"target": $}}"#, &[r#""1ns""#, r#""100ms""#], &[r#""0s""#, r#""100000001ns""#]),
    (r#"{"ledbat": {"gain": $}}"#, &["1e-300", "1.0"], &["0.0", "1.000000001"]),
    (r#"{"ledbat": {"base_history": $}}"#, &["1", "60"], &["0", "61"]),
    (r#"{"ledbat": {"current_filter": $}}"#, &["1", "64"], &["0", "65"]),
    (r#"{"tfrc": {"timeout": $}}"#, &[r#""1ns""#], &[r#""0s""#]),
    (r#"{"tfrc": {"intervals": $}}"#, &["2", "32"], &["1", "33"]),
    (r#"{"scp": {"excess": $}}"#, &["1e-300", "1e300"], &["0.0"]),
    (r#"{"scp": {"growth": $}}"#, &["1e-300", "0.999999999"], &["0.0", "1.0"]),
    (r#"{"lda": {"interval": $}}"#, &[r#""1ns""#], &[r#""0s""#]),
    (r#"{"lda": {"initial_rate": $}}"#, &[r#""1bit""#], &[r#""0bit""#]),
    (r#"{"lda": {"increase": $}}"#, &[r#""1bit""#], &[r#""0bit""#]),
    (r#"{"lda": {"reduction": $}}"#, &["1e-300"], &["0.0"]),
    (r#"{"timer": {"tick": $}}"#, &[r#""1ns""#], &[r#""0s""#]),
    (r#"{"delayed_ack": {"tick": $}}"#, &[r#""1ns""#], &[r#""0s""#]),
    (
        r#"{"delayed_ack": {"adaptive": {"least": $, "most": "1s"}}}"#,
        &[r#""1ns""#, r#""1s""#],
        &[r#""0s""#, r#""1001ms""#],
    ),
];

/// Who refuses a value names its field.
#[test]
fn what_parameters_may_be_ends_where_it_should() {
    for (changes, taken, refused) in BOUNDS {
        let apply = |value: &str| {
            let text = changes.replace('$', value);
            let overrides: Overrides = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            overrides.apply(Profile::rfc()).map(|_| ()).map_err(|e| e.field.rsplit('.').next().unwrap().to_owned())
        };
        for value in *taken {
            assert_eq!(apply(value), Ok(()), "{value} in {changes}");
        }
        for value in *refused {
            let told = apply(value).expect_err(&format!("{value} in {changes}"));
            assert!(changes.contains(&format!("\"{told}\"")), "{value} in {changes}: {told}");
        }
    }
    for (count, taken) in [(255, true), (256, false)] {
        let syn = vec![aqmkit_base::Duration::from_secs(1); count];
        assert_eq!(Profile { syn, ..Profile::rfc() }.check().is_ok(), taken);
    }
}

/// The value of a cell (`0.7`, `true`, `"no"`, `100ms`); `None` for words.
fn given(cell: &str) -> Option<Value> {
    let cell = cell.trim_matches('`');
    let value = serde_json::from_str(cell).unwrap_or_else(|_| Value::from(cell));
    (!cell.is_empty() && !cell.contains(' ')).then_some(value)
}

/// The parameters on the pages of controls, as `rfc` and `ns2` have them.
#[test]
fn a_default_on_a_page_is_the_default_in_the_code() {
    let profiles = ["rfc", "ns2"].map(|name| serde_json::to_value(Profile::named(name).unwrap()).unwrap());
    let mut checked = 0;
    for (name, _) in aqmkit_transport::registry::summaries() {
        let Some(page) = aqmkit_transport::registry::page(name) else { continue };
        for line in page.lines() {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let [_, field, _, default, _, ..] = cells[..] else { continue };
            let Some((control, parameter)) = field.trim_matches('`').split_once('.') else { continue };
            let Some(value) = given(default) else { continue };
            for profile in &profiles {
                let found = &profile[control][parameter];
                let equal = found == &value || found.as_f64().is_some_and(|n| Some(n) == value.as_f64());
                assert!(equal, "{field}: {default} on the page, {found} in the code");
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}
