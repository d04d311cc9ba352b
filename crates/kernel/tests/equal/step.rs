//! The step marker with a threshold on the queue length; the one on the delay is a prediction in the kernel.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 360,000 decisions.
const ALLOWED: u64 = 0;

pair!(Step, step, "step");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables =
        [json!({}), json!({ "threshold": "15kb", "not_ect": "pass" }), json!({ "limit": "60kb", "threshold": 4 })];
    hold::<Step>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    notice::<Step>(&json!({}), ALLOWED, "threshold", |c| c.threshold.most.0 += 1 << 32);
}
