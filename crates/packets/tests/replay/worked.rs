use aqmkit_aqm::Why;
use aqmkit_base::{Duration, Instant};
use aqmkit_packets::replay::{End, Step};
use proptest::prelude::*;

use super::files::{link, packet, packets_of, pcap, run};

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn sent(waited: u64, left: u64) -> End {
    End::Sent { waited: ms(waited), left: Instant::ZERO + ms(left), marked: None }
}

/// Five packets of 1 ms each at a queue limit of two, worked by hand. Two are queued while the first is in
/// transmission, so the fourth is dropped; the fifth finds the link idle.
#[test]
fn a_short_queue_by_hand() {
    let times = [0, 0, 0, 0, 10].map(|t| t * MS);
    let packets: Vec<_> = times.iter().zip(1..).map(|(t, port)| (*t, packet(port, 1000, 0))).collect();
    let (replayed, mut fates, out) = run(&pcap(&packets), &link("fifo", r#"{ "limit": 2 }"#)).unwrap();
    fates.sort_by_key(|f| f.number);
    let dropped = End::Dropped { why: Why::Overflow, at: Instant::ZERO };
    assert_eq!(
        fates.iter().map(|f| f.end).collect::<Vec<_>>(),
        [sent(0, 1), sent(1, 2), sent(2, 3), dropped, sent(0, 11)]
    );
    assert_eq!(fates[3].flow, "udp 10.0.0.1:4 > 10.0.0.2:9");
    let left: Vec<_> = packets_of(&out).into_iter().map(|(at, bytes)| (at / MS, bytes)).collect();
    let expected = [(1, 0), (2, 1), (3, 2), (11, 4)].map(|(at, i)| (at, packets[i].1.clone()));
    assert_eq!(left, expected);
    let total = replayed.window.total;
    assert_eq!((total.offered_packets, total.sent_packets, total.drops()), (5, 4, 1));
    assert_eq!(replayed.window.classes[1].total, total, "all are udp");
    assert_eq!((replayed.window.span(), replayed.unordered, replayed.damage), (ms(11), 0, None));
    let top = replayed.flows.top(9);
    assert_eq!((top.len(), top[0].packets, top[0].bytes), (5, 1, 1000));
}

#[test]
fn marks_come_out_with_right_checksums() {
    let packets: Vec<_> = (0..20).map(|i| (0, packet(7, 1000, (i % 4) as u8))).collect();
    let (replayed, fates, out) = run(&pcap(&packets), &link("step", r#"{ "threshold": 3, "limit": 100 }"#)).unwrap();
    let (mut marks, mut others) = (0, 0);
    for (_, bytes) in packets_of(&out) {
        let sliced = etherparse::SlicedPacket::from_ethernet(&bytes).unwrap();
        let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { panic!("no IPv4") };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        match header.ecn.value() {
            3 => marks += 1,
            _ => others += 1,
        }
    }
    let told = fates.iter().filter(|f| matches!(f.end, End::Sent { marked: Some(Why::Step), .. })).count() as u64;
    let came_marked_and_passed_below = 1;
    assert!(told > 8 && others > 2, "{told} marks, {others} others");
    assert_eq!((replayed.window.total.marks(), marks), (told, told + came_marked_and_passed_below));
}

#[test]
fn time_that_runs_backwards_or_jumps_is_told() {
    let hour = 3600 * 1000 * MS;
    let times = [0, 50 * MS, 20 * MS, 40 * MS, 60 * MS, 9 * hour];
    let packets: Vec<_> = times.iter().map(|t| (*t, packet(1, 1000, 0))).collect();
    let (replayed, fates, _) = run(&pcap(&packets), &link("fifo", "{}")).unwrap();
    let step = Step { packet: 6, by_ns: (9 * hour - 60 * MS) as i64 };
    assert_eq!((replayed.unordered, replayed.steps, replayed.step), (2, 1, Some(step)));
    let ends: Vec<_> = fates.iter().map(|f| f.end).collect();
    assert_eq!(ends[..4], [sent(0, 1), sent(0, 51), sent(1, 52), sent(2, 53)]);
    // The 10 ms gap before the step is repeated.
    assert_eq!(ends[4..], [sent(0, 61), sent(0, 71)]);
}

/// 1000 packets of 1 ms, one every 2 ms: a timestamp eighteen hours ahead changes neither drops nor duration.
#[test]
fn one_wrong_stamp_changes_no_result() {
    let packets: Vec<_> = (0..1000).map(|i| (65_536_000 * MS + 2 * i * MS, packet(1, 1000, 0))).collect();
    let (right, ..) = run(&pcap(&packets), &link("fifo", r#"{ "limit": 3 }"#)).unwrap();
    for wrong in [131_072_000 * MS, 0] {
        let mut packets = packets.clone();
        packets[500].0 = wrong;
        let (stepped, fates, _) = run(&pcap(&packets), &link("fifo", r#"{ "limit": 3 }"#)).unwrap();
        assert_eq!((stepped.window.total, stepped.window.span()), (right.window.total, right.window.span()));
        assert_eq!((stepped.steps, fates.len()), (1, 1000));
    }
    // The last packet has no successor.
    let mut packets = packets;
    packets[999].0 += 2000 * MS;
    let (replayed, fates, _) = run(&pcap(&packets), &link("fifo", "{}")).unwrap();
    assert_eq!((replayed.steps, fates.len(), replayed.window.span()), (0, 1000, ms(2 * 999 + 2000 + 1)));
}

proptest! {
    /// Each packet has exactly one outcome; sent ones appear in the file, in order of time, and not faster than the
    /// rate.
    #[test]
    fn every_packet_has_one_fate(
        gaps in prop::collection::vec((0_u64..2000, 42_usize..1500, 0_u8..4, 1_u16..5), 1..200),
        which in 0_usize..6,
    ) {
        let discipline = ["fifo", "red", "codel", "fq-codel", "dualpi2", "cbt"][which];
        let mut at = 0;
        let packets: Vec<_> = gaps.iter().map(|(gap, length, ecn, port)| {
            at += gap * 1000;
            (at, packet(*port, *length, *ecn))
        }).collect();
        let (replayed, mut fates, out) = run(&pcap(&packets), &link(discipline, r#"{ "limit": 20 }"#)).unwrap();
        fates.sort_by_key(|f| f.number);
        prop_assert!(fates.iter().map(|f| f.number).eq(1..=packets.len() as u64));
        let left = packets_of(&out);
        let total = replayed.window.total;
        prop_assert_eq!(left.len() as u64, total.sent_packets);
        prop_assert_eq!(total.sent_packets + total.drops(), total.offered_packets);
        for pair in left.windows(2) {
            prop_assert!(pair[1].0 >= pair[0].0 + pair[1].1.len() as u64 * 1000);
        }
    }
}
