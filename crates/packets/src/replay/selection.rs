//! Which packets of a capture are replayed, and how long they may be.

use crate::wire::{Flow, Prefix, View};

/// Which packets of a capture are replayed, and how long they may be. The default takes every packet as it is.
///
/// A capture of an end host has both directions of its connections, but a link's queue only has one: with `from` or `to`, only
/// the packets of one direction are replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only packets with a source in one of these networks; any source where there is none.
    pub from: Vec<Prefix>,
    /// Only packets with a destination in one of these networks; any destination where there is none.
    pub to: Vec<Prefix>,
    /// The longest IP packet of the link, in bytes. A longer one was to be cut by the network card: one of TCP is cut here as the card
    /// would have, any other is an error.
    pub mtu: Option<u32>,
}

impl Selection {
    /// Whether a packet is replayed. One that is not IP has no addresses, and is only where all are.
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
