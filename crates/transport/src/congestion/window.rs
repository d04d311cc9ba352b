//! The window of the AIMD family of controls.

use super::Cx;
use crate::profile::{ByteCounting, Profile};

/// The window and threshold of the AIMD family, and the updates its members share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window in bytes.
    pub cwnd: u64,
    /// The slow-start threshold in bytes.
    pub ssthresh: u64,
}

impl Window {
    /// The initial window and threshold of the profile.
    #[must_use]
    pub fn new(p: &Profile) -> Self {
        Window { cwnd: p.initial_window_bytes(), ssthresh: p.initial_ssthresh.0 }
    }

    /// Whether the window is below the threshold, or equal to it if the profile counts that as slow start.
    #[must_use]
    pub fn in_slow_start(&self, p: &Profile) -> bool {
        self.cwnd < self.ssthresh || (p.slow_start_when_equal && self.cwnd == self.ssthresh)
    }

    /// New data was acknowledged: slow start adds at most one segment, congestion avoidance one segment per window (RFC
    /// 5681 equations 2 and 3), and both the acknowledged bytes if the profile counts bytes (RFC 3465). Without the
    /// `mss / 8` that 4.4BSD-Lite added in avoidance, an error (RFC 2525 section 2.4) that FreeBSD had removed by
    /// 2.2.8.
    ///
    /// Without the `mss / 8` that 4.4BSD-Lite added in avoidance, an error (RFC 2525 section 2.4) that
    /// FreeBSD had taken out by the time of 2.2.8.
    pub fn grow(&mut self, acked: u64, p: &Profile) {
        let mss = p.mss.0;
        let step = if self.in_slow_start(p) {
            if p.byte_counting == ByteCounting::Never { acked.min(mss) } else { self.within_threshold(acked, p) }
        } else {
            let counted = if p.byte_counting == ByteCounting::Always { acked } else { mss };
            (mss * counted / self.cwnd).max(1)
        };
        self.open(step, p);
    }

    /// Slow-start growth, capped at ssthresh as in Linux: one ACK may cover a whole window if a hole was filled after a
    /// timeout.
    pub(super) fn within_threshold(&self, bytes: u64, p: &Profile) -> u64 {
        bytes.min(self.ssthresh.saturating_sub(self.cwnd).max(p.mss.0))
    }

    /// Grows by this many bytes.
    pub(super) fn open(&mut self, bytes: u64, p: &Profile) {
        self.cwnd = (self.cwnd + bytes).min(p.cwnd_limit.0);
    }

    /// Adds or subtracts bytes, with a minimum window of `least`; `rest` keeps the fraction of a byte.
    pub(super) fn add(&mut self, bytes: f64, rest: &mut f64, least: u64, p: &Profile) {
        let exact = (self.cwnd as f64 + *rest + bytes).clamp(least as f64, p.cwnd_limit.0 as f64);
        self.cwnd = exact as u64;
        *rest = exact - self.cwnd as f64;
    }

    /// RFC 5681 equation 4: half of the data in flight, at least two segments.
    #[must_use]
    pub fn half(cx: &Cx<'_>) -> u64 {
        cx.whole(cx.flight / 2).max(2 * cx.mss())
    }

    /// The threshold after a loss: [`half`](Self::half), or with RACK at most half of the window, as in Linux (after a
    /// mark the window may still be decreasing). The data in flight includes SACKed data: if losses continue, a
    /// recovery begins as the previous one ends, with several windows above the oldest hole, and half of that would
    /// exceed the window.
    #[must_use]
    pub fn half_at_loss(&self, cx: &Cx<'_>) -> u64 {
        let most = if cx.profile.uses_rack() { cx.reducing.unwrap_or(0).max(self.cwnd) } else { u64::MAX };
        Self::half(&Cx { flight: cx.flight.min(most), ..*cx })
    }

    /// Fast recovery begins with this threshold: the three segments behind the duplicate acknowledgements have left the
    /// network (RFC 5681 section 3.2 step 3), which SACK already accounts for (RFC 6675 section 5 step 4.2).
    pub fn enter_recovery(&mut self, ssthresh: u64, cx: &Cx<'_>) {
        self.ssthresh = ssthresh;
        self.cwnd = ssthresh + if cx.sack { 0 } else { 3 * cx.mss() };
    }

    /// A mark halves the data in flight. The result may be below RFC 5681's two segments: RFC 3168 section 6.1.2 allows
    /// a window of one.
    pub fn halve_for_mark(&mut self, cx: &Cx<'_>) {
        self.reduce_to(cx.whole(cx.flight / 2).max(cx.least_after_mark()));
    }

    /// Sets the window at once, without a loss.
    pub fn reduce_to(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
        self.cwnd = self.cwnd.min(ssthresh);
    }

    /// RFC 5681 section 3.1: back to one segment. A segment that times out again does not lower the threshold again.
    pub fn timed_out(&mut self, again: bool, ssthresh: u64, cx: &Cx<'_>) {
        if !again {
            self.ssthresh = ssthresh;
        }
        self.cwnd = cx.mss();
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgements: deflates by the acknowledged data, and adds back one
    /// segment, which this acknowledgement shows to have left the network.
    pub fn deflate(&mut self, acked: u64, cx: &Cx<'_>) {
        let back = if acked >= cx.mss() { cx.mss() } else { 0 };
        self.cwnd = (self.cwnd.saturating_sub(acked) + back).max(cx.mss());
    }

    /// RFC 6582 section 3.2 step 3, full acknowledgements, the first choice: avoids a burst, however little is left in
    /// flight. With SACK the pipe prevents bursts, and the window becomes the threshold.
    pub fn recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        if cx.sack {
            self.cwnd = self.ssthresh;
            return;
        }
        let left = cx.flight.saturating_sub(acked);
        self.cwnd = self.ssthresh.min(left.max(cx.mss()) + cx.mss());
    }

    /// Never lowers the window (Linux's `tcp_undo_cwnd_reduction`).
    pub fn restore(&mut self, before: Window) {
        self.cwnd = self.cwnd.max(before.cwnd);
        self.ssthresh = self.ssthresh.max(before.ssthresh);
    }

    /// Restart after idle time (RFC 5681 section 4.1).
    pub fn restart(&mut self, p: &Profile) {
        self.cwnd = self.cwnd.min(p.initial_window_bytes());
    }
}
