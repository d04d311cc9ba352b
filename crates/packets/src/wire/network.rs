//! Network-layer parsing: from the IP header to the flow.

use std::ops::Range;

use etherparse::LaxIpSlice;

use super::bytes::u16_at;
use super::flow::FiveTuple;
use super::link::ethernet;

/// Where the outermost IP header of a frame is, within its first 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// An IPv4 header.
    V4 {
        /// Offset of the header in the frame.
        at: u16,
    },
    /// An IPv6 header.
    V6 {
        /// Offset of the header in the frame.
        at: u16,
    },
}

impl Network {
    /// Offset of the header in the frame.
    #[must_use]
    pub fn offset(self) -> usize {
        match self {
            Network::V4 { at } | Network::V6 { at } => usize::from(at),
        }
    }

    /// IPv4 TOS or IPv6 traffic class byte; zero if the frame is too short.
    pub(super) fn traffic_class(self, frame: &[u8]) -> u8 {
        let at = self.offset();
        match (self, u16_at(frame, at)) {
            (Network::V4 { .. }, Some(word)) => word as u8,
            (Network::V6 { .. }, Some(word)) => (word >> 4) as u8,
            (_, None) => 0,
        }
    }

    /// Byte range of source and destination address in the frame.
    pub(crate) fn addresses(self) -> Range<usize> {
        match self {
            Network::V4 { .. } => 12..20,
            Network::V6 { .. } => 8..40,
        }
    }

    /// Total length according to the header; `None` if that is zero, as in jumbograms (RFC 2675) and with segmentation
    /// offload.
    pub(super) fn length(self, frame: &[u8]) -> Option<usize> {
        let at = self.offset();
        let (field, header) = match self {
            Network::V4 { .. } => (at + 2, 0),
            Network::V6 { .. } => (at + 4, 40),
        };
        u16_at(frame, field).filter(|&length| length > 0).map(|length| header + usize::from(length))
    }
}

/// Offset and protocol number of the transport header of a complete, unfragmented packet.
pub(super) fn transport(packet: &[u8]) -> Option<(usize, u8)> {
    let (ip, error) = LaxIpSlice::from_slice(packet).ok()?;
    let payload = ip.payload();
    let whole = error.is_none() && !payload.fragmented && !payload.incomplete;
    whole.then(|| (packet.len() - payload.payload.len(), payload.ip_number.0))
}

/// Maximum depth of nested tunnels parsed.
const MOST_TUNNELS: usize = 4;

/// The flow of the packet, its IP header (at `start` of its frame), and the number of bytes before its payload. `None`
/// if the header is truncated.
pub(super) fn read(packet: &[u8], start: usize) -> Option<(FiveTuple, Network, usize)> {
    let at = u16::try_from(start).ok()?;
    let (outer, _) = LaxIpSlice::from_slice(packet).ok()?;
    let network = match outer {
        LaxIpSlice::Ipv4(_) => Network::V4 { at },
        LaxIpSlice::Ipv6(_) => Network::V6 { at },
    };
    let mut ip = outer;
    for _ in 0..MOST_TUNNELS {
        match inner(&ip).map(LaxIpSlice::from_slice) {
            Some(Ok((found, _))) => ip = found,
            Some(Err(_)) | None => break,
        }
    }
    let below = ip.payload().payload.as_ptr().addr().saturating_sub(packet.as_ptr().addr());
    Some((tuple(&ip), network, below + transport_header(&ip)))
}

/// Length of the transport header; fragments count as payload.
fn transport_header(ip: &LaxIpSlice<'_>) -> usize {
    let payload = ip.payload();
    // TCP and DCCP give their header length in 32-bit words.
    let words = |at: usize, shift: u32| payload.payload.get(at).map_or(0, |byte| usize::from(byte >> shift) * 4);
    match payload.ip_number.0 {
        _ if payload.fragmented => 0,
        6 => words(12, 4),
        17 | 136 => 8,
        33 => words(4, 0),
        132 => 12,
        _ => 0,
    }
}

/// The inner packet of an unencrypted tunnel.
fn inner<'a>(ip: &LaxIpSlice<'a>) -> Option<&'a [u8]> {
    let payload = ip.payload();
    if payload.fragmented {
        return None;
    }
    match payload.ip_number.0 {
        // IP in IP (RFC 2003), IPv6 in IP (RFC 4213).
        4 | 41 => Some(payload.payload),
        47 => generic(payload.payload),
        _ => None,
    }
}

/// The payload of a GRE packet if it is IP, or Ethernet with IP (RFC 2784, RFC 2890).
fn generic(gre: &[u8]) -> Option<&[u8]> {
    let flags = u16_at(gre, 0)?;
    let version = flags & 0b111;
    if version != 0 {
        return None;
    }
    // Checksum, key and sequence number take four bytes each if present.
    let options = [0x8000, 0x2000, 0x1000].iter().filter(|bit| flags & **bit != 0).count();
    let payload = gre.get(4 + 4 * options..)?;
    match u16_at(gre, 2)? {
        0x0800 | 0x86dd => Some(payload),
        0x6558 => payload.get(ethernet(payload, 0).network?..),
        _ => None,
    }
}

fn tuple(ip: &LaxIpSlice<'_>) -> FiveTuple {
    let payload = ip.payload();
    let protocol = payload.ip_number.0;
    // TCP, UDP, DCCP, SCTP and UDP-Lite headers start with the two ports, ESP with the SPI, which serves the same
    // purpose.
    let ported = matches!(protocol, 6 | 17 | 33 | 50 | 132 | 136) && !payload.fragmented;
    let ports = u16_at(payload.payload, 0).zip(u16_at(payload.payload, 2)).filter(|_| ported);
    FiveTuple { source: ip.source_addr(), destination: ip.destination_addr(), protocol, ports }
}
