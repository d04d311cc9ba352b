//! Captures of runs, used as traffic.

use std::collections::BTreeSet;

use aqmkit_packets::replay::PcapWriter;

use super::Desk;
use super::pcap::{desk, packets};

/// Plays back the capture of a run, on a link that adds no delay.
const AGAIN: &str = r#"
title = "Again"
duration = "4s"
[topology]
rate = "10gbit"
aqm = { name = "fifo", limit = 10000 }
reverse = { rate = "10gbit" }
[[traffic]]
name = "down"
kind = "pcap"
file = "a.pcap"
from = "10.128.0.0/16"
[[traffic]]
name = "up"
kind = "pcap"
file = "a.pcap"
to = "10.128.0.0/16"
direction = "reverse"
"#;

/// Time, length and ECN codepoint of the packets whose headers match.
fn those(all: &[(u64, u32, Vec<u8>)], wanted: fn(&[u8]) -> bool) -> Vec<(u64, u32, u8)> {
    let zero = all[0].0;
    all.iter().filter(|(.., ip)| wanted(ip)).map(|(at, len, ip)| (at - zero, *len, ip[1] & 3)).collect()
}

#[test]
fn the_capture_of_a_run_is_sent_again_as_it_was() {
    let desk = desk();
    desk.run("run packets.toml --set aqm=red --pcap a.pcap -q").good();
    desk.write("sub/again.toml", AGAIN.replace("a.pcap", "../a.pcap").as_str());
    let told = desk.run("run sub/again.toml --pcap b.pcap --json -q");
    assert_eq!(told.code, 0, "{told:?}");
    let (before, after) = (packets(&desk, "a.pcap"), packets(&desk, "b.pcap"));
    // In the first run traffic is distinguished by addresses, in the second by server ports.
    let (was, is) = (those(&before, |ip| ip[13] == 128), those(&after, |ip| ip[20..22] == 8000_u16.to_be_bytes()));
    assert!(was.len() > 1000 && was.iter().any(|p| p.2 == 3), "{}", was.len());
    assert_eq!(was.len(), is.len());
    let zero = was[0].0.abs_diff(is[0].0);
    for (a, b) in was.iter().zip(&is) {
        assert_eq!((a.1, a.2), (b.1, b.2));
        assert!(a.0.abs_diff(b.0).abs_diff(zero) < 20_000, "{a:?} {b:?}");
    }
    let json: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    // Each five-tuple is a flow.
    let tuples = |server: usize| {
        let of = before.iter().filter(|(.., ip)| ip[server] == 128);
        of.map(|(.., ip)| (&ip[12..20], ip[9], &ip[20..24])).collect::<BTreeSet<_>>().len() as u64
    };
    let flows = |name: &str| json["runs"][0]["apps"][name]["population"].as_u64();
    assert_eq!((flows("down"), flows("up")), (Some(tuples(13)), Some(tuples(17))));
    assert!(tuples(17) > 10);
}

/// A capture of Ethernet frames of 1514 bytes, truncated to 60, one every 10 ms: UDP over IPv4, every second one with a
/// VLAN tag; every fifth is ARP instead.
fn snapped(packets: u64) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new());
    for n in 0..packets {
        let mut frame = vec![2; 12];
        if n % 2 == 1 {
            frame.extend([0x81, 0, 0, 7]);
        }
        let wire = frame.len() as u32 + 1502;
        frame.extend(if n % 5 == 4 { [8, 6] } else { [8, 0] });
        frame.extend([0x45, 0, (1500_u16 >> 8) as u8, 1500_u16 as u8, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4]);
        frame.resize(60, 0);
        writer.write(n * 10_000_000, 1, wire, &frame).unwrap();
    }
    writer.finish().unwrap()
}

const PLAIN: &str = r#"
title = "Plain"
duration = "1s"
[topology]
rate = "10mbit"
aqm = { name = "fifo", limit = 100 }
[[traffic]]
kind = "pcap"
file = "a.pcap"
"#;

#[test]
fn packets_count_in_full_however_little_was_captured() {
    let desk = Desk::new();
    desk.write("plain.toml", PLAIN);
    std::fs::write(desk.path().join("a.pcap"), snapped(50)).unwrap();
    let results = |line: &str| -> serde_json::Value { serde_json::from_str(&desk.run(line).good()).unwrap() };
    let first = results("run plain.toml --json -q");
    let offered = |json: &serde_json::Value| json["runs"][0]["classes"]["pcap"]["offered_bps"].as_f64();
    // 40 IP packets in a second; ARP is left out.
    assert_eq!(offered(&first), Some(40.0 * 1500.0 * 8.0), "{first}");
    std::fs::write(desk.path().join("a.pcap"), snapped(100)).unwrap();
    let second = results("run plain.toml --json -q");
    assert_eq!(offered(&second), Some(80.0 * 1500.0 * 8.0), "another content is another run");
    let fast = results("run plain.toml --json -q --set traffic.pcap.speed=2 --set traffic.pcap.loop=true");
    assert_eq!(offered(&fast), Some(160.0 * 1500.0 * 8.0));
}

#[test]
fn captures_that_cannot_be_sent() {
    let desk = Desk::new();
    desk.write("plain.toml", PLAIN);
    let run = || desk.run("run plain.toml");
    run().wrong(&["a.pcap cannot be read", "plain.toml:", "relative to the experiment"]);
    desk.write("a.pcap", "no capture at all, but long enough to be one");
    run().wrong(&["a.pcap cannot be replayed: it is neither pcap nor pcapng", "pcap or pcapng"]);
    let good = snapped(3);
    std::fs::write(desk.path().join("a.pcap"), &good[..good.len() - 5]).unwrap();
    run().wrong(&["a.pcap is damaged at byte 176", "in the middle of a packet", "tcpdump -r"]);
    desk.write("plain.toml", &PLAIN.replace("a.pcap\"", "a.pcap\"\nfrom = \"10.9/16\""));
    std::fs::write(desk.path().join("a.pcap"), good).unwrap();
    run().wrong(&["from of pcap cannot be \"10.9/16\"", "10.0.0.0/8", "plain.toml:10"]);
    desk.write("plain.toml", &PLAIN.replace("file = \"a.pcap\"\n", ""));
    run().wrong(&["file of pcap cannot be", "give a capture"]);
}
