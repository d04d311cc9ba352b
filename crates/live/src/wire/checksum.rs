//! The Internet checksum: computed (RFC 1071), and brought up to date (RFC 1624).

use super::network::{Network, transport};

/// The ones' complement sum of the bytes as 16-bit numbers, on top of `sum`; an odd last byte counts as followed by
/// a zero.
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

/// The 16-bit ones' complement of a sum: what stands in a header.
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

/// The checksum after the 16-bit number `old` that it covers has become `new`: HC' = ~(~HC + ~m + m')
/// (RFC 1624, equation 3). A checksum that was wrong stays as wrong as it was.
#[must_use]
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    finish(u32::from(!checksum) + u32::from(!old) + u32::from(new))
}

/// Computes the checksum of the TCP or UDP header of a packet that its sender left to the network card. The packet
/// must be whole and not a fragment; else nothing changes and the answer is false.
pub fn complete(frame: &mut [u8], network: Network) -> bool {
    let start = network.offset();
    let Some(length) = network.length(frame) else { return false };
    let Some(packet) = frame.get_mut(start..start + length) else { return false };
    let Some((at, protocol)) = transport(packet) else { return false };
    let field = match protocol {
        6 => at + 16,
        17 => at + 6,
        _ => return false,
    };
    let Some(place) = packet.get_mut(field..field + 2) else { return false };
    place.fill(0);
    let segment = &packet[at..];
    // The pseudo-header: addresses, protocol, length (RFC 9293 section 3.1, RFC 8200 section 8.1).
    let pseudo = sum(&packet[network.addresses()], u32::from(protocol) + segment.len() as u32);
    let checksum = match finish(sum(segment, pseudo)) {
        // Zero means "none" in UDP (RFC 768).
        0 if protocol == 17 => 0xffff,
        sum => sum,
    };
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
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
            // All zeros is the one header whose sum has two forms, and it is no IP header.
            header[0] |= 0x4500;
            let before = finish(sum(&bytes(&header), 0));
            let at = 1 + at.index(header.len() - 1);
            let old = header[at];
            header[at] = new;
            prop_assert_eq!(update(before, old, new), finish(sum(&bytes(&header), 0)));
        }
    }
}
