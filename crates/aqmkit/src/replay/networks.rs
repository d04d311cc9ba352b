//! The networks of a capture, for an error about a selection that takes no packet.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aqmkit_packets::replay::Record;
use aqmkit_packets::wire::{Flow, View};

/// Packets whose addresses are noted.
const LOOKED_AT: u64 = 10_000;

/// The networks that a message names.
const NAMED: usize = 5;

/// The networks of the first packets of a capture.
#[derive(Debug, Default)]
pub(super) struct Networks {
    sources: BTreeSet<IpAddr>,
    destinations: BTreeSet<IpAddr>,
}

impl Networks {
    /// Takes note of a packet.
    pub(super) fn note(&mut self, record: &Record<'_>) {
        if record.number > LOOKED_AT {
            return;
        }
        if let Flow::Ip(tuple) = View::of(record.encapsulation, record.bytes).flow {
            self.sources.insert(network(tuple.source));
            self.destinations.insert(network(tuple.destination));
        }
    }

    /// The networks, in words.
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

/// The network of usual size of an address.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & !0xff).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
