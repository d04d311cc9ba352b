//! Captures on an end host: both directions, and super-packets.

use aqmkit_packets::replay::{CaptureError, ReplayError, Selection};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use super::files::{Wrong, link, packet, packets_of, pcap, run, run_selected};

/// A TCP packet with `data` bytes counting up; FIN, PSH and CWR set.
fn tcp(from: [u8; 4], to: [u8; 4], data: usize) -> Vec<u8> {
    let ends = if from < to { (5000, 80) } else { (80, 5000) };
    let step = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(from, to, 64).tcp(ends.0, ends.1, 1_000_000, 9000);
    let mut frame = Vec::new();
    step.psh().fin().write(&mut frame, &(0..data).map(|i| i as u8).collect::<Vec<_>>()).unwrap();
    frame[14 + 20 + 13] |= 0x80;
    frame
}

/// As [`tcp`], over IPv6.
fn tcp6(data: usize) -> Vec<u8> {
    let step = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv6([1; 16], [2; 16], 64).tcp(1, 2, 7, 9000);
    let mut frame = Vec::new();
    step.write(&mut frame, &vec![3; data]).unwrap();
    frame
}

const A: [u8; 4] = [10, 0, 0, 1];
const B: [u8; 4] = [10, 0, 1, 1];

#[test]
fn one_direction_is_selected_by_its_networks() {
    let frames = [tcp(A, B, 10), tcp(B, A, 20), tcp(A, B, 30), packet(1, 100, 0)];
    let file = pcap(&frames.iter().enumerate().map(|(i, f)| (i as u64, f.clone())).collect::<Vec<_>>());
    let (all, fates, _) = run(&file, &link("fifo", "{}")).unwrap();
    assert_eq!((fates.len(), all.both_ways, all.left_out), (4, true, 0));
    let networks = |text: &str| vec![text.parse().unwrap()];
    let to = Selection { to: networks("10.0.1.0/24"), ..Selection::default() };
    let from = Selection { from: networks("10.0.1.1"), ..Selection::default() };
    for (selection, numbers) in [(to, vec![1, 3]), (from, vec![2])] {
        let (one, some, _) = run_selected(&file, &link("fifo", "{}"), &selection).unwrap();
        assert_eq!(some.iter().map(|f| f.number).collect::<Vec<_>>(), numbers);
        assert_eq!((one.both_ways, one.left_out), (false, 4 - numbers.len() as u64));
    }
}

#[test]
fn what_a_network_card_was_to_cut_is_cut() {
    let whole = tcp(A, B, 65_000);
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    let (replayed, fates, out) = run_selected(&pcap(&[(0, whole)]), &link("fifo", "{}"), &mtu).unwrap();
    // 1460 bytes of data in each.
    assert_eq!((replayed.cut, fates.len()), (1, 45));
    assert!(fates.iter().all(|f| f.number == 1));
    assert_eq!(replayed.window.total.offered_bytes, 65_000 + 45 * 54);
    let mut data = Vec::new();
    for (i, (_, bytes)) in packets_of(&out).into_iter().enumerate() {
        let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (&sliced.net, &sliced.transport) else {
            panic!("no TCP")
        };
        let header = ip.header().to_header();
        assert_eq!(header.header_checksum, header.calc_header_checksum());
        assert_eq!(usize::from(header.total_len), bytes.len() - 14);
        assert_eq!(tcp.checksum(), tcp.calc_checksum_ipv4(ip.header().to_header().source, header.destination).unwrap());
        assert_eq!(tcp.sequence_number() as usize, 1_000_000 + i * 1460);
        assert_eq!((tcp.psh(), tcp.fin(), tcp.cwr()), (i == 44, i == 44, i == 0));
        data.extend_from_slice(tcp.payload());
    }
    assert_eq!(data, (0..65_000).map(|i| i as u8).collect::<Vec<_>>());
}

