//! Each format, what is wrong with files, and files that are cut off anywhere.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::io::Write as _;

use aqmkit_packets::replay::PcapWriter;
use etherparse::PacketBuilder;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::read;
use crate::measurement::{Counted, Direction, Format, Measurement};

const PING: &str = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
[1700000000.020000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20.0 ms
[1700000000.220000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=20 ms
[1700000000.220000] 64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=20 ms (DUP!)
no answer yet for icmp_seq=3
[1700000000.830000] 64 bytes from 192.0.2.1: icmp_seq=5 ttl=57 time=30 ms

--- 192.0.2.1 ping statistics ---
5 packets transmitted, 3 received, 40% packet loss, time 800ms
";

const IRTT: &str = r#"{"version": {"irtt": "0.9.1"},
"config": {"ip_version": "IPv4", "params": {"interval": 20000000, "length": 56}},
"round_trips": [
 {"seqno": 0, "lost": "false", "timestamps": {"client": {"send": {"wall": 1700000000000000000, "monotonic": 1000}}}, "delay": {"rtt": 20000000}},
 {"seqno": 1, "lost": "true", "timestamps": {"client": {"send": {"wall": 1700000000020000000, "monotonic": 20001000}}}, "delay": {}},
 {"seqno": 2, "lost": "false", "timestamps": {"client": {"send": {"wall": 1700000000040000000, "monotonic": 40001000}}}, "delay": {"rtt": 21000000}}]}"#;

const IPERF3: &str = r#"{"start": {"tcp_mss_default": 1448, "timestamp": {"timesecs": 1700000005}, "test_start": {"protocol": "TCP", "reverse": 0, "omit": 1}},
"intervals": [
 {"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 1000000, "retransmits": 9, "rtt": 40000, "omitted": true, "sender": true}]},
 {"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 1250000, "retransmits": 2, "rtt": 45000, "omitted": false, "sender": true}]}], "end": {}}"#;

const FLENT: &str = r#"{"version": 4, "metadata": {"NAME": "tcp_1down", "STEP_SIZE": 0.2}, "x_values": [0.2, 0.4],
"results": {"Ping (ms) ICMP": [20.0, null], "TCP download": [10.0, 12.0], "TCP totals": [10.0, 12.0]},
"raw_values": {
 "Ping (ms) ICMP": [{"t": 1700000000.0, "val": 20.0, "seq": 0}, {"t": 1700000000.6, "val": 22.0, "seq": 3}],
 "TCP download": [{"t": 1700000000.4, "dur": 0.2, "val": 10.0}, {"t": 1700000000.6, "dur": 0.2, "val": 12.0}],
 "TCP download::tcp_rtt": [{"t": 1700000000.5, "val": 33.0}],
 "TCP download::tcp_cwnd": [{"t": 1700000000.5, "val": 30}],
 "Ping (ms) avg": [{"t": 1700000000.0, "val": 20.0}]}}"#;

fn of(text: &str) -> Measurement {
    read("file.x", text.as_bytes()).unwrap()
}

fn told(bytes: &[u8]) -> String {
    let error = read("file.x", bytes).unwrap_err();
    assert!(error.what.contains("file.x") && !error.right.is_empty(), "{error:?}");
    format!("{}; {}", error.what, error.right)
}

/// When each packet left, and its round trip in ms.
fn samples(read: &Measurement) -> Vec<(f64, Option<f64>)> {
    let round = |x: f64| (x * 1e4).round() / 1e4;
    read.probes[0].samples.iter().map(|s| (round(s.at), s.rtt.map(|rtt| round(rtt * 1000.0)))).collect()
}

#[test]
fn ping_with_times_has_losses_between_the_replies() {
    let read = of(PING);
    assert_eq!((read.format, read.probes[0].packet), (Format::Ping, Some(84.0)));
    assert!((read.epoch.unwrap().at - 1_700_000_000.0).abs() < 1e-3);
    let expected = [(0.0, Some(20.0)), (0.2, Some(20.0)), (0.4, None), (0.6, None), (0.8, Some(30.0))];
    assert_eq!(samples(&read), expected);
    assert_eq!(read.unseen, [""; 0]);
}

#[test]
fn ping_without_times_takes_them_from_the_summary() {
    let plain: String =
        PING.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest).to_owned() + "\n").collect();
    let read = of(&plain);
    assert_eq!((read.epoch, samples(&read).len()), (None, 5));
    assert_eq!(samples(&read)[4], (0.8, Some(30.0)));
    assert!(read.unseen[0].contains("the summary"), "{:?}", read.unseen);
    let cut = plain.split("\n\n").next().unwrap();
    assert_eq!(samples(&of(cut))[4], (4.0, Some(30.0)));
}

#[test]
fn other_pings_are_read() {
    let mac = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n64 bytes from 192.0.2.1: icmp_seq=0 ttl=57 time=12.345 ms\nRequest timeout for icmp_seq 1\n64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=13.5 ms\n";
    assert_eq!(samples(&of(mac)), [(0.0, Some(12.345)), (1.0, None), (2.0, Some(13.5))]);
    assert_eq!(of(mac).probes[0].packet, Some(84.0));
    let windows = "Pinging 192.0.2.1 with 32 bytes of data:\r\nReply from 192.0.2.1: bytes=32 time=12ms TTL=57\r\nRequest timed out.\r\nAntwort von 192.0.2.1: Bytes=32 Zeit<1ms TTL=57\r\n";
    assert_eq!(samples(&of(windows)), [(0.0, Some(12.0)), (1.0, None), (2.0, Some(0.5))]);
    assert_eq!(of(windows).probes[0].packet, Some(60.0));
    let busybox =
        "64 bytes from 192.0.2.1: seq=65535 ttl=57 time=1.5 ms\n64 bytes from 192.0.2.1: seq=0 ttl=57 time=1.6 ms\n";
    assert_eq!(samples(&of(busybox)), [(0.0, Some(1.5)), (1.0, Some(1.6))]);
}

#[test]
fn irtt_has_every_packet() {
    let read = of(IRTT);
    assert_eq!((read.format, read.probes[0].packet), (Format::Irtt, Some(84.0)));
    assert_eq!(samples(&read), [(0.0, Some(20.0)), (0.02, None), (0.04, Some(21.0))]);
    assert_eq!(read.epoch.unwrap().at, 1.7e9);
}

#[test]
fn iperf3_has_flows_with_round_trips_and_losses() {
    let read = of(IPERF3);
    let flow = &read.flows[0];
    assert_eq!((flow.direction, flow.bins.len(), flow.knows_losses), (Direction::Up, 2, true));
    // The second interval follows the omitted one.
    assert_eq!((flow.bins[1].from, flow.bins[1].to, flow.bins[1].bytes, flow.bins[1].lost), (1.0, 2.0, 1.25e6, 2.0));
    assert_eq!(flow.rtts, [(1.0, 0.04), (2.0, 0.045)]);
    assert_eq!(flow.counted, Counted::Payload { payload: 1448.0, packet: 1500.0, known: true });
    let reverse = IPERF3.replace("\"sender\": true", "\"sender\": false");
    assert_eq!(of(&reverse).flows[0].direction, Direction::Down);
    let bare =
        IPERF3.replace("\"retransmits\": 9, \"rtt\": 40000, ", "").replace("\"retransmits\": 2, \"rtt\": 45000, ", "");
    assert_eq!(of(&bare).unseen.len(), 2);
}

#[test]
fn flent_has_raw_values_and_their_losses() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(FLENT.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let read = read("file.x", packed.as_slice()).unwrap();
    assert_eq!(read, of(FLENT), "packed or not");
    assert_eq!((read.format, read.probes.len(), read.flows.len()), (Format::Flent, 1, 1));
    assert_eq!(samples(&read), [(0.0, Some(20.0)), (0.2, None), (0.4, None), (0.6, Some(22.0))]);
    let flow = &read.flows[0];
    let bytes: f64 = flow.bins.iter().map(|bin| bin.bytes).sum();
    assert!((bytes - 22e6 / 8.0 * 0.2).abs() < 1.0, "{bytes}");
    assert!((flow.rtts[0].0 - 0.5).abs() < 1e-6 && flow.rtts[0].1 == 0.033 && flow.direction == Direction::Down);
    // Older files have steps alone.
    let old = FLENT.replace("raw_values", "other");
    assert_eq!(samples(&of(&old)), [(0.2, Some(20.0))]);
    assert_eq!(of(&old).flows[0].bins.len(), 2);
}

/// A segment of the connection between 10.0.0.1 (data) and 10.0.0.2, or its acknowledgement.
fn segment(data: bool, seq: u32, stamp: (u32, u32), len: usize) -> Vec<u8> {
    let (from, to) = if data { ([10, 0, 0, 1], [10, 0, 0, 2]) } else { ([10, 0, 0, 2], [10, 0, 0, 1]) };
    let (source, destination) = if data { (80, 5000) } else { (5000, 80) };
    let options = [
        etherparse::TcpOptionElement::Noop,
        etherparse::TcpOptionElement::Noop,
        etherparse::TcpOptionElement::Timestamp(stamp.0, stamp.1),
    ];
    let packet =
        PacketBuilder::ipv4(from, to, 64).tcp(source, destination, seq, 65_000).ack(seq).options(&options).unwrap();
    let mut bytes = Vec::new();
    packet.write(&mut bytes, &vec![0; len]).unwrap();
    bytes
}

/// Data every 10 ms, captured at the receiver, which acknowledges at once; the sender answers 30 ms later. One segment is sent again.
fn capture() -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new());
    let mut put = |ms: u64, bytes: &[u8]| writer.write(ms * 1_000_000, 228, bytes.len() as u32, bytes).unwrap();
    for n in 0..100_u32 {
        let at = 10 * u64::from(n);
        let echo = n.checked_sub(3).map_or(0, |n| 1000 + 10 * n);
        let seq = if n == 50 { 1000 * 20 } else { 1000 * n };
        put(at, &segment(true, seq, (5000 + 10 * n, echo), 1000));
        put(at, &segment(false, 1000 * (n + 1), (1000 + 10 * n, 5000 + 10 * n), 0));
    }
    writer.finish().unwrap()
}

