//! Frame parsing: flow, ECN codepoint, and where to set CE.
//!
//! [`View::of`] parses a frame of any [`Encapsulation`]: Ethernet with up to eight VLAN tags (802.1Q, 802.1ad), PPPoE
//! sessions, IPv4 with options, IPv6 with extension headers. [`mark_ce`] sets CE in place and updates the checksum. All
//! other frames pass unchanged: a frame that is not IP, or is truncated, gets a flow from the fields that could be
//! parsed, and is never ECN-capable.
//!
//! The flow of a packet:
//!
//! | packet | flow |
//! |---|---|
//! | TCP, UDP, UDP-Lite, SCTP, DCCP | addresses, protocol, ports |
//! | ESP | addresses, protocol, security parameter index |
//! | a fragment, the first one too | addresses and protocol, so that the fragments of a datagram stay in order |
//! | IP in IP, 6in4, GRE | that of the inner packet; the mark goes into the outer header (RFC 6040) |
//! | VXLAN, Geneve, and other tunnels in UDP | that of the outer packet, whose source port is a hash of the inner flow (RFC 7348) |
//! | other IP | addresses and protocol |
//! | not IP | link addresses and type |
//!
//! The formats are those of RFC 791, RFC 8200, RFC 2784 and RFC 2890 (GRE), RFC 2516 (PPPoE).

mod ack;
mod bytes;
pub mod checksum;
pub mod classes;
mod ecn;
mod flow;
mod link;
mod network;
mod prefix;

pub use classes::{Classes, Named, Rule};
pub use ecn::mark_ce;
pub use flow::{FiveTuple, Flow, LinkFlow};
pub use link::Encapsulation;
pub use network::Network;
pub use prefix::{NoPrefix, Prefix};

use aqmkit_aqm::Ack;
use aqmkit_base::Ecn;

/// The fields of a frame that disciplines use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The flow it belongs to.
    pub flow: Flow,
    /// Where its outermost IP header is, if complete.
    pub network: Option<Network>,
    /// ECN codepoint of that header; Not-ECT without one.
    pub ecn: Ecn,
    /// DSCP of that header (RFC 2474); zero without one.
    pub dscp: u8,
    /// VLAN id of its outermost 802.1Q tag.
    pub vlan: Option<u16>,
    /// Payload bytes behind network and transport header, by the IP header's length; zero if the packet is not IP.
    pub payload: u32,
    /// Its acknowledgement if it is a TCP segment, without the connection key.
    pub ack: Option<Ack>,
}

impl View {
    /// Parses a frame; any bytes are accepted.
    #[must_use]
    pub fn of(encapsulation: Encapsulation, frame: &[u8]) -> View {
        let found = link::find(encapsulation, frame);
        let bare = View {
            flow: Flow::Link(found.flow),
            network: None,
            ecn: Ecn::NotEct,
            dscp: 0,
            vlan: found.vlan,
            payload: 0,
            ack: None,
        };
        let Some(start) = found.network else { return bare };
        let packet = frame.get(start..).unwrap_or_default();
        let Some((tuple, network, headers)) = network::read(packet, start) else { return bare };
        let traffic_class = network.traffic_class(frame);
        View {
            flow: Flow::Ip(tuple),
            network: Some(network),
            ecn: Ecn::from_bits(traffic_class),
            dscp: traffic_class >> 2,
            vlan: found.vlan,
            payload: network.length(frame).unwrap_or(packet.len()).saturating_sub(headers) as u32,
            ack: ack::read(packet),
        }
    }

    /// Length of the IP packet in a frame that is `wire` bytes long, of which `frame` may be a prefix: the length in
    /// the header, or if that is zero, as with segmentation offload, the length on the wire.
    #[must_use]
    pub fn length(&self, frame: &[u8], wire: u32) -> Option<u32> {
        let network = self.network?;
        let behind = wire.saturating_sub(network.offset() as u32);
        Some(network.length(frame).map_or(behind, |length| length as u32))
    }
}

#[cfg(test)]
mod tests;
