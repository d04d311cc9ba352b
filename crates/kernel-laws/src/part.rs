//! A part of a queue, such as the packets of one class, that has an average and drops of its own: `aqmkit_aqm::law::part`.

use crate::average::{Averaging, QueueAverage};
use crate::early::DropMode;
use crate::law::Arrival;
use crate::waiting::{Amount, Waiting};

/// What one part of a queue has waiting, its average, and where its drops stand.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it has waiting.
    pub queued: Amount,
    /// Since when it has had nothing waiting, in nanoseconds.
    empty_since: u64,
    /// The average of that.
    pub avg: QueueAverage,
    /// Where its early drops stand.
    pub mode: DropMode,
}

impl Part {
    /// All zeros.
    pub const ZERO: Part = Part { queued: Amount::ZERO, empty_since: 0, avg: QueueAverage::ZERO, mode: DropMode::ZERO };

    /// A part that has nothing waiting.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        self.queued = Amount::ZERO;
        self.empty_since = now;
        self.avg.start(now);
        self.mode.start();
    }

    /// The average takes in what an arrival of this part finds waiting of it.
    #[inline(always)]
    pub fn average(&mut self, by: &Averaging, arrival: &Arrival, in_bytes: bool) {
        self.avg.on_part_arrival(by, arrival, self.queued.length(in_bytes), self.empty_since);
    }

    /// One of its packets has left the queue.
    #[inline(always)]
    pub fn dequeued(&mut self, gone: &Waiting) {
        self.queued.dequeued(gone);
        if self.queued.packets == 0 {
            self.empty_since = gone.leaves_at;
        }
    }
}
