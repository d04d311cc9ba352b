//! Files that programs would have written of a recording.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::scene::{BEGIN, Case, EVERY, LOOK, Look, Recording, SPARSE, spec};

/// Time zero of a recording, in seconds since 1970.
const EPOCH: f64 = 1_700_000_000.0;

/// Every `step`th sparse packet.
fn thinned(recording: &Recording, step: usize) -> impl Iterator<Item = (usize, (f64, Option<f64>))> {
    recording.sparse.iter().copied().step_by(step).enumerate()
}

/// `irtt client -i 20ms -o file`.
pub(crate) fn irtt(recording: &Recording) -> String {
    let trip = |(n, (at, rtt)): (usize, (f64, Option<f64>))| {
        let (wall, monotonic) = (((EPOCH + at) * 1e9) as u64, (at * 1e9) as u64);
        let delay = rtt.map_or(json!({}), |rtt| json!({ "rtt": (rtt * 1e9) as u64 }));
        let send = json!({ "wall": wall, "monotonic": monotonic });
        json!({ "seqno": n, "lost": if rtt.is_some() { "false" } else { "true" }, "timestamps": { "client": { "send": send } }, "delay": delay })
    };
    let trips: Vec<Value> = thinned(recording, 1).map(trip).collect();
    let params = json!({ "interval": (EVERY * 1e9) as u64, "length": SPARSE - 28 });
    json!({ "version": { "irtt": "0.9.1" }, "config": { "ip_version": "IPv4", "params": params }, "round_trips": trips }).to_string()
}

/// `ping -i 0.2`, with `-D` if `stamped`.
pub(crate) fn ping(recording: &Recording, stamped: bool) -> String {
    let step = (0.2 / EVERY).round() as usize;
    let mut text = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n".to_owned();
    let (mut count, mut last) = (0, 0.0);
    for (n, (at, rtt)) in thinned(recording, step) {
        (count, last) = (n + 1, at);
        let Some(rtt) = rtt else { continue };
        if stamped {
            let _ = write!(text, "[{:.6}] ", EPOCH + at + rtt);
        }
        let ms = rtt * 1000.0;
        // iputils prints three significant digits or more.
        let decimals = if ms >= 100.0 {
            0
        } else if ms >= 10.0 {
            1
        } else if ms >= 1.0 {
            2
        } else {
            3
        };
        let _ = writeln!(text, "64 bytes from 192.0.2.1: icmp_seq={} ttl=57 time={ms:.decimals$} ms", n + 1);
    }
    let first = recording.sparse.first().map_or(0.0, |sample| sample.0);
    let _ = writeln!(
        text,
        "\n--- 192.0.2.1 ping statistics ---\n{count} packets transmitted, {count} received, 0% packet loss, time {:.0}ms",
        1000.0 * (last - first)
    );
    text
}

/// The looks at a flow at the ends of intervals under load.
fn intervals(recording: &Recording, length: f64) -> Vec<(f64, f64)> {
    let count = (recording.case.load / length) as usize;
    (0..count).map(|n| (BEGIN + n as f64 * length, BEGIN + (n + 1) as f64 * length)).collect()
}

fn look(flow: &[Look], at: f64) -> Look {
    flow.get((at / LOOK).round() as usize).or(flow.last()).copied().unwrap_or_default()
}

/// `iperf3 -J`, at the sender, or with `-R` at the receiver, which sees neither round trips nor retransmissions.
pub(crate) fn iperf3(recording: &Recording, at_sender: bool) -> String {
    let stream = |(n, flow): (usize, &Vec<Look>), (from, to): (f64, f64)| {
        let (before, after) = (look(flow, from), look(flow, to));
        let bytes = after.delivered - before.delivered;
        let mut stream = json!({ "socket": n + 5, "start": from - BEGIN, "end": to - BEGIN, "seconds": to - from, "bytes": bytes,
            "bits_per_second": bytes as f64 * 8.0 / (to - from), "omitted": false, "sender": at_sender });
        if at_sender && let Some(object) = stream.as_object_mut() {
            object.insert("retransmits".to_owned(), json!(after.again - before.again));
            object.insert("rtt".to_owned(), json!((after.rtt.unwrap_or(0.0) * 1e6) as u64));
        }
        stream
    };
    let interval = |span: (f64, f64)| {
        let streams: Vec<Value> = recording.flows.iter().enumerate().map(|flow| stream(flow, span)).collect();
        json!({ "streams": streams })
    };
    let intervals: Vec<Value> = intervals(recording, 1.0).into_iter().map(interval).collect();
    let timestamp = json!({ "timesecs": (EPOCH + BEGIN) as u64, "timemillisecs": ((EPOCH + BEGIN) * 1000.0) as u64 });
    let test =
        json!({ "protocol": "TCP", "reverse": u8::from(!at_sender), "omit": 0, "num_streams": recording.case.flows });
    json!({ "start": { "tcp_mss_default": 1448, "timestamp": timestamp, "test_start": test }, "intervals": intervals, "end": {} })
        .to_string()
}

/// `flent tcp_ndown --socket-stats`, compressed.
pub(crate) fn flent(recording: &Recording) -> Vec<u8> {
    let mut raw = serde_json::Map::new();
    let step = (0.2 / EVERY).round() as usize;
    let pings: Vec<Value> = thinned(recording, step)
        .filter_map(|(n, (at, rtt))| Some(json!({ "t": EPOCH + at + rtt?, "val": rtt? * 1000.0, "seq": n })))
        .collect();
    raw.insert("Ping (ms) ICMP".to_owned(), Value::Array(pings));
    for (n, flow) in recording.flows.iter().enumerate() {
        let spans = intervals(recording, 0.2);
        let rate = |(from, to): &(f64, f64)| {
            let bytes = look(flow, *to).delivered - look(flow, *from).delivered;
            json!({ "t": EPOCH + to, "dur": to - from, "val": bytes as f64 * 8.0 / 1e6 / (to - from) })
        };
        let rtt = |(_, to): &(f64, f64)| Some(json!({ "t": EPOCH + to, "val": look(flow, *to).rtt? * 1000.0 }));
        let name = format!("TCP download::{}", n + 1);
        raw.insert(name.clone(), spans.iter().map(rate).collect());
        raw.insert(format!("{name}::tcp_rtt"), spans.iter().filter_map(rtt).collect());
    }
    let file = json!({ "version": 4, "metadata": { "NAME": "tcp_ndown", "STEP_SIZE": 0.2 }, "x_values": [], "results": {}, "raw_values": raw });
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let written = packed.write_all(file.to_string().as_bytes());
    written.and_then(|()| packed.finish()).unwrap_or_default()
}

/// `tcpdump` behind the link.
pub(crate) fn capture(case: &Case) -> Result<Vec<u8>, String> {
    let mut file = Vec::new();
    let written = aqmkit_runs::capture::capture(&spec(case)?, &mut file, &mut |_| aqmkit_sim::Control::Continue);
    written.map_err(|error| error.to_string())?;
    Ok(file)
}
