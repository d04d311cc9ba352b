//! GSO super-packets: each segment equals the packet that a sender without offload would send, whatever happens to the
//! others, and segments that leave joined are segmented into the same again.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use aqmkit_aqm::Packet;
use aqmkit_base::{Ecn, FlowKind};
use aqmkit_packets::frame::{Frame, Reader};
use aqmkit_packets::meter::Measured;
use aqmkit_packets::offload::{HEADER, Kind, Offload, Open, Segments};
use aqmkit_packets::outgoing::{Joins, Outgoing};
use aqmkit_packets::super_packet::Received;
use aqmkit_packets::wire::{Classes, Encapsulation, View, checksum};
use etherparse::{IpFragOffset, IpHeaders, Ipv4Header, Ipv6Header, PacketBuilder, TcpHeader, VlanId};
use proptest::prelude::*;

/// The data that a sender transmits.
#[derive(Clone, Debug)]
struct Sent {
    v6: bool,
    udp: bool,
    vlan: bool,
    cwr: bool,
    ecn: u8,
    dscp: u8,
    id: u16,
    sequence: u32,
    options: usize,
    size: u16,
    data: Vec<u8>,
}

fn sent() -> impl Strategy<Value = Sent> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let header = (0..4_u8, 0..64_u8, any::<u16>(), any::<u32>(), 0..10_usize);
    let payload = (1..2000_u16, 1..6000_usize, any::<u8>());
    (flags, header, payload).prop_map(
        |((v6, udp, vlan, cwr), (ecn, dscp, id, sequence, options), (size, length, salt))| {
            // Up to the kernel's limit of UDP segments.
            let length = if udp { length.min(usize::from(size) * 64) } else { length };
            let data = (0..length).map(|at| (at * 31 + at / 256) as u8 ^ salt).collect();
            Sent { v6, udp, vlan, cwr, ecn, dscp, id, sequence, options, size, data }
        },
    )
}

