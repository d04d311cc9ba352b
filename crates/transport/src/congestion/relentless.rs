//! # relentless: takes off exactly what was lost
//!
//! A control for networks with per-flow queues or proportional signals: the window is reduced by exactly
//! the segments that were lost or marked. This suffices if a queue drops or marks in proportion; in a
//! shared drop-tail queue it starves all controls that halve.
//!
//! ## Law
//!
//! * Each lost segment reduces the window by one segment [relentless section 3].
//! * Growth is that of RFC 5681, and continues in recovery, by the delivered data [relentless section 3].
//! * Timeouts are those of RFC 5681.
//! * Each marked segment reduces it by one as well, if the feedback counts them (`ecn_feedback = "dctcp"` or
//!   `"accurate"`); a classic echo reduces it by one.
//!
//! In the long run one segment more per round trip equals `p` times the window less: `1 / p` segments per round trip.
//!
//! ## Parameters
//!
//! None.
//!
//! ## Deviations
//!
//! 1. The draft's Linux code lets the rate-halving of the kernel do the reductions; here the window is kept apart
//!    from the inflation of fast recovery (RFC 6582).
//! 2. The first loss or mark in slow start ends it at the reduced window; the draft leaves slow start to RFC 5681.
//! 3. A segment counts as lost when it is retransmitted in recovery, as in the draft's code: with SACK at once, without it at the
//!    end of recovery. A retransmission that is lost again, which RACK detects, counts again.
//! 4. Marks are not in the draft; they follow the rule for losses.
//!
//! ## Evidence
//!
//! `tests/transport/controls.rs`: windows after one and several losses worked by hand, without and with SACK, the law under even
//! loss.
//!
//! ## References
//!
//! * relentless: M. Mathis, Relentless Congestion Control, draft-mathis-iccrg-relentless-tcp-00, 2009.

use super::{CongestionControl, Cx, Window};
use crate::profile::Profile;

/// The duplicate acknowledgements that indicate a loss: segments that have arrived.
const DUPLICATES: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Relentless {
    window: Window,
    /// In fast recovery, the window without inflation.
    kept: u64,
}

impl Relentless {
    pub(super) fn new(profile: &Profile) -> Self {
        Relentless { window: Window::new(profile), kept: 0 }
    }

    fn lose(cwnd: u64, bytes: u64, cx: &Cx<'_>) -> u64 {
        cwnd.saturating_sub(bytes).max(2 * cx.mss())
    }

    /// A segment has left the network in recovery: adds its share of a round trip's increase.
    fn keep_growing(&mut self, cx: &Cx<'_>) {
        self.grow(cx.mss(), cx);
    }

    /// The same for a number of bytes.
    fn grow(&mut self, bytes: u64, cx: &Cx<'_>) {
        let limit = cx.profile.cwnd_limit.0;
        self.kept = (self.kept + cx.mss() * bytes / self.kept.max(1)).min(limit);
    }

    /// With SACK the window is not inflated, so it is the one to keep.
    fn show(&mut self) {
        self.window = Window { cwnd: self.kept, ssthresh: self.kept };
    }
}

impl CongestionControl for Relentless {
    const FOLLOWS_RECOVERY: bool = true;
    const HELD_AFTER_MARKS: bool = false;

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window.grow(acked, cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.kept = Self::lose(self.window.cwnd, cx.mss(), cx);
        // With SACK the third duplicate is reported through the data it delivered.
        (u32::from(cx.sack)..DUPLICATES).for_each(|_| self.keep_growing(cx));
        self.window.enter_recovery(self.kept, cx);
    }

    fn on_dup_ack(&mut self, cx: &Cx<'_>) {
        self.window.cwnd += cx.mss();
        self.keep_growing(cx);
    }

    fn on_partial_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.kept = Self::lose(self.kept, cx.mss(), cx);
        self.keep_growing(cx);
        self.window.deflate(acked, cx);
    }

    fn on_delivered(&mut self, delivered: u64, cx: &Cx<'_>) {
        self.grow(delivered, cx);
        self.show();
    }

    fn on_resent(&mut self, bytes: u64, cx: &Cx<'_>) {
        self.kept = Self::lose(self.kept, bytes, cx);
        self.show();
    }

    fn on_recovered(&mut self, _acked: u64, cx: &Cx<'_>) {
        self.keep_growing(cx);
        self.show();
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, self.window.half_at_loss(cx), cx);
    }

    fn on_feedback(&mut self, _delivered: u64, marked: u64, cx: &Cx<'_>) {
        if cx.counts_marks && marked > 0 {
            self.kept = Self::lose(self.kept, marked, cx);
            self.window.reduce_to(Self::lose(self.window.cwnd, marked, cx));
        }
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        if !cx.counts_marks {
            self.window.reduce_to(Self::lose(self.window.cwnd, cx.mss(), cx));
        }
    }
}
