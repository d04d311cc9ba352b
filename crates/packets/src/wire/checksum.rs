//! The Internet checksum: computed (RFC 1071), and updated (RFC 1624).

use super::network::{Network, transport};

/// The ones' complement sum of the bytes as big-endian 16-bit words, added to `sum`; an odd last byte is zero-padded.
#[must_use]
pub fn sum(bytes: &[u8], sum: u32) -> u32 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut total = u64::from(sum);
    for pair in pairs {
        total += u64::from(u16::from_be_bytes(*pair));
    }
    if let [last] = rest {
        total += u64::from(*last) << 8;
    }
    u32::from(fold(total))
}

/// Folds a sum into the 16-bit checksum stored in a header.
#[must_use]
pub fn finish(sum: u32) -> u16 {
    !fold(u64::from(sum))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum after a covered word changed from `old` to `new`: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3). A
/// wrong checksum stays wrong by the same amount.
#[must_use]
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    finish(u32::from(!checksum) + u32::from(!old) + u32::from(new))
}

/// Computes the TCP or UDP checksum that was left to offload. The packet must be complete and not a fragment; otherwise
/// nothing changes and the result is false.
pub fn complete(frame: &mut [u8], network: Network) -> bool {
    let Some(open) = Open::of(frame, network) else { return false };
    let segment = &mut frame[open.segment.clone()];
    segment[open.field..open.field + 2].fill(0);
    let checksum = match finish(sum(segment, open.pseudo)) {
        // In UDP, zero means no checksum (RFC 768).
        0 if open.protocol == 17 => 0xffff,
        sum => sum,
    };
    segment[open.field..open.field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// As [`complete`], if it is unknown whether the checksum was offloaded: the field then holds the pseudo-header sum. A
/// valid checksum that happens to equal that sum is not changed.
pub fn complete_where_open(frame: &mut [u8], network: Network) -> bool {
    let left_out = |open: &Open| {
        let segment = &frame[open.segment.clone()];
        segment[open.field..open.field + 2] == fold(open.pseudo.into()).to_be_bytes()
    };
    Open::of(frame, network).is_some_and(|open| left_out(&open)) && complete(frame, network)
}

/// A TCP or UDP packet whose checksum can be computed.
struct Open {
    protocol: u8,
    /// Transport header and payload.
    segment: std::ops::Range<usize>,
    /// Offset of the checksum field; both of its bytes exist.
    field: usize,
    /// Pseudo-header sum: addresses, protocol, length (RFC 9293, section 3.1; RFC 8200, section 8.1).
    pseudo: u32,
}

impl Open {
    fn of(frame: &[u8], network: Network) -> Option<Open> {
        let start = network.offset();
        let end = start + network.length(frame)?;
        let packet = frame.get(start..end)?;
        let (at, protocol) = transport(packet)?;
        let field = match protocol {
            6 => 16,
            17 => 6,
            _ => return None,
        };
        let segment = packet.get(at..).filter(|s| s.len() >= field + 2)?;
        let pseudo = sum(&packet[network.addresses()], u32::from(protocol) + segment.len() as u32);
        Some(Open { protocol, segment: start + at..end, field, pseudo })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_example_of_rfc_1624_section_4() {
        // HC = 0xDD2F, m = 0x5555, m' = 0x3285: equation 3 gives 0x0000, where equation 2 gives 0xFFFF.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn updating_is_computing_again(mut header in prop::collection::vec(any::<u16>(), 2..30), new: u16, at: prop::sample::Index) {
            let bytes = |h: &[u16]| h.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
            // Only an all-zero header's sum has two representations, and it is no IP header.
            header[0] |= 0x4500;
            let before = finish(sum(&bytes(&header), 0));
            let at = 1 + at.index(header.len() - 1);
            let old = header[at];
            header[at] = new;
            prop_assert_eq!(update(before, old, new), finish(sum(&bytes(&header), 0)));
        }
    }
}
