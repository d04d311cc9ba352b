//! JSON of iperf3 (`iperf3 -J`), a test over TCP: `intervals[].streams[]`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ReadError, list, number};
use crate::measurement::{Bin, Counted, Direction, Epoch, Flow, Format, Measurement};

/// Bytes of an IPv4 and a TCP header; a TCP time stamp takes 12 more, an IPv6 header 20 more.
const HEADERS: f64 = 40.0;
const STAMP: f64 = 12.0;
const MORE_OF_IPV6: f64 = 20.0;
/// The size of full packets in Ethernet.
const FULL: f64 = 1500.0;

pub(super) fn read(name: &str, json: &Value) -> Result<Measurement, ReadError> {
    let text = |path: &str| json.pointer(path).and_then(Value::as_str);
    let intervals = list(json, "intervals");
    if let (Some(error), true) = (text("/error"), intervals.is_empty()) {
        return Err(ReadError::new(format!("{name}: iperf3 failed: {error}"), "repeat the test"));
    }
    if let Some(protocol) = text("/start/test_start/protocol").filter(|protocol| *protocol != "TCP") {
        return Err(ReadError::new(
            format!("{name} is a test over {protocol}, which sends at a rate of its own and not at that of the link"),
            "give a test over TCP: iperf3 -J -c HOST -t 30",
        ));
    }
    let omitted = number(json, &["start", "test_start", "omit"]).unwrap_or(0.0);
    let is_reverse = number(json, &["start", "test_start", "reverse"]) == Some(1.0);
    let counted = counted(json);
    let mut flows: BTreeMap<i64, Flow> = BTreeMap::new();
    for stream in intervals.iter().flat_map(|interval| list(interval, "streams")) {
        let key = number(stream, &["socket"]).unwrap_or(0.0) as i64;
        let sends = stream.get("sender").and_then(Value::as_bool);
        let flow = flows.entry(key).or_insert_with(|| Flow {
            name: format!("stream {key}"),
            direction: if sends.unwrap_or(!is_reverse) { Direction::Up } else { Direction::Down },
            counted,
            bins: Vec::new(),
            rtts: Vec::new(),
            smoothed: true,
            knows_losses: false,
        });
        add(flow, stream, omitted);
    }
    let mut flows: Vec<Flow> = flows.into_values().filter(|flow| flow.span().is_some()).collect();
    if flows.is_empty() {
        return Err(ReadError::new(
            format!("{name} has no interval in which a stream of iperf3 carried data"),
            "intervals[].streams[] has bytes, start and end; use iperf3 -J -t 30 -i 1",
        ));
    }
    flows.iter_mut().for_each(|flow| flow.bins.sort_by(|a, b| a.from.total_cmp(&b.from)));
    let unseen = unseen(name, &flows);
    Ok(Measurement {
        file: name.to_owned(),
        format: Format::Iperf3,
        epoch: epoch(json),
        probes: Vec::new(),
        flows,
        unseen,
    })
}

/// Adds an interval of a stream. Times begin again at zero behind omitted intervals.
fn add(flow: &mut Flow, stream: &Value, omitted: f64) {
    let of = |key: &str| number(stream, &[key]);
    let (Some(from), Some(to), Some(bytes)) = (of("start"), of("end"), of("bytes")) else { return };
    let later = if stream.get("omitted").and_then(Value::as_bool) == Some(true) { 0.0 } else { omitted };
    if to <= from || from < 0.0 || bytes < 0.0 {
        return;
    }
    let lost = of("retransmits");
    flow.knows_losses |= lost.is_some();
    flow.bins.push(Bin { from: from + later, to: to + later, bytes, lost: lost.unwrap_or(0.0).max(0.0) });
    // The kernel's smoothed round trip in microseconds.
    flow.rtts.extend(of("rtt").filter(|rtt| *rtt > 0.0).map(|rtt| (to + later, rtt / 1e6)));
}

/// Payload and size of a full packet. The segment size is without the room that the time stamp takes.
fn counted(json: &Value) -> Counted {
    let mss = number(json, &["start", "tcp_mss"]).or_else(|| number(json, &["start", "tcp_mss_default"]));
    let Some(mss) = mss.filter(|mss| (500.0..65_536.0).contains(mss)) else { return Counted::USUAL };
    let is_v6 = list(json.get("start").unwrap_or(&Value::Null), "connected")
        .first()
        .and_then(|one| one.get("local_host")?.as_str())
        .is_some_and(|host| host.contains(':') && !host.starts_with("::ffff:"));
    let headers = if is_v6 { HEADERS + MORE_OF_IPV6 } else { HEADERS };
    // Some systems report the size with the time stamp.
    let packet = if mss + headers >= FULL { mss + headers } else { mss + headers + STAMP };
    Counted::Payload { payload: if mss + headers >= FULL { mss - STAMP } else { mss }, packet, known: true }
}

fn epoch(json: &Value) -> Option<Epoch> {
    if let Some(ms) = number(json, &["start", "timestamp", "timemillisecs"]) {
        return Some(Epoch { at: ms / 1000.0, error: 0.1 });
    }
    // The time when it connected, in whole seconds.
    number(json, &["start", "timestamp", "timesecs"]).map(|s| Epoch { at: s + 0.5, error: 1.0 })
}

fn unseen(name: &str, flows: &[Flow]) -> Vec<String> {
    let mut unseen = Vec::new();
    if flows.iter().all(|flow| flow.rtts.is_empty()) {
        unseen.push(format!(
            "{name} has no round trips of the bulk flows: the side that sends has them (leave out -R, or ask the server with --get-server-output)"
        ));
    }
    if flows.iter().all(|flow| !flow.knows_losses) {
        unseen.push(format!("{name} has no retransmissions: the side that sends counts them"));
    }
    unseen
}
