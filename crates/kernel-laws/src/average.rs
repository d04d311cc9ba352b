//! The exponentially weighted average of a queue's length, with RED's correction for idle time: `aqmkit_aqm::law::ewma`.

use crate::fixed::{Factor, Fixed, Powers};
use crate::law::Arrival;
use crate::words::words;

words! {
    /// How a queue is averaged.
    pub struct Averaging {
        /// The powers of `1 - w`, with `w` the weight of the newest sample.
        pub keep: Powers,
        /// Typical packets that the link could send in a nanosecond: samples of zero while the queue is empty.
        pub drain_rate: Factor,
    }
}

/// The average.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAverage {
    avg: Fixed,
    /// Up to when idle time has been counted, in nanoseconds.
    idle_until: u64,
}

impl QueueAverage {
    /// All zeros.
    pub const ZERO: QueueAverage = QueueAverage { avg: Fixed::ZERO, idle_until: 0 };

    /// The average of a queue that has never held anything.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        *self = QueueAverage { avg: Fixed::ZERO, idle_until: now };
    }

    /// The average.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> Fixed {
        self.avg
    }

    /// Starts afresh at this value.
    #[inline(always)]
    pub fn set(&mut self, avg: Fixed) {
        self.avg = avg;
    }

    /// `n` samples of this length: the distance from it shrinks by `(1 - w)^n`.
    #[inline(always)]
    pub fn sample(&mut self, by: &Averaging, n: u64, length: Fixed) {
        self.avg = length.plus(by.keep.times(n, self.avg.minus(length)));
    }

    /// Packets arrive at a queue of this length: a sample each, or, where the queue is empty,
    /// `n = idle_time * drain_rate - 1` samples of zero, whole packets.
    #[inline(always)]
    pub fn on_arrival(&mut self, by: &Averaging, arrival: &Arrival, length: Fixed) {
        self.on_part_arrival(by, arrival, length, arrival.empty_since);
    }

    /// The same for a part of the queue, such as the packets of a class, that has been empty since `empty_since` where its length is 0.
    #[inline(always)]
    pub fn on_part_arrival(&mut self, by: &Averaging, arrival: &Arrival, length: Fixed, empty_since: u64) {
        if length > Fixed::ZERO {
            self.sample(by, arrival.packets, length);
        } else {
            self.avg = self.while_idle(by, empty_since, arrival.now);
            self.idle_until = arrival.now;
        }
    }

    /// The average at `now` of a queue that has been empty since `empty_since`, without taking it over.
    #[inline(always)]
    #[must_use]
    pub fn while_idle(&self, by: &Averaging, empty_since: u64, now: u64) -> Fixed {
        let since = if empty_since > self.idle_until { empty_since } else { self.idle_until };
        let idle = now.saturating_sub(since);
        let could_have_left = by.drain_rate.of(idle);
        if could_have_left > 1 { by.keep.times(could_have_left - 1, self.avg) } else { self.avg }
    }
}
