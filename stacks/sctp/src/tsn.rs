//! Transmission sequence numbers of the packets that leave: sctp-proto does not count all that it sends again.

/// Bytes of the common header, of a chunk's header, and the type of a chunk with data.
const HEADER: usize = 12;
const CHUNK_HEADER: usize = 4;
const DATA: u8 = 0;

/// The numbers of one end's data.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// The highest that was sent; `None` before the first.
    highest: Option<u32>,
    /// Packets with data that had been sent before.
    pub(crate) repeated: u64,
}

impl Numbers {
    /// A packet leaves.
    pub(crate) fn sent(&mut self, packet: &[u8]) {
        let mut repeats = false;
        for tsn in Chunks(packet.get(HEADER..).unwrap_or_default()) {
            if self.highest.is_none_or(|highest| is_after(tsn, highest)) {
                self.highest = Some(tsn);
            } else {
                repeats = true;
            }
        }
        self.repeated += u64::from(repeats);
    }
}

fn is_after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// The numbers of the data in the chunks of a packet.
struct Chunks<'a>(&'a [u8]);

impl Iterator for Chunks<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while let Some((chunk, rest)) = first_chunk(self.0) {
            self.0 = rest;
            if chunk[0] == DATA
                && let Some(number) = chunk.get(CHUNK_HEADER..CHUNK_HEADER + 4)
            {
                return number.try_into().ok().map(u32::from_be_bytes);
            }
        }
        None
    }
}

/// The first chunk and what follows its padding to a multiple of four bytes.
fn first_chunk(chunks: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = usize::from(u16::from_be_bytes([*chunks.get(2)?, *chunks.get(3)?]));
    let chunk = chunks.get(..len).filter(|_| len >= CHUNK_HEADER)?;
    Some((chunk, chunks.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a SACK without blocks, and with data of five bytes for each number.
    fn packet(numbers: &[u32]) -> Vec<u8> {
        let mut packet = vec![0; HEADER];
        packet.extend([3, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in numbers {
            packet.extend([DATA, 3, 0, 21]);
            packet.extend(number.to_be_bytes());
            packet.extend([0; 16]);
        }
        packet
    }

    #[test]
    fn packets_with_a_number_sent_before_are_counted_across_the_end_of_the_numbers() {
        let mut numbers = Numbers::default();
        numbers.sent(&packet(&[u32::MAX - 1, u32::MAX]));
        numbers.sent(&packet(&[0, 1]));
        numbers.sent(&packet(&[]));
        assert_eq!((numbers.highest, numbers.repeated), (Some(1), 0));
        numbers.sent(&packet(&[u32::MAX, 2]));
        numbers.sent(&packet(&[0, 1]));
        assert_eq!((numbers.highest, numbers.repeated), (Some(2), 2));
    }

    #[test]
    fn a_packet_that_is_cut_off_is_no_error() {
        let whole = packet(&[7]);
        for len in 0..whole.len() {
            Numbers::default().sent(&whole[..len]);
        }
    }
}
