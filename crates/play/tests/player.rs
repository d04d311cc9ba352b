//! The requests of a page: changes made by hand can be saved and give the same results, and invalid requests get an
//! error.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use aqmkit_experiment::{Experiment, Overrides, digest};
use aqmkit_play::Player;
use aqmkit_sim::{Control, run};
use serde_json::{Value, json};

const LINK: &str = r#"
title = "A link"   # a comment that is kept
duration = "6s"
warmup = "1s"
[topology]
rate = "10mbit"
delay = "5ms"
delays = { uniform = ["10ms", "40ms"] }
aqm = { name = "red", limit = 60 }
reverse = { rate = "10mbit" }
[[traffic]]
kind = "bulk"
flows = 6
stagger = "1s"
[[traffic]]
name = "blast"
kind = "cbr"
rate = "1mbit"
active = false
"#;

struct Page(Player);

impl Page {
    fn new() -> Page {
        Page(Player::default())
    }

    fn ask(&mut self, request: &Value) -> Result<Value, Value> {
        let answer: Value = serde_json::from_str(&self.0.call(&request.to_string())).unwrap();
        match answer.get("ok") {
            Some(ok) => Ok(ok.clone()),
            None => Err(answer["error"].clone()),
        }
    }

    fn open(&mut self, toml: &str) -> u64 {
        self.ask(&json!({"do": "open", "toml": toml})).unwrap()["handle"].as_u64().unwrap()
    }

    fn advance(&mut self, handle: u64, until: f64) -> Value {
        self.ask(&json!({"do": "advance", "handle": handle, "until": until})).unwrap()
    }

    fn change(&mut self, handle: u64, set: &Value) -> Result<Value, Value> {
        self.ask(&json!({"do": "change", "handle": handle, "set": set}))
    }

    fn text(&mut self, request: &Value, field: &str) -> String {
        self.ask(request).unwrap()[field].as_str().unwrap().to_owned()
    }
}

