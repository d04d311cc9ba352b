//! Super-packets (GSO): consecutive segments of a connection that the kernel handles as one packet of up to 64 KiB.
//!
//! For the discipline and the transmitter each segment is a packet, with its length on the wire, its own mark and its
//! own fate. The bytes are read once and shared by the segments; consecutive ones that leave together form a
//! super-packet again ([`crate::outgoing`]).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::headers::{Headers, Part, TCP, UDP};
use crate::offload::{Kind, Offload, Open, Segments};
use crate::wire::{Network, View};

/// Maximum length of a super-packet's headers, all layers.
pub(crate) const LONGEST_HEADERS: usize = 192;

/// A packet received from a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// A buffer that holds the packet from `start` on.
    pub bytes: Vec<u8>,
    /// Offset of the packet's first byte.
    pub start: usize,
    /// The offloads requested in its `virtio_net_hdr`.
    pub offload: Offload,
}

impl Received {
    /// The packet's bytes.
    #[must_use]
    pub fn packet(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// The packet's bytes, mutable.
    pub(crate) fn packet_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Received {
    /// A packet without offloads.
    fn from(bytes: Vec<u8>) -> Self {
        Received { bytes, ..Received::default() }
    }
}

/// A shared count of the bytes of super-packets in memory.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<AtomicU64>);

impl Held {
    /// Bytes currently in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A super-packet, kept as long as one of its segments is queued.
#[derive(Debug)]
pub(crate) struct SuperPacket {
    received: Received,
    headers: Headers,
    segments: Segments,
    held: Held,
}

impl Drop for SuperPacket {
    fn drop(&mut self) {
        self.held.0.fetch_sub(self.received.bytes.capacity() as u64, Ordering::Relaxed);
    }
}

impl SuperPacket {
    /// The super-packet parsed as `view`; returns the packet unchanged if it is none, or cannot be segmented.
    pub(crate) fn of(received: Received, view: &View, held: &Held) -> Result<SuperPacket, Received> {
        let found = || {
            let (segments, frame) = (received.offload.segments?, received.packet());
            let headers = Headers::of(view.network?, frame)?;
            let (protocol, v4) = (headers.protocol, matches!(headers.network, Network::V4 { .. }));
            let as_told = match segments.kind {
                Kind::TcpV4 => protocol == TCP && v4,
                Kind::TcpV6 => protocol == TCP && !v4,
                Kind::Udp => protocol == UDP,
            };
            // In a tunnel the outer headers would have to change too, as would the PPPoE length.
            let outermost = received.offload.checksum.is_none_or(|open| usize::from(open.start) == headers.transport);
            let plain = headers.ip < 2 || matches!(frame[headers.ip - 2..headers.ip], [0x08, 0x00] | [0x86, 0xdd]);
            let fits = segments.size > 0 && headers.payload <= LONGEST_HEADERS && frame.len() > headers.payload;
            (as_told && outermost && plain && fits).then_some((headers, segments))
        };
        let Some((headers, segments)) = found() else { return Err(received) };
        held.0.fetch_add(received.bytes.capacity() as u64, Ordering::Relaxed);
        Ok(SuperPacket { received, headers, segments, held: held.clone() })
    }

    /// The packet's bytes.
    fn frame(&self) -> &[u8] {
        self.received.packet()
    }

    /// The number of segments.
    pub(crate) fn count(&self) -> usize {
        (self.frame().len() - self.headers.payload).div_ceil(usize::from(self.segments.size))
    }

    /// Length of the headers of all layers, in bytes.
    pub(crate) fn header_length(&self) -> usize {
        self.headers.payload
    }

    /// The GSO type.
    pub(crate) fn kind(&self) -> Kind {
        self.segments.kind
    }

    /// Payload of consecutive segments, as a range of the whole payload.
    pub(crate) fn payload(&self, numbers: Range<usize>) -> Range<usize> {
        let size = usize::from(self.segments.size);
        let all = self.frame().len() - self.headers.payload;
        numbers.start * size..(numbers.end * size).min(all)
    }

    /// Consecutive segments as one packet: writes its headers into `headers`, and returns its payload and offloads.
    /// With `ce` they carry CE.
    pub(crate) fn part(&self, numbers: Range<usize>, ce: bool, headers: &mut [u8]) -> (&[u8], Offload) {
        let all = &self.headers;
        headers.copy_from_slice(&self.frame()[..all.payload]);
        let payload = self.payload(numbers.clone());
        let part = Part { number: numbers.start, last: numbers.end == self.count(), payload: payload.clone() };
        all.change(headers, &part);
        all.leave_checksum(headers, payload.len());
        if ce {
            crate::wire::mark_ce(headers, all.network);
        }
        let checksum = Some(Open { start: all.transport as u16, field: all.checksum_field() as u16 });
        let several = numbers.len() > 1;
        let first = Segments { cwr: self.segments.cwr && numbers.start == 0, ..self.segments };
        let offload = Offload { checksum, segments: several.then_some(first) };
        (&self.frame()[all.payload + payload.start..all.payload + payload.end], offload)
    }
}
