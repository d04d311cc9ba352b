//! NewReno: RFC 6582 over RFC 5681.
//!
//! Fast recovery lasts until everything that was in flight at its start is acknowledged. Each partial
//! acknowledgement shows the next hole, so it mends one loss per round trip.

use super::{CongestionControl, Cx, Window};
use crate::transport::profile::Profile;

#[derive(Clone, Debug)]
pub(in crate::transport) struct NewReno(Window);

impl NewReno {
    /// RFC 5681 equation 4.
    fn halve(&mut self, cx: &Cx<'_>) {
        self.0.ssthresh = (cx.flight / 2).max(2 * cx.mss());
    }
}

impl CongestionControl for NewReno {
    fn new(profile: &Profile) -> Self {
        NewReno(Window::new(profile))
    }

    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.0.grow(acked.min(cx.mss()), cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.halve(cx);
        self.0.enter_recovery(cx);
    }

    fn on_dup_ack(&mut self, cx: &Cx<'_>) {
        self.0.cwnd += cx.mss();
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgements: take out what has left the network, add back
    /// the segment that this acknowledgement shows to have left it.
    fn on_partial_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        let back = if acked >= cx.mss() { cx.mss() } else { 0 };
        self.0.cwnd = (self.0.cwnd.saturating_sub(acked) + back).max(cx.mss());
    }

    /// RFC 6582 section 3.2 step 3, full acknowledgements, the first choice: no burst, however little is
    /// left in flight. With SACK the pipe sees to that, and the window stays the threshold.
    fn on_recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        if cx.sack {
            self.0.cwnd = self.0.ssthresh;
            return;
        }
        let left = cx.flight.saturating_sub(acked);
        self.0.cwnd = self.0.ssthresh.min(left.max(cx.mss()) + cx.mss());
    }

    /// RFC 5681 section 3.1: a segment that times out again does not halve again.
    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        if !again {
            self.halve(cx);
        }
        self.0.cwnd = cx.mss();
    }

    /// RFC 5681 section 3.1: the initial window after a lost SYN is one segment.
    fn on_handshake_timeout(&mut self, cx: &Cx<'_>) {
        self.0.cwnd = cx.mss();
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.halve(cx);
        self.0.cwnd = self.0.cwnd.min(self.0.ssthresh);
    }

    fn on_idle(&mut self, cx: &Cx<'_>) {
        self.0.restart(cx.profile);
    }
}
