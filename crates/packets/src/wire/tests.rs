use aqmkit_base::{ClassId, Ecn, FlowKind};
use etherparse::{IpFragOffset, Ipv4Header, Ipv4Options, Ipv6Header, PacketBuilder, VlanId};
use proptest::prelude::*;

use super::*;

const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = Ipv4Header::new(payload.len() as u16, 64, protocol.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
    header.header_checksum = header.calc_header_checksum();
    [&header.to_bytes()[..], payload].concat()
}

fn v6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header {
        payload_length: payload.len() as u16,
        next_header: protocol.into(),
        source: [1; 16],
        destination: [2; 16],
        ..Ipv6Header::default()
    };
    [&header.to_bytes()[..], payload].concat()
}

fn framed(kinds: &[u8], packet: &[u8]) -> Vec<u8> {
    [&TO[..], &FROM[..], kinds, packet].concat()
}

/// Start of a transport header: ports 1000 and 2000.
const PORTS: [u8; 8] = [0x03, 0xe8, 0x07, 0xd0, 0, 0, 0, 0];

#[track_caller]
fn flow(frame: &[u8]) -> String {
    View::of(Encapsulation::Ethernet, frame).flow.to_string()
}

const V4_FLOW: &str = "10.0.0.1:1000 > 10.0.0.2:2000";
const V6_FLOW: &str = "[101:101:101:101:101:101:101:101]:1000 > [202:202:202:202:202:202:202:202]:2000";

#[test]
fn ports_of_every_protocol_that_has_them() {
    for (number, name) in [(6, "tcp"), (17, "udp"), (33, "dccp"), (132, "sctp"), (136, "udplite")] {
        assert_eq!(flow(&framed(&[8, 0], &v4(number, &PORTS))), format!("{name} {V4_FLOW}"));
        assert_eq!(flow(&framed(&[0x86, 0xdd], &v6(number, &PORTS))), format!("{name} {V6_FLOW}"));
    }
    assert_eq!(flow(&framed(&[8, 0], &v4(50, &PORTS))), "esp 10.0.0.1 > 10.0.0.2 spi 0x03e807d0");
    assert_eq!(flow(&framed(&[8, 0], &v4(1, &PORTS))), "icmp 10.0.0.1 > 10.0.0.2");
    assert_eq!(flow(&framed(&[8, 0], &v4(6, &PORTS[..3]))), "tcp 10.0.0.1 > 10.0.0.2", "cut off");
}

#[test]
fn data_is_what_follows_the_headers() {
    let payload = |frame: &[u8]| View::of(Encapsulation::Ethernet, frame).payload;
    let tcp = |options: usize| {
        let mut header = [0; 60];
        header[..8].copy_from_slice(&PORTS);
        header[12] = (((20 + options) / 4) << 4) as u8;
        [&header[..20 + options], &[0; 100]].concat()
    };
    assert_eq!(payload(&framed(&[8, 0], &v4(6, &tcp(0)))), 100);
    assert_eq!(payload(&framed(&[8, 0], &v4(6, &tcp(12)))), 100, "with options");
    assert_eq!(payload(&framed(&[0x86, 0xdd], &v6(6, &tcp(12)))), 100);
    assert_eq!(payload(&framed(&[8, 0], &v4(17, &[0; 108]))), 100);
    assert_eq!(payload(&framed(&[8, 0], &v4(4, &v4(6, &tcp(12))))), 100, "in a tunnel");
    // Ethernet frames are padded; captures may be truncated.
    assert_eq!(payload(&framed(&[8, 0], &[&v4(6, &tcp(0)[..20])[..], &[0; 6]].concat())), 0);
    assert_eq!(payload(&framed(&[8, 0], &v4(6, &tcp(12))[..60])), 100);
    assert_eq!(payload(&framed(&[8, 6], &[0; 46])), 0, "not IP");
}

