//! Packets on their way out of the bottleneck: consecutive segments of a super-packet that leave at the same time are joined.

use crate::frame::{Content, Frame};
use crate::offload::{HEADER, Kind};
use crate::super_packet::{LONGEST_HEADERS, Received};

/// The kinds of super-packets that a device takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joins {
    /// TCP over IPv4.
    pub tcp_v4: bool,
    /// TCP over IPv6.
    pub tcp_v6: bool,
    /// UDP.
    pub udp: bool,
}

impl Joins {
    /// Every kind.
    pub const ALL: Joins = Joins { tcp_v4: true, tcp_v6: true, udp: true };

    fn takes(self, kind: Kind) -> bool {
        match kind {
            Kind::TcpV4 => self.tcp_v4,
            Kind::TcpV6 => self.tcp_v6,
            Kind::Udp => self.udp,
        }
    }
}

/// A packet, or several that leave as one super-packet.
#[derive(Clone, Debug)]
pub struct Outgoing<'a> {
    /// The header that tells the kernel what is left to a card (`struct virtio_net_hdr`).
    pub offload: [u8; HEADER],
    headers: [u8; LONGEST_HEADERS],
    length: usize,
    /// The rest of the packet.
    pub rest: &'a [u8],
    /// The number of packets.
    pub packets: usize,
}

impl<'a> Outgoing<'a> {
    /// A packet as it was received.
    #[must_use]
    pub fn unchanged(received: &'a Received) -> Self {
        let (offload, rest) = (received.offload.write(0), received.packet());
        Outgoing { offload, headers: [0; LONGEST_HEADERS], length: 0, rest, packets: 1 }
    }

    /// The packets at the beginning of `frames` that leave together, as a device with these abilities takes them; `None`
    /// if there are none.
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

    /// The first bytes of the packet, before [`rest`](Outgoing::rest).
    #[must_use]
    pub fn headers(&self) -> &[u8] {
        &self.headers[..self.length]
    }
}
