//! SFB.

use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions: one arrival processes at most 64 departures while packets are queued.
const ALLOWED: u64 = 4;

pair!(Sfb, sfb, "sfb");

#[test]
fn decisions_are_those_of_the_discipline() {
    // No multiple of these increments is exactly one.
    let tables = [
        json!({ "max": 8, "increment": 0.00321, "decrement": 0.000_317 }),
        json!({ "max": 10, "increment": 0.0123, "decrement": 0.001_27, "levels": 3, "bins": 23, "ecn": false }),
        json!({ "max": 6, "increment": 0.0321, "decrement": 0.003_17, "freeze": "20ms", "limit": 60 }),
        json!({ "target": 4, "max": 9, "increment": 0.0213, "decrement": 0.000_73, "rehash": "7s", "db": "3s" }),
        json!({ "max": 5, "increment": 0.0713, "decrement": 0.000_57, "penalty_rate": 30, "penalty_burst": 5, "rehash": "0s" }),
        json!({ "max": 12, "increment": 0.0131, "decrement": 0.000_93, "levels": 1, "bins": 256, "rehash": "1s", "db": "1s",
                "limit": "60kb" }),
    ];
    hold::<Sfb>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "max": 8, "increment": 0.0321, "decrement": 0.000_317, "rehash": "7s", "db": "3s" });
    notice::<Sfb>(&table, ALLOWED, "size of a bin", |c| c.bin_size += 1);
    notice::<Sfb>(&table, ALLOWED, "bound of a bin", |c| c.max += 1);
    notice::<Sfb>(&table, ALLOWED, "step up", |c| c.increment.0 += c.increment.0 / 20);
    notice::<Sfb>(&table, ALLOWED, "step down", |c| c.decrement.0 += c.decrement.0 / 5);
    notice::<Sfb>(&table, ALLOWED, "number of bins", |c| c.bins -= 1);
    notice::<Sfb>(&table, ALLOWED, "turn", |c| c.rehash += c.rehash / 50);
    notice::<Sfb>(&table, ALLOWED, "penalty", |c| c.penalty_rate.shifts += 2);
}
