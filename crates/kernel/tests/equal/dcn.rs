//! DCN.

use aqmkit_kernel_laws::fixed::Fixed;
use serde_json::{Value, json};

use super::{hold, notice, pair};

/// Tolerated differences among 1,440,000 decisions: after a pause of minutes, one arrival processes only 32 timer
/// steps.
const ALLOWED: u64 = 10;
/// Tolerated differences among the 240,000 with gains in tenths: a count then occasionally hits exactly zero, and
/// floating-point rounding decides whether its flow stays.
const ALLOWED_WITH_TIES: u64 = 150;

pair!(Dcn, dcn, "dcn");

/// Parameters whose gains never bring a count to exactly zero.
fn tables() -> Vec<Value> {
    let mut tables = vec![
        json!({}),
        json!({ "a": 0.31234, "b": 0.33457, "p_min": 3, "p_max": 60 }),
        json!({ "as_printed": true, "p_max": 40 }),
        json!({ "ecn": true, "p_init": 2 }),
        json!({ "limit": 30, "q_ref": 10 }),
        json!({ "limit": 30, "q_ref": 10, "pktcount": "arrived" }),
        json!({ "counting": "bytes", "avpkt": "800b" }),
        json!({ "limit": "300kb", "q_ref": "20kb" }),
        json!({ "limit": "300kb", "q_ref": "20kb", "counting": "bytes", "ecn": true }),
        json!({ "t_update": "20ms", "t_dec": "300ms", "clearing": "100ms", "threshold": 8 }),
        json!({ "t_update": "1ms", "t_dec": "2s", "clearing": "1s", "threshold": 2 }),
        json!({ "sb_slots": 100, "hb_limit": 10 }),
    ];
    for table in tables.iter_mut().filter_map(Value::as_object_mut) {
        table.entry("a").or_insert(json!(1.71234));
        table.entry("b").or_insert(json!(1.80457));
    }
    tables
}

#[test]
fn decisions_are_those_of_the_discipline() {
    hold::<Dcn>(&tables(), ALLOWED);
}

#[test]
fn so_they_are_with_gains_in_tenths() {
    hold::<Dcn>(&[json!({ "q_ref": 5, "flows": 20 }), json!({ "sb_slots": 1000, "threshold": 1 })], ALLOWED_WITH_TIES);
}

#[test]
fn a_wrong_constant_is_noticed() {
    let table = json!({ "q_ref": 5, "flows": 20 });
    notice::<Dcn>(&table, ALLOWED, "target", |c| c.q_ref = c.q_ref.plus(Fixed::whole(1)));
    notice::<Dcn>(&table, ALLOWED, "gain", |c| c.b.mantissa.high += 1 << 24);
    notice::<Dcn>(&table, ALLOWED, "sampling period", |c| c.t_update += c.t_update / 50);
    notice::<Dcn>(&table, ALLOWED, "period of the counts", |c| c.t_dec += c.t_dec / 50);
    notice::<Dcn>(&table, ALLOWED, "pause", |c| c.clearing /= 2);
    notice::<Dcn>(&table, ALLOWED, "threshold", |c| c.threshold = c.threshold.plus(Fixed::whole(1)));
    notice::<Dcn>(&table, ALLOWED, "least share", |c| c.p_min = Fixed::whole(2));
}