#[test]
fn a_capture_has_round_trips_by_time_stamps() {
    let read = read("file.x", capture().as_slice()).unwrap();
    assert_eq!((read.format, read.flows.len()), (Format::Capture, 1));
    let flow = &read.flows[0];
    assert!(flow.name.starts_with("tcp 10.0.0.1:80 > 10.0.0.2:5000"), "{}", flow.name);
    let bytes: f64 = flow.bins.iter().map(|bin| bin.bytes).sum();
    assert_eq!(bytes, 100.0 * 1052.0, "with headers");
    assert_eq!(flow.bins.iter().map(|bin| bin.lost).sum::<f64>(), 1.0);
    assert!(flow.rtts.len() > 90 && flow.rtts.iter().all(|(_, rtt)| (rtt - 0.03).abs() < 1e-6), "{:?}", flow.rtts);
}

#[test]
fn pings_in_a_capture_are_sparse_packets() {
    let mut writer = PcapWriter::new(Vec::new());
    for n in 0..5_u16 {
        let sent = u64::from(n) * 200_000_000;
        let mut put = |at: u64, request: bool| {
            let (from, to) = if request { ([10, 0, 0, 2], [10, 0, 0, 1]) } else { ([10, 0, 0, 1], [10, 0, 0, 2]) };
            let ip = PacketBuilder::ipv4(from, to, 64);
            let mut bytes = Vec::new();
            let packet = if request { ip.icmpv4_echo_request(7, n) } else { ip.icmpv4_echo_reply(7, n) };
            packet.write(&mut bytes, &[0; 56]).unwrap();
            writer.write(at, 228, bytes.len() as u32, &bytes).unwrap();
        };
        put(sent, true);
        if n != 2 {
            put(sent + 15_000_000, false);
        }
    }
    let read = read("file.x", writer.finish().unwrap().as_slice()).unwrap();
    let expected = [(0.0, Some(15.0)), (0.2, Some(15.0)), (0.4, None), (0.6, Some(15.0)), (0.8, Some(15.0))];
    assert_eq!((samples(&read), read.probes[0].packet), (expected.to_vec(), Some(84.0)));
}

