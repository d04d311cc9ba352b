//! Prefetching of connections: nothing here affects results.

use aqmkit_base::Instant;

use super::Connection;
use crate::fetch::{fetch, fetch_line};
use crate::packet::Side;

impl Connection {
    /// Prefetches the fields that every event at this side needs.
    #[inline(always)]
    pub(in crate::world) fn fetch(&self, side: Side) {
        fetch(&self.ends[side as usize]);
        self.fetch_common();
    }

    /// Prefetches the line that both ends share.
    #[inline(always)]
    pub(in crate::world) fn fetch_common(&self) {
        fetch_line(&self.timers);
    }

    #[inline(always)]
    pub(in crate::world) fn fetch_requests(&self) {
        fetch_line(&self.requests);
    }

    /// Whether the deadline of an end has been reached.
    pub(in crate::world) fn is_due(&self, side: Side, at: Instant) -> bool {
        self.timers[side as usize].due <= at
    }

    /// Whether a response is complete once all data below this sequence number has arrived: the first byte has number
    /// 1.
    pub(in crate::world) fn will_respond(&self, end: u64) -> bool {
        self.requests.first().is_some_and(|first| end > self.responded.saturating_add(first.response))
    }
}
