//! CoDel, with the delay predicted on arrival.

use serde_json::json;

use super::{hold, notice, pair};

/// Decisions that may differ of the 720,000.
const ALLOWED: u64 = 0;

pair!(Codel, codel, "codel", Predicted);

#[test]
fn decisions_are_those_of_the_discipline() {
    // An arrival is a request of its own: nothing bounds the drops for one.
    let tables = [
        json!({ "max_drops": 1_000_000 }),
        json!({ "max_drops": 1_000_000, "reentry": "2012" }),
        json!({ "max_drops": 1_000_000, "target": "3ms", "interval": "20ms", "ecn": true }),
        json!({ "max_drops": 1_000_000, "target": "10ms", "interval": "30ms", "limit": 40, "mtu": "6000b" }),
        json!({ "max_drops": 1_000_000, "ce_threshold": "4ms", "interval": "50ms" }),
        json!({ "max_drops": 1_000_000, "limit": "40kb", "interval": "8ms", "ecn": true, "ce_threshold": "2ms" }),
    ];
    hold::<Codel>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "max_drops": 1_000_000, "target": "3ms", "interval": "20ms" });
    notice::<Codel>(&table, ALLOWED, "target", |c| c.target += 100_000);
    notice::<Codel>(&table, ALLOWED, "interval", |c| c.interval += 500_000);
    notice::<Codel>(&table, ALLOWED, "root", |c| c.per_root[0][2] += c.per_root[0][2] / 20);
    notice::<Codel>(&table, ALLOWED, "rate", |c| c.byte_time.mantissa.high -= 1 << 24);
    notice::<Codel>(&table, ALLOWED, "packet", |c| c.mtu = 9000);
}