#[test]
fn behind_tags_and_pppoe() {
    let packet = v4(6, &PORTS);
    let qinq = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0];
    assert_eq!(flow(&framed(&qinq, &packet)), format!("tcp {V4_FLOW}"));
    let session = [0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21];
    assert_eq!(flow(&framed(&session, &packet)), format!("tcp {V4_FLOW}"));
    let session6 = [0x81, 0, 0, 7, 0x88, 0x64, 0x11, 0, 0, 1, 0, 50, 0, 0x57];
    assert_eq!(flow(&framed(&session6, &v6(17, &PORTS))), format!("udp {V6_FLOW}"));
    // PPP LCP is not IP.
    let control = [0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0xc0, 0x21];
    assert_eq!(flow(&framed(&control, &packet)), "0x8864 02:00:00:00:00:01 > 02:00:00:00:00:02");
    // More tags than are parsed: treated as not IP.
    let tags = [0x81, 0, 0, 1].repeat(9);
    assert_eq!(View::of(Encapsulation::Ethernet, &framed(&[&tags[..], &[8, 0]].concat(), &packet)).network, None);
}

#[test]
fn fragments_of_a_datagram_are_one_flow() {
    let fragment = |offset: u16, more: bool| {
        let mut header = Ipv4Header::new(8, 64, 17.into(), [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
        header.fragment_offset = IpFragOffset::try_new(offset).unwrap();
        header.more_fragments = more;
        framed(&[8, 0], &[&header.to_bytes()[..], &PORTS[..]].concat())
    };
    let flows = [(0, true), (1, true), (2, false)].map(|(offset, more)| flow(&fragment(offset, more)));
    assert_eq!(flows, ["udp 10.0.0.1 > 10.0.0.2"; 3]);
    // The IPv6 fragment header behind hop-by-hop options; an atomic fragment keeps its ports.
    let six = |offset_and_more: [u8; 2]| {
        let options = [44, 0, 1, 4, 0, 0, 0, 0];
        let header = [17, 0, offset_and_more[0], offset_and_more[1], 0, 0, 0, 9];
        flow(&framed(&[0x86, 0xdd], &v6(0, &[&options[..], &header[..], &PORTS[..]].concat())))
    };
    assert!(six([0, 1]).ends_with("101 > 202:202:202:202:202:202:202:202") && six([0, 1]).starts_with("udp"));
    assert_eq!(six([0, 1]), six([0, 8]));
    assert_eq!(six([0, 0]), format!("udp {V6_FLOW}"));
}

#[test]
fn tunnels_have_the_flow_inside_and_the_mark_outside() {
    let inside = v4(6, &PORTS);
    let gre = |flags: u8, kind: [u8; 2], rest: &[u8]| {
        let options = vec![0; 4 * (flags >> 4).count_ones() as usize];
        v6(47, &[&[flags, 0], &kind[..], &options, rest].concat())
    };
    let ethernet = framed(&[0x81, 0, 0, 1, 8, 0], &inside);
    for packet in [v6(4, &inside), gre(0, [8, 0], &inside), gre(0xb0, [8, 0], &inside), gre(0, [0x65, 0x58], &ethernet)]
    {
        let mut frame = framed(&[0x86, 0xdd], &packet);
        frame[15] |= 0x20; // ECT(0) outside; inside stays not capable.
        let view = View::of(Encapsulation::Ethernet, &frame);
        assert_eq!((view.flow.to_string(), view.ecn), (format!("tcp {V4_FLOW}"), Ecn::Ect0));
        let before = frame.clone();
        assert!(mark_ce(&mut frame, view.network.unwrap()));
        let changed: Vec<_> = (0..frame.len()).filter(|i| frame[*i] != before[*i]).collect();
        assert_eq!(changed, [15]);
    }
    assert!(flow(&framed(&[8, 0], &v4(41, &v6(17, &PORTS)))).ends_with(V6_FLOW));
    // The flow of an unsupported or truncated tunnel is the tunnel itself.
    assert_eq!(flow(&framed(&[8, 0], &v4(47, &[0, 1, 8, 0]))), "gre 10.0.0.1 > 10.0.0.2");
    assert_eq!(flow(&framed(&[8, 0], &v4(4, &inside[..12]))), "ip-4 10.0.0.1 > 10.0.0.2");
}

#[test]
fn other_frames_have_a_flow_of_their_link() {
    let arp = framed(&[8, 6], &[0; 28]);
    assert_eq!(flow(&arp), "0x0806 02:00:00:00:00:01 > 02:00:00:00:00:02");
    let view = View::of(Encapsulation::Ethernet, &arp);
    assert_eq!((view.ecn, view.network), (Ecn::NotEct, None));
    assert_eq!(flow(&[]), "0x0000 00:00:00:00:00:00 > 00:00:00:00:00:00");
    // EtherType IPv4, but another IP version.
    assert_eq!(View::of(Encapsulation::Ethernet, &framed(&[8, 0], &[0x55; 40])).network, None);
}

#[test]
fn captures_of_other_links() {
    let packet = v4(6, &PORTS);
    let flow = |encapsulation, head: &[u8]| View::of(encapsulation, &[head, &packet].concat()).flow.to_string();
    assert_eq!(flow(Encapsulation::Ip, &[]), format!("tcp {V4_FLOW}"));
    assert_eq!(flow(Encapsulation::Loopback, &[2, 0, 0, 0]), format!("tcp {V4_FLOW}"));
    let sll = [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    assert_eq!(flow(Encapsulation::LinuxSll, &sll), format!("tcp {V4_FLOW}"));
    let sll2 = [[8, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 6], [1, 2, 3, 4], [5, 6, 0, 0]].concat();
    assert_eq!(flow(Encapsulation::LinuxSll2, &sll2), format!("tcp {V4_FLOW}"));
    assert_eq!(Encapsulation::of_link_type(276), Some(Encapsulation::LinuxSll2));
    assert_eq!(Encapsulation::of_link_type(105), None, "802.11");
}

#[test]
fn a_packet_that_is_not_capable_is_never_marked() {
    let mut frame = framed(&[8, 0], &v4(6, &PORTS));
    let before = frame.clone();
    let view = View::of(Encapsulation::Ethernet, &frame);
    assert!(!mark_ce(&mut frame, view.network.unwrap()));
    assert_eq!(frame, before);
    assert!(!mark_ce(&mut [], view.network.unwrap()), "a header that is not there");
}

#[test]
fn keys_tell_flows_apart() {
    let key = |frame: &[u8], salt| View::of(Encapsulation::Ethernet, frame).flow.key(salt);
    let here = framed(&[8, 0], &v4(6, &PORTS));
    let mut other = PORTS;
    other[3] ^= 1;
    let frames = [
        here.clone(),
        framed(&[8, 0], &v4(17, &PORTS)),
        framed(&[8, 0], &v4(6, &other)),
        framed(&[0x86, 0xdd], &v6(6, &PORTS)),
        framed(&[8, 6], &[0; 28]),
    ];
    let keys: std::collections::BTreeSet<_> = frames.iter().map(|f| key(f, 1)).collect();
    assert_eq!(keys.len(), frames.len());
    assert_ne!(key(&here, 1), key(&here, 2));
    assert_eq!(key(&here, 1), key(&framed(&[0x81, 0, 0, 3, 8, 0], &v4(6, &PORTS)), 1), "a tag is no flow");
}

/// Frames that differ from the first in ports, source, destination, or both; and which of them share a key.
#[test]
fn a_flow_is_what_is_asked_for() {
    let v4 = |from: u8, to: u8, port: u8| {
        let mut packet = v4(6, &[port, 0xe8, 0x07, 0xd0, 0, 0, 0, 0]);
        (packet[15], packet[19]) = (from, to);
        framed(&[8, 0], &packet)
    };
    let v6 = |from: u8, to: u8, port: u8| {
        let mut packet = v6(17, &[port, 0xe8, 0x07, 0xd0, 0, 0, 0, 0]);
        (packet[23], packet[39]) = (from, to);
        framed(&[0x86, 0xdd], &packet)
    };
    let arp = |from: u8, to: u8, kind: u8| {
        let mut frame = framed(&[8, kind], &[0; 28]);
        (frame[11], frame[5]) = (from, to);
        frame
    };
    let kinds = [FlowKind::Connection, FlowKind::Hosts, FlowKind::Source, FlowKind::Destination];
    let like_the_first =
        [[false; 4], [true, false, false, false], [true, false, true, false], [true, true, false, false]];
    for frame in [&v4 as &dyn Fn(u8, u8, u8) -> Vec<u8>, &v6, &arp] {
        for (kind, expected) in kinds.into_iter().zip(like_the_first) {
            let key = |from, to, port| View::of(Encapsulation::Ethernet, &frame(from, to, port)).flow.key_as(kind, 7);
            let others = [key(1, 2, 5), key(9, 2, 4), key(1, 9, 4), key(2, 1, 4)];
            assert_eq!(others.map(|other| other == key(1, 2, 4)), expected, "{kind:?}");
            assert_ne!(key(1, 2, 4), View::of(Encapsulation::Ethernet, &frame(1, 2, 4)).flow.key_as(kind, 8), "salted");
        }
    }
}

#[test]
fn classes_are_rules_in_order() {
    let named = |text: &str| text.parse::<Named>();
    let list = ["voice=dscp:46", "web=tcp:80,tcp:2000-2010", "l4s=ecn:ect1", "tcp=tcp"];
    let classes = Classes::new(list.map(|t| named(t).unwrap()).to_vec());
    assert_eq!(classes.names(), ["voice", "web", "l4s", "tcp", "other"]);
    let of = |frame: &[u8]| classes.of(&View::of(Encapsulation::Ethernet, frame));
    let mut frame = framed(&[8, 0], &v4(6, &PORTS));
    assert_eq!(of(&frame), ClassId(1));
    frame[15] = 46 << 2;
    assert_eq!(of(&frame), ClassId(0));
    assert_eq!(of(&framed(&[8, 0], &v4(6, &[0; 8]))), ClassId(3));
    assert_eq!(of(&framed(&[8, 6], &[0; 28])), ClassId(4));
    for bad in ["tcp", "=tcp", "a=", "a=tcp:90-80", "a=icmp:3", "a=dscp:64", "a=ecn:2", "*=tcp", "a=*:1", "a=tcp:x"] {
        assert!(named(bad).unwrap_err().to_string().starts_with(&format!("{bad:?} is not a class")), "{bad}");
    }
    assert_eq!(Classes::new(vec![named("all=*").unwrap()]).names(), ["all"]);
    assert_eq!(Classes::default().names(), ["tcp", "udp", "other"]);
}

/// A complete Ethernet frame with a TCP or UDP packet, valid checksums, and various headers before it.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let options = prop::collection::vec(any::<u8>(), 0..10).prop_map(|o| [&o[..], &vec![0; o.len() * 3]].concat());
    let parts = (any::<[u8; 4]>(), any::<u16>(), any::<u16>(), any::<u8>(), any::<[bool; 3]>(), options);
    (parts, prop::collection::vec(any::<u8>(), 0..200)).prop_map(|((address, from, to, tos, is, filler), payload)| {
        let [tagged, six, tcp] = is;
        let start = PacketBuilder::ethernet2(FROM, TO);
        let network = if six {
            let header = Ipv6Header { traffic_class: tos, hop_limit: 9, source: [7; 16], ..Ipv6Header::default() };
            etherparse::IpHeaders::Ipv6(header, Default::default())
        } else {
            let mut header = Ipv4Header::new(0, 64, 6.into(), address, [9, 8, 7, 6]).unwrap();
            header.dscp = (tos >> 2).try_into().unwrap();
            header.ecn = (tos & 3).try_into().unwrap();
            header.options = Ipv4Options::try_from(&filler[..]).unwrap();
            etherparse::IpHeaders::Ipv4(header, Default::default())
        };
        let step = if tagged {
            start.double_vlan(VlanId::try_new(1).unwrap(), VlanId::try_new(2).unwrap()).ip(network)
        } else {
            start.ip(network)
        };
        let mut frame = Vec::new();
        if tcp {
            step.tcp(from, to, 1, 2).write(&mut frame, &payload).unwrap();
        } else {
            step.udp(from, to).write(&mut frame, &payload).unwrap();
        }
        frame
    })
}

/// The IPv4 checksum field, and its correct value.
fn v4_checksums(frame: &[u8]) -> Option<(u16, u16)> {
    let sliced = etherparse::SlicedPacket::from_ethernet(frame).unwrap();
    let Some(etherparse::NetSlice::Ipv4(ip)) = sliced.net else { return None };
    let header = ip.header().to_header();
    Some((header.header_checksum, header.calc_header_checksum()))
}

proptest! {
    #[test]
    fn any_bytes_have_a_view_and_can_be_marked(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0_usize..5) {
        let all = [Encapsulation::Ethernet, Encapsulation::Ip, Encapsulation::Loopback, Encapsulation::LinuxSll, Encapsulation::LinuxSll2];
        let view = View::of(all[kind], &bytes);
        if let Some(network) = view.network {
            let mut marked = bytes.clone();
            prop_assert_eq!(mark_ce(&mut marked, network), view.ecn.is_capable());
            checksum::complete(&mut marked, network);
        }
    }

    #[test]
    fn a_frame_that_is_cut_off_anywhere_is_read_as_far_as_it_goes(frame in frames(), cut: prop::sample::Index) {
        let cut = &frame[..cut.index(frame.len())];
        let (whole, part) = (View::of(Encapsulation::Ethernet, &frame), View::of(Encapsulation::Ethernet, cut));
        prop_assert!(part.network.is_none() || (part.network == whole.network && part.ecn == whole.ecn));
        if let Some(network) = part.network {
            mark_ce(&mut cut.to_vec(), network);
            prop_assert!(!checksum::complete(&mut cut.to_vec(), network), "not over a part");
        }
    }

    #[test]
    fn a_mark_changes_two_bits_and_keeps_the_checksum_right(mut frame in frames()) {
        let view = View::of(Encapsulation::Ethernet, &frame);
        let (network, before) = (view.network.unwrap(), frame.clone());
        let marked = mark_ce(&mut frame, network);
        prop_assert_eq!(marked, view.ecn.is_capable());
        let after = View::of(Encapsulation::Ethernet, &frame);
        prop_assert_eq!(after, View { ecn: if marked { Ecn::Ce } else { Ecn::NotEct }, ..view });
        if let Some((field, right)) = v4_checksums(&frame) {
            prop_assert_eq!(field, right);
        }
        let changed = frame.iter().zip(&before).filter(|(a, b)| a != b).count();
        prop_assert!(changed <= 3, "{} bytes changed", changed);
    }

    #[test]
    fn a_checksum_left_to_the_card_is_completed(frame in frames()) {
        let network = View::of(Encapsulation::Ethernet, &frame).network.unwrap();
        let (at, protocol) = network::transport(&frame[network.offset()..]).unwrap();
        let field = network.offset() + at + if protocol == 6 { 16 } else { 6 };
        let mut left = frame.clone();
        left[field] ^= 0x5a;
        left[field + 1] ^= 0xa5;
        prop_assert!(checksum::complete(&mut left, network));
        prop_assert_eq!(&left, &frame);
        // If it is unknown whether the checksum was offloaded, one that is present stays, right or wrong.
        checksum::complete_where_open(&mut left, network);
        prop_assert_eq!(&left, &frame);
        left[field] ^= 0x5a;
        let wrong = left.clone();
        prop_assume!(!checksum::complete_where_open(&mut left, network));
        prop_assert_eq!(&left, &wrong);
        // With offload the sender writes the pseudo-header sum: addresses, zero and protocol, length.
        let segment = u32::try_from(network.offset() + network.length(&frame).unwrap() - (field - if protocol == 6 { 16 } else { 6 })).unwrap();
        let addresses = &frame[network.offset()..][network.addresses()];
        let pseudo = !checksum::finish(checksum::sum(addresses, u32::from(protocol) + segment));
        left[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
        prop_assert!(checksum::complete_where_open(&mut left, network));
        prop_assert_eq!(left, frame);
    }
}
