//! The exponentially weighted average of a queue's length, with RED's correction for idle time.
//!
//! Floyd and Jacobson 1993, section 11; Parris 2001, Figures 3.7 and 4.6.

use aqmkit_base::{Amount, BitRate, Bytes, Instant};

use crate::link::Link;
use crate::params::{ParamError, in_range};

/// An exponentially weighted moving average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ewma(f64);

impl Ewma {
    /// An average with the value `start`.
    #[must_use]
    pub fn at(start: f64) -> Self {
        Ewma(start)
    }

    /// The average.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// Adds a sample with weight `w`: `avg <- (1 - w) avg + w x`.
    pub fn sample(&mut self, w: f64, x: f64) {
        self.0 = (1.0 - w) * self.0 + w * x;
    }

    /// Adds `n` samples of zero: `avg <- (1 - w)^n avg`. A negative `n` counts as zero: the pseudo-code's `idle_time *
    /// drain_rate - 1` is -1 after an idle time of zero, which would raise the average.
    pub fn decay(&mut self, w: f64, n: f64) {
        if n > 0.0 {
            self.0 *= libm::pow(1.0 - w, n);
        }
    }
}

/// How a queue is averaged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Averaging {
    /// Weight of the newest sample.
    pub weight: f64,
    /// Samples of zero per second while the queue is empty: the typical packets that could have been sent.
    pub drain_rate: f64,
}

/// The user's parameters of the average, named as in `tc-red(8)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AveragingParams {
    /// Weight of the newest sample.
    pub weight: Option<f64>,
    /// Burst to admit, in packets, from which the weight is derived.
    pub burst: Option<u32>,
    /// Size of a typical packet; the link's if absent.
    pub avpkt: Option<Bytes>,
    /// How fast the queue drains; the link's rate if absent.
    pub bandwidth: Option<BitRate>,
}

impl AveragingParams {
    /// Fills in all values; `min` is the lower threshold, `weight` is the default.
    ///
    /// # Errors
    /// When the weight is not above 0 and at most 1, a burst is too small for `min` or contradicts a given weight, or a
    /// packet size or the rate is zero.
    pub fn complete(self, link: &Link, min: Amount, weight: f64) -> Result<Self, ParamError> {
        let avpkt = link.avpkt(self.avpkt)?;
        let from_burst = self.burst.map(|burst| weight_for_burst(burst, in_packets(min, avpkt))).transpose()?;
        if let (Some(given), Some(other)) = (self.weight, from_burst)
            && given != other
        {
            let want = format!("give either weight or burst; the burst gives {other}");
            return Err(ParamError::new("weight", given, want).cite("tc-red(8)"));
        }
        let weight = self.weight.or(from_burst).unwrap_or(weight);
        in_range("weight", weight, f64::MIN_POSITIVE, 1.0)?;
        let bandwidth = self.bandwidth.unwrap_or(link.rate);
        in_range("bandwidth", bandwidth.bytes_per_sec(), f64::MIN_POSITIVE, f64::MAX)?;
        Ok(AveragingParams { weight: Some(weight), avpkt: Some(avpkt), bandwidth: Some(bandwidth), ..self })
    }

    /// How to average, after [`complete`](Self::complete).
    ///
    /// # Errors
    /// As there.
    pub fn check(self, link: &Link, min: Amount, weight: f64) -> Result<Averaging, ParamError> {
        let full = self.complete(link, min, weight)?;
        let rate = full.bandwidth.unwrap_or(link.rate).bytes_per_sec();
        let size = full.avpkt.unwrap_or(link.mean_packet).as_f64();
        Ok(Averaging { weight: full.weight.unwrap_or(weight), drain_rate: rate / size })
    }
}

/// A queue length in packets of this size.
pub(crate) fn in_packets(length: Amount, size: Bytes) -> f64 {
    match length {
        Amount::Packets(packets) => packets,
        Amount::Bytes(bytes) => bytes as f64 / size.as_f64(),
    }
}