/// The digest of the last run of an experiment, as the command computes it.
fn native(toml: &str) -> String {
    let experiment =
        Experiment::parse("page.toml", toml, &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{toml}"));
    let spec = experiment.plan().pop().unwrap();
    digest(&run(spec.scenario().unwrap(), &mut |_| Control::Continue).unwrap())
}

/// Uses every key of `change`, at times between events.
fn play(page: &mut Page, handle: u64) {
    let sets = [
        json!({"rate": "5mbit", "parameters": {"max": 30, "max_p": 0.2}}),
        json!({"blast": {"blast": "3mbit"}}),
        json!({"count": {"bulk": 2}}),
        json!({"topology.delays": "80ms", "delay": "1ms"}),
        json!({"traffic.bulk.transport.ecn": true, "ecn": true}),
        json!({"count": {"bulk": 9}, "blast": {"blast": "0bit"}}),
        json!({"topology.loss": 0.01, "topology.reverse.rate": "2mbit"}),
    ];
    for (i, set) in sets.iter().enumerate() {
        page.ask(&json!({"do": "advance", "handle": handle, "until": 0.7 * (i as f64 + 1.0) - 1.0, "events": 1500}))
            .unwrap();
        let changed = page.change(handle, set).unwrap_or_else(|e| panic!("{set}: {e}"));
        assert_eq!(changed["queues"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn what_was_changed_by_hand_is_an_experiment_with_the_same_digest() {
    let mut page = Page::new();
    let handle = page.open(LINK);
    play(&mut page, handle);
    let end = page.advance(handle, 6.0);
    assert_eq!(end["finished"], true);
    let shown = page.text(&json!({"do": "digest", "handle": handle}), "digest");
    let saved = page.text(&json!({"do": "experiment", "handle": handle}), "toml");
    assert!(saved.starts_with(LINK.trim_end()), "the text of its author is kept: {saved}");
    assert_eq!(saved.matches("[[changes]]").count(), 7);
    assert_eq!(native(&saved), shown);
    assert_ne!(native(LINK), shown);
    // When opened again, the saved experiment makes the same changes by itself.
    let again = page.open(&saved);
    page.advance(again, 60.0);
    assert_eq!(page.text(&json!({"do": "digest", "handle": again}), "digest"), shown);
    // Back to the start, with and without the changes made by hand.
    page.ask(&json!({"do": "restart", "handle": handle, "keep": true})).unwrap();
    page.advance(handle, 6.0);
    assert_eq!(page.text(&json!({"do": "digest", "handle": handle}), "digest"), shown);
    page.ask(&json!({"do": "restart", "handle": handle})).unwrap();
    page.advance(handle, 6.0);
    assert_eq!(page.text(&json!({"do": "digest", "handle": handle}), "digest"), native(LINK));
}

#[test]
fn what_was_simulated_so_far_is_an_experiment_as_well() {
    let mut page = Page::new();
    let handle = page.open(LINK);
    play(&mut page, handle);
    page.advance(handle, 4.25);
    let shown = page.text(&json!({"do": "digest", "handle": handle}), "digest");
    let saved = page.text(&json!({"do": "experiment", "handle": handle, "end": "now"}), "toml");
    assert!(saved.contains("duration = \"4.25s\""), "{saved}");
    assert_eq!(native(&saved), shown);
}

/// A change by hand, then a change of the file that builds on it.
#[test]
fn changes_by_hand_and_of_the_file_are_made_together() {
    let timed = format!(
        "{LINK}[[changes]]\nat = \"3s\"\ntopology.aqm.max = 20\n[[changes]]\nat = \"-0.5s\"\ntopology.rate = \"8mbit\"\n"
    );
    let mut page = Page::new();
    let handle = page.open(&timed);
    page.advance(handle, 1.5);
    page.change(handle, &json!({"rate": "4mbit"})).unwrap();
    page.advance(handle, 3.0);
    let look = page.ask(&json!({"do": "look", "handle": handle})).unwrap();
    assert_eq!(
        (&look["queues"][0]["rate"], &look["queues"][0]["thresholds"]["max"]),
        (&json!(4_000_000), &json!(20.0))
    );
    page.advance(handle, 6.0);
    let saved = page.text(&json!({"do": "experiment", "handle": handle}), "toml");
    assert_eq!(page.text(&json!({"do": "digest", "handle": handle}), "digest"), native(&saved));
}

#[test]
fn a_run_of_a_sweep_is_saved_alone() {
    let swept = LINK.replace("title", "repeat = 2\nseed = 7\ntitle")
        + "[sweep]\naqm = [\"fifo\", { name = \"codel\", target = \"9ms\" }]\n";
    let mut page = Page::new();
    let checked = page.ask(&json!({"do": "check", "toml": swept})).unwrap();
    assert_eq!(checked["runs"].as_array().unwrap().len(), 4);
    assert_eq!(checked["runs"][2]["discipline"], "codel");
    let handle = page.ask(&json!({"do": "open", "toml": swept, "run": 3})).unwrap()["handle"].as_u64().unwrap();
    page.advance(handle, 2.0);
    page.change(handle, &json!({"parameters": {"target": "2ms"}})).unwrap();
    page.advance(handle, 6.0);
    let saved = page.text(&json!({"do": "experiment", "handle": handle}), "toml");
    assert_eq!(page.text(&json!({"do": "digest", "handle": handle}), "digest"), native(&saved), "{saved}");
}

#[test]
fn records_and_looks_agree() {
    let mut page = Page::new();
    let handle = page.open(LINK);
    page.advance(handle, 1.0);
    let bytes = page.0.records(handle as u32);
    let kinds: Vec<u8> = bytes.chunks(24).filter(|r| r[21] == 0).map(|r| r[20]).collect();
    let count = |kind| kinds.iter().filter(|k| **k == kind).count();
    let look = page.ask(&json!({"do": "look", "handle": handle, "packets": 1000, "flows": 100})).unwrap();
    let queue = &look["queues"][0];
    assert_eq!(queue["counters"]["arrived"], count(0));
    assert_eq!(queue["counters"]["departed"], count(1));
    assert_eq!(queue["counters"]["dropped"], count(2));
    assert_eq!(look["lost_records"], 0);
    let listed: usize =
        queue["lanes"].as_array().unwrap().iter().map(|lane| lane["packets"].as_array().unwrap().len()).sum();
    assert_eq!(queue["packets"], listed);
    assert_eq!(look["flows_total"], 6);
    let flow = &look["flows"][0];
    assert!(flow["window"].as_f64().unwrap() > 0.0 && flow["rtt"].as_f64().unwrap() > 0.01, "{flow}");
    let event = page.ask(&json!({"do": "step", "handle": handle})).unwrap();
    assert!(event["event"]["bytes"].as_u64().unwrap() > 0 && event["now"].as_f64().unwrap() >= 1.0, "{event}");
    let stepped = page.0.records(handle as u32).len();
    assert!(stepped >= 24 && stepped.is_multiple_of(24), "an arrival that is sent at once has two records");
}

#[test]
fn bad_requests_get_a_message() {
    let mut page = Page::new();
    let handle = page.open(LINK);
    let bad_toml = page.ask(&json!({"do": "open", "toml": LINK.replace("flows = 6", "flows = -6")})).unwrap_err();
    assert_eq!(bad_toml["line"], 13, "{bad_toml}");
    let refused = [
        json!({"topology.aqm": "codel"}),
        json!({"duration": "3s"}),
        json!({"parameters": {"mxa": 3}}),
        json!({"parameters": {"max": -3}}),
        json!({"rate": "0bit"}),
        json!({"rate": 1e300}),
        json!({"count": {"bulk": 1_000_000_000_u64}}),
        json!({"count": {"nobody": 1}}),
        json!({"blast": {"bulk": "1mbit"}}),
        json!({"traffic.bulk.start": "3s"}),
        json!({"topology.servers": 3}),
        json!({"a..b": 3}),
        json!({"topology.rate": null}),
        json!({}),
    ];
    for set in refused {
        let error = page.change(handle, &set).unwrap_err();
        assert!(error["message"].as_str().is_some_and(|m| m.len() > 5), "{set}: {error}");
    }
    let requests = [
        json!({"do": "look", "handle": 99}),
        json!({"do": "nothing"}),
        json!({"do": "open", "toml": LINK, "run": 7}),
        json!({"do": "open", "toml": "title = \"x\""}),
        json!({"do": "open", "toml": LINK.replace("duration = \"6s\"", "duration = \"1000000s\"")}),
        json!({"do": "open", "toml": LINK.replace("flows = 6", "flows = 900000")}),
        json!({"do": "open", "toml": format!("{LINK}[sweep]\nseed = {:?}\n", (0..5000).collect::<Vec<_>>())}),
        json!({"do": "open", "toml": "x".repeat(2_000_000)}),
        json!(7),
    ];
    for request in requests {
        assert!(page.ask(&request).is_err());
    }
    assert!(page.0.call("{").contains("cannot be read"));
    for until in [json!(-1e300), json!(1e300), json!(0.5), json!(null)] {
        page.ask(&json!({"do": "advance", "handle": handle, "until": until})).unwrap();
    }
    assert_eq!(
        page.text(&json!({"do": "digest", "handle": handle}), "digest"),
        native(LINK),
        "what was refused changed nothing"
    );
    page.ask(&json!({"do": "close", "handle": handle})).unwrap();
    assert!(page.ask(&json!({"do": "close", "handle": handle})).is_err());
}
