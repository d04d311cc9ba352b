use std::collections::BTreeMap;
use std::process::Command;

use aqmkit_packets::replay::{CaptureError, read};

use super::{Desk, TINY};

/// Both directions, ECN, three kinds of traffic, opening and closing connections, and drops.
const PACKETS: &str = r#"
title = "Packets"
duration = "3s"
[topology]
rate = "5mbit"
delay = "5ms"
delays = "20ms"
servers = 2
clients = 2
[transport]
ecn = true
[sweep]
aqm = [{ name = "red", ecn = true, limit = 60, min = 5, max = 15 }, "fifo"]
[[traffic]]
kind = "bulk"
class = "tcp"
flows = 3
stagger = "100ms"
[[traffic]]
name = "short"
kind = "bulk"
flows = 20
stagger = "2s"
size = "30kb"
transport = { profile = "bsd44" }
[[traffic]]
kind = "cbr"
rate = "1mbit"
flows = 2
"#;

pub(super) fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("packets.toml", PACKETS);
    desk
}

/// The packets of a file: time in nanoseconds, original length, bytes.
pub(super) fn packets(desk: &Desk, name: &str) -> Vec<(u64, u32, Vec<u8>)> {
    let file = std::fs::File::open(desk.path().join(name)).unwrap();
    let mut all = Vec::new();
    let ended = read::<CaptureError>(file, &mut |packet| {
        assert_eq!(packet.link_type, 228, "IPv4 without a link's header");
        all.push((packet.at, packet.length, packet.bytes.to_vec()));
        Ok(())
    });
    assert_eq!(ended.unwrap().damage, None);
    all
}

#[test]
fn a_capture_holds_what_crossed_the_link() {
    let desk = desk();
    let told = desk.run("run packets.toml --pcap a.pcap --json");
    assert!(told.err.contains("of run aqm=red repeat=1") && told.err.contains("in a.pcap"), "{}", told.err);
    assert_eq!(told.code, 0, "{told:?}");
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let red = json["runs"].as_array().unwrap().iter().find(|r| r["labels"]["aqm"] == "red").unwrap();
    let crossed = red["engine"]["packets"].as_u64().unwrap() as usize;
    let all = packets(&desk, "a.pcap");
    assert!(all.windows(2).all(|w| w[0].0 <= w[1].0), "time goes forward");
    let (mut from_servers, mut marked, mut open) = (0, 0, BTreeMap::new());
    for (_, length, bytes) in &all {
        // Payload is left out, so packets are shorter than their headers say.
        let packet = etherparse::LaxPacketHeaders::from_ip(bytes).unwrap();
        let Some(etherparse::NetHeaders::Ipv4(ip, _)) = packet.net else { panic!("not IPv4") };
        assert_eq!(u32::from(ip.total_len), *length);
        from_servers += usize::from(ip.source[1] == 128);
        marked += usize::from(ip.ecn == etherparse::IpEcn::THREE);
        if let Some(etherparse::TransportHeader::Tcp(tcp)) = packet.transport
            && tcp.syn
        {
            *open.entry((ip.source[1], tcp.ack)).or_insert(0) += 1;
        }
    }
    assert_eq!(from_servers, crossed);
    assert!(marked > 0 && all.len() > crossed * 5 / 4, "{marked} of {}", all.len());
    assert_eq!(open.keys().copied().collect::<Vec<_>>(), [(0, false), (128, true)], "{open:?}");
    assert!(open[&(0, false)] >= 23);
    desk.run("run packets.toml --set aqm=red --pcap b.pcap -q").good();
    assert_eq!(all, packets(&desk, "b.pcap"), "the same run gives the same file");
}

/// The output of tshark for a capture; `None` if it is not installed.
#[allow(clippy::print_stdout, reason = "what was skipped is said")]
fn tshark(desk: &Desk, name: &str, rest: &[&str]) -> Option<String> {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return None;
    }
    let checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    let output = command.current_dir(desk.path()).args(["-r", name]).args(checks).args(rest).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// SYNs offer SACK, and SACK blocks cover data above the acknowledgement.
