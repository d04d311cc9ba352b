//! The qlog traces of stacks: those that they write of themselves, and those that aqmkit writes of one that writes none.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};

use aqmkit_base::Instant;
use aqmkit_experiment::{Experiment, Overrides, RunSpec};
use aqmkit_sim::follow::{Follower, SenderState};
use aqmkit_sim::observe::{Parties, Sighting};
use aqmkit_sim::{Control, run, run_followed};
use aqmkit_stack::Trace;
use qlog::reader::{Event, QlogSeqReader};
use serde_json::Value;

/// One transfer over 5 Mbit/s with a buffer of 20 packets, in which packets are lost.
fn text(stack: &str, congestion: &str) -> String {
    format!(
        "title = \"Traced\"\nduration = \"4s\"\n[topology]\nrate = \"5mbit\"\ndelay = \"10ms\"\n\
         aqm = {{ name = \"fifo\", limit = 20 }}\n[transport]\nstack = \"{stack}\"\ncongestion = \"{congestion}\"\n\
         [[traffic]]\nname = \"own\"\nkind = \"bulk\"\nflows = 1\nstagger = \"100ms\"\n"
    )
}

fn spec(stack: &str, congestion: &str) -> RunSpec {
    let catalogues = aqmkit_stacks::catalogues().unwrap();
    let text = text(stack, congestion);
    let experiment = Experiment::parse_with("traced.toml", &text, &Overrides::default(), &catalogues).unwrap();
    experiment.plan().remove(0)
}

/// Keeps the bytes of the trace of a connection.
#[derive(Default)]
struct Keep(Arc<Mutex<Vec<u8>>>);

impl Follower for Keep {
    fn sent(&mut self, _: Instant, _: &Sighting) {}

    fn received(&mut self, _: Instant, _: &Sighting) {}

    fn state(&mut self, _: Instant, _: &Parties, _: &SenderState) {}

    fn trace(&mut self, _: &Parties) -> Option<Trace> {
        let bytes = Arc::clone(&self.0);
        Some(Box::new(move |more| bytes.lock().unwrap().extend_from_slice(more)))
    }
}

/// The trace that a stack writes, and the digests of the run with and without it.
fn traced(stack: &str, congestion: &str) -> (Vec<Value>, [String; 2]) {
    let spec = spec(stack, congestion);
    let mut keep = Keep::default();
    let with = run_followed(spec.scenario().unwrap(), &mut keep, &mut |_| Control::Continue).unwrap();
    let without = run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap();
    let bytes = keep.0.lock().unwrap().clone();
    let digests = [&with, &without].map(|output| aqmkit_experiment::digest(output).to_string());
    (records(&String::from_utf8(bytes).unwrap()), digests)
}

fn records(text: &str) -> Vec<Value> {
    text.split('\u{1e}')
        .filter(|record| !record.is_empty())
        .map(|record| serde_json::from_str(record).unwrap())
        .collect()
}

/// Checks that times are virtual and do not decrease, and returns how many events have this name.
fn count(events: &[Value], name: &str) -> usize {
    let times: Vec<f64> = events[1..].iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] >= 20.0 && times[times.len() - 1] <= 60_000.0, "{:?}", &times[..3]);
    events[1..].iter().filter(|event| event["name"] == name).count()
}

#[test]
fn quinn_traces_itself_in_virtual_time() {
    let (events, digests) = traced("quinn", "cubic");
    assert_eq!(digests[0], digests[1], "a trace changes nothing");
    assert_eq!((&events[0]["qlog_version"], &events[0]["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
    assert!(count(&events, "recovery:metrics_updated") > 100, "{}", events.len());
    assert!(count(&events, "transport:packet_sent") > 1000 && count(&events, "recovery:packet_lost") > 0);
    assert!(events == traced("quinn", "cubic").0, "the same run gives the same trace");
}

#[test]
fn noq_traces_itself_in_virtual_time() {
    let (events, digests) = traced("noq", "cubic");
    assert_eq!(digests[0], digests[1], "a trace changes nothing");
    assert_eq!(events[0]["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert!(count(&events, "quic:recovery_metrics_updated") > 100, "{}", events.len());
    assert!(count(&events, "quic:packet_sent") > 1000 && count(&events, "quic:packet_lost") > 0);
}

fn aqmkit(line: &str, dir: &Path) -> u8 {
    let out = ["--out".into(), dir.join("out").into_os_string(), "--quiet".into()];
    let words = format!("aqmkit-stacks {line}");
    aqmkit_stacks::run(words.split(' ').map(OsString::from).chain(out)).expect("the stacks have different names")
}

/// The command writes the file of a stack, and what it shows of one that writes none. Cloudflare's reader knows every recovery event.
#[test]
fn an_independent_reader_knows_the_recovery_events() {
    let dir = tempfile::tempdir().unwrap();
    for (stack, congestion) in [("smoltcp", "cubic"), ("noq", "cubic"), ("quinn", "bbr")] {
        let (file, trace) = (dir.path().join(format!("{stack}.toml")), dir.path().join(format!("{stack}.sqlog")));
        std::fs::write(&file, text(stack, congestion)).unwrap();
        assert_eq!(aqmkit(&format!("run {} --qlog {}", file.display(), trace.display()), dir.path()), 0);
        assert!(records(&std::fs::read_to_string(&trace).unwrap()).len() > 1000, "{stack}");
    }
    let reader = QlogSeqReader::with_file(dir.path().join("smoltcp.sqlog")).unwrap();
    assert_eq!(reader.qlog.trace.event_schemas[0], "urn:ietf:params:qlog:events:quic-13");
    let (mut recovery, mut others) = (0, 0);
    for event in reader {
        match event {
            Event::Qlog(event) => {
                assert!(format!("{:?}", event.data).starts_with("QuicMetricsUpdated"), "{event:?}");
                recovery += 1;
            }
            Event::Json(event) => {
                assert!(event.name.starts_with("aqmkit:packet_"), "{}", event.name);
                others += 1;
            }
        }
    }
    assert!(recovery > 100 && others > 1000, "{recovery} and {others}");
}
