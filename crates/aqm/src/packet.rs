//! The packet properties visible to a discipline.

use crate::dscp::Dscp;
use crate::verdict::{Verdict, Why};
use aqmkit_base::{ClassId, Duration, Ecn, FlowKey};

/// The two hosts of a packet, as numbers assigned by the caller. Two hosts may, rarely, share a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Who sends it.
    pub source: u32,
    /// Who is to receive it.
    pub destination: u32,
}

impl Ends {
    /// Unknown hosts: each flow counts as its own.
    #[must_use]
    pub fn of(FlowKey(key): FlowKey) -> Ends {
        let folded = (key ^ key >> 32) as u32;
        Ends { source: folded, destination: folded }
    }

    /// The number of a host of a simulation that is a client; servers have odd ones.
    #[must_use]
    pub const fn of_client(client: u32) -> u32 {
        2 * client
    }

    /// The client of a simulation that has this number of a host.
    #[must_use]
    pub const fn client(host: u32) -> Option<u32> {
        if host.is_multiple_of(2) { Some(host / 2) } else { None }
    }
}

/// The acknowledgement in a TCP segment, for disciplines that filter acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// A number that identifies this direction of the connection.
    pub connection: u32,
    /// The acknowledgement number.
    pub number: u32,
    /// The end of the highest block of selective acknowledgements (RFC 2018); the acknowledgement number if there is
    /// none.
    pub sack_end: u32,
    /// Whether it is pure: no data, no flags but ACK and those of ECN, no report of duplicates (RFC 2883), and no
    /// option that a later segment would not repeat.
    pub pure: bool,
    /// Its ECN flags; a change of them must not be dropped.
    pub marks: u8,
}

/// A packet that can be queued. It carries no timestamp for the queue, which keeps its own.
#[allow(clippy::len_without_is_empty, reason = "a packet is never empty")]
pub trait Packet {
    /// Length on the wire in bytes.
    fn len(&self) -> u32;
    /// Its flow, as defined for its queue ([`crate::registry::Spec::flow`]).
    fn flow(&self) -> FlowKey;
    /// The traffic class it belongs to.
    fn class(&self) -> ClassId;
    /// Its ECN codepoint.
    fn ecn(&self) -> Ecn;
    /// Its hosts. If unknown, each flow has its own.
    fn ends(&self) -> Ends {
        Ends::of(self.flow())
    }
    /// Its DSCP; best effort if it has none.
    fn dscp(&self) -> Dscp {
        Dscp::default()
    }
    /// The acknowledgement of a TCP segment that has one (and no SYN).
    fn ack(&self) -> Option<Ack> {
        None
    }
    /// The label written into the packet by an edge router (CSFQ: the flow's rate in bits per second); zero if there is
    /// none.
    fn label(&self) -> f32 {
        0.0
    }
    /// Writes a label for downstream routers. A packet without a label field ignores it.
    fn set_label(&mut self, _label: f32) {}
    /// Sets Congestion Experienced. Called only when [`Ecn::is_capable`].
    fn set_ce(&mut self);
}

/// A packet as an [`crate::Aqm`] sees it, by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView {
    /// The flow it belongs to.
    pub flow: FlowKey,
    /// How long it has been in the queue: zero on arrival.
    pub sojourn: Duration,
    /// Length on the wire in bytes.
    pub len: u32,
    /// The traffic class it belongs to.
    pub class: ClassId,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

impl PacketView {
    /// The view of a packet that has been queued for `sojourn`.
    pub fn of<P: Packet>(packet: &P, sojourn: Duration) -> Self {
        PacketView { flow: packet.flow(), sojourn, len: packet.len(), class: packet.class(), ecn: packet.ecn() }
    }

    /// Signals congestion with this packet: a mark if marking is on and the packet is ECN-capable, else a drop.
    #[must_use]
    pub fn signal(&self, ecn: bool, why: Why) -> Verdict {
        if ecn && self.ecn.is_capable() { Verdict::Mark(why) } else { Verdict::Drop(why) }
    }

    /// Applies these rules to RED's decision.
    #[must_use]
    pub fn early(&self, decision: Option<Why>, rules: MarkRules) -> Verdict {
        let Some(why) = decision else { return Verdict::Pass };
        let dropped = !rules.ecn || (why == Why::Forced && rules.harddrop);
        if rules.nodrop && !dropped && !self.ecn.is_capable() {
            return Verdict::Pass;
        }
        self.signal(!dropped, why)
    }
}

/// When a RED variant marks a packet instead of dropping it, with the parameters of `tc-red(8)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkRules {
    /// Whether it marks at all.
    pub ecn: bool,
    /// Whether it drops even ECN-capable packets if the average is above the upper threshold.
    pub harddrop: bool,
    /// Whether packets that should be marked but are not ECN-capable are admitted.
    pub nodrop: bool,
}

/// A packet for the tests of this crate.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TestPacket {
    pub(crate) flow: u64,
    pub(crate) len: u32,
    /// Its hosts, where it knows them.
    pub(crate) ends: Option<Ends>,
}

#[cfg(test)]
impl TestPacket {
    pub(crate) fn of(flow: u64, len: u32) -> Self {
        TestPacket { flow, len, ends: None }
    }
}

#[cfg(test)]
impl Packet for TestPacket {
    fn len(&self) -> u32 {
        self.len
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn class(&self) -> ClassId {
        ClassId(0)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn ends(&self) -> Ends {
        self.ends.unwrap_or_else(|| Ends::of(self.flow()))
    }
    fn set_ce(&mut self) {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Numbers that differ in their lower half and such that differ in their upper one.
    #[test]
    fn flows_of_unknown_hosts_have_hosts_of_their_own() {
        let keys = (0..100_u64).flat_map(|n| [n, (n + 100) << 32]);
        let ends: Vec<Ends> = keys.map(|key| Ends::of(FlowKey(key))).collect();
        let sources: BTreeSet<u32> = ends.iter().map(|ends| ends.source).collect();
        let destinations: BTreeSet<u32> = ends.iter().map(|ends| ends.destination).collect();
        assert_eq!((sources.len(), destinations.len()), (200, 200));
    }
}
