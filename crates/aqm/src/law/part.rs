//! A part of a queue, such as the packets of one class, with its own average and drop state.

use aqmkit_base::Instant;

use super::early::DropMode;
use super::ewma::QueueAverage;
use crate::aqm::QueueView;

/// The backlog of one part of a queue, its average, and the state of its drops.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its backlog.
    pub queued: QueueView,
    /// The average of that.
    pub avg: QueueAverage,
    /// The state of its early drops.
    pub mode: DropMode,
}

impl Part {
    /// An empty part at `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Part { queued: QueueView::default(), avg: QueueAverage::new(now), mode: DropMode::default() }
    }

    /// One of its packets has been queued.
    pub fn enqueued(&mut self, len: u32) {
        self.queued.packets += 1;
        self.queued.bytes += u64::from(len);
    }

    /// One of its packets has left the queue.
    pub fn dequeued(&mut self, len: u32, now: Instant) {
        self.queued.packets -= 1;
        self.queued.bytes -= u64::from(len);
        if self.queued.packets == 0 {
            self.avg.on_empty(now);
        }
    }
}