#[test]
fn other_files_are_refused_with_what_would_be_right() {
    assert!(told(b"").contains("is empty"));
    assert!(told(b"Dear router,\n").contains("icmp_seq=1"));
    assert!(told(br#"{"name": 1, "value": 2}"#).contains("its keys are name, value"));
    assert!(
        told(br#"{"error": "unable to connect to server", "start": {}, "intervals": []}"#)
            .contains("unable to connect")
    );
    assert!(told(IPERF3.replace("\"TCP\"", "\"UDP\"").as_bytes()).contains("a test over TCP"));
    assert!(told(br#"{"round_trips": []}"#).contains("delay.rtt"));
    assert!(told(br#"{"results": {}, "metadata": {}}"#).contains("rrul"));
    assert!(told(&[0x1f, 0x8b, 8, 0]).contains("cannot be unpacked"));
    assert!(told(&[0xff; 100]).contains("UTF-8"));
    assert!(told(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]).contains("capture"));
    let cut = &IRTT[..IRTT.len() / 2];
    assert!(told(cut.as_bytes()).contains("line "), "{}", told(cut.as_bytes()));
}

/// Every beginning of every file is read or refused; so are files in which a byte is changed.
#[test]
fn files_that_are_cut_off_or_damaged_do_not_panic() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(FLENT.as_bytes()).unwrap();
    let whole = capture();
    let files = [PING, IRTT, IPERF3, FLENT].map(|text| text.as_bytes().to_vec());
    let files = files.into_iter().chain([packed.finish().unwrap(), whole[..2500].to_vec()]);
    let splinters: [&[u8]; 8] = [b"", b"\0", b"-1", b"1e300", b"null", b"{", b"\xff", b"18446744073709551616"];
    for (kind, file) in files.enumerate() {
        for cut in 0..file.len() {
            survives(&file[..cut]);
            let mut damaged = file.clone();
            damaged.splice(cut..(cut + 1 + cut % 3).min(file.len()), splinters[(cut + kind) % 8].iter().copied());
            survives(&damaged);
        }
    }
}

fn survives(bytes: &[u8]) {
    match read("file.x", bytes) {
        Ok(read) => {
            let trial =
                crate::Trial::of(vec![read], crate::Given { load: Some((0.1, 0.5)), ..crate::Given::default() })
                    .unwrap();
            let estimate = crate::estimate(&trial);
            assert!(!estimate.sentence().is_empty() && !estimate.rows().iter().any(|row| row[1].contains("NaN")));
        }
        Err(error) => assert!((10..4000).contains(&error.what.len()) && !error.right.is_empty(), "{error:?}"),
    }
}
