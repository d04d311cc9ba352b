use std::net::IpAddr;
use std::sync::Arc;

use aqmkit_base::{Duration, Ecn};
use aqmkit_traffic::recording::{Ends, Recorder};
use aqmkit_traffic::{Data, ParamError, Population};

use crate::harness::{Host, spec};

const A: [u8; 4] = [10, 0, 0, 1];
const B: [u8; 4] = [10, 0, 0, 2];
const C: [u8; 4] = [192, 168, 7, 7];

/// Milliseconds, flow, source, destination, length, codepoint.
type Line = (u64, u8, [u8; 4], [u8; 4], u16, Ecn);

const LINES: [Line; 5] = [
    (0, 1, A, B, 1500, Ecn::Ect0),
    (10, 2, C, B, 40, Ecn::NotEct),
    (20, 1, A, B, 1500, Ecn::Ce),
    (20, 1, A, B, 728, Ecn::Ect1),
    (40, 3, B, A, 20, Ecn::NotEct),
];

fn data(lines: &[Line]) -> Vec<Data> {
    let mut recorder = Recorder::default();
    for &(ms, flow, source, destination, len, ecn) in lines {
        let [source, destination] = [source, destination].map(IpAddr::from);
        recorder.captured(Duration::from_millis(ms));
        recorder.packet(flow, Ends { source, destination }, len, ecn).unwrap();
    }
    vec![Data::Capture(Arc::new(recorder.finish()))]
}

fn prepare(json: &str, lines: &[Line]) -> Result<Box<dyn Population>, ParamError> {
    spec("pcap", json).prepare(&data(lines))
}

/// A capture as it is passed to `prepare`.
pub(crate) fn file() -> Vec<Data> {
    data(&LINES)
}

/// One flow of three packets.
pub(crate) fn example() -> Box<dyn Population> {
    prepare(r#"{"file": "a.pcap", "from": "10.0.0.1"}"#, &LINES).unwrap()
}

/// Packets of each flow within 99 ms: milliseconds and payload bytes.
fn sent(json: &str) -> Vec<Vec<(f64, u32)>> {
    let population = prepare(json, &LINES).unwrap();
    let flow = |i| {
        let mut host = Host::new(&*population, i, 1);
        host.run(Duration::from_millis(99));
        host.sent.iter().map(|s| (s.at.as_secs_f64() * 1e3, s.len)).collect()
    };
    (0..population.instances()).map(flow).collect()
}

#[test]
fn packets_are_sent_at_their_times_in_their_flows_with_their_codepoints() {
    let expected = [vec![(0.0, 1472), (20.0, 1472), (20.0, 700)], vec![(10.0, 12)], vec![(40.0, 0)]];
    assert_eq!(sent(r#"{"file": "a.pcap"}"#), expected);
    let population = example();
    let mut host = Host::new(&*population, 0, 1);
    host.run(Duration::from_secs(1));
    assert_eq!(host.sent.iter().map(|s| s.ecn).collect::<Vec<_>>(), [Ecn::Ect0, Ecn::Ce, Ecn::Ect1]);
    assert_eq!(population.mean_payload(), Some(f64::from(1472 + 1472 + 700) / 3.0));
}

#[test]
fn twice_as_fast_is_half_the_time() {
    let times: Vec<f64> = sent(r#"{"file": "a.pcap", "speed": 2.0}"#).concat().iter().map(|s| s.0).collect();
    assert_eq!(times, [0.0, 10.0, 10.0, 5.0, 20.0]);
}

#[test]
fn a_loop_begins_again_after_the_mean_gap() {
    // 40 ms, and the mean gap of 10 ms.
    let flows = sent(r#"{"file": "a.pcap", "loop": true}"#);
    assert_eq!(flows[1], [(10.0, 12), (60.0, 12)]);
    assert_eq!(flows[0].iter().map(|s| s.0).collect::<Vec<_>>(), [0.0, 20.0, 20.0, 50.0, 70.0, 70.0]);
    // Two packets have a single gap.
    let two = prepare(r#"{"file": "a.pcap", "loop": true}"#, &LINES[..2]).unwrap();
    let mut host = Host::new(&*two, 0, 1);
    host.run(Duration::from_millis(99));
    assert_eq!(host.sent.iter().map(|s| s.at.as_secs_f64() * 1e3).collect::<Vec<_>>(), [0.0, 20.0, 40.0, 60.0, 80.0]);
    let fast = sent(r#"{"file": "a.pcap", "loop": true, "speed": 0.5}"#);
    assert_eq!(fast[1], [(20.0, 12)]);
}

#[test]
fn prefixes_choose_packets_and_leave_their_times() {
    let only = |filter: &str| sent(&format!(r#"{{"file": "a.pcap", {filter}}}"#));
    assert_eq!(only(r#""from": "192.168.0.0/16""#), [[(10.0, 12)]]);
    assert_eq!(only(r#""to": "10.0.0.2""#).len(), 2);
    assert_eq!(only(r#""from": "10.0.0.0/8", "to": "10.0.0.1/32""#), [[(40.0, 0)]]);
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refused = |json: &str, lines: &[Line]| prepare(json, lines).err().unwrap().to_string();
    assert!(refused("{}", &LINES).contains("give a capture"));
    let from = refused(r#"{"file": "a.pcap", "from": "10.0.0.0/33"}"#, &LINES);
    assert!(from.starts_with("from = ") && from.contains("2001:db8::/32"), "{from}");
    let none = refused(r#"{"file": "a.pcap", "to": "10.9.0.0/16"}"#, &LINES);
    assert!(none.contains("its first goes from 10.0.0.1 to 10.0.0.2"), "{none}");
    assert!(refused(r#"{"file": "a.pcap"}"#, &[]).contains("must hold IP packets"));
    assert!(refused(r#"{"file": "a.pcap", "speed": 0}"#, &LINES).starts_with("speed = 0"));
    assert!(refused(r#"{"file": "a.pcap", "loop": true}"#, &LINES[..1]).contains("packets at two different times"));
    assert!(spec("pcap", r#"{"file": "a.pcap"}"#).prepare(&["text".into()]).is_err_and(|e| e.want.contains("capture")));
}
