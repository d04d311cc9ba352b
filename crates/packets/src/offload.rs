//! What a sender leaves to its network card: a checksum, and cutting a super-packet into segments.
//!
//! Linux tells it, and takes it, as a header in front of the packet, `struct virtio_net_hdr` of `linux/virtio_net.h`, in the
//! byte order of the machine: at TUN devices with `IFF_VNET_HDR`, and at packet sockets with `PACKET_VNET_HDR`.

/// The length of the header.
pub const HEADER: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_*`
const NO_SEGMENTS: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const CWR: u8 = 0x80;

/// What is left to do for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum that is not computed: its field holds the sum of the pseudo-header.
    pub checksum: Option<Open>,
    /// How the packet is to be cut; `None` if it is one packet.
    pub segments: Option<Segments>,
}

/// A checksum that is not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The first byte that it covers: that of the transport header.
    pub start: u16,
    /// The offset of its field from there.
    pub field: u16,
}

/// How a super-packet is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// What it is.
    pub kind: Kind,
    /// Bytes of payload of each segment but the last, which may have fewer.
    pub size: u16,
    /// Whether the first segment alone has the TCP flag CWR.
    pub cwr: bool,
}

/// The kinds of super-packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4 (TSO).
    TcpV4,
    /// TCP over IPv6 (TSO6).
    TcpV6,
    /// Datagrams of equal size (USO).
    Udp,
}

impl Offload {
    /// Reads the header; `None` if it asks for something unknown. The packet begins `before` bytes earlier than the kernel
    /// says, because a VLAN tag was inserted.
    #[must_use]
    pub fn read(header: [u8; HEADER], before: u16) -> Option<Offload> {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let checksum = (header[0] & NEEDS_CHECKSUM != 0)
            .then(|| Some(Open { start: word(6).checked_add(before)?, field: word(8) }));
        let checksum = match checksum {
            Some(open) => Some(open?),
            None => None,
        };
        let kind = match header[1] & !CWR {
            NO_SEGMENTS => return Some(Offload { checksum, segments: None }),
            TCP_V4 => Kind::TcpV4,
            TCP_V6 => Kind::TcpV6,
            UDP => Kind::Udp,
            _ => return None,
        };
        let segments = Segments { kind, size: word(4), cwr: header[1] & CWR != 0 };
        Some(Offload { checksum, segments: Some(segments) })
    }

    /// Writes the header of a packet whose headers, of all layers, have this length.
    #[must_use]
    pub fn write(&self, headers: u16) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        if let Some(open) = self.checksum {
            put(6, open.start);
            put(8, open.field);
        }
        if let Some(segments) = self.segments {
            put(2, headers);
            put(4, segments.size);
            header[1] = match segments.kind {
                Kind::TcpV4 => TCP_V4,
                Kind::TcpV6 => TCP_V6,
                Kind::Udp => UDP,
            };
            header[1] |= if segments.cwr { CWR } else { 0 };
        }
        header[0] = if self.checksum.is_some() { NEEDS_CHECKSUM } else { 0 };
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let open = Some(Open { start: 34, field: 16 });
        for kind in [Kind::TcpV4, Kind::TcpV6, Kind::Udp] {
            for cwr in [false, true] {
                let all = Offload { checksum: open, segments: Some(Segments { kind, size: 1448, cwr }) };
                assert_eq!(Offload::read(all.write(66), 0), Some(all));
            }
        }
        let checksum = Offload { checksum: open, segments: None };
        assert_eq!(Offload::read(checksum.write(0), 4).unwrap().checksum, Some(Open { start: 38, field: 16 }));
        assert_eq!(Offload::read([0; HEADER], 0), Some(Offload::default()));
    }

    /// The layout of `struct virtio_net_hdr`: flags, kind, length of headers, size of segments, start and offset of the checksum.
    #[test]
    fn the_header_is_that_of_linux() {
        let segments = Some(Segments { kind: Kind::TcpV4, size: 1448, cwr: true });
        let header = Offload { checksum: Some(Open { start: 20, field: 16 }), segments }.write(52);
        let words: Vec<u16> = header[2..].chunks(2).map(|w| u16::from_ne_bytes([w[0], w[1]])).collect();
        assert_eq!((header[0], header[1], words), (1, 0x81, vec![52, 1448, 20, 16]));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        assert_eq!(Offload::read([0, 3, 0, 0, 0, 0, 0, 0, 0, 0], 0), None, "fragments of a datagram");
        assert_eq!(Offload::read([1, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], 4), None, "it lies behind the packet");
    }
}
