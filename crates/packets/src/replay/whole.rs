//! Super-packets captured before segmentation offload whose IP header does not give their length: IPv4 with a total
//! length of just the header, or IPv6 with a jumbo payload option (RFC 2675). Their length field is set to zero, which
//! means the length of the frame; segments get correct lengths.

use std::borrow::Cow;

use crate::wire::Network;

/// A hop-by-hop options header with only a jumbo payload option: its length, and its bytes after next header and
/// length.
const JUMBO: usize = 8;
const JUMBO_OPTION: [u8; 2] = [0xc2, 4];

/// An upper bound of Ethernet padding.
const PADDING: usize = 46;

/// The packet with its length field zeroed where that does not give the length, and the number of bytes removed (the
/// jumbo option).
pub(super) fn with_open_length(network: Option<Network>, bytes: &[u8]) -> (Cow<'_, [u8]>, u32) {
    match network {
        Some(Network::V4 { at }) => (open_v4(usize::from(at), bytes), 0),
        Some(Network::V6 { at }) => without_jumbo(usize::from(at), bytes),
        None => (Cow::Borrowed(bytes), 0),
    }
}

fn open_v4(at: usize, bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(header) = bytes.get(at..at + 20) else { return Cow::Borrowed(bytes) };
    let (own, total) = (usize::from(header[0] & 0xf) * 4, usize::from(u16::from_be_bytes([header[2], header[3]])));
    if total == 0 || total > own || bytes.len() <= at + own + PADDING {
        return Cow::Borrowed(bytes);
    }
    let mut open = bytes.to_vec();
    open[at + 2..at + 4].fill(0);
    Cow::Owned(open)
}

fn without_jumbo(at: usize, bytes: &[u8]) -> (Cow<'_, [u8]>, u32) {
    let options = at + 40;
    let Some(head) = bytes.get(at..options + JUMBO) else { return (Cow::Borrowed(bytes), 0) };
    let (length, next) = (&head[4..6], head[6]);
    if next != 0 || length != [0, 0] || head[41] != 0 || head[42..44] != JUMBO_OPTION {
        return (Cow::Borrowed(bytes), 0);
    }
    let mut plain = bytes.to_vec();
    plain[at + 6] = head[40];
    plain.drain(options..options + JUMBO);
    (Cow::Owned(plain), JUMBO as u32)
}
