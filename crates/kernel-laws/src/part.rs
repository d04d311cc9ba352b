//! Part of a queue, such as the packets of one class, with its own average and drop state. See `aqmkit_aqm::law::part`.

use crate::average::{Averaging, QueueAverage};
use crate::early::DropMode;
use crate::law::Arrival;
use crate::waiting::{Amount, Waiting};

/// Backlog, average and early-drop state of part of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its backlog.
    pub queued: Amount,
    /// When it became empty, in nanoseconds.
    empty_since: u64,
    /// Average of its backlog.
    pub avg: QueueAverage,
    /// Early-drop state.
    pub mode: DropMode,
}

impl Part {
    /// Zeroed state, as in a new map.
    pub const ZERO: Part = Part { queued: Amount::ZERO, empty_since: 0, avg: QueueAverage::ZERO, mode: DropMode::ZERO };

    /// Starts with no backlog.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        self.queued = Amount::ZERO;
        self.empty_since = now;
        self.avg.start(now);
        self.mode.start();
    }

    /// Updates the average with the backlog of this part that an arrival finds.
    #[inline(always)]
    pub fn average(&mut self, by: &Averaging, arrival: &Arrival, in_bytes: bool) {
        self.avg.on_part_arrival(by, arrival, self.queued.length(in_bytes), self.empty_since);
    }

    /// Removes a packet that has departed.
    #[inline(always)]
    pub fn dequeued(&mut self, gone: &Waiting) {
        self.queued.dequeued(gone);
        if self.queued.packets == 0 {
            self.empty_since = gone.leaves_at;
        }
    }
}
