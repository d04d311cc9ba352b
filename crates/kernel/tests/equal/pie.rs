//! PIE, with the delay predicted on arrival.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 840,000 decisions.
const ALLOWED: u64 = 4;
/// Tolerated differences among the 240,000 without derandomisation: after a pause one arrival processes only 128
/// updates, and a drop probability that is then too high shows at once.
const ALLOWED_AFTER_PAUSES: u64 = 20;

pair!(Pie, pie, "pie", Predicted);

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "ecn": true, "target": "5ms" }),
        json!({ "cap": false, "alpha": 1.25, "beta": 2.0, "max_burst": "20ms" }),
        json!({ "decay": "low", "target": "8ms", "ecn": true, "ecn_prob": 0.05 }),
        json!({ "bytemode": true, "avpkt": "700b", "target": "5ms", "max_burst": "0s" }),
        json!({ "limit": 60, "target": "4ms", "tupdate": "30ms", "alpha": 1.25 }),
        json!({ "limit": "40kb", "target": "3ms", "max_burst": "10ms", "alpha": 0.5, "ecn": true, "ecn_prob": 0.5 }),
    ];
    hold::<Pie>(&tables, ALLOWED);
}

#[test]
fn so_they_are_without_spacing() {
    let tables = [
        json!({ "derandomize": false, "target": "4ms", "tupdate": "20ms" }),
        json!({ "bytemode": true, "derandomize": false, "target": "3ms" }),
    ];
    hold::<Pie>(&tables, ALLOWED_AFTER_PAUSES);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "target": "5ms", "max_burst": "20ms" });
    notice::<Pie>(&table, ALLOWED, "target", |c| c.target += c.target / 20);
    notice::<Pie>(&table, ALLOWED, "weight of the error", |c| c.alpha.mantissa.high += 1 << 26);
    notice::<Pie>(&table, ALLOWED, "weight of the change", |c| c.beta.mantissa.high += 1 << 26);
    notice::<Pie>(&table, ALLOWED, "period", |c| c.tupdate += c.tupdate / 20);
    notice::<Pie>(&table, ALLOWED, "burst", |c| c.max_burst = 60_000_000_000);
    notice::<Pie>(&table, ALLOWED, "bound of the increments", |c| c.cap = 0);
    notice::<Pie>(&table, ALLOWED, "rate", |c| c.byte_time.mantissa.high -= 1 << 26);
}
