//! Segments packets that rely on segmentation offload of the sender's network card, or that the receiver's card has merged.
//!
//! A capture at an end host shows them as one packet of up to 64 KiB; on the wire there are many. The rules are those of the
//! Linux kernel (`Documentation/networking/segmentation-offloads.rst`): every segment has the headers of the whole, with
//! its own length, sequence number and, in IPv4, identification; FIN and PSH are set in the last, CWR in the first one.

use std::ops::Range;

use etherparse::LaxIpSlice;

use super::Record;
use crate::wire::{Network, View, checksum};

const TCP: u8 = 6;
/// The offsets of the sequence number and the flags in the TCP header.
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The segmentation of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    network: Network,
    /// The offsets of the IP header, the TCP header and the data in the frame.
    ip: usize,
    tcp: usize,
    data: usize,
    /// Bytes of data in the packet, and in a segment.
    all: usize,
    most: usize,
}

impl Cut {
    /// The segmentation of a packet whose IP packet is longer than `mtu`; `None` if it is not TCP, or its headers are
    /// incomplete.
    pub(super) fn of(view: &View, record: &Record<'_>, mtu: u32) -> Option<Cut> {
        let network = view.network?;
        let (Network::V4 { at } | Network::V6 { at }) = network;
        let ip = usize::from(at);
        let (packet, _) = LaxIpSlice::from_slice(record.bytes.get(ip..)?).ok()?;
        let payload = packet.payload();
        if payload.ip_number.0 != TCP || payload.fragmented {
            return None;
        }
        let tcp = payload.payload.as_ptr().addr() - record.bytes.as_ptr().addr();
        let data = tcp + usize::from(payload.payload.get(12)? >> 4) * 4;
        if data < tcp + 20 || data > record.bytes.len() {
            return None;
        }
        let length = view.length(record.bytes, record.length)? as usize;
        let most = (mtu as usize).checked_sub(data - ip).filter(|most| *most > 0)?;
        Some(Cut { network, ip, tcp, data, all: (ip + length).checked_sub(data)?, most })
    }

    /// The number of segments.
    pub(super) fn count(&self) -> usize {
        self.all.div_ceil(self.most).max(1)
    }

    /// The data of a segment, as a range of all data.
    fn part(&self, number: usize) -> Range<usize> {
        number * self.most..((number + 1) * self.most).min(self.all)
    }

    /// Writes a segment of the captured `frame` into `segment`, as far as it was captured. Returns its length on the
    /// wire, in bytes.
    pub(super) fn segment(&self, frame: &[u8], number: usize, segment: &mut Vec<u8>) -> u32 {
        let part = self.part(number);
        segment.clear();
        segment.extend_from_slice(&frame[..self.data]);
        let captured = |at: usize| (self.data + at).min(frame.len());
        segment.extend_from_slice(&frame[captured(part.start)..captured(part.end)]);
        let length = self.data + part.len();
        self.change_ip(segment, number, length - self.ip);
        let sequence = segment.get_mut(self.tcp + SEQUENCE..).and_then(|bytes| bytes.first_chunk_mut::<4>());
        if let Some(bytes) = sequence {
            *bytes = u32::from_be_bytes(*bytes).wrapping_add(part.start as u32).to_be_bytes();
        }
        let mut off = 0;
        off |= if number + 1 < self.count() { FIN_AND_PSH } else { 0 };
        off |= if number > 0 { CWR } else { 0 };
        segment[self.tcp + FLAGS] &= !off;
        // The checksum is unknown if a part of the data is missing.
        checksum::complete(segment, self.network);
        length as u32
    }

    /// Sets the length, the identification and the checksum of the IP header.
    fn change_ip(&self, segment: &mut [u8], number: usize, length: usize) {
        let header = &mut segment[self.ip..];
        let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_be_bytes());
        match self.network {
            Network::V6 { .. } => put(4, (length - 40) as u16),
            Network::V4 { .. } => {
                put(2, length as u16);
                let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number as u16);
                header[4..6].copy_from_slice(&identification.to_be_bytes());
                header[10..12].fill(0);
                let end = (usize::from(header[0] & 0xf) * 4).clamp(20, self.tcp - self.ip);
                let sum = checksum::finish(checksum::sum(&header[..end], 0));
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
    }
}
