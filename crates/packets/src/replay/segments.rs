//! Segments super-packets: those that rely on segmentation offload of the sender's NIC, and those merged by the
//! receiver's (GRO, LRO).
//!
//! A capture on an end host shows them as one packet of up to 64 KiB; on the wire they are many.

use super::Record;
use crate::headers::{Headers, Part, TCP};
use crate::wire::{View, checksum};

/// `EtherType` of PPPoE sessions.
const PPPOE: [u8; 2] = [0x88, 0x64];

/// How to segment a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    headers: Headers,
    /// Payload bytes of the packet, and of a segment.
    all: usize,
    most: usize,
}

impl Cut {
    /// How to segment a packet whose IP packet exceeds `mtu`; `None` if it is not TCP, or its headers are truncated.
    pub(super) fn of(view: &View, record: &Record<'_>, mtu: u32) -> Option<Cut> {
        let headers = Headers::of(view.network?, record.bytes).filter(|headers| headers.protocol == TCP)?;
        let length = view.length(record.bytes, record.length)? as usize;
        let most = (mtu as usize).checked_sub(headers.payload - headers.ip).filter(|most| *most > 0)?;
        Some(Cut { headers, all: (headers.ip + length).checked_sub(headers.payload)?, most })
    }

    /// The number of segments.
    pub(super) fn count(&self) -> usize {
        self.all.div_ceil(self.most).max(1)
    }

    /// The position of a segment in the packet.
    fn part(&self, number: usize) -> Part {
        let payload = number * self.most..((number + 1) * self.most).min(self.all);
        Part { number, payload, last: number + 1 == self.count() }
    }

    /// Sets the length in the PPPoE header (RFC 2516), if any, which covers the PPP protocol field and the IP packet.
    fn change_session(&self, segment: &mut [u8], payload: usize) {
        let ip = self.headers.ip;
        let Some(session) = ip.checked_sub(10).filter(|at| segment.get(*at..at + 2) == Some(&PPPOE)) else { return };
        let length = (2 + self.headers.payload - ip + payload) as u16;
        segment[session + 6..session + 8].copy_from_slice(&length.to_be_bytes());
    }

    /// Builds a segment of the captured `frame`, as far as it was captured. Returns its length on the wire in bytes.
    pub(super) fn segment(&self, frame: &[u8], number: usize, segment: &mut Vec<u8>) -> u32 {
        let (part, data) = (self.part(number), self.headers.payload);
        segment.clear();
        segment.extend_from_slice(&frame[..data]);
        let captured = |at: usize| (data + at).min(frame.len());
        segment.extend_from_slice(&frame[captured(part.payload.start)..captured(part.payload.end)]);
        self.headers.change(segment, &part);
        self.change_session(segment, part.payload.len());
        // The checksum cannot be computed if part of the payload is missing.
        checksum::complete(segment, self.headers.network);
        (data + part.payload.len()) as u32
    }
}
