//! Flows of real packets, and their hash keys.

use std::fmt;
use std::net::IpAddr;

use aqmkit_base::{FlowKey, FlowKind};

/// The flow that a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// A flow of IP packets.
    Ip(FiveTuple),
    /// A flow of other frames.
    Link(LinkFlow),
}

/// One direction of a transport connection, by its 5-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FiveTuple {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol number.
    pub protocol: u8,
    /// Source and destination port, unless the protocol has none or the packet is a fragment. For ESP, the two halves
    /// of the SPI.
    pub ports: Option<(u16, u16)>,
}

/// The MAC addresses and type of a non-IP frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkFlow {
    /// Source MAC address; zeros if the link has none.
    pub source: [u8; 6],
    /// Destination MAC address.
    pub destination: [u8; 6],
    /// `EtherType` of the payload.
    pub kind: u16,
}

/// Protocols shown by name.
const NAMES: [(u8, &str); 9] = [
    (1, "icmp"),
    (6, "tcp"),
    (17, "udp"),
    (33, "dccp"),
    (47, "gre"),
    (50, "esp"),
    (58, "icmp6"),
    (132, "sctp"),
    (136, "udplite"),
];

impl Flow {
    /// The flow's key: a 64-bit hash of all its fields and `salt`. Live links use a secret salt, so that collisions
    /// cannot be provoked.
    #[must_use]
    pub fn key(&self, salt: u64) -> FlowKey {
        let mix = |h: u64, word: u64| FlowKey(h ^ word).hash(salt);
        match self {
            Flow::Ip(t) => {
                let ports = t.ports.map_or(0, |(s, d)| 1 << 40 | u64::from(s) << 16 | u64::from(d));
                let rest = ports | u64::from(t.protocol) << 32;
                let words = [t.source, t.destination].map(bits).into_iter().flatten();
                FlowKey(words.chain([rest]).fold(4, mix))
            }
            Flow::Link(l) => FlowKey([word(l.source), word(l.destination), l.kind.into()].into_iter().fold(2, mix)),
        }
    }

    /// The key under another definition of a flow, such as per source host.
    #[must_use]
    pub fn key_as(&self, kind: FlowKind, salt: u64) -> FlowKey {
        fn fold(ends: (Option<[u64; 2]>, Option<[u64; 2]>), salt: u64) -> FlowKey {
            let words = [ends.0, ends.1].into_iter().flatten().flatten();
            FlowKey(words.fold(0, |h, word| FlowKey(h ^ word).hash(salt)))
        }
        match self {
            _ if kind == FlowKind::Connection => self.key(salt),
            Flow::Ip(t) => fold(kind.ends(bits(t.source), bits(t.destination)), salt),
            Flow::Link(l) => fold(kind.ends([2, word(l.source)], [2, word(l.destination)]), salt),
        }
    }

    /// The same connection in the reverse direction.
    #[must_use]
    pub fn reversed(&self) -> Flow {
        match *self {
            Flow::Ip(t) => Flow::Ip(FiveTuple {
                source: t.destination,
                destination: t.source,
                ports: t.ports.map(|(source, destination)| (destination, source)),
                ..t
            }),
            Flow::Link(l) => Flow::Link(LinkFlow { source: l.destination, destination: l.source, ..l }),
        }
    }

    /// IP protocol number; `None` for non-IP frames.
    #[must_use]
    pub fn protocol(&self) -> Option<u8> {
        match self {
            Flow::Ip(tuple) => Some(tuple.protocol),
            Flow::Link(_) => None,
        }
    }
}

/// A MAC address as an integer.
fn word(address: [u8; 6]) -> u64 {
    address.iter().fold(0, |w, b| w << 8 | u64::from(*b))
}

/// An IP address as two 64-bit words.
fn bits(address: IpAddr) -> [u64; 2] {
    match address {
        IpAddr::V4(a) => [4, u64::from(a.to_bits())],
        IpAddr::V6(a) => [(a.to_bits() >> 64) as u64, a.to_bits() as u64],
    }
}

impl fmt::Display for Flow {
    /// `tcp 10.0.0.1:80 > 10.0.0.2:5000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flow::Ip(t) => t.fmt(f),
            Flow::Link(l) => {
                write!(f, "0x{:04x} ", l.kind)?;
                address(l.source, f)?;
                f.write_str(" > ")?;
                address(l.destination, f)
            }
        }
    }
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.protocol) {
            Some((_, name)) => f.write_str(name)?,
            None => write!(f, "ip-{}", self.protocol)?,
        }
        match self.ports {
            Some((s, d)) if self.protocol == 50 => {
                write!(f, " {} > {} spi 0x{s:04x}{d:04x}", self.source, self.destination)
            }
            Some((s, d)) => write!(f, " {} > {}", end(self.source, s), end(self.destination, d)),
            None => write!(f, " {} > {}", self.source, self.destination),
        }
    }
}

fn end(address: IpAddr, port: u16) -> std::net::SocketAddr {
    std::net::SocketAddr::new(address, port)
}

fn address(bytes: [u8; 6], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, byte) in bytes.iter().enumerate() {
        write!(f, "{}{byte:02x}", if i > 0 { ":" } else { "" })?;
    }
    Ok(())
}
