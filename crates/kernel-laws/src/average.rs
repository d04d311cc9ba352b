//! The exponentially weighted moving average (EWMA) of the queue length, with RED's idle-time correction. See
//! `aqmkit_aqm::law::ewma`.

use crate::fixed::{Factor, Fixed, Powers};
use crate::law::Arrival;
use crate::words::words;

words! {
    /// Parameters of the average.
    pub struct Averaging {
        /// Powers of `1 - w`, where `w` is the weight of a new sample.
        pub keep: Powers,
        /// Mean-sized packets that the link can send per nanosecond: the rate of zero samples while the queue is idle.
        pub drain_rate: Factor,
    }
}

/// An EWMA of the queue length.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAverage {
    avg: Fixed,
    /// Idle time has been accounted for up to this time, in nanoseconds.
    idle_until: u64,
}

impl QueueAverage {
    /// Zeroed state, as in a new map.
    pub const ZERO: QueueAverage = QueueAverage { avg: Fixed::ZERO, idle_until: 0 };

    /// Starts with an empty queue.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        *self = QueueAverage { avg: Fixed::ZERO, idle_until: now };
    }

    /// The current average.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Fixed {
        self.avg
    }

    /// Restarts from this value.
    #[inline(always)]
    pub fn set(&mut self, avg: Fixed) {
        self.avg = avg;
    }

    /// Adds `n` samples of this length: the distance from it shrinks by `(1 - w)^n`.
    #[inline(always)]
    pub fn sample(&mut self, by: &Averaging, n: u64, length: Fixed) {
        self.avg = length.plus(by.keep.times(n, self.avg.minus(length)));
    }

    /// Adds a sample for each packet that arrives at a queue of this length; if the queue is empty, `n = idle_time *
    /// drain_rate - 1` zero samples instead, rounded down.
    #[inline(always)]
    pub fn on_arrival(&mut self, by: &Averaging, arrival: &Arrival, length: Fixed) {
        self.on_part_arrival(by, arrival, length, arrival.empty_since);
    }

    /// As [`on_arrival`](Self::on_arrival), for part of the queue, such as the packets of a class, which has been empty
    /// since `empty_since` if its length is 0.
    #[inline(always)]
    pub fn on_part_arrival(&mut self, by: &Averaging, arrival: &Arrival, length: Fixed, empty_since: u64) {
        if length > Fixed::ZERO {
            self.sample(by, arrival.packets, length);
        } else {
            self.avg = self.while_idle(by, empty_since, arrival.now);
            self.idle_until = arrival.now;
        }
    }

    /// The average at `now` if the queue has been empty since `empty_since`.
    #[inline(always)]
    #[must_use]
    pub fn while_idle(&self, by: &Averaging, empty_since: u64, now: u64) -> Fixed {
        let since = if empty_since > self.idle_until { empty_since } else { self.idle_until };
        let idle = now.saturating_sub(since);
        let could_have_left = by.drain_rate.of(idle);
        if could_have_left > 1 { by.keep.times(could_have_left - 1, self.avg) } else { self.avg }
    }
}
