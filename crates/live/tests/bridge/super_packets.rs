//! With segmentation offload senders emit GSO super-packets: bridge and discipline treat each segment as a packet.

use std::time::{Duration, Instant};

use aqmkit_aqm::Why;
use aqmkit_base::BitRate;
use aqmkit_live::bridge::{Bridge, Interface, Io};
use aqmkit_live::port::{Outlet, Port};
use aqmkit_live::timing::Clock;
use aqmkit_packets::offload::{Kind, Offload, Open, Segments};
use aqmkit_packets::outgoing::Outgoing;
use aqmkit_packets::super_packet::Received;
use aqmkit_packets::wire::{Encapsulation, View, checksum, mark_ce};
use etherparse::{PacketBuilder, VlanId};

use super::{Place, data};

const SIZE: usize = 1000;
const SEGMENTS: usize = 40;

/// Some segments of a TCP super-packet, or all of them as one frame, between unused addresses.
fn frame(vlan: bool, numbers: std::ops::Range<usize>) -> Vec<u8> {
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 8], [2, 0, 0, 0, 0, 9]);
    let mut ip = etherparse::Ipv4Header::new(0, 9, etherparse::IpNumber::TCP, [10, 7, 0, 1], [10, 7, 0, 2]).unwrap();
    (ip.identification, ip.dont_fragment, ip.ecn) = (numbers.start as u16, true, etherparse::IpEcn::Ect0);
    let ip = etherparse::IpHeaders::Ipv4(ip, Default::default());
    let network = if vlan { link.single_vlan(VlanId::try_new(7).unwrap()).ip(ip) } else { link.ip(ip) };
    let mut tcp = etherparse::TcpHeader::new(80, 5000, (numbers.start * SIZE) as u32, 1000);
    (tcp.ack, tcp.psh) = (true, numbers.end == SEGMENTS);
    let mut frame = Vec::new();
    network
        .tcp_header(tcp)
        .write(&mut frame, &data(SEGMENTS * SIZE)[numbers.start * SIZE..numbers.end * SIZE])
        .unwrap();
    frame
}

/// The super-packet.
fn whole(vlan: bool) -> Received {
    let mut bytes = frame(vlan, 0..SEGMENTS);
    let start = if vlan { 38 } else { 34 };
    // As left by the sender: the checksum field holds the pseudo-header sum.
    let length = (bytes.len() - start) as u32;
    let pseudo = !checksum::finish(checksum::sum(&bytes[start - 8..start], 6 + length));
    bytes[start + 16..start + 18].copy_from_slice(&pseudo.to_be_bytes());
    let checksum = Some(Open { start: start as u16, field: 16 });
    let segments = Some(Segments { kind: Kind::TcpV4, size: SIZE as u16, cwr: false });
    Received { offload: Offload { checksum, segments }, ..bytes.into() }
}

