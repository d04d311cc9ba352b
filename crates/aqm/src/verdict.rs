//! Decisions about packets, and their reasons.

use serde::Serialize;

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it through.
    Pass,
    /// Forward the packet, marked with Congestion Experienced.
    Mark(Why),
    /// Discard it.
    Drop(Why),
}

/// Why a packet was dropped or marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[repr(u8)]
pub enum Why {
    /// The queue was full: the arriving packet.
    Overflow,
    /// The queue was full: a queued packet.
    Evicted,
    /// At random, before the queue is full.
    Early,
    /// A threshold on the average was exceeded.
    Forced,
    /// The flow or class exceeded its share.
    Unfair,
    /// It had waited too long.
    Sojourn,
    /// The queue was removed or made smaller.
    Reconfigured,
    /// The flow was classified as unresponsive and is limited to a low rate.
    Penalty,
    /// A packet of the same flow was drawn from the queue, or a later acknowledgement makes this one redundant.
    Matched,
    /// A fixed threshold on delay or length was exceeded.
    Step,
    /// Coupled to the congestion of another queue.
    Coupled,
    /// Marking no longer suffices.
    Overload,
}

impl Why {
    /// Number of reasons.
    pub const COUNT: usize = 12;

    /// Every reason, in order.
    pub const ALL: [Why; Why::COUNT] = [
        Why::Overflow,
        Why::Evicted,
        Why::Early,
        Why::Forced,
        Why::Unfair,
        Why::Sojourn,
        Why::Reconfigured,
        Why::Penalty,
        Why::Matched,
        Why::Step,
        Why::Coupled,
        Why::Overload,
    ];

    /// The reason's name in results and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Why::Overflow => "overflow",
            Why::Evicted => "evicted",
            Why::Early => "early",
            Why::Forced => "forced",
            Why::Unfair => "unfair",
            Why::Sojourn => "sojourn",
            Why::Reconfigured => "reconfigured",
            Why::Penalty => "penalty",
            Why::Matched => "matched",
            Why::Step => "step",
            Why::Coupled => "coupled",
            Why::Overload => "overload",
        }
    }
}
