//! The exponentially weighted average of a queue's length, with RED's correction for idle time.
//!
//! Floyd and Jacobson 1993, section 11; Parris 2001, Figures 3.7 and 4.6.

use aqmkit_base::Instant;

/// An exponentially weighted moving average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ewma(f64);

impl Ewma {
    /// The average.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Takes one sample with weight `w`: `avg <- (1 - w) avg + w x`.
    pub fn sample(&mut self, w: f64, x: f64) {
        self.0 = (1.0 - w) * self.0 + w * x;
    }

    /// As if `n` samples of zero had been taken: `avg <- (1 - w)^n avg`. A negative `n` counts as none:
    /// the pseudo-code's `idle_time * drain_rate - 1` is -1 after an idle time of nothing, which would
    /// raise the average.
    pub fn decay(&mut self, w: f64, n: f64) {
        if n > 0.0 {
            self.0 *= libm::pow(1.0 - w, n);
        }
    }
}

/// The average length of a queue that is sometimes empty: as if zeros had been sampled meanwhile, as
/// often as packets could have left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueAverage {
    avg: Ewma,
    /// Since when an empty queue has been idle; what came before is in the average already.
    idle_since: Instant,
}

impl QueueAverage {
    /// The average of a queue that becomes empty at `now` and has never held anything.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        QueueAverage { avg: Ewma::default(), idle_since: now }
    }

    /// The average.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.avg.get()
    }

    /// A packet arrives at a queue of this length: one sample with weight `w`, or, where the queue is
    /// empty, `n = idle_time * drain_rate - 1` samples of zero, whole packets as the figure declares `n`;
    /// `drain_rate` in packets per second.
    pub fn on_arrival(&mut self, w: f64, length: f64, drain_rate: f64, now: Instant) {
        if length > 0.0 {
            self.avg.sample(w, length);
        } else {
            let n = now.since(self.idle_since).as_secs_f64() * drain_rate - 1.0;
            self.avg.decay(w, n.trunc());
            self.idle_since = now;
        }
    }

    /// The average that an arrival at an empty queue would find now, without taking it over: for a timer
    /// that must not mistake a queue idle for long for the one it was.
    #[must_use]
    pub fn while_idle(&self, w: f64, drain_rate: f64, now: Instant) -> f64 {
        let mut decayed = *self;
        decayed.on_arrival(w, 0.0, drain_rate, now);
        decayed.get()
    }

    /// One sample with weight `w`, whether or not the queue is empty.
    pub fn sample(&mut self, w: f64, length: f64) {
        self.avg.sample(w, length);
    }

    /// The queue has become empty.
    pub fn on_empty(&mut self, now: Instant) {
        self.idle_since = now;
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration;

    use super::*;

    #[test]
    fn idle_time_is_so_many_samples_of_zero() {
        let (mut a, mut b) = (Ewma(40.0), Ewma(40.0));
        for _ in 0..17 {
            a.sample(0.002, 0.0);
        }
        b.decay(0.002, 17.0);
        assert!((a.get() - b.get()).abs() < 1e-12);
        b.decay(0.002, -1.0);
        assert!((a.get() - b.get()).abs() < 1e-12, "a negative count must not raise the average");
    }

    #[test]
    fn one_idle_time_counts_once() {
        let later = Instant::ZERO + Duration::from_secs(1);
        let mut once = QueueAverage { avg: Ewma(40.0), idle_since: Instant::ZERO };
        once.on_arrival(0.5, 0.0, 4.0, later);
        assert_eq!(once.get(), 5.0, "three samples of zero");
        once.on_arrival(0.5, 0.0, 4.0, later);
        assert_eq!(once.get(), 5.0, "the first arrival was dropped: the queue is idle since then");
    }
}
