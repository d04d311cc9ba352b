//! Queue length over time.

use aqmkit_base::Instant;

use crate::output::Length;

/// Longer queues count as this length in the distribution; the mean remains exact.
const LONGEST: usize = 1 << 16;

/// How long a queue had each length.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueTime {
    length: usize,
    since: Instant,
    /// Integral of the length over time, in packet-nanoseconds.
    area: u128,
    /// Time at each length, in nanoseconds.
    at: Vec<u64>,
}

/// A snapshot of a [`QueueTime`], for differences.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueMark {
    when: Instant,
    area: u128,
    at: Vec<u64>,
}

impl QueueTime {
    /// Sets the current length.
    #[inline]
    pub(crate) fn set(&mut self, length: u64, now: Instant) {
        self.advance(now);
        self.length = length as usize;
    }

    #[inline]
    fn advance(&mut self, now: Instant) {
        let ns = now.since(self.since).as_nanos();
        if ns == 0 {
            return;
        }
        self.area += self.length as u128 * u128::from(ns);
        self.since = now;
        match self.at.get_mut(self.length) {
            Some(at) => *at += ns,
            None => self.advance_longest(ns),
        }
    }

    #[cold]
    #[inline(never)]
    fn advance_longest(&mut self, ns: u64) {
        let slot = self.length.min(LONGEST);
        if slot >= self.at.len() {
            self.at.resize(slot + 1, 0);
        }
        self.at[slot] += ns;
    }

    /// The time integral so far, in packet-nanoseconds.
    pub(crate) fn area(&mut self, now: Instant) -> u128 {
        self.advance(now);
        self.area
    }

    /// A snapshot for [`QueueTime::since`].
    pub(crate) fn mark(&mut self, now: Instant) -> QueueMark {
        self.advance(now);
        QueueMark { when: now, area: self.area, at: self.at.clone() }
    }

    /// Mean and 99th percentile over the time since `mark`.
    pub(crate) fn since(&mut self, mark: &QueueMark, now: Instant) -> Length {
        self.advance(now);
        let span = now.since(mark.when).as_nanos();
        if span == 0 {
            return Length::default();
        }
        let before = |i: usize| mark.at.get(i).copied().unwrap_or(0);
        let target = (span as f64 * 0.99) as u64;
        let mut below = 0;
        let p99 = self.at.iter().enumerate().position(|(i, ns)| {
            below += ns - before(i);
            below >= target
        });
        let mean = (self.area - mark.area) as f64 / span as f64;
        Length { mean, p99: p99.unwrap_or(0) as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_percentile_weigh_by_time() {
        let at = Instant::from_nanos;
        let mut queue = QueueTime::default();
        queue.set(10, at(0));
        let mark = queue.mark(at(100));
        queue.set(2, at(200));
        queue.set(30, at(10_000));
        let got = queue.since(&mark, at(10_100));
        assert_eq!(got.mean, (10.0 * 100.0 + 2.0 * 9_800.0 + 30.0 * 100.0) / 10_000.0);
        assert_eq!(got.p99, 10.0);
    }

    /// Even a nanosecond at a length counts.
    #[test]
    fn no_length_is_too_short_to_count() {
        let at = Instant::from_nanos;
        let mut queue = QueueTime::default();
        let mark = queue.mark(at(0));
        for (length, ns) in [(10, 0), (20, 1), (7, 2), (0, 3), (90, 3), (3, 3)] {
            queue.set(length, at(ns));
        }
        let got = queue.since(&mark, at(5));
        assert_eq!(got.mean, (10.0 + 20.0 + 7.0 + 2.0 * 3.0) / 5.0);
        let now = queue.mark(at(5));
        assert_eq!(queue.since(&now, at(5)), Length::default(), "nothing has lasted for no time");
    }

    /// Longer queues than the distribution can hold count as its maximum; the mean stays exact.
    #[test]
    fn long_queues_have_their_length() {
        let at = Instant::from_nanos;
        for (length, counted) in [(40_000, 40_000.0), (65_536, 65_536.0), (200_000, 65_536.0)] {
            let mut queue = QueueTime::default();
            let mark = queue.mark(at(0));
            queue.set(length, at(0));
            let got = queue.since(&mark, at(1000));
            assert_eq!((got.mean, got.p99), (length as f64, counted));
        }
    }
}
