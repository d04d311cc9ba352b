//! Digests of results.

use aqmkit_measure::Output;
use aqmkit_measure::output::Engine;

/// A digest of a run's measurements, without its cost: two runs with equal digests have bit-identical results, on any
/// machine. Sixteen hexadecimal digits of the BLAKE3 hash of the output in JSON.
#[must_use]
pub fn digest(output: &Output) -> String {
    let engine = Engine { packets: output.engine.packets, events: output.engine.events, ..Engine::default() };
    let output = Output { engine, ..output.clone() };
    let text = serde_json::to_vec(&output).unwrap_or_default();
    blake3::hash(&text).to_hex()[..16].to_owned()
}
