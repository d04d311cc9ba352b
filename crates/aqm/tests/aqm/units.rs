//! Queues counted in packets and in bytes: packets of one size make them the same.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::common::catalogue::{defaults, options};
use crate::common::driver::{Op, Play};
use crate::common::page::{plain, rows};
use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::{Bytes, Ecn};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Bytes of every packet here: the link's typical ones. A power of two, so that what is counted in bytes is rounded as what is counted in
/// packets.
const SIZE: u32 = 1024;

fn link() -> Link {
    Link { mean_packet: Bytes(SIZE.into()), ..crate::common::link() }
}

/// A table with each queue length in packets rounded to whole bytes, as packets and as bytes: a third of a packet is not a number of
/// bytes, and an average between both thresholds would be decided otherwise in packets than in bytes.
fn in_units(units: &BTreeMap<String, String>, name: &str, value: &Value) -> [Value; 2] {
    match value {
        Value::Object(fields) => {
            let [packets, bytes]: [serde_json::Map<_, _>; 2] = [0, 1].map(|unit| {
                fields.iter().map(|(field, v)| (field.clone(), in_units(units, field, v)[unit].clone())).collect()
            });
            [packets.into(), bytes.into()]
        }
        Value::Array(items) => {
            [0, 1].map(|unit| items.iter().map(|v| in_units(units, name, v)[unit].clone()).collect())
        }
        value if units.get(name).is_some_and(|unit| unit == "queue length") => match packets(value) {
            Some(packets) => {
                let bytes = (packets * f64::from(SIZE)).round();
                [json!(format!("{}p", bytes / f64::from(SIZE))), json!(format!("{bytes}b"))]
            }
            None => [value.clone(), value.clone()],
        },
        Value::String(word) if name == "counting" && word == "packets" => [value.clone(), json!("bytes")],
        _ => [value.clone(), value.clone()],
    }
}

/// A queue length in packets: `20` or `"13.3p"`.
fn packets(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.strip_suffix('p')?.parse().ok())
}

/// The catalogue's entries that count in packets, and the same in bytes.
fn both() -> Vec<(Spec, Spec)> {
    let all = [defaults(), options()].concat();
    let pair = |spec: &Spec| {
        let full = spec.effective(&link()).unwrap();
        let units = rows(spec.name()).into_iter().map(|row| (row.name, row.unit)).collect();
        let [packets, bytes] = in_units(&units, "", &Value::Object(plain(&full)))
            .map(|table| Spec::read(spec.name(), table.clone()).unwrap_or_else(|e| panic!("{table}: {e}")));
        (bytes != packets).then_some((packets, bytes))
    };
    all.iter().filter_map(pair).collect()
}

/// Operations whose packets all have one size.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let equal = |op: Op| match op {
        Op::Enqueue { flow, class, ecn, .. } => vec![Op::Enqueue { len: SIZE, flow, class, ecn }],
        Op::Burst { packets, flow, class } => {
            vec![Op::Enqueue { len: SIZE, flow, class, ecn: Ecn::NotEct }; packets.into()]
        }
        Op::Reconfigure(_) => Vec::new(),
        op => vec![op],
    };
    prop::collection::vec(any::<[u8; 4]>(), 0..300)
        .prop_map(move |all| all.into_iter().map(Op::from).flat_map(equal).collect())
}

/// Plays the same operations on each of both, and says where they begin to differ.
fn differences(ops: &[Op]) -> Vec<String> {
    static BOTH: LazyLock<Vec<(Spec, Spec)>> = LazyLock::new(both);
    let differ = |(packets, bytes): &(Spec, Spec)| {
        let [a, b] = [packets, bytes].map(|spec| Play::new(spec, link()).run(ops));
        let place = (0..a.len().max(b.len())).find(|i| a.get(*i) != b.get(*i))?;
        Some(format!("{packets:?}: {:?}, in bytes {:?}", a.get(place), b.get(place)))
    };
    BOTH.iter().filter_map(differ).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Fails where one of the two ways to count scales a threshold, a gain or a default otherwise.
    #[test]
    fn equal_packets_count_the_same_in_packets_and_in_bytes(ops in ops()) {
        let differences = differences(&ops);
        prop_assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}

#[test]
fn most_of_the_catalogue_can_count_in_both() {
    let mut names: Vec<_> = both().iter().map(|(packets, _)| packets.name()).collect();
    names.dedup();
    assert!(names.len() >= 28, "{names:?}");
}

/// Values that CBT fills in are the same in bytes and in packets: thresholds from nothing, and from a bandwidth and a latency.
#[test]
fn thresholds_that_cbt_fills_in_are_the_same_in_packets_and_in_bytes() {
    let class = json!([{ "class": "*", "bandwidth": "4mbit" }]);
    for table in [json!({}), json!({ "latency": "30ms", "classes": class })] {
        let [by_packets, by_bytes] = [("packets", "240p"), ("bytes", "245760b")].map(|(counting, limit)| {
            let mut table = table.clone();
            (table["counting"], table["limit"]) = (json!(counting), json!(limit));
            let full = plain(&Spec::read("cbt", table).unwrap().effective(&link()).unwrap());
            full["classes"].as_array().unwrap().clone()
        });
        assert_eq!(by_packets.len(), by_bytes.len());
        for (packets, bytes) in by_packets.iter().zip(&by_bytes) {
            for field in ["min", "max"] {
                let wanted = self::packets(&packets[field]).unwrap() * f64::from(SIZE);
                let got: f64 = bytes[field].as_str().unwrap().strip_suffix('b').unwrap().parse().unwrap();
                assert!((got - wanted).abs() <= 1.0, "{field}: {got} of {wanted}");
            }
        }
    }
}
