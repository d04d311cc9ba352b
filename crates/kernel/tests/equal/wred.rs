//! WRED.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 4;

pair!(Wred, wred, "wred");

#[test]
fn decisions_are_those_of_the_discipline() {
    let three = json!([
        { "class": "other", "max": 20, "max_p": 0.3 },
        { "class": "multimedia", "max": 20 },
        { "class": "tcp", "min": 4, "max": 30, "max_p": 0.05 },
    ]);
    let tables = [
        json!({}),
        json!({ "classes": three, "weight": 0.02 }),
        json!({ "classes": three, "weight": 0.02, "gentle": true, "ecn": true }),
        json!({ "classes": three, "burst": 30, "avpkt": "700b", "bandwidth": "5mbit", "ecn": true, "harddrop": false }),
        json!({ "classes": [{ "class": "tcp", "max": 8 }, { "class": "*", "max": 12 }], "limit": 25, "weight": 0.1 }),
        json!({ "limit": "60kb", "weight": 0.03, "classes": [
            { "class": "tcp", "max": "12kb" }, { "class": "*", "min": "3kb", "max": "20kb" }] }),
    ];
    hold::<Wred>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "weight": 0.02, "classes": [{ "class": "tcp", "max": 20 }, { "class": "*", "max": 20 }] });
    notice::<Wred>(&table, ALLOWED, "lower threshold", |c| c.ramps[0].min = c.ramps[0].min.minus(Fixed::whole(1)));
    notice::<Wred>(&table, ALLOWED, "slope", |c| c.ramps[1].per_width.shifts += 1);
    notice::<Wred>(&table, ALLOWED, "weight", |c| c.averaging.keep.0[0][1].high -= 1 << 22);
    notice::<Wred>(&table, ALLOWED, "decay", |c| c.averaging.drain_rate.shifts += 1);
    notice::<Wred>(&table, ALLOWED, "entry of a class", |c| c.entry[2] = 0);
}
