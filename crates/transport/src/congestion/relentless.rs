//! # relentless: takes off exactly what was lost
//!
//! A control for networks with per-flow queues or proportional signals: the window is reduced by exactly
//! the segments that were lost or marked. This suffices if a queue drops or marks in proportion; in a
//! shared drop-tail queue it starves all controls that halve.
//!
//! ## Law
//!
//! * Each segment that is lost takes one segment off the window [relentless section 3].
//! * Growth is that of RFC 5681, and goes on in recovery, by what arrives [relentless section 3].
//! * Timeouts are those of RFC 5681.
//! * Each marked segment takes off one as well, where the feedback counts them (`ecn_feedback = "dctcp"` or
//!   `"accurate"`); an echo of the classic kind takes off one.
//!
//! In the long run one segment more in a round trip equals `p` times the window less: `1 / p` segments in a round trip.
//!
//! ## Parameters
//!
//! None.
//!
//! ## Deviations
//!
//! 1. The draft's Linux code lets the rate-halving of the kernel do the reductions; here the window is kept apart
//!    from the inflation of fast recovery (RFC 6582).
//! 2. In slow start the first loss or mark ends it at the reduced window; the draft leaves slow start to RFC 5681.
//! 3. A segment counts as lost when it is sent again in recovery, as in the draft's code; where SACK is on at once, without it at the
//!    end of recovery. A retransmission that is lost in its turn, which RACK finds, counts again.
//! 4. Marks are not in the draft; they follow its rule.
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

/// The duplicate acknowledgements that mean a loss: segments that have arrived.
const DUPLICATES: u32 = 3;

#[derive(Clone, Debug)]
pub(crate) struct Relentless {
    window: Window,
    /// In fast recovery, the window without what it is inflated by.
    kept: u64,
}

impl Relentless {
    pub(super) fn new(profile: &Profile) -> Self {
        Relentless { window: Window::new(profile), kept: 0 }
    }

    fn lose(cwnd: u64, bytes: u64, cx: &Cx<'_>) -> u64 {
        cwnd.saturating_sub(bytes).max(2 * cx.mss())
    }

    /// A segment has left the network in recovery: the share of a round trip's increase that it brings.
    fn keep_growing(&mut self, cx: &Cx<'_>) {
        self.grow(cx.mss(), cx);
    }

    /// The same for so many bytes.
    fn grow(&mut self, bytes: u64, cx: &Cx<'_>) {
        let limit = cx.profile.cwnd_limit.0;
        self.kept = (self.kept + cx.mss() * bytes / self.kept.max(1)).min(limit);
    }

    /// With SACK nothing inflates the window: it is what is kept.
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
        // With SACK the third is reported as what it has delivered.
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
