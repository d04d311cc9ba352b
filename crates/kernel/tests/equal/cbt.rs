//! CBT.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::{Value, json};

use super::{hold, notice, pair};

/// Tolerated differences among 840,000 decisions.
const ALLOWED: u64 = 4;

pair!(Cbt, cbt, "cbt");

/// RED for TCP and thresholds for the others, as in the dissertation.
fn classes(counting: &str, unit: u64) -> Value {
    json!({ "counting": counting, "limit": 100, "classes": [
        { "class": "tcp", "min": format!("{}{}", 3 * unit, if unit > 1 { "b" } else { "p" }),
          "max": format!("{}{}", 20 * unit, if unit > 1 { "b" } else { "p" }), "weight": 0.01, "max_p": 0.2 },
        { "class": "multimedia", "max": format!("{}{}", 6 * unit, if unit > 1 { "b" } else { "p" }), "weight": 0.0625 },
        { "class": "other", "max": format!("{}{}", 2 * unit, if unit > 1 { "b" } else { "p" }), "weight": 0.25 },
    ] })
}

fn with(mut table: Value, name: &str, value: Value) -> Value {
    table[name] = value;
    table
}

#[test]
fn decisions_are_those_of_the_discipline() {
    let by_bandwidth = json!({ "limit": "120kb", "latency": "20ms", "classes": [
        { "class": "other", "bandwidth": "1mbit", "packet_size": "500b", "drain_rate": 300.5 },
        { "class": "*", "bandwidth": "6mbit", "min": 4, "weight": 0.0313 },
    ] });
    let tables = [
        json!({}),
        classes("packets", 1),
        classes("bytes", 1000),
        with(classes("packets", 1), "ecn", json!(true)),
        with(classes("bytes", 800), "limit", json!("20kb")),
        by_bandwidth,
        json!({ "limit": 30, "classes": [{ "class": "*", "min": 3, "max": 15, "max_p": 0.3, "weight": 0.02 }] }),
    ];
    hold::<Cbt>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = classes("packets", 1);
    notice::<Cbt>(&table, ALLOWED, "threshold of one class", |c| {
        c.classes[1].ramp.ceiling = c.classes[1].ramp.ceiling.plus(Fixed::whole(1));
    });
    notice::<Cbt>(&table, ALLOWED, "slope", |c| c.classes[0].ramp.per_width.shifts += 1);
    notice::<Cbt>(&table, ALLOWED, "weight", |c| c.classes[2].averaging.keep.0[0][1].high -= 1 << 26);
    notice::<Cbt>(&table, ALLOWED, "decay", |c| c.classes[0].averaging.drain_rate.shifts += 1);
    notice::<Cbt>(&table, ALLOWED, "entry of a class", |c| c.entry[1] = 0);
}
