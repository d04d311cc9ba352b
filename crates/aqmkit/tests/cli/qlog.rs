use std::collections::BTreeMap;

use serde_json::Value;

use super::pcap::desk;
use super::{Desk, TINY};

/// The type of a field in CDDL.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cddl {
    Uint,
    Float,
    Text,
    Bool,
    /// `[* text]`.
    Texts,
    /// `[* [uint64, uint64]]`.
    Ranges,
    /// `RawInfo`.
    Raw,
}

use Cddl::{Bool, Float, Ranges, Raw, Text, Texts, Uint};

/// `QUICRecoveryMetricsUpdated` of draft-ietf-quic-qlog-quic-events-13, and the counters of `docs/guide/qlog.md`, which it allows.
const METRICS: &[(&str, Cddl, bool)] = &[
    ("min_rtt", Float, false),
    ("smoothed_rtt", Float, false),
    ("latest_rtt", Float, false),
    ("rtt_variance", Float, false),
    ("pto_count", Uint, false),
    ("congestion_window", Uint, false),
    ("bytes_in_flight", Uint, false),
    ("ssthresh", Uint, false),
    ("packets_in_flight", Uint, false),
    ("pacing_rate", Uint, false),
    ("lost_packets", Uint, false),
    ("timeouts", Uint, false),
    ("fast_retransmits", Uint, false),
    ("tail_loss_probes", Uint, false),
    ("ecn_reductions", Uint, false),
    ("undone_reductions", Uint, false),
];

/// `QUICCongestionStateUpdated`.
const STATE: &[(&str, Cddl, bool)] = &[("old", Text, false), ("new", Text, true), ("trigger", Text, false)];

/// `AqmkitPacket` of `docs/guide/qlog.md`.
const PACKET: &[(&str, Cddl, bool)] = &[
    ("packet_number", Uint, true),
    ("raw", Raw, true),
    ("ecn", Text, true),
    ("sequence_number", Uint, false),
    ("acknowledgment_number", Uint, false),
    ("window", Uint, false),
    ("flags", Texts, false),
    ("sack", Ranges, false),
    ("is_retransmission", Bool, false),
    ("acked_packets", Ranges, false),
];

const LOST: &[(&str, Cddl, bool)] = &[("packet_number", Uint, true)];

fn fits(value: &Value, kind: Cddl) -> bool {
    let all = |one: fn(&Value) -> bool| value.as_array().is_some_and(|list| list.iter().all(one));
    match kind {
        Uint => value.is_u64(),
        Float => value.is_number(),
        Text => value.is_string(),
        Bool => value.is_boolean(),
        Texts => all(Value::is_string),
        Ranges => all(|range| range.as_array().is_some_and(|r| r.len() == 2 && r.iter().all(Value::is_u64))),
        Raw => value.as_object().is_some_and(|raw| {
            raw.iter().all(|(name, v)| matches!(name.as_str(), "length" | "payload_length") && v.is_u64())
        }),
    }
}

/// The records of a file: JSON text sequences, each with a separator before it and a line feed after it.
fn records(desk: &Desk, name: &str) -> Vec<Value> {
    let text = desk.read(name);
    let (empty, rest) = text.split_once('\u{1e}').unwrap();
    assert_eq!(empty, "");
    let parse = |record: &str| {
        assert!(record.ends_with('\n'), "{record:?}");
        serde_json::from_str(record).unwrap()
    };
    rest.split('\u{1e}').map(parse).collect()
}

