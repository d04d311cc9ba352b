//! The limit of the sender: application, congestion window, receive window or send buffer.

use aqmkit_base::SendLimit;

use super::{State, Tcp};
use crate::profile::Profile;
use crate::segment::Segment;

impl Tcp {
    /// The limit of this end as a sender; `None` unless the connection is open.
    #[must_use]
    pub fn limit(&self, p: &Profile) -> Option<SendLimit> {
        if self.state != State::Open {
            return None;
        }
        let next = self.end.saturating_sub(self.nxt).min(p.mss.0);
        if next == 0 {
            return Some(SendLimit::Application);
        }
        let in_cwnd = self.control.cwnd().saturating_sub(self.pipe(p));
        let in_window = (self.una + u64::from(self.peer_window)).saturating_sub(self.nxt);
        // A sender that waits for room for a super-packet is limited by the smaller of the two (`is_rwnd_limited` of
        // `tcp_tso_should_defer`).
        let lacks_window = in_window < next.max(self.burst(p) * p.mss.0) && in_window < in_cwnd;
        Some(match lacks_window {
            true if u64::from(self.peer_window) < p.tcp_wmem[2].0 => SendLimit::ReceiveWindow,
            true => SendLimit::SendBuffer,
            false => SendLimit::CongestionWindow,
        })
    }

    /// The largest amount of data that may be unacknowledged, whatever the congestion window: the peer's receive window, or the send buffer.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.peer_window.into()
    }

    /// Whether it has data without end to send.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.end == u64::MAX
    }

    /// Whether the connection is in its first slow start: no loss, mark or delay has ended it yet. Never under a control without a slow-start threshold.
    #[must_use]
    pub fn is_in_first_slow_start(&self, p: &Profile) -> bool {
        self.state == State::Open
            && p.congestion.ends_slow_start_at_threshold()
            && self.ssthresh() >= p.initial_ssthresh.0
            && self.cwnd() < self.ssthresh()
    }

    /// Updates the peer's window from a segment. Returns whether it has changed.
    pub(super) fn note_window(&mut self, seg: &Segment, p: &Profile) -> bool {
        let window = seg.window.min(p.tcp_wmem[2].0 as u32);
        let changed = window != self.peer_window;
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        changed
    }
}
