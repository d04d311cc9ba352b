//! REM.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 840,000 decisions.
const ALLOWED: u64 = 4;

pair!(Rem, rem, "rem");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "target": 10, "gamma": 0.01, "ecn": true }),
        json!({ "phi": 1.05, "gamma": 0.004, "alpha": 0.3, "interval": "10ms" }),
        json!({ "weight": 0.1, "gamma": 0.005 }),
        json!({ "price": "backlog", "gamma": 0.5 }),
        json!({ "byte_mode": true, "avpkt": "700b", "gamma": 0.01 }),
        json!({ "limit": "200kb", "target": "15kb", "gamma": 0.01, "ecn": true }),
    ];
    hold::<Rem>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "target": 10, "gamma": 0.01, "weight": 0.5 });
    notice::<Rem>(&table, ALLOWED, "target", |c| c.target.0 += 1 << 32);
    notice::<Rem>(&table, ALLOWED, "step", |c| c.gamma.mantissa.high -= 1 << 27);
    notice::<Rem>(&table, ALLOWED, "capacity", |c| c.capacity.0 += c.capacity.0 / 50);
    notice::<Rem>(&table, ALLOWED, "interval", |c| c.interval += c.interval / 50);
    notice::<Rem>(&table, ALLOWED, "base", |c| {
        c.per_phi.0[0].iter_mut().for_each(|power| power.high -= power.high >> 7);
    });
}
