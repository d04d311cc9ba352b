//! FRED.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::json;

use super::{hold, notice, pair};

/// Tolerated differences among 840,000 decisions.
const ALLOWED: u64 = 4;

pair!(Fred, fred, "fred");

#[test]
fn decisions_are_those_of_the_discipline() {
    let tables = [
        json!({}),
        json!({ "min": 4, "max": 12, "weight": 0.05, "max_p": 0.3 }),
        json!({ "min": 10, "max": 30, "weight": 0.02, "minq": 4, "ecn": true }),
        json!({ "min": 8, "max": 15, "weight": 0.05, "many_flows": false }),
        json!({ "min": 3, "max": 5, "weight": 0.1, "avpkt": "500b", "limit": 20 }),
        json!({ "min": 20, "max": 40, "weight": 0.01, "max_p": 1.0, "limit": 50 }),
        json!({ "min": 50, "max": 120, "weight": 0.03, "max_p": 0.5, "minq": 1, "limit": 240 }),
    ];
    hold::<Fred>(&tables, ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "min": 10, "max": 30, "weight": 0.02 });
    notice::<Fred>(&table, ALLOWED, "lower threshold", |c| c.ramp.min = c.ramp.min.minus(Fixed::whole(1)));
    notice::<Fred>(&table, ALLOWED, "upper threshold", |c| c.ramp.max = c.ramp.max.minus(Fixed::whole(2)));
    notice::<Fred>(&table, ALLOWED, "slope", |c| c.ramp.per_width.shifts += 1);
    notice::<Fred>(&table, ALLOWED, "weight", |c| c.averaging.keep.0[0][1].high -= 1 << 22);
    notice::<Fred>(&table, ALLOWED, "decay", |c| c.averaging.drain_rate.shifts += 1);
    notice::<Fred>(&table, ALLOWED, "packets spared", |c| c.minq = Fixed::whole(5));
}