#[test]
fn an_analyser_reads_the_blocks_of_sack() {
    let desk = Desk::new();
    let selective = TINY
        .replace("2mbit", "5mbit")
        .replace("min = 5,", "limit = 60, min = 5,")
        .replace("[[traffic]]", "[transport]\nprofile = \"linux-6\"\n[[traffic]]");
    desk.write("sack.toml", &selective);
    desk.run("run sack.toml --set aqm=red --pcap a.pcap -q").good();
    let Some(syns) = tshark(&desk, "a.pcap", &["-Y", "tcp.flags.syn == 1 && !tcp.options.sack_perm"]) else { return };
    assert_eq!(syns, "");
    let wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0";
    assert_eq!(tshark(&desk, "a.pcap", &["-Y", wrong]).unwrap(), "");
    let fields = ["-Y", "tcp.options.sack.count > 0", "-T", "fields", "-e", "tcp.ack", "-e", "tcp.options.sack_le"];
    let blocks = tshark(&desk, "a.pcap", &fields).unwrap();
    assert!(blocks.lines().count() > 5, "{blocks}");
    for line in blocks.lines() {
        let numbers: Vec<u32> = line.split(['\t', ',']).map(|n| n.parse().unwrap()).collect();
        assert!(numbers[1..].iter().all(|edge| (1..10_000_000).contains(edge) && *edge > numbers[0]), "{line}");
    }
}

#[test]
fn an_analyser_has_no_complaint() {
    let desk = desk();
    desk.run("run packets.toml --set aqm=red --pcap a.pcap -q").good();
    if tshark(&desk, "a.pcap", &[]).is_none() {
        return;
    }
    let tshark = |rest: &[&str]| tshark(&desk, "a.pcap", rest).unwrap();
    let wrong = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 \
                 || tcp.analysis.ack_lost_segment || tcp.analysis.window_full || tcp.analysis.zero_window \
                 || tcp.analysis.keep_alive || tcp.analysis.reused_ports";
    assert_eq!(tshark(&["-Y", wrong]), "");
    assert!(tshark(&["-Y", "ip.checksum.status == 1"]).lines().count() > 1000, "checksums were looked at");
    assert!(tshark(&["-Y", "tcp.checksum.status == 1"]).lines().count() > 300);
    assert!(tshark(&["-Y", "tcp.flags.syn == 1 && tcp.options.mss_val == 1448"]).lines().count() >= 40);
    assert!(tshark(&["-Y", "tcp.flags.ece == 1 && tcp.flags.syn == 0"]).lines().count() > 10);
    assert!(tshark(&["-Y", "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"]).lines().count() > 5);
}

/// Three downloads with losses on the wire behind the queue. Lost packets are in the capture, so that an analyser sees
/// every retransmission.
const LOSSY: &str = r#"
title = "Lost behind the queue"
duration = "20s"
[topology]
rate = "5mbit"
delay = "5ms"
delays = "20ms"
servers = 3
clients = 3
loss = 0.01
aqm = { name = "fifo", limit = 1000 }
[transport]
profile = "linux-6"
[[traffic]]
kind = "bulk"
class = "tcp"
flows = 3
"#;

