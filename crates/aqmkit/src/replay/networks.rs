//! Collects the networks in a capture, for the error if `--from` and `--to` select no packet.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aqmkit_packets::replay::Record;
use aqmkit_packets::wire::{Flow, View};

/// Number of packets that are examined.
const LOOKED_AT: u64 = 10_000;

/// Maximum number of networks in a message.
const NAMED: usize = 5;

/// Source and destination networks of the first packets of a capture.
#[derive(Debug, Default)]
pub(super) struct Networks {
    sources: BTreeSet<IpAddr>,
    destinations: BTreeSet<IpAddr>,
}

impl Networks {
    /// Adds the networks of a packet.
    pub(super) fn note(&mut self, record: &Record<'_>) {
        if record.number > LOOKED_AT {
            return;
        }
        if let Flow::Ip(tuple) = View::of(record.encapsulation, record.bytes).flow {
            self.sources.insert(network(tuple.source));
            self.destinations.insert(network(tuple.destination));
        }
    }

    /// Lists the networks.
    pub(super) fn text(&self) -> String {
        match self.sources.is_empty() {
            true => "the capture has no IP packets".to_owned(),
            false => format!("the capture has packets from {} to {}", list(&self.sources), list(&self.destinations)),
        }
    }
}

fn list(networks: &BTreeSet<IpAddr>) -> String {
    let length = |network: &IpAddr| if network.is_ipv4() { 24 } else { 64 };
    let mut names: Vec<String> = networks.iter().take(NAMED).map(|n| format!("{n}/{}", length(n))).collect();
    if networks.len() > NAMED {
        names.push(format!("{} more", networks.len() - NAMED));
    }
    names.join(", ")
}

/// The network of an address: /24 for IPv4, /64 for IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & !0xff).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
