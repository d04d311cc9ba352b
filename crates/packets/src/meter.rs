//! What is measured of one direction of a bottleneck: counters and distributions, in windows of time.

use aqmkit_aqm::{Backlog, Packet, Why};
use aqmkit_base::{ClassId, Duration, Instant};
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::buckets::Buckets;
use crate::shaper::Watch;

/// Nanoseconds in a histogram's unit: a tenth of a microsecond.
const UNIT: u64 = 100;

/// A distribution of times, to one part in a thousand.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

/// A distribution in short, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

impl Default for Times {
    fn default() -> Self {
        // Three digits are within the five that the library allows.
        Times(Histogram::new(3).unwrap_or_else(|_| unreachable!()))
    }
}

impl Times {
    /// Adds a sample.
    pub fn record(&mut self, time: Duration) {
        // A histogram that resizes itself takes every value.
        let _ = self.0.record(time.as_nanos() / UNIT);
    }

    /// In milliseconds; nothing without samples.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        let ms = |units: f64| units * (UNIT as f64 / 1e6);
        let quantile = |q| ms(self.0.value_at_quantile(q) as f64);
        (!self.0.is_empty()).then(|| Summary {
            mean: ms(self.0.mean()),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: ms(self.0.max() as f64),
        })
    }

    /// The value in milliseconds that so large a share of the samples is at or below; the largest at 1.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 * (UNIT as f64 / 1e6)
    }

    /// How many samples there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }
}

/// Packets and bytes that passed, in total or of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; Why::COUNT],
    /// Packets marked, by reason.
    pub marked: [u64; Why::COUNT],
    /// Sojourn time of the packets sent: cheaper to look at than a distribution, and less exact.
    pub waited: Buckets,
}

impl Counters {
    /// Packets dropped for any reason.
    #[must_use]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Packets marked for any reason.
    #[must_use]
    pub fn marks(&self) -> u64 {
        self.marked.iter().sum()
    }
}

/// The length of the queue over time.
#[derive(Clone, Debug)]
struct Length {
    now: Backlog,
    since: Instant,
    /// Packets times nanoseconds.
    area: u128,
    /// Nanoseconds at each length.
    at: Histogram<u64>,
    /// The longest it was for a while.
    longest: u64,
}

/// One class, or all of them, in one window.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// What passed.
    pub total: Counters,
    /// Sojourn time of the packets sent.
    pub delay: Times,
}

/// A part of the time, with what was measured in it.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its name.
    pub name: String,
    /// Its first moment.
    pub from: Instant,
    /// The first moment after it; the end of the measurement where that came first.
    pub to: Instant,
    /// All packets.
    pub total: Counters,
    /// Sojourn time of the packets sent.
    pub delay: Times,
    /// The classes, each at the place of its number.
    pub classes: Vec<Share>,
    length: Length,
}

impl Window {
    /// An empty window.
    #[must_use]
    pub fn new(name: &str, from: Instant, to: Instant, classes: usize) -> Self {
        // Two digits are within the five that the library allows.
        let at = Histogram::new(2).unwrap_or_else(|_| unreachable!());
        Window {
            name: name.to_owned(),
            from,
            to,
            total: Counters::default(),
            delay: Times::default(),
            classes: vec![Share::default(); classes],
            length: Length { now: Backlog::default(), since: from, area: 0, at, longest: 0 },
        }
    }

    fn covers(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }

    /// How long it is.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.to.since(self.from)
    }

    /// Packets in the queue, in the mean over time.
    #[must_use]
    pub fn mean_packets(&self) -> f64 {
        let ns = self.span().as_nanos();
        if ns == 0 { 0.0 } else { self.length.area as f64 / ns as f64 }
    }

    /// How many packets the queue had at most for 99 % of the time.
    #[must_use]
    pub fn p99_packets(&self) -> u64 {
        // The histogram gives the end of a bucket, which no queue may have reached.
        self.length.at.value_at_quantile(0.99).min(self.length.longest)
    }

    fn count(&mut self, class: ClassId, add: impl Fn(&mut Counters)) {
        add(&mut self.total);
        if let Some(share) = self.classes.get_mut(class.index()) {
            add(&mut share.total);
        }
    }

    /// Accounts for the queue's length up to `now`.
    fn settle(&mut self, now: Instant) {
        let now = now.min(self.to);
        let ns = now.since(self.length.since).as_nanos();
        if ns > 0 {
            self.length.area += u128::from(self.length.now.packets) * u128::from(ns);
            // A histogram that resizes itself takes every value. Weights in microseconds keep the sum within 64 bits.
            let _ = self.length.at.record_n(self.length.now.packets, ns.div_ceil(1000));
            self.length.longest = self.length.longest.max(self.length.now.packets);
            self.length.since = now;
        }
    }
}

