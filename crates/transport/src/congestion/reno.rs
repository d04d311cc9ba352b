//! # reno: as 4.4BSD and FreeBSD up to 3.x had it
//!
//! Slow start, congestion avoidance, and fast recovery that ends with the first new acknowledgement, so that a second loss
//! in a window usually costs a timeout.
//!
//! ## Law
//!
//! * Slow start adds a segment for each acknowledgement, avoidance `mss^2 / cwnd` [rfc5681 equations 2 and 3].
//! * The third duplicate acknowledgement halves the smaller of the two *windows*, in whole segments, at least two [tcpip2
//!   section 29.4]. Each further one opens the window by a segment until the hole is repaired.
//! * A timeout halves in the same way and returns to one segment [tcpip2 section 25.10].
//! * A mark halves in the same way, down to one segment [rfc3168 section 6.1.2] or the profile's `least_after_mark`.
//!
//! In the long run `sqrt(3 / (2 b p))` segments in a round trip, for an acknowledgement of every `b`-th segment: `1.22 /
//! sqrt(p)`, or `0.87 / sqrt(p)` with delayed acknowledgements `[mathis97]`.
//!
//! ## Parameters
//!
//! None of its own; `initial_window`, `initial_ssthresh`, `slow_start_when_equal` and others of the transport profile.
//!
//! ## Deviations
//!
//! It differs from rfc5681 in four ways, as 4.4BSD did:
//!
//! 1. losses halve the window, not the flight, in whole segments;
//! 2. the acknowledgement that ends fast recovery also opens the window;
//! 3. every timeout halves again, however often the same segment timed out;
//! 4. so does a lost SYN, which leaves a threshold of two segments.
//!
//! ## Evidence
//!
//! `tests/transport/loss.rs` and `window.rs`: sequences worked by hand. `tests/transport/controls.rs`: the law.
//!
//! ## References
//!
//! * tcpip2: G. Wright, W. R. Stevens, TCP/IP Illustrated, volume 2, 1995.
//! * rfc5681: M. Allman, V. Paxson, E. Blanton, TCP Congestion Control, 2009.
//! * rfc3168: K. Ramakrishnan, S. Floyd, D. Black, The Addition of Explicit Congestion Notification to IP, 2001.
//! * mathis97: M. Mathis, J. Semke, J. Mahdavi, T. Ott, The Macroscopic Behavior of the TCP Congestion Avoidance
//!   Algorithm, CCR 27(3), 1997.

use super::{CongestionControl, Cx, Leaves, Window};
use crate::profile::Profile;

#[derive(Clone, Debug)]
pub(crate) struct Reno(Window);

impl Reno {
    pub(super) fn new(profile: &Profile) -> Self {
        Reno(Window::new(profile))
    }

    fn halve(&mut self, cx: &Cx<'_>) {
        let segments = self.0.cwnd.min(cx.peer_window) / 2 / cx.mss();
        self.0.ssthresh = segments.max(2) * cx.mss();
    }
}

impl CongestionControl for Reno {
    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn leaves_recovery(&self) -> Leaves {
        Leaves::FirstAck
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        // One segment, however little was acknowledged.
        self.0.grow(acked.max(cx.mss()), cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.halve(cx);
        self.0.enter_recovery(self.0.ssthresh, cx);
    }

    fn on_recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        self.0.cwnd = self.0.cwnd.min(self.0.ssthresh);
        self.on_ack(acked, cx);
    }

    fn on_timeout(&mut self, _again: bool, cx: &Cx<'_>) {
        self.halve(cx);
        self.0.cwnd = cx.mss();
    }

    fn on_handshake_timeout(&mut self, cx: &Cx<'_>) {
        self.on_timeout(false, cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        // As in the BSD code of ALTQ's authors, which OpenBSD still had in 2019: whole segments, and one stays one.
        let segments = self.0.cwnd.min(cx.peer_window) / cx.mss();
        self.0.reduce_to((segments / 2 * cx.mss()).max(cx.least_after_mark()));
    }
}
