//! Reno as 4.4BSD and FreeBSD up to 3.x had it.
//!
//! `tcp_input.c` and `tcp_timer.c` of 4.4BSD (Stevens and Wright, TCP/IP Illustrated volume 2, sections
//! 29.4 and 25.10). It differs from RFC 5681 in four ways: losses halve the smaller of the two *windows*,
//! not the flight, in whole segments; the acknowledgement that ends fast recovery also opens the window;
//! every timeout halves again, however often the same segment timed out; and so does a lost SYN, which
//! leaves a threshold of two segments.

use super::{CongestionControl, Cx, Leaves, Window};
use crate::transport::profile::Profile;

#[derive(Clone, Debug)]
pub(in crate::transport) struct Reno(Window);

impl Reno {
    fn halve(&mut self, cx: &Cx<'_>) {
        let segments = self.0.cwnd.min(cx.peer_window) / 2 / cx.mss();
        self.0.ssthresh = segments.max(2) * cx.mss();
    }
}

impl CongestionControl for Reno {
    fn new(profile: &Profile) -> Self {
        Reno(Window::new(profile))
    }

    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn leaves_recovery(&self) -> Leaves {
        Leaves::FirstAck
    }

    fn on_ack(&mut self, _acked: u64, cx: &Cx<'_>) {
        self.0.grow(cx.mss(), cx.profile);
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
        self.halve(cx);
        self.0.cwnd = self.0.cwnd.min(self.0.ssthresh);
    }
}
