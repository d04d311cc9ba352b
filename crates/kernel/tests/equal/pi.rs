//! PI.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 4;

pair!(Pi, pi, "pi");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({ "q_ref": 20, "limit": 100 }),
        json!({ "q_ref": 10, "a": 0.001, "b": 0.00095, "w": 100 }),
        json!({ "q_ref": 10, "a": 0.001, "b": 0.00095, "w": 1000, "ecn": true }),
        json!({ "q_ref": 15, "design": { "flows": 5, "rtt": "100ms" } }),
        json!({ "q_ref": 15, "design": { "flows": 5, "rtt": "100ms" }, "byte_mode": true, "avpkt": "700b" }),
        json!({ "limit": "200kb", "q_ref": "15kb", "a": 0.002, "b": 0.0019, "ecn": true }),
    ];
    hold::<Pi>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "q_ref": 10, "a": 0.001, "b": 0.00095 });
    notice::<Pi>(&table, ALLOWED, "gain", |c| c.b.mantissa.high -= 1 << 20);
    notice::<Pi>(&table, ALLOWED, "target", |c| c.q_ref.0 += 1 << 32);
    notice::<Pi>(&table, ALLOWED, "period", |c| c.period += c.period / 50);
}
