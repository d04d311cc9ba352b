//! Two FIFOs under one limit: the storage of the coupled dual-queue disciplines.

use aqmkit_base::{Amount, Duration, Ecn, Instant};
use serde::{Deserialize, Serialize};

use crate::packet::Packet;
use crate::qdisc::{self, Backlog, Cx, Stats};
use crate::storage::Ring;
use crate::verdict::Why;

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Low latency, low loss: for scalable congestion controls.
    L,
    /// Classic: everything else.
    C,
}

/// Which packets go into the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Classifier {
    /// ECT(1) and CE: RFC 9331.
    L4sEct,
    /// Every packet whose ECN field is not zero.
    AnyEct,
}

impl Classifier {
    /// The queue of a packet with this codepoint.
    #[must_use]
    pub fn lane(self, ecn: Ecn) -> Lane {
        match (self, ecn) {
            (_, Ecn::Ect1 | Ecn::Ce) | (Classifier::AnyEct, Ecn::Ect0) => Lane::L,
            (_, Ecn::NotEct | Ecn::Ect0) => Lane::C,
        }
    }
}

/// The two queues and their common counters.
#[derive(Clone, Debug)]
pub struct Dual<P> {
    /// The L queue.
    pub l: Ring<P>,
    /// The Classic queue.
    pub c: Ring<P>,
    /// The counters of both.
    pub stats: Stats,
}

impl<P> Default for Dual<P> {
    fn default() -> Self {
        Dual { l: Ring::default(), c: Ring::default(), stats: Stats::default() }
    }
}

impl<P: Packet> Dual<P> {
    /// One of the two.
    pub fn lane(&mut self, lane: Lane) -> &mut Ring<P> {
        match lane {
            Lane::L => &mut self.l,
            Lane::C => &mut self.c,
        }
    }

    /// How long the head of `ring` has waited; zero if it is empty.
    #[must_use]
    pub fn head_delay(ring: &Ring<P>, now: Instant) -> Duration {
        ring.view(0, now).map_or(Duration::ZERO, |head| head.sojourn)
    }

    /// Bytes in both.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.l.bytes() + self.c.bytes()
    }

    /// Whether a packet of `len` bytes fits under the common limit.
    #[must_use]
    pub fn fits(&self, len: u32, limit: Amount) -> bool {
        super::fits(self.backlog(), len, limit)
    }

    /// The backlog of both.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: (self.l.len() + self.c.len()) as u64, bytes: self.bytes() }
    }

    /// Shows the waiting packets: the inner queues are `L` and `C`.
    pub fn waiting(&self, see: &mut dyn FnMut(qdisc::InnerQueue<'_>, &P)) {
        for (name, ring) in [("L", &self.l), ("C", &self.c)] {
            ring.packets().for_each(|packet| see(qdisc::InnerQueue::Named(name), packet));
        }
    }

    /// Marks `packet` and counts it.
    pub fn mark(&mut self, packet: &mut P, why: Why, cx: &mut Cx<'_, P>) {
        cx.mark(packet, why, &mut self.stats);
    }

    /// Discards `packet` and counts it.
    pub fn discard(&mut self, packet: P, why: Why, cx: &mut Cx<'_, P>) {
        cx.discard(packet, why, &mut self.stats);
    }

    /// Drops from the tails, the Classic queue's first, until both fit under `limit`.
    pub fn shrink(&mut self, limit: Amount, cx: &mut Cx<'_, P>) {
        while super::over(self.backlog(), limit) {
            let lane = if self.c.is_empty() { Lane::L } else { Lane::C };
            match self.lane(lane).pop_tail(cx.now) {
                Some((packet, _)) => self.discard(packet, Why::Reconfigured, cx),
                None => return,
            }
        }
    }
}