/// Sends the super-packet on `a0`; returns the frames received on `b0`, segmented and with checksums.
fn sent_across(place: &Place, vlan: bool, wanted: usize) -> Vec<Vec<u8>> {
    let open = |side: &aqmkit_live::netns::Netns, name: &str| {
        side.inside(|| Ok(Interface::open(name, Io::Packet, Clock::start()))).unwrap().unwrap()
    };
    let (a, mut b) = (open(&place.a, "a0"), open(&place.b, "b0"));
    a.outlet().send(&[Outgoing::unchanged(&whole(vlan))], &mut |_, e| panic!("{e}"));
    let reader = aqmkit_packets::frame::Reader::new(Encapsulation::Ethernet, Default::default(), 1);
    let (mut came, end) = (Vec::new(), Instant::now() + Duration::from_secs(30));
    while came.len() < wanted && Instant::now() < end {
        match b.receive() {
            Ok(got) if got.packet()[..6] == [2, 0, 0, 0, 0, 9] => {
                let complete = |frame: aqmkit_packets::frame::Frame| {
                    let mut bytes = frame.bytes().into_owned();
                    let network = View::of(Encapsulation::Ethernet, &bytes).network.unwrap();
                    // Only correct if the field held the pseudo-header sum.
                    checksum::complete_where_open(&mut bytes, network);
                    came.push(bytes);
                };
                reader.admit(got, aqmkit_base::FlowKind::Connection, complete);
            }
            Ok(_) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    came
}

fn segments(vlan: bool) -> Vec<Vec<u8>> {
    (0..SEGMENTS).map(|number| frame(vlan, number..number + 1)).collect()
}

fn place() -> Option<Place> {
    let place = Place::new()?;
    place.leave_segmentation();
    Some(place)
}

fn nothing_was_too_long(bridge: &Bridge) {
    for (name, _, counts) in bridge.interfaces().unwrap() {
        assert_eq!((counts.too_long, counts.overrun), (0, 0), "{name}");
    }
}

/// At a rate where the segments leave one by one, and at one where they leave joined.
#[test]
fn a_super_packet_comes_out_as_its_segments() {
    let Some(place) = place() else { return };
    for mbps in [10, 100_000] {
        for vlan in [false, true] {
            let bridge = place.bridge("fifo", r#"{ "limit": 1000 }"#, BitRate::from_mbps(mbps)).unwrap();
            let came = sent_across(&place, vlan, SEGMENTS);
            assert_eq!(came.len(), SEGMENTS, "{mbps} Mbit/s, {vlan}");
            assert!(came == segments(vlan), "{mbps} Mbit/s, {vlan}");
            nothing_was_too_long(&bridge);
            let sent = bridge.close().unwrap().directions[0].1[0].total;
            let bytes: usize = came.iter().map(Vec::len).sum();
            assert!(sent.sent_packets >= SEGMENTS as u64 && sent.sent_bytes >= bytes as u64, "{sent:?}");
        }
    }
}

#[test]
fn a_queue_holds_and_drops_segments() {
    let Some(place) = place() else { return };
    let bridge = place.bridge("fifo", r#"{ "limit": 10 }"#, BitRate::from_mbps(1)).unwrap();
    // One is in transmission and ten are queued, unless the kernel sent a packet of its own just before.
    let came = sent_across(&place, false, 10);
    assert!(came == segments(false)[..came.len()], "{}", came.len());
    Place::settled(&bridge);
    let total = bridge.close().unwrap().directions[0].1[0].total;
    let dropped = total.dropped[Why::Overflow as usize];
    assert!((29..=31).contains(&dropped) && total.offered_packets >= SEGMENTS as u64, "{total:?}");
}

#[test]
fn every_segment_is_marked() {
    let Some(place) = place() else { return };
    for mbps in [10, 100_000] {
        let step = r#"{ "threshold": 3, "not_ect": "pass" }"#;
        let bridge = place.bridge("step", step, BitRate::from_mbps(mbps)).unwrap();
        let came = sent_across(&place, false, SEGMENTS);
        let marked = bridge.close().unwrap().directions[0].1[0].total.marked[Why::Step as usize];
        let with_mark = |mut bytes: Vec<u8>| {
            let network = View::of(Encapsulation::Ethernet, &bytes).network.unwrap();
            mark_ce(&mut bytes, network);
            bytes
        };
        let plain = segments(false);
        let marks = came.iter().zip(&plain).filter(|(came, plain)| came != plain).count();
        let right = came.iter().zip(&plain).all(|(came, plain)| came == plain || *came == with_mark(plain.clone()));
        assert!(came.len() == SEGMENTS && right, "{mbps} Mbit/s: {}", came.len());
        assert!(marks as u64 == marked && marks > 30, "{mbps} Mbit/s: {marks} of {marked}");
    }
}

#[test]
fn large_transfers_are_intact() {
    let Some(place) = place() else { return };
    let bridge = place.bridge("fifo", r#"{ "limit": 2000 }"#, BitRate::from_mbps(10_000)).unwrap();
    for to in ["10.9.0.2:0", "[fd09::2]:0"] {
        place.transfer_to(to, 200_000_000);
    }
    nothing_was_too_long(&bridge);
    let total = bridge.close().unwrap().directions[0].1[0].total;
    // In packets of at most 1514 bytes.
    assert!(total.sent_bytes / total.sent_packets <= 1514 && total.sent_packets > 400_000_000 / 1448, "{total:?}");
}

/// An interface without segmentation offload gets segments.
#[test]
fn an_interface_without_segmentation_gets_segments() {
    let Some(place) = place() else { return };
    let tso = aqmkit_live::offload::OFFLOADS.iter().find(|o| o.name == "tso").unwrap();
    place.middle.inside(|| aqmkit_live::offload::switch("m2", tso, false)).unwrap();
    let bridge = place.bridge("fifo", r#"{ "limit": 2000 }"#, BitRate::from_mbps(10_000)).unwrap();
    place.transfer(50_000_000);
    // So does one that loses it later.
    place.middle.inside(|| aqmkit_live::offload::switch("m2", tso, true)).unwrap();
    place.transfer(10_000_000);
    std::thread::sleep(Duration::from_millis(500));
    place.transfer(10_000_000);
    place.middle.inside(|| aqmkit_live::offload::switch("m2", tso, false)).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    place.transfer(10_000_000);
    nothing_was_too_long(&bridge);
}
