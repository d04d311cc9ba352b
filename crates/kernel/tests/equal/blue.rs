//! BLUE.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 600,000 decisions.
const ALLOWED: u64 = 4;

pair!(Blue, blue, "blue");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({ "limit": 30 }),
        json!({ "limit": 30, "d1": 0.02, "d2": 0.002, "freeze": "10ms" }),
        json!({ "limit": 100, "trigger": 15, "freeze": "20ms", "ecn": true }),
        json!({ "limit": "60kb", "trigger": "20kb", "d1": 0.013, "d2": 0.0007 }),
        json!({ "limit": 60, "freeze": "1s", "d1": 0.1, "d2": 0.03 }),
    ];
    hold::<Blue>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "limit": 30, "d1": 0.02, "d2": 0.002, "freeze": "10ms" });
    notice::<Blue>(&table, ALLOWED, "step up", |c| c.d1.0 += c.d1.0 / 50);
    notice::<Blue>(&table, ALLOWED, "step down", |c| c.d2.0 += c.d2.0 / 50);
    notice::<Blue>(&table, ALLOWED, "pause", |c| c.freeze *= 2);
}
