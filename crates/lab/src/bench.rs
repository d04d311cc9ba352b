//! Benchmarks of the engine and of disciplines, on the calling thread.

pub mod engine;

use std::hint::black_box;

use aqmkit_aqm::registry::{Link, Spec};
use aqmkit_base::{BitRate, Duration};
use aqmkit_runs::clock::cpu;
use aqmkit_sim::alone::{Alone, BURST};

use crate::error::LabError;
use engine::Name as Scenario;

/// The engine's speed in packets per CPU second, over this much simulated time.
///
/// # Errors
/// When the scenario cannot be run.
pub fn packets_per_cpu_second(duration: Duration) -> Result<f64, LabError> {
    Ok(engine::speed(Scenario::S1, duration)?.packets_per_cpu_s)
}

/// A spec with two classes, for the disciplines that have no default classes.
fn with_classes(name: &str) -> Result<Spec, String> {
    let classes = match name {
        "cbt" => {
            r#"{ "classes": [
            { "class": "a", "bandwidth": "500mbit", "packet_size": "1000b" },
            { "class": "b", "bandwidth": "500mbit", "packet_size": "1000b" }],
            "latency": "100ms" }"#
        }
        "cbq" => r#"{ "classes": [{ "class": "a", "share": 0.5 }, { "class": "b", "share": 0.5 }] }"#,
        _ => "{}",
    };
    Spec::read(name, &mut serde_json::Deserializer::from_str(classes)).map_err(|e| e.to_string())
}

/// Nanoseconds per packet for enqueue and dequeue together, with packets of this many flows ([`Alone`]). Fails for
/// disciplines that need further parameters.
pub fn speed(name: &str, packets: u64, flows: u64) -> Result<f64, String> {
    let link = Link { classes: vec!["a".to_owned(), "b".to_owned()], ..Link::new(BitRate::from_mbps(1000)) };
    let mut alone = Alone::new(&with_classes(name)?, &link, flows).map_err(|e| e.to_string())?;
    let bursts = (packets / BURST).max(1);
    let before = cpu();
    black_box(alone.bursts(bursts));
    let spent = cpu().saturating_sub(before).as_nanos() as f64;
    Ok(spent / (bursts * BURST) as f64)
}
