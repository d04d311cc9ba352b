//! Headers of the segments of a TCP or UDP super-packet.
//!
//! As in the Linux kernel (`Documentation/networking/segmentation-offloads.rst`): every segment gets the headers of the
//! super-packet with its own length, sequence number and, in IPv4, identification; FIN and PSH are set in the last
//! segment only, CWR in the first only.

use std::ops::Range;

use etherparse::LaxIpSlice;

use crate::wire::{Network, checksum};

/// IP protocol numbers.
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// Offsets of sequence number and flags in the TCP header.
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The headers of a TCP or UDP packet, located in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    /// The outermost IP header.
    pub network: Network,
    /// IP protocol number.
    pub protocol: u8,
    /// The offsets of the IP header, the transport header and the payload.
    pub ip: usize,
    pub transport: usize,
    pub payload: usize,
}

/// Consecutive segments of a super-packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Index of the first segment.
    pub number: usize,
    /// Their payload, as a range of the super-packet's payload.
    pub payload: Range<usize>,
    /// Whether the last segment is among them.
    pub last: bool,
}

impl Headers {
    /// Locates the headers of a frame; `None` if it is neither TCP nor UDP, a fragment, or truncated.
    pub(crate) fn of(network: Network, frame: &[u8]) -> Option<Headers> {
        let ip = network.offset();
        let (packet, _) = LaxIpSlice::from_slice(frame.get(ip..)?).ok()?;
        let above = packet.payload();
        let protocol = above.ip_number.0;
        if above.fragmented {
            return None;
        }
        let transport = above.payload.as_ptr().addr() - frame.as_ptr().addr();
        let least = match protocol {
            TCP => 20,
            UDP => 8,
            _ => return None,
        };
        let length = if protocol == TCP { usize::from(above.payload.get(12)? >> 4) * 4 } else { least };
        let payload = transport + length;
        let whole = length >= least && payload <= frame.len();
        whole.then_some(Headers { network, protocol, ip, transport, payload })
    }

    /// Offset of the checksum in the transport header.
    pub(crate) fn checksum_field(&self) -> usize {
        if self.protocol == TCP { 16 } else { 6 }
    }

    /// Rewrites a copy of the super-packet's headers for `part`, except for the transport checksum.
    pub(crate) fn change(&self, headers: &mut [u8], part: &Part) {
        let length = self.payload + part.payload.len();
        self.change_ip(headers, part.number, length - self.ip);
        let transport = &mut headers[self.transport..];
        if self.protocol == UDP {
            transport[4..6].copy_from_slice(&((length - self.transport) as u16).to_be_bytes());
            return;
        }
        if let Some(bytes) = transport.get_mut(SEQUENCE..).and_then(|bytes| bytes.first_chunk_mut::<4>()) {
            *bytes = u32::from_be_bytes(*bytes).wrapping_add(part.payload.start as u32).to_be_bytes();
        }
        let mut off = 0;
        off |= if part.last { 0 } else { FIN_AND_PSH };
        off |= if part.number > 0 { CWR } else { 0 };
        transport[FLAGS] &= !off;
    }

    /// Sets length, identification and checksum of the IP header.
    fn change_ip(&self, headers: &mut [u8], number: usize, length: usize) {
        let header = &mut headers[self.ip..];
        let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_be_bytes());
        match self.network {
            Network::V6 { .. } => put(4, (length - 40) as u16),
            Network::V4 { .. } => {
                put(2, length as u16);
                let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number as u16);
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                header[10..12].fill(0);
                let end = (usize::from(header[0] & 0xf) * 4).clamp(20, self.transport - self.ip);
                let sum = checksum::finish(checksum::sum(&header[..end], 0));
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }

    /// Writes the pseudo-header sum into the checksum field, for checksum offload.
    pub(crate) fn leave_checksum(&self, headers: &mut [u8], payload: usize) {
        let length = self.payload - self.transport + payload;
        let addresses = self.network.addresses();
        let addresses = self.ip + addresses.start..self.ip + addresses.end;
        let pseudo = checksum::sum(&headers[addresses], u32::from(self.protocol) + length as u32);
        let at = self.transport + self.checksum_field();
        headers[at..at + 2].copy_from_slice(&(!checksum::finish(pseudo)).to_be_bytes());
    }
}
