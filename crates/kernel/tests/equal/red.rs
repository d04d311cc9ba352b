//! RED.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::{Value, json};

use super::{hold, notice, pair};

/// Tolerated differences among 1,680,000 decisions.
const ALLOWED: u64 = 4;

pair!(Red, red, "red");

fn tables() -> Vec<Value> {
    vec![
        json!({}),
        json!({ "min": 10, "max": 60, "max_p": 0.02, "weight": 0.002 }),
        json!({ "min": 3.3, "max": 7.7, "max_p": 1.0, "weight": 0.25 }),
        json!({ "limit": 20, "min": 5, "max": 40 }),
        json!({ "min": 5, "max": 15, "gentle": true }),
        json!({ "min": 5, "max": 15, "ecn": true }),
        json!({ "min": 5, "max": 15, "ecn": true, "harddrop": false, "gentle": true }),
        json!({ "min": 5, "max": 15, "ecn": true, "nodrop": true }),
        json!({ "byte_mode": true, "min": 5, "max": 40, "avpkt": "500b" }),
        json!({ "limit": "300kb", "min": "10kb", "max": "60kb", "burst": 20, "avpkt": "1000b" }),
        json!({ "limit": "300kb", "byte_mode": true, "ecn": true, "bandwidth": "2mbit" }),
        json!({ "adaptive": true, "min": 5, "max": 30 }),
        json!({ "adaptive": true, "interval": "20ms", "ecn": true, "gentle": true, "weight": 0.05 }),
        json!({ "weight": 1.0, "min": 4, "max": 12, "max_p": 0.3 }),
    ]
}

#[test]
fn decisions_are_those_of_the_discipline() {
    hold::<Red>(&tables(), ALLOWED);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "adaptive": true, "min": 5, "max": 30 });
    notice::<Red>(&table, ALLOWED, "lower threshold", |c| c.ramp.min = c.ramp.min.plus(Fixed::whole(1)));
    notice::<Red>(&table, ALLOWED, "upper threshold", |c| c.ramp.ceiling = c.ramp.ceiling.minus(Fixed::whole(1)));
    notice::<Red>(&table, ALLOWED, "slope", |c| c.ramp.per_width.shifts += 1);
    notice::<Red>(&table, ALLOWED, "weight", |c| c.averaging.keep.0[0][1].high -= 1 << 22);
    notice::<Red>(&table, ALLOWED, "decay", |c| c.averaging.drain_rate.shifts += 1);
    notice::<Red>(&table, ALLOWED, "interval", |c| c.adaptation.interval *= 2);
    notice::<Red>(&table, ALLOWED, "fall of max_p", |c| c.adaptation.beta.shifts += 1);
}
