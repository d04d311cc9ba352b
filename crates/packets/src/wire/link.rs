//! Link-layer parsing: from the start of a frame to its IP header.

use super::bytes::{address_at, u16_at};
use super::flow::LinkFlow;

/// The outermost header of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// An IP header, as on TUN devices.
    Ip,
    /// The four-byte header of BSD loopback interfaces.
    Loopback,
    /// Linux cooked capture (`LINKTYPE_LINUX_SLL`), as on device `any`.
    LinuxSll,
    /// Linux cooked capture v2 (`LINKTYPE_LINUX_SLL2`).
    LinuxSll2,
}

impl Encapsulation {
    /// The encapsulation of a capture file's link type, if supported; the numbers are those of
    /// <https://www.tcpdump.org/linktypes.html>.
    #[must_use]
    pub fn of_link_type(number: i32) -> Option<Encapsulation> {
        match number {
            1 => Some(Encapsulation::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(Encapsulation::Ip),
            0 | 108 => Some(Encapsulation::Loopback),
            113 => Some(Encapsulation::LinuxSll),
            276 => Some(Encapsulation::LinuxSll2),
            _ => None,
        }
    }

    /// Length of a pseudo-header, which captures have in place of the link-layer header.
    #[must_use]
    pub fn pseudo_header(self) -> Option<u32> {
        match self {
            Encapsulation::Ethernet | Encapsulation::Ip => None,
            Encapsulation::Loopback => Some(4),
            Encapsulation::LinuxSll => Some(16),
            Encapsulation::LinuxSll2 => Some(20),
        }
    }
}

/// The result of link-layer parsing.
pub(super) struct Found {
    /// Offset of the IP header, if there is one.
    pub network: Option<usize>,
    /// The flow by MAC addresses.
    pub flow: LinkFlow,
    /// VLAN id of the outermost tag.
    pub vlan: Option<u16>,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// PPPoE session stage (RFC 2516).
const PPPOE: u16 = 0x8864;
/// 802.1Q, 802.1ad, and older tag types.
const TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// Maximum number of VLAN tags parsed.
const MOST_TAGS: usize = 8;

/// Finds the IP header.
pub(super) fn find(encapsulation: Encapsulation, frame: &[u8]) -> Found {
    match encapsulation {
        Encapsulation::Ethernet => ethernet(frame, 0),
        Encapsulation::Ip => Found { network: Some(0), flow: LinkFlow::default(), vlan: None },
        // The address family in the four-byte header differs between systems, so the IP version decides.
        Encapsulation::Loopback => Found { network: Some(4), flow: LinkFlow::default(), vlan: None },
        Encapsulation::LinuxSll => after_type(frame, 14, 16, address_at(frame, 6)),
        Encapsulation::LinuxSll2 => after_type(frame, 0, 20, address_at(frame, 12)),
    }
}

/// An Ethernet frame that starts at `start`.
pub(super) fn ethernet(frame: &[u8], start: usize) -> Found {
    let found = behind(frame, start + 12, start + 14);
    let flow =
        LinkFlow { source: address_at(frame, start + 6), destination: address_at(frame, start), kind: found.flow.kind };
    Found { flow, ..found }
}

fn after_type(frame: &[u8], kind_at: usize, next: usize, source: [u8; 6]) -> Found {
    let found = behind(frame, kind_at, next);
    Found { flow: LinkFlow { source, ..found.flow }, ..found }
}

/// Follows the type at `kind_at` and its header at `next`, after any tags.
fn behind(frame: &[u8], kind_at: usize, mut next: usize) -> Found {
    let mut kind = u16_at(frame, kind_at).unwrap_or(0);
    let mut vlan = None;
    for _ in 0..MOST_TAGS {
        if !TAGS.contains(&kind) {
            break;
        }
        // The number is in the lower twelve bits.
        vlan = vlan.or_else(|| u16_at(frame, next).map(|value| value & 0xfff));
        // A tag has a value of two bytes, and the type of the next header.
        kind = u16_at(frame, next + 2).unwrap_or(0);
        next += 4;
    }
    let network = match kind {
        IPV4 | IPV6 => Some(next),
        // Six bytes of PPPoE, then the protocol of PPP: IPv4 or IPv6.
        PPPOE => matches!(u16_at(frame, next + 6), Some(0x0021 | 0x0057)).then_some(next + 8),
        _ => None,
    };
    Found { network, flow: LinkFlow { kind, ..LinkFlow::default() }, vlan }
}
