//! Packets leaving the bottleneck: consecutive segments of a super-packet that leave together are joined again.

use crate::frame::{Content, Frame};
use crate::offload::{HEADER, Kind};
use crate::super_packet::{LONGEST_HEADERS, Received};

/// The kinds of super-packets that a device accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// TCP over IPv4 (TSO).
    pub tcp_v4: bool,
    /// TCP over IPv6 (TSO6).
    pub tcp_v6: bool,
    /// UDP datagrams (USO).
    pub udp: bool,
}

impl Joins {
    /// All kinds.
    pub const ALL: Joins = Joins { tcp_v4: true, tcp_v6: true, udp: true };

    fn takes(self, kind: Kind) -> bool {
        match kind {
            Kind::TcpV4 => self.tcp_v4,
            Kind::TcpV6 => self.tcp_v6,
            Kind::Udp => self.udp,
        }
    }
}

/// A single packet, or several joined as a super-packet.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// Its `struct virtio_net_hdr`.
    pub offload: [u8; HEADER],
    headers: [u8; LONGEST_HEADERS],
    length: usize,
    /// The packet after its headers.
    pub rest: &'a [u8],
    /// Number of packets joined.
    pub packets: usize,
}

impl<'a> Outgoing<'a> {
    /// A packet exactly as received.
    #[must_use]
    pub fn unchanged(received: &'a Received) -> Self {
        let (offload, rest) = (received.offload.write(0), received.packet());
        Outgoing { offload, headers: [0; LONGEST_HEADERS], length: 0, rest, packets: 1 }
    }

    /// The longest run of packets at the front of `frames` that can leave as one, given what the device accepts; `None`
    /// if there are no frames.
    pub fn first<S>(mut frames: impl Iterator<Item = &'a Frame<S>>, joins: Joins) -> Option<Outgoing<'a>>
    where
        S: 'a,
    {
        let mut headers = [0; LONGEST_HEADERS];
        let first = frames.next()?;
        let (of, number) = match &first.content {
            Content::Own(received) => return Some(Outgoing::unchanged(received)),
            Content::Segment(of, number) => (of, usize::from(*number)),
        };
        let joined = |(place, frame): &(usize, &Frame<S>)| match &frame.content {
            Content::Segment(other, next) => {
                std::sync::Arc::ptr_eq(of, other) && usize::from(*next) == number + 1 + place && frame.ecn == first.ecn
            }
            Content::Own(_) => false,
        };
        let more = if joins.takes(of.kind()) { frames.enumerate().take_while(joined).count() } else { 0 };
        let length = of.header_length();
        let ce = first.ecn == aqmkit_base::Ecn::Ce;
        let (rest, offload) = of.part(number..number + 1 + more, ce, &mut headers[..length]);
        Some(Outgoing { offload: offload.write(length as u16), headers, length, rest, packets: 1 + more })
    }

    /// The packet's headers, which precede [`rest`](Outgoing::rest).
    #[must_use]
    pub fn headers(&self) -> &[u8] {
        &self.headers[..self.length]
    }
}
