//! ARED.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 4;

pair!(Ared, ared, "ared");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "target_delay": "20ms", "ecn": true }),
        json!({ "ecn": true, "harddrop_from": 1.2, "time_constant": "200ms", "interval": "50ms" }),
        json!({ "limit": "200kb", "alpha": 0.02, "beta": 0.7, "top": 0.4, "bottom": 0.05, "byte_mode": true }),
        json!({ "variant": "feng", "ecn": true }),
        json!({ "variant": "feng", "alpha": 1.5, "beta": 1.3, "min": 4, "max": 10, "weight": 0.1, "harddrop": false }),
    ];
    hold::<Ared>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "interval": "50ms", "time_constant": "200ms" });
    notice::<Ared>(&table, ALLOWED, "step up", |c| c.red.adaptation.alpha.0 *= 2);
    notice::<Ared>(&table, ALLOWED, "fall", |c| c.red.adaptation.beta.shifts += 1);
    let feng = json!({ "variant": "feng", "weight": 0.1 });
    notice::<Ared>(&feng, ALLOWED, "rise", |c| c.beta.mantissa.high += 1 << 24);
}
