//! Congestion window validation: a window that does not limit the sender has no information about the path
//! and does not grow (RFC 9438 section 5.8; Linux's `tcp_cwnd_validate`).

use super::Tcp;
use crate::profile::Profile;

/// How much of the window was in flight in the last round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The maximum in flight (`max_packets_out`).
    most: u64,
    /// Above the data sent when this was recorded: once acknowledged, the record is out of date (`cwnd_usage_seq`).
    end: u64,
    /// Whether the window was full (`is_cwnd_limited`).
    full: bool,
}

impl Tcp {
    /// New data was sent, or waits for room in the congestion window for a whole super-packet.
    #[inline(never)]
    pub(super) fn note_usage(&mut self, p: &Profile, deferred: bool) {
        let (una, nxt, flight) = (self.una, self.nxt, self.flight());
        let full = deferred || self.in_network(p) + p.mss.0 > self.control.cwnd();
        let Some(o) = self.outstanding.as_deref_mut() else { return };
        let past = una >= o.usage.end;
        if past || full || (!o.usage.full && flight > o.usage.most) {
            o.usage = Usage { most: flight, end: nxt, full };
        }
    }

    /// Whether the window may grow for acknowledged data.
    pub(super) fn uses_window(&self, p: &Profile) -> bool {
        // Pacing delays data although the window has room.
        if !p.cwnd_validation || self.control.pacer().is_some() {
            return true;
        }
        self.outstanding.as_deref().is_none_or(|o| {
            let window = self.control.window();
            o.usage.full || (window.in_slow_start(p) && window.cwnd < 2 * o.usage.most)
        })
    }
}
