//! What keeps a sender from sending more.
//!
//! Linux accounts for the same limits in `tcp_info` (`tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`; `tcp_chrono_start` in
//! `net/ipv4/tcp_output.c`): of several limits the congestion window counts first.

use super::{State, Tcp};
use crate::profile::Profile;
use crate::segment::Segment;

/// What keeps an open connection from sending more at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The application: everything written was sent.
    Application,
    /// The congestion window, or pacing.
    CongestionWindow,
    /// The receive window.
    ReceiveWindow,
    /// The send buffer ([`Profile::tcp_wmem`]).
    SendBuffer,
}

impl Limit {
    /// How many there are.
    pub const COUNT: usize = 4;
}

impl Tcp {
    /// What keeps this end from sending more; `None` unless the connection is open.
    #[must_use]
    pub fn limit(&self, p: &Profile) -> Option<Limit> {
        if self.state != State::Open {
            return None;
        }
        let next = self.end.saturating_sub(self.nxt).min(p.mss.0);
        if next == 0 {
            return Some(Limit::Application);
        }
        let fits_cwnd = self.pipe(p) + next <= self.control.cwnd();
        let fits_window = self.nxt + next <= self.una + u64::from(self.peer_window);
        Some(match (fits_cwnd, fits_window) {
            (true, false) if u64::from(self.peer_window) < p.tcp_wmem[2].0 => Limit::ReceiveWindow,
            (true, false) => Limit::SendBuffer,
            _ => Limit::CongestionWindow,
        })
    }

    /// The largest amount of data that may be unacknowledged, whatever the congestion window: the peer's receive window, or the send buffer.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.peer_window.into()
    }

    /// Whether the connection is in its first slow start: no loss, mark or delay has ended it yet.
    #[must_use]
    pub fn is_in_first_slow_start(&self, p: &Profile) -> bool {
        self.state == State::Open && self.ssthresh() >= p.initial_ssthresh.0 && self.cwnd() < self.ssthresh()
    }

    /// Takes the window of a segment. Returns whether it has changed.
    pub(super) fn note_window(&mut self, seg: &Segment, p: &Profile) -> bool {
        let window = seg.window.min(p.tcp_wmem[2].0 as u32);
        let changed = window != self.peer_window;
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        changed
    }
}
