//! Criteria that end slow start before the first loss.

mod linux;
mod plus_plus;

use serde::{Deserialize, Serialize};

use super::Cx;
use linux::Linux;
use plus_plus::PlusPlus;

/// The criterion that ends slow start before a loss or a mark does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SlowStartEnd {
    /// Nothing.
    #[default]
    No,
    /// Increased round trips, with a confirmation phase: `HyStart++` (RFC 9406).
    Rfc9406,
    /// Increased round trips or long ACK trains, at once: Linux's `HyStart`.
    Linux,
}

/// The response of slow start to an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The window grows by this many bytes.
    Grow(u64),
    /// Slow start is over.
    End,
}

/// The state of slow start.
#[derive(Clone, Copy, Debug)]
pub(super) enum HyStart {
    PlusPlus(PlusPlus),
    Linux(Linux),
}

impl HyStart {
    pub(super) fn new(kind: SlowStartEnd) -> Option<Self> {
        match kind {
            SlowStartEnd::No => None,
            SlowStartEnd::Rfc9406 => Some(HyStart::PlusPlus(PlusPlus::new())),
            SlowStartEnd::Linux => Some(HyStart::Linux(Linux::new())),
        }
    }

    pub(super) fn on_ack(&mut self, acked: u64, cwnd: u64, cx: &Cx<'_>) -> Step {
        match self {
            HyStart::PlusPlus(it) => it.on_ack(acked, cx),
            HyStart::Linux(it) => it.on_ack(acked, cwnd, cx),
        }
    }
}