/// The weight with which a burst of `L` packets into an empty queue just raises the average to `min` packets, as `tc`
/// computes it: the largest power of 1/2 with `L + 1 - min <= (1 - (1 - w)^L) / w`. Floyd and Jacobson 1993, equation
/// 3, with `>` for their `<`.
///
/// # Errors
/// When the burst is shorter than `min`, or `min` is below a packet: then no weight would do.
pub fn weight_for_burst(burst: u32, min: f64) -> Result<f64, ParamError> {
    let error = |want: String| Err(ParamError::new("burst", burst, want).cite("tc-red(8)"));
    let excess = f64::from(burst) + 1.0 - min;
    if excess < 1.0 {
        return error(format!("it must be at least min, {} packets", libm::ceil(min)));
    }
    let passes = |w: &f64| excess <= (1.0 - libm::pow(1.0 - w, f64::from(burst))) / w;
    match (1..32).map(|log| 1.0 / f64::from(1_u32 << log)).find(passes) {
        Some(weight) => Ok(weight),
        None => error(format!("no weight lets it pass with a min of {min} packets; min must be at least one packet")),
    }
}

/// The average length of a queue with empty periods: as if zeros had been sampled then, as often as packets could have
/// been sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueAverage {
    avg: Ewma,
    /// Start of the idle period that the average does not yet include.
    idle_since: Instant,
}

impl QueueAverage {
    /// The average of a queue that is empty at `now` and was never used.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        QueueAverage { avg: Ewma::default(), idle_since: now }
    }

    /// The average.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.avg.get()
    }

    /// A packet arrives at a queue of this length: adds one sample or, if the queue is empty, `n = idle_time *
    /// drain_rate - 1` samples of zero, with an integer `n` as in the figure.
    pub fn on_arrival(&mut self, by: Averaging, length: f64, now: Instant) {
        if length > 0.0 {
            self.avg.sample(by.weight, length);
        } else {
            let n = now.since(self.idle_since).as_secs_f64() * by.drain_rate - 1.0;
            self.avg.decay(by.weight, n.trunc());
            self.idle_since = now;
        }
    }

    /// The average that an arrival at an empty queue would see now, without updating it: for a timer that must not use
    /// an outdated average of a long-idle queue.
    #[must_use]
    pub fn while_idle(&self, by: Averaging, now: Instant) -> f64 {
        let mut decayed = *self;
        decayed.on_arrival(by, 0.0, now);
        decayed.get()
    }

    /// Adds one sample with weight `w`, whether or not the queue is empty.
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
        let by = Averaging { weight: 0.5, drain_rate: 4.0 };
        once.on_arrival(by, 0.0, later);
        assert_eq!(once.get(), 5.0, "three samples of zero");
        once.on_arrival(by, 0.0, later);
        assert_eq!(once.get(), 5.0, "the first arrival was dropped: the queue is idle since then");
    }

    /// The middle rows of the table in Linux's `net/red.h`, the rows that its formula gives at `min` = 32, and what
    /// `tc` gives for 220 packets at a `min` of 80. With `<` for `<=`, or `L` for `L + 1`, it fails.
    #[test]
    fn weights_are_those_of_tc() {
        for (log, burst) in [(1, 32), (2, 33), (4, 46), (5, 47), (5, 57), (6, 75), (7, 101), (8, 102), (8, 135)] {
            assert_eq!(weight_for_burst(burst, 32.0).unwrap(), 1.0 / f64::from(1 << log), "{burst} packets");
        }
        assert_eq!(weight_for_burst(220, 80.0).unwrap(), 1.0 / 256.0);
    }

    #[test]
    fn a_burst_that_no_weight_lets_pass_is_refused() {
        assert!(weight_for_burst(9, 10.0).is_err());
        assert!(weight_for_burst(9, 9.0).is_ok());
        // 1 + 1 - 1 = (1 - (1 - 1/2)) / (1/2): the two sides may be equal.
        assert_eq!(weight_for_burst(1, 1.0).unwrap(), 0.5);
        assert!(weight_for_burst(9, 0.5).unwrap_err().to_string().contains("at least one packet"));
    }
}