#[test]
fn the_length_of_a_short_capture_and_of_ipv6_is_that_on_the_wire() {
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    let (six, ..) = run_selected(&pcap(&[(0, tcp6(10_000))]), &link("fifo", "{}"), &mtu).unwrap();
    assert_eq!((six.cut, six.window.total.offered_packets), (1, 7));
    assert_eq!(six.window.total.offered_bytes, 10_000 + 7 * 74);
    // Only the first 96 bytes were captured.
    let whole = tcp(A, B, 4000);
    let mut writer = aqmkit_packets::replay::PcapWriter::new(Vec::new());
    writer.write(0, 1, whole.len() as u32, &whole[..96]).unwrap();
    let file = writer.finish().unwrap();
    let (short, ..) = run_selected(&file, &link("fifo", "{}"), &mtu).unwrap();
    assert_eq!(short.window.total.offered_bytes, 4000 + 3 * 54);
}

/// Each segment in a PPPoE session has the length of its own PPP frame.
#[test]
fn segments_in_a_session_have_its_length() {
    let whole = tcp(A, B, 4000);
    let ip = &whole[14..];
    let length = (2 + ip.len() as u16).to_be_bytes();
    let session = [&whole[..12], &[0x88, 0x64, 0x11, 0, 0, 1], &length, &[0, 0x21], ip].concat();
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    let (replayed, _, out) = run_selected(&pcap(&[(0, session)]), &link("fifo", "{}"), &mtu).unwrap();
    assert_eq!(replayed.cut, 1);
    let lengths: Vec<(u16, usize)> =
        packets_of(&out).iter().map(|(_, b)| (u16::from_be_bytes([b[18], b[19]]), b.len())).collect();
    // 1460 bytes of data and 40 of headers, twice, and the rest; 22 bytes before the IP header.
    assert_eq!(lengths, [(1502, 1522), (1502, 1522), (1122, 1142)]);
}

/// A total length of just the IPv4 header is treated like zero: the frame gives the length.
#[test]
fn a_length_that_is_none_is_that_of_the_frame() {
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    for total in [0_u16, 20] {
        let mut whole = tcp(A, B, 4000);
        whole[16..18].copy_from_slice(&total.to_be_bytes());
        let (replayed, _, out) = run_selected(&pcap(&[(0, whole)]), &link("fifo", "{}"), &mtu).unwrap();
        assert_eq!((replayed.cut, packets_of(&out).len()), (1, 3), "{total}");
        assert_eq!(replayed.window.total.offered_bytes, 4000 + 3 * 54);
    }
}

/// Segments of a jumbogram (RFC 2675) are ordinary packets, without its option.
#[test]
fn segments_of_a_jumbogram_have_no_jumbo_option() {
    let plain = tcp6(60_000);
    let mut jumbo = plain[..54].to_vec();
    jumbo[18..20].fill(0);
    let next = std::mem::replace(&mut jumbo[20], 0);
    let length = (8 + plain.len() - 54) as u32;
    jumbo.extend([&[next, 0, 0xc2, 4][..], &length.to_be_bytes(), &plain[54..]].concat());
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    let (replayed, _, out) = run_selected(&pcap(&[(0, jumbo)]), &link("fifo", "{}"), &mtu).unwrap();
    assert_eq!((replayed.cut, packets_of(&out).len()), (1, 60_000_usize.div_ceil(1440)));
    assert_eq!(replayed.window.total.offered_bytes, 60_000 + 42 * 74);
    for (_, bytes) in packets_of(&out) {
        assert_eq!((bytes[20], usize::from(u16::from_be_bytes([bytes[18], bytes[19]]))), (6, bytes.len() - 54));
    }
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let mtu = Selection { mtu: Some(1500), ..Selection::default() };
    let file = pcap(&[(0, packet(1, 1514, 0)), (1, packet(1, 1515, 0))]);
    match run_selected(&file, &link("fifo", "{}"), &mtu) {
        Err(ReplayError::Stopped(Wrong::Capture(error @ CaptureError::TooLong { number: 2, .. }))) => {
            assert!(error.to_string().contains("--mtu"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let jumbo = Selection { mtu: Some(9000), ..Selection::default() };
    assert_eq!(run_selected(&file, &link("fifo", "{}"), &jumbo).unwrap().0.cut, 0);
}
