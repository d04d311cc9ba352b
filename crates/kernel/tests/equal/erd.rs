//! ERD.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 360,000 decisions.
const ALLOWED: u64 = 0;

pair!(Erd, erd, "erd");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "limit": 60, "threshold": 5, "probability": 0.3, "ecn": true }),
        json!({ "limit": "60kb", "threshold": 12, "probability": 0.01 }),
    ];
    hold::<Erd>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    notice::<Erd>(&json!({}), ALLOWED, "threshold", |c| c.threshold.most.0 += 1 << 32);
    notice::<Erd>(&json!({}), ALLOWED, "probability", |c| c.probability.0 += c.probability.0 / 10);
}
