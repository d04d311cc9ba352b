//! Sets CE in a frame.

use aqmkit_base::Ecn;

use super::bytes::u16_at;
use super::checksum;
use super::network::Network;

/// Sets CE in the IP header at `network` and updates the IPv4 checksum. Not-ECT packets stay unchanged (RFC 3168,
/// section 5). Returns whether the packet now has CE.
pub fn mark_ce(frame: &mut [u8], network: Network) -> bool {
    if !Ecn::from_bits(network.traffic_class(frame)).is_capable() {
        return false;
    }
    match network {
        Network::V4 { at } => mark_v4(frame, usize::from(at)),
        Network::V6 { at } => {
            // The traffic class straddles two bytes; its ECN field is in the upper half of the second.
            let Some(byte) = frame.get_mut(usize::from(at) + 1) else { return false };
            *byte |= 0b0011_0000;
            true
        }
    }
}

fn mark_v4(frame: &mut [u8], at: usize) -> bool {
    let (Some(old), Some(sum)) = (u16_at(frame, at), u16_at(frame, at + 10)) else { return false };
    let new = old | 0b11;
    frame[at..at + 2].copy_from_slice(&new.to_be_bytes());
    if new != old {
        frame[at + 10..at + 12].copy_from_slice(&checksum::update(sum, old, new).to_be_bytes());
    }
    true
}