/// Checks a file against the drafts, and returns the number of events of each name, and the events.
fn check(desk: &Desk, name: &str) -> (BTreeMap<String, usize>, Vec<Value>) {
    let mut events = records(desk, name);
    let header = events.remove(0);
    assert_eq!(header["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(header["serialization_format"], "application/qlog+json-seq");
    assert!(desk.read(name)[..256].contains("application/qlog+json-seq"), "within the first 256 bytes");
    let trace = &header["trace"];
    assert_eq!(trace["vantage_point"]["type"], "server");
    assert_eq!(
        trace["common_fields"]["reference_time"],
        serde_json::json!({ "clock_type": "monotonic", "epoch": "unknown" })
    );
    assert_eq!(trace["event_schemas"][0], "urn:ietf:params:qlog:events:quic-13");
    let schemas: BTreeMap<&str, &[(&str, Cddl, bool)]> = BTreeMap::from([
        ("quic:recovery_metrics_updated", METRICS),
        ("quic:congestion_state_updated", STATE),
        ("aqmkit:packet_sent", PACKET),
        ("aqmkit:packet_received", PACKET),
        ("aqmkit:packet_lost", LOST),
    ]);
    let (mut counts, mut now) = (BTreeMap::new(), 0.0);
    for event in &events {
        let fields: Vec<&String> = event.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["data", "name", "time"]);
        let (time, kind) = (event["time"].as_f64().unwrap(), event["name"].as_str().unwrap());
        assert!(time >= now, "{event}");
        now = time;
        let schema = schemas.get(kind).unwrap_or_else(|| panic!("{kind} is no event"));
        let data = event["data"].as_object().unwrap();
        assert!(!data.is_empty(), "{event}");
        for (field, value) in data {
            let known = schema.iter().find(|(known, ..)| known == field);
            assert!(known.is_some_and(|(_, is, _)| fits(value, *is)), "{field} of {event}");
        }
        for (field, _, required) in *schema {
            assert!(!required || data.contains_key(*field), "{field} is not in {event}");
        }
        *counts.entry(kind.to_owned()).or_default() += 1;
    }
    (counts, events)
}

#[test]
fn traces_are_valid_against_the_drafts() {
    let desk = desk();
    let told = desk.run("run packets.toml --qlog traces");
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.err.contains("The traces of 23 connections of run aqm=red repeat=1") && told.err.contains("in traces")
    );
    let names = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let all: Vec<String> = std::fs::read_dir(desk.path().join("traces")).unwrap().map(names).collect();
    let of_group = |group: &str| all.iter().filter(|name| name.ends_with(&format!("-{group}.sqlog"))).count();
    assert_eq!((of_group("bulk"), of_group("short"), all.len()), (3, 20, 23));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut triggers = Vec::new();
    for trace in &all {
        let (of_file, events) = check(&desk, &format!("traces/{trace}"));
        of_file.into_iter().for_each(|(event, count)| *counts.entry(event).or_default() += count);
        triggers.extend(events.iter().filter_map(|event| event["data"]["trigger"].as_str().map(str::to_owned)));
    }
    assert_eq!(counts.len(), 5, "{counts:?}");
    assert!(counts["aqmkit:packet_sent"] > 500 && counts["aqmkit:packet_lost"] > 0, "{counts:?}");
    assert!(!triggers.is_empty());
}

/// A file has the first connection; the same run gives the same file.
#[test]
fn a_file_has_the_first_connection() {
    let desk = Desk::new();
    let told = desk.run("run tiny.toml --set aqm=red --qlog a.sqlog");
    assert!(told.err.contains("The trace of 1 connection of run aqm=red repeat=1"), "{}", told.err);
    assert!(told.err.contains("is in a.sqlog; 2 more sent data over the link"), "{}", told.err);
    let (counts, events) = check(&desk, "a.sqlog");
    assert!(counts["aqmkit:packet_sent"] > 50, "{counts:?}");
    assert_eq!(events[0]["name"], "aqmkit:packet_received", "the SYN");
    assert_eq!(events[0]["data"]["flags"], serde_json::json!(["SYN"]));
    desk.run("run tiny.toml --set aqm=red --qlog b.sqlog -q").good();
    assert!(desk.read("a.sqlog") == desk.read("b.sqlog"));
}

