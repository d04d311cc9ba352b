//! RIO.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 720,000 decisions.
const ALLOWED: u64 = 4;

pair!(Rio, rio, "rio");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({ "in": ["tcp"] }),
        json!({ "in": ["tcp", "other"], "weight": 0.05, "in_min": 4, "in_max": 12, "out_min": 2, "out_max": 8 }),
        json!({ "in": ["multimedia"], "coupled": false, "weight": 0.02 }),
        json!({ "in": ["multimedia"], "gentle": true, "ecn": true, "weight": 0.02, "out_max_p": 0.6 }),
        json!({ "in": ["tcp"], "ecn": true, "harddrop": false, "weight": 0.1, "limit": 30 }),
        json!({ "in": ["tcp"], "limit": "60kb", "in_min": "9kb", "in_max": "30kb", "out_min": "3kb", "out_max": "15kb",
                "avpkt": "700b", "in_max_p": 0.1 }),
    ];
    hold::<Rio>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "in": ["tcp"], "weight": 0.02 });
    notice::<Rio>(&table, ALLOWED, "lower threshold of IN", |c| c.ramps[1].min = c.ramps[1].min.minus(Fixed::whole(8)));
    notice::<Rio>(&table, ALLOWED, "slope of OUT", |c| c.ramps[0].per_width.shifts += 1);
    notice::<Rio>(&table, ALLOWED, "weight", |c| c.averaging.keep.0[0][1].high -= 1 << 22);
    notice::<Rio>(&table, ALLOWED, "coupling", |c| c.coupled = 0);
    notice::<Rio>(&table, ALLOWED, "set of classes", |c| c.inside[2] = 1);
}