/// Everything that is measured of one direction.
#[derive(Clone, Debug)]
pub struct Meter {
    windows: Vec<Window>,
}

impl Meter {
    /// A meter with these windows.
    #[must_use]
    pub fn new(windows: Vec<Window>) -> Self {
        Meter { windows }
    }

    /// A meter of the whole time.
    #[must_use]
    pub fn whole(classes: &[String]) -> Self {
        Meter::new(vec![Window::new("all", Instant::ZERO, Instant::FAR_FUTURE, classes.len())])
    }

    fn each(&mut self, now: Instant, act: impl Fn(&mut Window)) {
        self.windows.iter_mut().filter(|w| w.covers(now)).for_each(act);
    }

    /// The queue is this long from `now` on.
    fn length_is(&mut self, backlog: Backlog, now: Instant) {
        for window in &mut self.windows {
            window.settle(now);
            window.length.now = backlog;
        }
    }

    /// The windows as they stand at `now`; one that has not ended ends there.
    pub fn windows(&mut self, now: Instant) -> Vec<Window> {
        self.windows.iter_mut().for_each(|w| w.settle(now));
        let mut windows = self.windows.clone();
        for window in &mut windows {
            window.to = window.to.min(now).max(window.from);
        }
        windows
    }

    /// The counters of the first window: a cheap look at what has passed so far.
    #[must_use]
    pub fn so_far(&self) -> Counters {
        self.windows.first().map(|w| w.total).unwrap_or_default()
    }

    /// The counters of the classes in the first window.
    #[must_use]
    pub fn classes_so_far(&self) -> Vec<Counters> {
        self.windows.first().map(|w| w.classes.iter().map(|c| c.total).collect()).unwrap_or_default()
    }
}

impl<P: Packet> Watch<P> for Meter {
    fn offered(&mut self, packet: &P, now: Instant) {
        let (class, len) = (packet.class(), u64::from(packet.len()));
        self.each(now, |w| {
            w.count(class, |c| {
                c.offered_packets += 1;
                c.offered_bytes += len;
            });
        });
    }

    fn departed(&mut self, packet: &P, waited: Duration, now: Instant) {
        let (class, len) = (packet.class(), u64::from(packet.len()));
        self.each(now, |w| {
            w.count(class, |c| {
                c.sent_packets += 1;
                c.sent_bytes += len;
                c.waited.record(waited);
            });
            w.delay.record(waited);
            if let Some(share) = w.classes.get_mut(class.index()) {
                share.delay.record(waited);
            }
        });
    }

    fn dropped(&mut self, packet: P, why: Why, now: Instant) {
        self.each(now, |w| w.count(packet.class(), |c| c.dropped[why as usize] += 1));
    }

    fn marked(&mut self, packet: &P, why: Why, now: Instant) {
        self.each(now, |w| w.count(packet.class(), |c| c.marked[why as usize] += 1));
    }

    fn queue(&mut self, backlog: Backlog, now: Instant) {
        self.length_is(backlog, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_weighed_by_time_and_ends_with_its_window() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut meter = Meter::new(vec![Window::new("w", at(100), at(200), 0)]);
        meter.length_is(Backlog { packets: 4, bytes: 0 }, at(50));
        meter.length_is(Backlog { packets: 10, bytes: 0 }, at(150));
        meter.length_is(Backlog { packets: 1000, bytes: 0 }, at(250));
        let window = &meter.windows(at(1000))[0];
        assert_eq!(window.mean_packets(), 7.0);
        assert_eq!((window.p99_packets(), window.to), (10, at(200)));
    }

    #[test]
    fn the_length_is_never_more_than_there_was() {
        let mut meter = Meter::new(vec![Window::new("w", Instant::ZERO, Instant::FAR_FUTURE, 0)]);
        meter.length_is(Backlog { packets: 1000, bytes: 0 }, Instant::ZERO);
        let window = &meter.windows(Instant::ZERO + Duration::from_secs(1))[0];
        assert_eq!(window.p99_packets(), 1000, "a bucket of the histogram ends at 1003");
    }

    #[test]
    fn a_distribution_without_samples_says_nothing() {
        let mut times = Times::default();
        assert_eq!(times.summary(), None);
        times.record(Duration::from_millis(2));
        let summary = times.summary().unwrap();
        assert!((summary.mean - 2.0).abs() < 0.01 && (summary.max - 2.0).abs() < 0.01, "{summary:?}");
    }
}
