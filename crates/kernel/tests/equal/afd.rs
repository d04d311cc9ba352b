//! AFD.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 10;

pair!(Afd, afd, "afd");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({ "alpha": 1.71234, "beta": 1.80457, "q_target": 10 }),
        json!({ "alpha": 0.31234, "beta": 0.33457, "q_target": 10, "sampling": 1, "buffer": 300 }),
        json!({ "alpha": 0.51234, "beta": 0.53457, "q_target": 10, "replace": "oldest", "ecn": true }),
        json!({ "alpha": 1.71234, "beta": 1.80457, "limit": "200kb", "q_target": "12kb", "buffer": 100 }),
        json!({ "alpha": 0.51234, "beta": 0.53457, "interval": "1ms", "q_target": 10, "buffer": 4000, "sampling": 1 }),
        json!({ "alpha": 0.51234, "beta": 0.53457, "limit": 30, "q_target": 8, "sampling": 2.5, "buffer": 60 }),
    ];
    hold::<Afd>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "alpha": 0.51234, "beta": 0.53457, "q_target": 10 });
    notice::<Afd>(&table, ALLOWED, "target", |c| c.q_target.0 += 1 << 32);
    notice::<Afd>(&table, ALLOWED, "gain", |c| c.beta.mantissa.high += 1 << 24);
    notice::<Afd>(&table, ALLOWED, "sampling", |c| c.sampled.0 += c.sampled.0 / 50);
    notice::<Afd>(&table, ALLOWED, "interval", |c| c.interval += c.interval / 50);
    notice::<Afd>(&table, ALLOWED, "buffer", |c| c.buffer += 10);
}
