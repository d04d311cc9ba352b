//! The definition of a flow: the key `flow`, which all disciplines share that distinguish flows.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_aqm::registry::{ALL, Link, Spec};
use aqmkit_base::{BitRate, FlowKind};
use serde_json::{Value, json};

const KINDS: [(&str, FlowKind); 4] = [
    ("connection", FlowKind::Connection),
    ("hosts", FlowKind::Hosts),
    ("source", FlowKind::Source),
    ("destination", FlowKind::Destination),
];

fn refusal(name: &str, table: Value) -> String {
    Spec::read(name, table).unwrap_err().to_string()
}

#[test]
fn every_discipline_that_tells_flows_apart_takes_every_kind() {
    let link = Link::new(BitRate::from_mbps(10));
    let telling: Vec<_> = ALL.iter().filter(|e| Spec::named(e.name).unwrap().tells_flows()).collect();
    assert_eq!(telling.len(), 22);
    for entry in telling {
        for (text, kind) in KINDS {
            let spec = Spec::read(entry.name, json!({ "flow": text })).unwrap();
            assert_eq!((spec.flow(), spec.name()), (kind, entry.name));
            let written = serde_json::to_value(&spec).unwrap();
            assert_eq!(written["flow"], text, "{}", entry.name);
            assert_eq!(Spec::read(entry.name, written).unwrap(), spec, "{}", entry.name);
            let full = spec.effective(&link).unwrap();
            assert_eq!(full.flow(), kind, "{}", entry.name);
        }
    }
}

/// Left out it is a connection and is not written, so that what was stored before stays what it is; `describe` shows it.
#[test]
fn a_flow_is_a_connection_unless_something_else_is_said() {
    let link = Link::new(BitRate::from_mbps(10));
    for entry in ALL {
        let spec = Spec::named(entry.name).unwrap();
        assert_eq!(spec.flow(), FlowKind::Connection);
        assert_eq!(Spec::read(entry.name, json!({})).unwrap(), spec);
        assert_eq!(serde_json::to_value(&spec).unwrap().get("flow"), None, "{}", entry.name);
        let Ok(full) = spec.effective(&link) else { continue };
        let shown = serde_json::to_value(full).unwrap();
        let expected = spec.tells_flows().then_some("connection");
        assert_eq!(shown.get("flow").and_then(Value::as_str), expected, "{}", entry.name);
    }
}

#[test]
fn the_other_parameters_are_read_as_without_it() {
    let with = Spec::read("fred", json!({ "min": 3, "flow": "hosts", "max": "90kb" })).unwrap();
    let without = Spec::read("fred", json!({ "min": 3, "max": "90kb" })).unwrap();
    assert_eq!(with.parameters(), without.parameters());
    assert_ne!(with, without);
}

#[test]
fn what_cannot_be_is_refused() {
    let unfit = refusal("red", json!({ "flow": "hosts" }));
    assert!(unfit.starts_with("flow of red: the discipline does not distinguish flows: remove flow"), "{unfit}");
    let unknown = refusal("fred", json!({ "flow": "host" }));
    assert_eq!(
        unknown,
        "\"host\" is not a known value of flow: did you mean hosts? Known are connection, hosts, source, destination"
    );
    // The list of what is known has it, where it is known.
    let list = |name| refusal(name, json!({ "flaw": "hosts" }));
    assert!(
        list("fred").starts_with("flaw is not a parameter of fred: did you mean flow? Known are limit, min, "),
        "{}",
        list("fred")
    );
    assert!(list("fred").ends_with("ecn, flow") && !list("red").contains(", flow"), "{}", list("fred"));
    let twice = &mut serde_json::Deserializer::from_str(r#"{"flow": "hosts", "flow": "source"}"#);
    assert_eq!(Spec::read("fred", twice).unwrap_err().to_string(), "flow is given twice at line 1 column 35");
    assert!(refusal("fred", json!({ "min": "3ms" })).contains("3ms"));
    assert!(refusal("fred", json!(7)).starts_with("fred is integer 7: it must be a table"));
}
