//! From the start of a frame to its IP header.

use super::bytes::{address_at, u16_at};
use super::flow::LinkFlow;

/// The first header of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// An Ethernet header.
    #[default]
    Ethernet,
    /// An IP header, as on TUN devices.
    Ip,
    /// The four-byte header of BSD loopback interfaces.
    Loopback,
    /// The header of captures on Linux's device `any`.
    LinuxSll,
    /// The second version of that header.
    LinuxSll2,
}

impl Encapsulation {
    /// The encapsulation of a link type in capture files, if it is supported. The numbers are those of
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

    /// The length of a header that only captures have, in the place of that of the link.
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

/// The link-layer information of a frame.
pub(super) struct Found {
    /// The offset of the IP header, if there is one.
    pub network: Option<usize>,
    /// The flow by link addresses.
    pub flow: LinkFlow,
    /// The VLAN number of the outermost tag.
    pub vlan: Option<u16>,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// A session of PPP over Ethernet (RFC 2516).
const PPPOE: u16 = 0x8864;
/// 802.1Q, 802.1ad, and earlier tag types.
const TAGS: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];
/// More tags than networks use.
const MOST_TAGS: usize = 8;

/// Finds the IP header.
pub(super) fn find(encapsulation: Encapsulation, frame: &[u8]) -> Found {
    match encapsulation {
        Encapsulation::Ethernet => ethernet(frame, 0),
        Encapsulation::Ip => Found { network: Some(0), flow: LinkFlow::default(), vlan: None },
        // The IP version in the next header is sufficient; the four bytes differ between systems.
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
