//! Sequence numbers of the packets that pass: smoltcp does not count what it sends again.

/// Bytes of IPv4 and TCP headers without options.
const IP: usize = 20;

/// The sequence numbers of one end's data.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// The number after the last byte that was sent, and the number that the peer expects; `None` before the first packet.
    end: Option<u32>,
    expected: Option<u32>,
    /// Segments with data that had been sent before.
    pub(crate) repeated: u64,
}

/// The part of a packet that is counted here.
struct Segment {
    seq: u32,
    ack: u32,
    has_ack: bool,
    len: u32,
}

impl Segment {
    fn of(packet: &[u8]) -> Option<Segment> {
        let tcp = packet.get(IP..)?;
        let number = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let headers = usize::from(tcp.get(12)? >> 4) * 4;
        let flags = *tcp.get(13)?;
        // SYN and FIN count as a byte each.
        let len = tcp.len().saturating_sub(headers) as u32 + u32::from(flags & 1) + u32::from(flags >> 1 & 1);
        Some(Segment { seq: number(4)?, ack: number(8)?, has_ack: flags & 16 != 0, len })
    }
}

fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

impl Sequence {
    /// A packet leaves.
    pub(crate) fn sent(&mut self, packet: &[u8]) {
        let Some(segment) = Segment::of(packet).filter(|segment| segment.len > 0) else { return };
        let end = segment.seq.wrapping_add(segment.len);
        if self.end.is_some_and(|last| is_after(last, segment.seq)) {
            self.repeated += 1;
        }
        if self.end.is_none_or(|last| is_after(end, last)) {
            self.end = Some(end);
        }
    }

    /// A packet has come.
    pub(crate) fn received(&mut self, packet: &[u8]) {
        let Some(segment) = Segment::of(packet).filter(|segment| segment.has_ack) else { return };
        if self.expected.is_none_or(|before| is_after(segment.ack, before)) {
            self.expected = Some(segment.ack);
        }
    }

    /// Bytes that were sent and not acknowledged.
    pub(crate) fn in_flight(&self) -> Option<u64> {
        let (end, expected) = (self.end?, self.expected?);
        Some(if is_after(end, expected) { u64::from(end.wrapping_sub(expected)) } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(seq: u32, ack: u32, flags: u8, data: usize) -> Vec<u8> {
        let mut packet = vec![0; 40 + data];
        packet[24..28].copy_from_slice(&seq.to_be_bytes());
        packet[28..32].copy_from_slice(&ack.to_be_bytes());
        packet[32] = 5 << 4;
        packet[33] = flags;
        packet
    }

    #[test]
    fn segments_sent_again_are_counted_across_the_end_of_the_numbers() {
        let mut sequence = Sequence::default();
        let first = u32::MAX - 50;
        sequence.sent(&packet(first, 0, 2, 0));
        sequence.received(&packet(0, first.wrapping_add(1), 16 + 2, 0));
        assert_eq!(sequence.in_flight(), Some(0));
        for number in 0..3 {
            sequence.sent(&packet(first.wrapping_add(1 + 100 * number), 0, 16, 100));
        }
        sequence.received(&packet(0, first.wrapping_add(101), 16, 0));
        assert_eq!((sequence.in_flight(), sequence.repeated), (Some(200), 0));
        sequence.sent(&packet(first.wrapping_add(101), 0, 16, 100));
        sequence.sent(&packet(first.wrapping_add(301), 0, 16, 0));
        assert_eq!((sequence.in_flight(), sequence.repeated), (Some(200), 1));
    }
}
