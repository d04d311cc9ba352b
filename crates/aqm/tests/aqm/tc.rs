//! Parameters in the words of `tc(8)`, and what it makes of those that are left open.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::common::{link, spec};
use serde_json::{Value, json};

fn effective(name: &str, json: &str) -> Value {
    serde_json::to_value(spec(name, json).effective(&link()).unwrap()).unwrap()
}

fn refusal(name: &str, json: &str) -> String {
    spec(name, json).effective(&link()).unwrap_err().to_string()
}

/// Every value that `expected` names is as it says.
#[track_caller]
fn assert_values(name: &str, json: &str, expected: &Value) {
    let found = effective(name, json);
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&found[field], value, "{field} of {name} {json}");
    }
}

/// The example of tc-red(8), for which `tc -d qdisc` prints `ewma 5`.
#[test]
fn red_as_in_the_example_of_its_page() {
    assert_values(
        "red",
        r#"{"limit": "400000b", "min": "30000b", "max": "90000b", "avpkt": "1000b", "burst": 55, "ecn": true, "adaptive": true,
            "bandwidth": "10mbit"}"#,
        &json!({"weight": 1.0 / 32.0, "burst": 55, "bandwidth": "10mbit", "adaptive": true, "interval": "500ms"}),
    );
}

#[test]
fn thresholds_left_open_are_tcs() {
    let red = |json| effective("red", json);
    let both = |v: Value| (v["min"].clone(), v["max"].clone());
    assert_eq!(both(red(r#"{"limit": "400000b"}"#)), (json!("33333b"), json!("100000b")));
    assert_eq!(both(red(r#"{"limit": "400000b", "min": "30000b"}"#)), (json!("30000b"), json!("90000b")));
    assert_eq!(both(red(r#"{"limit": "400000b", "max": "90000b"}"#)), (json!("30000b"), json!("90000b")));
    assert_eq!(both(red(r#"{"limit": 60}"#)), (json!("5p"), json!("15p")), "the packets of ns-2");
    assert_eq!(both(red(r#"{"min": 10}"#)), (json!("10p"), json!("30p")));
    assert_eq!(both(effective("choke", "{}")), (json!("100p"), json!("200p")), "the paper's network");
    assert_eq!(both(effective("choke", r#"{"limit": "30kb"}"#)), (json!("10240b"), json!("20480b")));
    assert_eq!(both(effective("choke", r#"{"limit": 60, "max": 30}"#)), (json!("10p"), json!("30p")));
}

#[test]
fn a_burst_gives_the_weight_of_all_that_have_a_red() {
    for name in ["red", "choke", "red-pd", "floyd-fall"] {
        assert_values(name, r#"{"min": 5, "max": 15, "burst": 10}"#, &json!({"weight": 1.0 / 16.0}));
    }
    let classes = r#"{"burst": 10, "classes": [{"class": "tcp", "min": 9}, {"class": "*", "min": 5}]}"#;
    assert_values("wred", classes, &json!({"weight": 1.0 / 16.0}));
}

#[test]
fn what_contradicts_itself_is_refused() {
    assert!(
        refusal("red", r#"{"burst": 10, "weight": 0.5}"#).contains("either weight or burst; the burst gives 0.0625")
    );
    assert!(refusal("red", r#"{"burst": 3}"#).contains("at least min, 5 packets"));
    assert!(refusal("red", r#"{"nodrop": true}"#).contains("ecn"));
    assert!(refusal("red", r#"{"bandwidth": "0bit"}"#).contains("bandwidth"));
    assert!(refusal("red", r#"{"adaptive": true, "interval": "1us"}"#).contains("100us"));
}

/// The example of tc-sfq(8): a burst of (2 * 8000 + 60000) / (3 * 1000) = 25 packets, `ewma 6`.
#[test]
fn sfq_as_in_the_example_of_its_page() {
    assert_values(
        "sfq",
        r#"{"limit": 3000, "flows": 512, "divisor": 16384, "redflowlimit": "100000b", "min": "8000b", "max": "60000b",
            "probability": 0.20, "ecn": true, "headdrop": true}"#,
        &json!({"burst": 25, "weight": 1.0 / 64.0, "avpkt": "1000b", "depth": 127}),
    );
    assert_values("sfq", r#"{"redflowlimit": "100000b"}"#, &json!({"min": "8333b", "max": "25000b", "burst": 13}));
    // tc takes the flags alone too, which then have no RED to act on.
    assert_values("sfq", r#"{"ecn": true, "harddrop": true}"#, &json!({"ecn": true, "harddrop": true}));
    for of_red in [r#"{"min": "8000b"}"#, r#"{"max": "8000b"}"#, r#"{"burst": 20}"#] {
        assert!(refusal("sfq", of_red).contains("redflowlimit"), "{of_red}");
    }
    assert!(refusal("sfq", r#"{"redflowlimit": "10000b", "max": "20000b"}"#).contains("10000"));
}

/// By hand, as `tc` derives for RED: a quarter of 1000 packets, a third of that, and a burst of (2 * 83.3 + 250) / 3 packets. It exceeds `min` by 56.7,
/// which a weight of 1/64 lets pass, (1 - (63/64)^139) * 64 = 56.8, and 1/32, 31.6, does not.
#[test]
fn gred_is_as_tc_derives_it() {
    let full = effective("gred", "{}");
    let class = &full["classes"][0];
    assert_eq!(class["max"], json!("250p"), "{class}");
    assert!(class["min"].as_str().is_some_and(|min| min.starts_with("83.33")), "{class}");
    assert_eq!(class["burst"], json!(139), "{class}");
    assert_eq!(class["weight"], json!(1.0 / 64.0), "{class}");
}