/// An analyser finds the same numbers in a capture as the results of the run: bytes, retransmissions, acknowledged
/// data, round-trip times.
#[test]
fn an_analyser_counts_what_is_reported() {
    let desk = Desk::new();
    desk.write("lossy.toml", LOSSY);
    let json = desk.run("run lossy.toml --pcap a.pcap --json -q").good();
    if tshark(&desk, "a.pcap", &[]).is_none() {
        return;
    }
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let run = &json["runs"][0];
    let class = |metric: &str| run["classes"]["tcp"][metric].as_f64().unwrap();
    let field = |filter: &str, name: &str| -> Vec<f64> {
        let text = tshark(&desk, "a.pcap", &["-Y", filter, "-T", "fields", "-e", name]).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    let (from_servers, from_clients) = ("ip.src == 10.128.0.0/16", "ip.src == 10.0.0.0/16");

    // The size of a simulated SYN does not include its options, which the file contains.
    let opened = field(&format!("{from_servers} && tcp.flags.syn == 1"), "ip.len");
    let bytes: f64 = field(from_servers, "ip.len").iter().sum::<f64>() - 12.0 * opened.len() as f64;
    // A packet in transmission at the end is complete in the capture, but counts in the results only for the part that
    // was sent.
    let unsent = bytes - class("throughput_bps") * 20.0 / 8.0;
    assert!(opened.len() == 3 && (-1e-3..1500.0).contains(&unsent), "{} connections, {unsent} bytes", opened.len());

    let data = field(&format!("{from_servers} && tcp.len > 0"), "tcp.len");
    let repeated = field("tcp.analysis.retransmission || tcp.analysis.out_of_order", "tcp.len");
    let reported = run["apps"]["bulk"]["retransmission_rate"].as_f64().unwrap();
    // Some segments that were sent are still in the queue at the end.
    let (sent, crossed) = (repeated.len() as f64 / reported, data.len() as f64);
    assert!((sent - sent.round()).abs() < 1e-6 && repeated.len() > 50, "{reported}");
    assert!((crossed..crossed + 60.0).contains(&sent.round()), "{crossed} of {sent}");

    // Some acknowledgements that passed the link have not reached the sender at the end.
    let acknowledged: f64 = (0..3)
        .map(|i| {
            field(&format!("tcp.stream == {i} && {from_clients}"), "tcp.ack").into_iter().fold(0.0, f64::max) - 1.0
        })
        .sum();
    let behind = acknowledged - class("goodput_bps") * 20.0 / 8.0;
    assert!((0.0..40_000.0).contains(&behind), "{behind} bytes");

    // From the capture point to the client and back: 5 ms on the wire, plus at most the timeout of a delayed
    // acknowledgement.
    let trips = field(&format!("tcp.analysis.ack_rtt && {from_clients}"), "tcp.analysis.ack_rtt");
    let least = trips.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((0.005..0.0055).contains(&least), "{least}");

    // Each lost segment causes duplicate acknowledgements.
    let duplicates = field("tcp.analysis.duplicate_ack", "tcp.len");
    assert!(duplicates.len() > 3 * repeated.len(), "{}", duplicates.len());
}

#[test]
fn a_capture_that_cannot_be_written() {
    let desk = Desk::new();
    desk.run("run tiny.toml --pcap none/a.pcap").wrong(&["cannot write to none/a.pcap", "--pcap"]);
    desk.write("sum.toml", "title = \"Sum\"\n");
    desk.run("run sum.toml --pcap a.pcap").wrong(&["this experiment sends no packets"]);
}

#[test]
fn a_trace_that_cannot_be_used_is_told_with_its_line() {
    let desk = Desk::new();
    desk.write("bad.toml", &TINY.replace("rate = \"2mbit\"", "rate = { trace = \"a.down\" }"));
    desk.run("run bad.toml").wrong(&["a.down cannot be read", "bad.toml:", "relative to the experiment"]);
    desk.write("a.down", "1\n5\n4\n");
    desk.run("run bad.toml").wrong(&["a.down line 3: 4 ms comes after 5 ms", "ascending order"]);
    desk.write("a.down", "1\nfive\n");
    desk.run("run bad.toml").wrong(&["a.down line 2: \"five\" is not a time"]);
    desk.write("a.down", "0\n");
    desk.run("run bad.toml").wrong(&["the trace has no duration"]);
    desk.write("a.down", "1\n3\n5\n");
    desk.run("run bad.toml -q").good();
}
