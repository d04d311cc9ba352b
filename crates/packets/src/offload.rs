//! Checksum and segmentation offload: work that the sender leaves to the NIC.
//!
//! Linux passes it as a `struct virtio_net_hdr` (`linux/virtio_net.h`, native byte order) in front of the packet, on
//! TUN devices with `IFF_VNET_HDR` and packet sockets with `PACKET_VNET_HDR`.

/// Size of `struct virtio_net_hdr` in bytes.
pub const HEADER: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_*`
const NO_SEGMENTS: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const CWR: u8 = 0x80;

/// The offloads of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum to compute (`CHECKSUM_PARTIAL`): its field holds the pseudo-header sum.
    pub checksum: Option<Open>,
    /// How to segment the packet; `None` if it is a single packet.
    pub segments: Option<Segments>,
}

/// A checksum yet to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// `csum_start`: the first byte covered, that of the transport header.
    pub start: u16,
    /// `csum_offset`: offset of the checksum field from there.
    pub field: u16,
}

/// How to segment a super-packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// `gso_type`.
    pub kind: Kind,
    /// `gso_size`: payload bytes per segment; the last segment may have fewer.
    pub size: u16,
    /// `VIRTIO_NET_HDR_GSO_ECN`: only the first segment has CWR set.
    pub cwr: bool,
}

/// GSO types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4 (TSO).
    TcpV4,
    /// TCP over IPv6 (TSO6).
    TcpV6,
    /// UDP datagrams of equal size (USO).
    Udp,
}

impl Offload {
    /// Parses the header; `None` if it has an unknown GSO type or flag. The packet starts `before` bytes earlier than
    /// the kernel says, because a VLAN tag was reinserted.
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

    /// Encodes the header of a packet whose headers, of all layers, are `headers` bytes long.
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

    /// Fields of `struct virtio_net_hdr`: `flags`, `gso_type`, `hdr_len`, `gso_size`, `csum_start`, `csum_offset`.
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
