//! Selects packets to replay, and their MTU.

use crate::wire::{Flow, Prefix, View};

/// Which packets to replay, and their MTU. By default all packets, unsegmented.
///
/// A capture of an end host has both directions of its connections, but a link's queue only has one: with `from` or `to`, only
/// the packets of one direction are replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only packets with a source in one of these networks; any source if empty.
    pub from: Vec<Prefix>,
    /// Only packets with a destination in one of these networks; any destination if empty.
    pub to: Vec<Prefix>,
    /// The MTU of the link, in bytes. Longer packets rely on segmentation offload: TCP packets are segmented as the
    /// network card would, others are an error.
    pub mtu: Option<u32>,
}

impl Selection {
    /// Whether a packet is replayed. Packets other than IP have no addresses and are selected only if all packets are.
    #[must_use]
    pub fn takes(&self, view: &View) -> bool {
        match view.flow {
            Flow::Ip(tuple) => {
                let among = |networks: &[Prefix], end| networks.is_empty() || networks.iter().any(|n| n.contains(end));
                among(&self.from, tuple.source) && among(&self.to, tuple.destination)
            }
            Flow::Link(_) => self.from.is_empty() && self.to.is_empty(),
        }
    }
}
