//! The settings of an experiment in words.

use aqmkit_experiment::{Experiment, Overrides};

fn facts(text: &str) -> Vec<(String, String)> {
    let experiment = Experiment::parse("x.toml", text, &Overrides::default()).expect("it can be read");
    experiment.setting().into_iter().map(|fact| (fact.name, fact.value)).collect()
}

fn value(text: &str, name: &str) -> String {
    facts(text).into_iter().find(|(known, _)| known == name).map(|(_, value)| value).unwrap_or_default()
}

const BOTH_WAYS: &str = r#"
title    = "two directions"
duration = "30s"
warmup   = "10s"

[topology]
delays   = "40ms"
measured = "down"
links    = [
  { name = "down", rate = "12mbit", aqm = { name = "fifo", limit = 100 } },
  { name = "up", rate = "1200kbit", aqm = { name = "fifo", limit = 100 } },
]

[transport]
profile    = "linux-6"
congestion = "cubic"

[[traffic]]
kind  = "bulk"
flows = 4
path    = ["down"]
reverse = ["up"]

[[traffic]]
name  = "upload"
kind  = "bulk"
flows = 1
path    = ["up"]
reverse = ["down"]
transport = { congestion = "prague", delayed_ack = "none" }

[[traffic]]
name = "blast"
kind = "cbr"
rate = "2mbit"
path    = ["down"]
reverse = ["up"]
"#;

/// 100 packets of 1500 bytes are 1.2 Mbit: 100 ms at 12 Mbit/s and 1 s at 1.2 Mbit/s.
#[test]
fn the_head_names_links_buffers_traffic_and_hosts() {
    let expected = [
        ("link", "12mbit down, 1.2mbit up"),
        ("round trip", "40ms"),
        ("buffer", "100p (100ms down, 1s up)"),
        ("traffic", "bulk: 4 flows over down, upload: 1 flow of bulk over up, blast: 1 flow of cbr at 2mbit over down"),
        ("hosts", "linux-6 (bulk), linux-6 with delayed_ack = \"none\" (upload)"),
        ("congestion control", "cubic (bulk), prague (upload)"),
        ("ECN", "off (bulk), on (upload)"),
        ("time", "30s after a warm-up of 10s"),
    ];
    assert_eq!(facts(BOTH_WAYS), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn what_a_sweep_varies_has_all_its_values() {
    let rates = format!("{BOTH_WAYS}\n[sweep]\n\"topology.delays\" = [\"10ms\", \"20ms\"]\n");
    assert_eq!(value(&rates, "round trip"), "10ms | 20ms");
    let many = format!("{BOTH_WAYS}\n[sweep]\n\"topology.delays\" = [\"1ms\", \"2ms\", \"3ms\", \"4ms\", \"5ms\"]\n");
    assert_eq!(value(&many, "round trip"), "5 different: 1ms … 5ms");
}
