//! SRED.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 1;

pair!(Sred, sred, "sred");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({ "limit": "60kb" }),
        json!({ "limit": "60kb", "full": false, "max_p": 0.3 }),
        json!({ "limit": 40, "zombies": 100, "overwrite": 0.5, "ecn": true }),
        json!({ "limit": 40, "zombies": 1, "weight": 0.05 }),
        json!({ "limit": 100, "zombies": 5000, "weight": 0.002, "overwrite": 1.0 }),
        json!({ "limit": 100, "zombies": 16384, "weight": 0.0001, "max_p": 1.0 }),
    ];
    hold::<Sred>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "limit": "60kb" });
    notice::<Sred>(&table, ALLOWED, "third", |c| c.third.0 *= 2);
    notice::<Sred>(&table, ALLOWED, "probability", |c| c.max_p.0 += c.max_p.0 / 10);
    notice::<Sred>(&table, ALLOWED, "weight", |c| c.weight.mantissa.high += 1 << 28);
    notice::<Sred>(&table, ALLOWED, "overwriting", |c| c.overwrite.0 *= 2);
    notice::<Sred>(&table, ALLOWED, "length of the list", |c| c.zombies += 10);
}