/// The header and the events that qvis asks for, each packet with a number, and each acknowledgement of numbers that were sent.
#[test]
fn version_0_3_is_that_of_qvis() {
    let desk = Desk::new();
    desk.run("run tiny.toml --qlog a.sqlog --qlog-version 0.3 -q").good();
    let mut events = records(&desk, "a.sqlog");
    let header = events.remove(0);
    assert_eq!((&header["qlog_version"], &header["qlog_format"]), (&Value::from("0.3"), &Value::from("JSON-SEQ")));
    assert_eq!(header["trace"]["common_fields"]["time_format"], "relative");
    let (mut sent, mut acked, mut metrics) = (0, Vec::new(), 0);
    for event in &events {
        match event["name"].as_str().unwrap() {
            "transport:packet_sent" => {
                assert_eq!(
                    event["data"]["header"],
                    serde_json::json!({ "packet_type": "1RTT", "packet_number": sent })
                );
                assert!(event["data"]["raw"]["length"].as_u64().unwrap() >= 40);
                sent += 1;
            }
            "transport:packet_received" => {
                for frame in event["data"]["frames"].as_array().into_iter().flatten() {
                    let ranges = frame["acked_ranges"].as_array().into_iter().flatten();
                    acked.extend(ranges.flat_map(|r| r[0].as_u64().unwrap()..=r[1].as_u64().unwrap()));
                }
            }
            "recovery:metrics_updated" => metrics += 1,
            "recovery:congestion_state_updated" | "recovery:packet_lost" => {}
            other => panic!("{other}"),
        }
    }
    assert!(metrics > 20 && acked.len() > 50, "{metrics} updates, {} acknowledged", acked.len());
    assert!(acked.iter().all(|number| *number < sent));
    let count = acked.len();
    acked.sort_unstable();
    acked.dedup();
    assert_eq!(acked.len(), count, "each is acknowledged once");
}

#[test]
fn no_more_than_100_connections_are_traced() {
    let desk = Desk::new();
    let many = TINY.replace("flows = 3", "flows = 103\nsize = \"2kb\"");
    desk.write("many.toml", &many);
    let told = desk.run("run many.toml --qlog traces");
    assert!(
        told.err.contains("The traces of 100 connections") && told.err.contains("; 3 more sent data"),
        "{}",
        told.err
    );
    assert_eq!(std::fs::read_dir(desk.path().join("traces")).unwrap().count(), 100);
}

#[test]
fn traces_that_cannot_be_written() {
    let desk = Desk::new();
    desk.run("run tiny.toml --qlog none/a.sqlog").wrong(&["cannot write to none/a.sqlog", "--qlog"]);
    desk.run("run tiny.toml --qlog ./tiny.toml").wrong(&["--qlog tiny.toml is the experiment itself"]);
    assert!(desk.read("tiny.toml").contains("Tiny"));
    desk.write("note.txt", "kept");
    desk.run("run tiny.toml --qlog note.txt")
        .wrong(&["note.txt is a file whose name does not end in .sqlog", "directory"]);
    desk.run("run tiny.toml --qlog note.txt/traces").wrong(&["cannot write to note.txt/traces"]);
    assert_eq!(desk.read("note.txt"), "kept");
    desk.write("sum.toml", "title = \"Sum\"\n");
    desk.run("run sum.toml --qlog a.sqlog").wrong(&["this experiment sends no packets", "omit --qlog"]);
    desk.write(
        "cbr.toml",
        &TINY.replace("kind = \"bulk\"", "kind = \"cbr\"\nrate = \"1mbit\"").replace("stagger = \"100ms\"\n", ""),
    );
    desk.run("run cbr.toml --qlog a.sqlog").wrong(&["no connection sends data over the measured link", "omit --qlog"]);
    desk.run("run tiny.toml --qlog-version 0.3").wrong(&["--qlog <PATH>"]);
    desk.run("run tiny.toml --qlog a.sqlog --qlog-version 0.2").wrong(&["'0.2'", "draft, 0.3"]);
}
