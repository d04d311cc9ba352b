//! JSON of irtt (`irtt client -o file`): `round_trips[].delay.rtt` in nanoseconds.

use serde_json::Value;

use super::{IP_AND_UDP, ReadError, list, number};
use crate::measurement::{Epoch, Format, Measurement, Probe, Sample};

/// Bytes that an IPv6 header has more than an IPv4 header.
const MORE_OF_IPV6: f64 = 20.0;
const NANOS: f64 = 1e9;

pub(super) fn read(name: &str, json: &Value) -> Result<Measurement, ReadError> {
    let trips = list(json, "round_trips");
    let sent = |trip: &Value, clock: &str| number(trip, &["timestamps", "client", "send", clock]);
    // Wall clocks are set, monotonic clocks are not.
    let first = trips.first().and_then(|trip| sent(trip, "monotonic"));
    let interval = number(json, &["config", "params", "interval"]).unwrap_or(NANOS);
    let sample = |(n, trip): (usize, &Value)| {
        let even = number(trip, &["seqno"]).unwrap_or(n as f64) * interval;
        let at = first.zip(sent(trip, "monotonic")).map_or(even, |(first, at)| at - first);
        let rtt = number(trip, &["delay", "rtt"]).filter(|rtt| *rtt > 0.0);
        Sample { at: at / NANOS, rtt: rtt.map(|rtt| rtt / NANOS) }
    };
    let mut samples: Vec<Sample> = trips.iter().enumerate().map(sample).collect();
    samples.sort_by(|a, b| a.at.total_cmp(&b.at));
    if samples.iter().all(|one| one.rtt.is_none()) {
        return Err(ReadError::new(
            format!("{name} has no round trip of irtt with a delay"),
            "each element of round_trips has delay.rtt in nanoseconds; was the server reached?",
        ));
    }
    let is_v6 = json.pointer("/config/ip_version").and_then(Value::as_str) == Some("IPv6");
    let headers = if is_v6 { IP_AND_UDP + MORE_OF_IPV6 } else { IP_AND_UDP };
    let packet = number(json, &["config", "params", "length"]).map(|length| length + headers);
    let wall = trips.first().and_then(|trip| sent(trip, "wall"));
    let probe = Probe { name: "irtt".to_owned(), packet, samples, knows_losses: true };
    Ok(Measurement {
        file: name.to_owned(),
        format: Format::Irtt,
        epoch: wall.map(|at| Epoch { at: at / NANOS, error: 0.0 }),
        probes: vec![probe],
        flows: Vec::new(),
        unseen: Vec::new(),
    })
}
