//! The datagrams that are sent over a path.

use std::net::{IpAddr, SocketAddr};
use std::time;

use aqmkit_aqm::{Dscp, Ends, Packet};
use aqmkit_base::{ClassId, Ecn, FlowKey, FlowKind, Instant};

/// Bytes of the headers of UDP and IPv4.
const UDP_OVER_IPV4: u32 = 28;

/// One of the two ends of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// By convention the client, or the sender.
    A,
    /// By convention the server, or the receiver.
    B,
}

impl End {
    /// The end at the other side.
    #[must_use]
    pub const fn other(self) -> End {
        match self {
            End::A => End::B,
            End::B => End::A,
        }
    }
}

/// A packet on a path: contents, which the path hands over as they are, and what a router sees of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram<T> {
    /// The contents: bytes, or whatever a test wants to receive.
    pub content: T,
    /// Length in bytes with the headers of IP and transport: what the queue counts, and what the link transmits.
    pub len: u32,
    /// The ECN codepoint. Where it arrives as [`Ecn::Ce`] and was sent as another, the path has marked it.
    pub ecn: Ecn,
    /// The DSCP, which few disciplines read.
    pub dscp: Dscp,
    /// The flow, as disciplines see it that distinguish flows.
    pub flow: Flow,
}

/// The flow of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// A number. Every number is a connection between hosts of its own.
    Number(u64),
    /// UDP or TCP from one socket address to another.
    Between(SocketAddr, SocketAddr),
}

impl<T> Datagram<T> {
    /// A datagram of `len` bytes, headers included, without ECN, of flow 0.
    #[must_use]
    pub fn new(content: T, len: u32) -> Self {
        Datagram { content, len, ecn: Ecn::NotEct, dscp: Dscp::default(), flow: Flow::Number(0) }
    }

    /// Sets the ECN codepoint.
    #[must_use]
    pub fn ecn(self, ecn: Ecn) -> Self {
        Datagram { ecn, ..self }
    }

    /// Sets the flow as a number.
    #[must_use]
    pub fn flow(self, number: u64) -> Self {
        Datagram { flow: Flow::Number(number), ..self }
    }

    /// Sets the flow by the addresses of sender and receiver.
    #[must_use]
    pub fn between(self, source: SocketAddr, destination: SocketAddr) -> Self {
        Datagram { flow: Flow::Between(source, destination), ..self }
    }

    /// Sets the DSCP.
    #[must_use]
    pub fn dscp(self, dscp: Dscp) -> Self {
        Datagram { dscp, ..self }
    }
}

impl Datagram<Vec<u8>> {
    /// The payload of a UDP datagram over IPv4, whose headers have 28 bytes.
    #[must_use]
    pub fn udp(payload: Vec<u8>) -> Self {
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX).saturating_add(UDP_OVER_IPV4);
        Datagram::new(payload, len)
    }
}

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival<T> {
    /// When, since the start: at most the time of the call, and earlier where the caller is late.
    pub at: time::Duration,
    /// Where.
    pub to: End,
    /// The datagram, possibly marked.
    pub datagram: Datagram<T>,
}

impl Flow {
    /// The key of the flow, for a queue with this definition.
    fn key(self, kind: FlowKind) -> FlowKey {
        match self {
            Flow::Number(number) => FlowKey(number),
            Flow::Between(source, destination) if kind == FlowKind::Connection => {
                let ports = u64::from(source.port()) << 16 | u64::from(destination.port());
                fold(fold(fold(FlowKey(ports), number(source.ip())), number(destination.ip())), 1)
            }
            Flow::Between(source, destination) => {
                let (source, destination) = kind.ends(source.ip(), destination.ip());
                let or_none = |ip: Option<IpAddr>| ip.map_or(0, number);
                fold(fold(FlowKey(0), or_none(source)), or_none(destination))
            }
        }
    }

    fn ends(self) -> Ends {
        let host = |address: SocketAddr| Ends::of(fold(FlowKey(0), number(address.ip()))).source;
        match self {
            Flow::Number(number) => Ends::of(FlowKey(number)),
            Flow::Between(source, destination) => Ends { source: host(source), destination: host(destination) },
        }
    }
}

/// An address as a number.
fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// Adds 128 bits to a hash.
fn fold(key: FlowKey, bits: u128) -> FlowKey {
    FlowKey(FlowKey(key.hash((bits >> 64) as u64)).hash(bits as u64))
}

/// A datagram under way.
#[derive(Clone, Debug)]
pub(crate) struct Carried<T> {
    pub(crate) datagram: Datagram<T>,
    pub(crate) sent: Instant,
    flow: FlowKey,
}

impl<T> Carried<T> {
    pub(crate) fn new(datagram: Datagram<T>, kind: FlowKind, sent: Instant) -> Self {
        Carried { flow: datagram.flow.key(kind), datagram, sent }
    }
}

impl<T> Packet for Carried<T> {
    fn len(&self) -> u32 {
        self.datagram.len
    }
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        self.datagram.ecn
    }
    fn ends(&self) -> Ends {
        self.datagram.flow.ends()
    }
    fn dscp(&self) -> Dscp {
        self.datagram.dscp
    }
    fn set_ce(&mut self) {
        self.datagram.ecn = Ecn::Ce;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap_or_else(|_| panic!("{text} is an address"))
    }

    fn key(from: &str, to: &str, kind: FlowKind) -> FlowKey {
        Flow::Between(address(from), address(to)).key(kind)
    }

    #[test]
    fn a_flow_is_what_the_definition_of_the_queue_says() {
        let [a, other_port, b, c] = ["10.0.0.1:1", "10.0.0.1:2", "[2001:db8::2]:1", "10.0.0.3:1"];
        let same = |x: (&str, &str), y: (&str, &str), kind| key(x.0, x.1, kind) == key(y.0, y.1, kind);
        for (kind, ports, to_another, from_another) in [
            (FlowKind::Connection, false, false, false),
            (FlowKind::Hosts, true, false, false),
            (FlowKind::Source, true, true, false),
            (FlowKind::Destination, true, false, true),
        ] {
            assert_eq!(same((a, b), (other_port, b), kind), ports, "{kind:?}");
            assert_eq!(same((a, b), (a, c), kind), to_another, "{kind:?}");
            assert_eq!(same((a, b), (c, b), kind), from_another, "{kind:?}");
            assert!(!same((a, b), (b, a), kind), "{kind:?}: the way back is another flow");
        }
    }
}