impl Sent {
    /// A frame with this part of the data and valid checksums, built independently by etherparse.
    fn frame(&self, from: usize, to: usize, number: usize) -> Vec<u8> {
        let ip = if self.v6 {
            let mut header = Ipv6Header { hop_limit: 9, ..Ipv6Header::default() };
            (header.source, header.destination) = ([1; 16], [2; 16]);
            header.traffic_class = self.dscp << 2 | self.ecn;
            IpHeaders::Ipv6(header, Default::default())
        } else {
            let mut header = Ipv4Header::new(0, 9, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.identification = self.id.wrapping_add(number as u16);
            (header.dont_fragment, header.fragment_offset) = (true, IpFragOffset::ZERO);
            header.ecn = etherparse::IpEcn::try_new(self.ecn).unwrap();
            header.dscp = etherparse::IpDscp::try_new(self.dscp).unwrap();
            IpHeaders::Ipv4(header, Default::default())
        };
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let network = if self.vlan { link.single_vlan(VlanId::try_new(7).unwrap()).ip(ip) } else { link.ip(ip) };
        let mut frame = Vec::new();
        if self.udp {
            network.udp(5000, 5001).write(&mut frame, &self.data[from..to]).unwrap();
            return frame;
        }
        let mut tcp = TcpHeader::new(80, 5000, self.sequence.wrapping_add(from as u32), 1000);
        (tcp.ack, tcp.acknowledgment_number) = (true, 77);
        tcp.set_options_raw(&vec![1; self.options * 4]).unwrap();
        (tcp.fin, tcp.psh) = (to == self.data.len(), to == self.data.len());
        tcp.cwr = self.cwr && from == 0;
        network.tcp_header(tcp).write(&mut frame, &self.data[from..to]).unwrap();
        frame
    }

    /// The frames of a sender without offload.
    fn segments(&self) -> Vec<Vec<u8>> {
        let size = usize::from(self.size);
        let of = |number: usize| self.frame(number * size, ((number + 1) * size).min(self.data.len()), number);
        (0..self.data.len().div_ceil(size)).map(of).collect()
    }

    /// The super-packet of a sender with offload.
    fn whole(&self) -> Received {
        let mut bytes = self.frame(0, self.data.len(), 0);
        let start = 14 + if self.vlan { 4 } else { 0 } + if self.v6 { 40 } else { 20 };
        let field = if self.udp { 6 } else { 16 };
        // The NIC computes the checksum, so the field's content is irrelevant.
        bytes[start + field..start + field + 2].fill(0xaa);
        let kind = match (self.udp, self.v6) {
            (true, _) => Kind::Udp,
            (false, true) => Kind::TcpV6,
            (false, false) => Kind::TcpV4,
        };
        let checksum = Some(Open { start: start as u16, field: field as u16 });
        let segments = Some(Segments { kind, size: self.size, cwr: self.cwr && !self.udp });
        Received { offload: Offload { checksum, segments }, ..bytes.into() }
    }
}

fn reader() -> Reader {
    let class = |rule: &str| rule.parse().unwrap();
    Reader::new(Encapsulation::Ethernet, Classes::new(vec![class("real=dscp:46"), class("rest=*")]), 1)
}

fn admitted(reader: &Reader, received: Received) -> Vec<Frame> {
    let mut frames = Vec::new();
    let count = reader.admit(received, FlowKind::Connection, |frame| frames.push(frame));
    assert_eq!(count, frames.len());
    frames
}

/// Completes an offloaded checksum.
fn completed(mut bytes: Vec<u8>) -> Vec<u8> {
    let network = View::of(Encapsulation::Ethernet, &bytes).network.unwrap();
    assert!(checksum::complete(&mut bytes, network));
    bytes
}

/// The frames on the wire after the NIC's segmentation.
fn cut_by_a_card(reader: &Reader, frames: &[Frame], joins: Joins) -> (Vec<Vec<u8>>, usize) {
    let (mut rest, mut made, mut handed_on) = (frames, Vec::new(), 0);
    while let Some(outgoing) = Outgoing::first(rest.iter(), joins) {
        let header: [u8; HEADER] = outgoing.offload;
        let bytes = [outgoing.headers(), outgoing.rest].concat();
        let offload = Offload::read(header, 0).unwrap();
        let packets = admitted(reader, Received { offload, ..bytes.into() });
        assert_eq!(packets.len(), outgoing.packets);
        made.extend(packets.iter().map(|frame| completed(frame.bytes().into_owned())));
        rest = &rest[outgoing.packets..];
        handed_on += 1;
    }
    (made, handed_on)
}

proptest! {
    #[test]
    fn segments_are_what_a_sender_without_offload_sends(sent in sent()) {
        let (reader, wanted) = (reader(), sent.segments());
        let frames = admitted(&reader, sent.whole());
        prop_assert_eq!(frames.len(), wanted.len());
        for (frame, alone) in frames.iter().zip(&wanted) {
            prop_assert_eq!(&completed(frame.bytes().into_owned()), alone);
            let read = reader.read(alone, FlowKind::Connection);
            let seen = |f: &Frame| (f.len(), f.flow(), f.class(), f.ecn(), f.dscp(), f.ends(), f.payload(), f.connection());
            prop_assert_eq!(seen(frame), seen(&read));
        }
        prop_assert!(reader.held.bytes() > 0 || wanted.is_empty());
        drop(frames);
        prop_assert_eq!(reader.held.bytes(), 0);
    }

    #[test]
    fn what_is_joined_is_cut_into_the_same_segments(
        sent in sent(),
        fates in prop::collection::vec(0..3_u8, 1..50),
        joins in any::<bool>(),
    ) {
        let (reader, mut all) = (reader(), sent.segments());
        let mut frames = admitted(&reader, sent.whole());
        let fate = |number: usize| fates[number % fates.len()];
        for (number, (frame, alone)) in frames.iter_mut().zip(&mut all).enumerate() {
            if fate(number) == 1 && frame.ecn().is_capable() {
                frame.set_ce();
                let network = View::of(Encapsulation::Ethernet, alone).network.unwrap();
                prop_assert!(aqmkit_packets::wire::mark_ce(alone, network));
            }
        }
        let kept = |number: &usize| fate(*number) != 2;
        let left: Vec<usize> = (0..frames.len()).filter(kept).collect();
        let wanted: Vec<Vec<u8>> = left.iter().map(|number| all[*number].clone()).collect();
        let frames: Vec<Frame> = left.iter().map(|number| frames[*number].clone()).collect();
        let (made, handed_on) = cut_by_a_card(&reader, &frames, if joins { Joins::ALL } else { Joins::default() });
        prop_assert_eq!(&made, &wanted);
        if !joins {
            prop_assert_eq!(handed_on, wanted.len());
        }
    }

    /// Unmodified segments leave joined, as they came.
    #[test]
    fn an_undisturbed_super_packet_stays_whole(sent in sent()) {
        let (reader, whole) = (reader(), sent.whole());
        let frames = admitted(&reader, whole.clone());
        let outgoing = Outgoing::first(frames.iter(), Joins::ALL).unwrap();
        prop_assert_eq!(outgoing.packets, sent.segments().len());
        prop_assert_eq!(completed([outgoing.headers(), outgoing.rest].concat()), completed(whole.bytes));
    }

    /// No `virtio_net_hdr` and no packet bytes cause a panic.
    #[test]
    fn any_bytes_are_packets_or_refused(
        sent in sent(),
        noise in any::<[u8; HEADER]>(),
        kind in 0..7_u8,
        cut in any::<prop::sample::Index>(),
        change in any::<(prop::sample::Index, u8)>(),
    ) {
        let mut bytes = sent.whole().bytes;
        bytes.truncate(cut.index(bytes.len() + 1));
        if !bytes.is_empty() {
            let at = change.0.index(bytes.len());
            bytes[at] = change.1;
        }
        let mut header = noise;
        header[1] = kind;
        let Some(told) = Offload::read(header, 4) else { return Ok(()) };
        for offload in [told, Offload { checksum: None, ..told }] {
            let mut frames = admitted(&reader(), Received { offload, ..bytes.clone().into() });
            frames.iter_mut().filter(|f| f.ecn() != Ecn::NotEct).for_each(Packet::set_ce);
            let _ = cut_lengths(&frames);
        }
    }
}

/// Lengths of the joined packets.
fn cut_lengths(frames: &[Frame]) -> Vec<usize> {
    let (mut rest, mut lengths) = (frames, Vec::new());
    while let Some(outgoing) = Outgoing::first(rest.iter(), Joins::ALL) {
        lengths.push(outgoing.headers().len() + outgoing.rest.len());
        rest = &rest[outgoing.packets..];
    }
    lengths
}

#[test]
fn a_super_packet_in_a_tunnel_is_refused() {
    let sent = Sent {
        v6: false,
        udp: true,
        vlan: false,
        cwr: false,
        ecn: 0,
        dscp: 0,
        id: 1,
        sequence: 0,
        options: 0,
        size: 100,
        data: vec![0; 300],
    };
    let mut whole = sent.whole();
    // The checksum of an inner header.
    whole.offload.checksum = Some(Open { start: 100, field: 6 });
    assert_eq!(reader().admit(whole.clone(), FlowKind::Connection, |_| panic!("it was cut")), 0);
    whole.offload.segments = Some(Segments { kind: Kind::TcpV4, size: 100, cwr: false });
    assert_eq!(reader().admit(whole, FlowKind::Connection, |_| panic!("it was cut")), 0);
}

/// When queued segments hold this many bytes, others are copied, and their super-packets are freed.
#[test]
fn segments_that_wait_hold_no_more_memory_than_allowed() {
    let sent = Sent {
        v6: true,
        udp: false,
        vlan: false,
        cwr: false,
        ecn: 2,
        dscp: 0,
        id: 1,
        sequence: 0,
        options: 3,
        size: 1000,
        data: vec![5; 60_000],
    };
    let (reader, whole, mut waiting) = (reader(), sent.whole(), Vec::new());
    for _ in 0..6000 {
        let mut frames = admitted(&reader, whole.clone());
        waiting.push(frames.swap_remove(17));
    }
    assert!(reader.held.bytes() < 257 << 20, "{}", reader.held.bytes());
    let bytes = waiting.iter().map(|frame| completed(frame.bytes().into_owned()));
    let wanted = &sent.segments()[17];
    assert!(bytes.into_iter().all(|bytes| bytes == *wanted));
}
