//! Detects growing queues: groups packets, fits a trend to their delays, and compares it with an adaptive threshold.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

/// Packets sent within this time of a group's first packet belong to the group (gcc 5.2).
const BURST: Duration = Duration::from_millis(5);
/// Number of groups in the regression line, and weight of the old value in the smoothed delay (webrtc).
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
/// The trend is multiplied by the number of groups, at most this number, and by the gain (webrtc).
const MOST_GROUPS: u32 = 60;
const GAIN: f64 = 4.0;
/// The initial threshold, and its bounds, in milliseconds (gcc 5.4, 5.6).
const THRESHOLD: f64 = 12.5;
const LEAST: f64 = 6.0;
const MOST: f64 = 600.0;
/// Rates at which the threshold rises and falls, per millisecond (webrtc); it ignores trends that exceed it by more
/// than this (gcc 5.4).
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
const FAR: f64 = 15.0;
/// Longest time between two updates of the threshold that counts, in milliseconds (webrtc).
const STEP: f64 = 100.0;
/// Overuse is signalled once it has lasted this long, in milliseconds (gcc 5.6).
const OVERUSE: f64 = 10.0;

/// Estimated state of the path's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    #[default]
    Normal,
    /// The queue grows.
    Overuse,
    /// The queue shrinks.
    Underuse,
}

/// Packets that were sent together.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    last_arrived: Instant,
}

/// Milliseconds from one time to the other; negative if `to` is earlier.
fn ms(from: Instant, to: Instant) -> f64 {
    to.since(from).as_millis_f64() - from.since(to).as_millis_f64()
}

/// Estimator and overuse detector.
#[derive(Clone, Debug)]
pub(super) struct Trend {
    group: Option<Group>,
    before: Option<Group>,
    /// Sum of the delay differences so far, and its smoothed value, in milliseconds.
    delay: f64,
    smoothed: f64,
    /// Regression points: arrivals of groups in milliseconds since the first, and smoothed delays.
    line: VecDeque<(f64, f64)>,
    began: Option<Instant>,
    groups: u32,
    slope: f64,
    threshold: f64,
    /// When the threshold was last updated.
    changed: Option<Instant>,
    /// How long the trend has exceeded the threshold, in milliseconds, and for how many groups.
    above: Option<f64>,
    above_groups: u32,
    signal: Signal,
}

impl Trend {
    pub(super) fn new() -> Self {
        Trend {
            group: None,
            before: None,
            delay: 0.0,
            smoothed: 0.0,
            line: VecDeque::with_capacity(WINDOW),
            began: None,
            groups: 0,
            slope: 0.0,
            threshold: THRESHOLD,
            changed: None,
            above: None,
            above_groups: 0,
            signal: Signal::Normal,
        }
    }

    /// The state after the last packet.
    pub(super) fn signal(&self) -> Signal {
        self.signal
    }

    /// Processes a received packet. Packets are passed in the order of transmission.
    pub(super) fn packet(&mut self, sent: Instant, arrived: Instant) {
        let Some(group) = self.group.as_mut() else {
            self.group = Some(Group { first_sent: sent, last_sent: sent, last_arrived: arrived });
            return;
        };
        // Packets that an outage delayed arrive together although they were sent at different times (gcc 5.2).
        let (apart, came) = (ms(group.last_sent, sent), ms(group.last_arrived, arrived));
        let held_up = came - apart < 0.0 && came <= BURST.as_millis_f64();
        if sent.since(group.first_sent) <= BURST || held_up {
            group.last_sent = group.last_sent.max(sent);
            group.last_arrived = group.last_arrived.max(arrived);
            return;
        }
        let done = *group;
        self.group = Some(Group { first_sent: sent, last_sent: sent, last_arrived: arrived });
        if let Some(before) = self.before.replace(done) {
            let sending = ms(before.last_sent, done.last_sent);
            self.add(ms(before.last_arrived, done.last_arrived) - sending, sending, done.last_arrived);
        }
    }

    /// Adds a group. `later` is its interarrival time minus its intersending time relative to the previous group, in
    /// milliseconds.
    fn add(&mut self, later: f64, sending: f64, arrived: Instant) {
        self.groups = (self.groups + 1).min(MOST_GROUPS);
        self.delay += later;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        let began = *self.began.get_or_insert(arrived);
        if self.line.len() == WINDOW {
            self.line.pop_front();
        }
        self.line.push_back((ms(began, arrived), self.smoothed));
        let slope = if self.line.len() == WINDOW { self.fitted() } else { 0.0 };
        self.detect(slope, sending);
        self.adapt(arrived);
    }

    /// Slope of the least-squares line.
    fn fitted(&self) -> f64 {
        let n = self.line.len() as f64;
        let (x, y) = self.line.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
        let (mut above, mut below) = (0.0, 0.0);
        for point in &self.line {
            above += (point.0 - x) * (point.1 - y);
            below += (point.0 - x) * (point.0 - x);
        }
        if below > 0.0 { above / below } else { 0.0 }
    }

    /// The trend as it is compared with the threshold, in milliseconds.
    fn scaled(&self) -> f64 {
        f64::from(self.groups) * self.slope * GAIN
    }

    fn detect(&mut self, slope: f64, sending: f64) {
        let before = std::mem::replace(&mut self.slope, slope);
        let scaled = self.scaled();
        if scaled > self.threshold {
            let above = self.above.map_or(sending / 2.0, |time| time + sending);
            self.above = Some(above);
            self.above_groups += 1;
            if above > OVERUSE && self.above_groups > 1 && slope >= before {
                (self.above, self.above_groups) = (Some(0.0), 0);
                self.signal = Signal::Overuse;
            }
            return;
        }
        (self.above, self.above_groups) = (None, 0);
        self.signal = if scaled < -self.threshold { Signal::Underuse } else { Signal::Normal };
    }

    /// Adapts the threshold to the trend, so that the flow is not starved by flows that fill queues.
    fn adapt(&mut self, now: Instant) {
        let since = self.changed.replace(now).map_or(0.0, |last| now.since(last).as_millis_f64().min(STEP));
        let size = self.scaled().abs();
        if size > self.threshold + FAR {
            return;
        }
        let speed = if size < self.threshold { DOWN } else { UP };
        self.threshold = (self.threshold + since * speed * (size - self.threshold)).clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(ms / 1000.0)
    }

    /// Sends packets 10 ms apart with these delays in milliseconds; returns the signal after each.
    fn signals(trend: &mut Trend, from: u32, delays: impl Iterator<Item = f64>) -> Vec<Signal> {
        let told = delays.enumerate().map(|(i, delay)| {
            let sent = 10.0 * (f64::from(from) + i as f64);
            trend.packet(at(sent), at(sent + delay));
            trend.signal()
        });
        told.collect()
    }

    #[test]
    fn a_constant_delay_is_normal_and_the_threshold_falls_to_its_least() {
        let mut trend = Trend::new();
        let all = signals(&mut trend, 0, (0..200).map(|_| 50.0));
        assert!(all.iter().all(|signal| *signal == Signal::Normal));
        assert_eq!(trend.threshold, LEAST);
    }

    #[test]
    fn a_delay_that_rises_is_overuse_and_one_that_falls_underuse() {
        let mut trend = Trend::new();
        signals(&mut trend, 0, (0..60).map(|_| 50.0));
        // The delay grows by 1 ms per packet of 10 ms: the path delivers 91 % of the sending rate.
        let rising = signals(&mut trend, 60, (0..60).map(|i| 50.0 + f64::from(i)));
        let first = rising.iter().position(|signal| *signal == Signal::Overuse).unwrap();
        assert!(first < 15, "after {first} packets");
        let falling = signals(&mut trend, 120, (0..60).map(|i| 110.0 - 1.5 * f64::from(i)));
        assert_eq!(falling.last(), Some(&Signal::Underuse));
    }

    #[test]
    fn the_line_is_that_of_least_squares() {
        let mut trend = Trend::new();
        trend.line.extend([(0.0, 1.0), (10.0, 2.0), (20.0, 6.0)]);
        // The means are 10 and 3: (-10 * -2 + 10 * 3) / 200.
        assert!((trend.fitted() - 0.25).abs() < 1e-12);
        trend.groups = 30;
        trend.slope = 0.25;
        assert_eq!(trend.scaled(), 30.0);
    }

    /// A packet that overtakes another arrives earlier: the difference is negative.
    #[test]
    fn differences_have_signs() {
        assert_eq!([ms(at(3.0), at(5.0)), ms(at(5.0), at(3.0)), ms(at(5.0), at(5.0))], [2.0, -2.0, 0.0]);
    }

    /// Packets 3 ms apart with constant delay form groups of two. Each arrives within 5 ms of the previous one, but
    /// nothing held it up.
    #[test]
    fn a_steady_stream_is_no_single_group() {
        let mut trend = Trend::new();
        (0..60).for_each(|i| trend.packet(at(3.0 * f64::from(i)), at(3.0 * f64::from(i) + 20.0)));
        assert_eq!(trend.groups, 28);
    }

    #[test]
    fn groups_that_arrive_at_once_have_no_slope() {
        let mut trend = Trend::new();
        trend.line.extend([(7.0, 1.0), (7.0, 2.0)]);
        assert_eq!(trend.fitted(), 0.0);
    }

    /// The smoothed delays of groups sent `apart` ms after each other, and the line through the last 20, recomputed
    /// from all of them.
    #[test]
    fn the_slope_is_that_of_the_smoothed_delays() {
        let mut trend = Trend::new();
        let delay = |i: u32| 30.0 + 5.0 * libm::sin(f64::from(i)) + 0.3 * f64::from(i);
        for i in 0..50_u32 {
            trend.packet(at(20.0 * f64::from(i)), at(20.0 * f64::from(i) + delay(i)));
        }
        // The first group has no predecessor, and the last is not complete.
        let mut smoothed = 0.0;
        let all: Vec<(f64, f64)> = (1..49)
            .map(|i| {
                smoothed = 0.9 * smoothed + 0.1 * (delay(i) - delay(0));
                (20.0 * f64::from(i) + delay(i), smoothed)
            })
            .collect();
        let line = &all[28..];
        let (sx, sy) = line.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
        let (sxx, sxy) = line.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 * p.0, s.1 + p.0 * p.1));
        let slope = (20.0 * sxy - sx * sy) / (20.0 * sxx - sx * sx);
        assert!((trend.slope / slope - 1.0).abs() < 1e-6 && trend.groups == 48, "{} {slope}", trend.slope);
        // With fewer than 20 groups there is no trend.
        let mut early = Trend::new();
        (0..21).for_each(|i| early.packet(at(20.0 * f64::from(i)), at(20.0 * f64::from(i) + delay(i))));
        assert_eq!((early.line.len(), early.slope), (19, 0.0));
    }

    /// The trend is 15 ms, above the threshold of 12.5 ms: overuse is signalled after more than 10 ms in at least two
    /// groups, if the trend does not fall.
    #[test]
    fn overuse_is_signalled_after_10_ms() {
        let over = |sending: f64, slopes: &[f64]| -> Option<usize> {
            let mut trend = Trend::new();
            trend.groups = 60;
            let told: Vec<Signal> = slopes
                .iter()
                .map(|slope| {
                    trend.detect(slope / 240.0, sending);
                    trend.signal()
                })
                .collect();
            told.iter().position(|signal| *signal == Signal::Overuse)
        };
        // Only half of the first group's time counts: groups 8 ms apart give 4, 12 ms, groups 4 ms apart give 2, 6, 10,
        // 14 ms.
        assert_eq!(over(8.0, &[15.0; 6]), Some(1));
        assert_eq!(over(4.0, &[15.0; 6]), Some(3));
        assert_eq!(over(40.0, &[15.0; 6]), Some(1), "never after one group");
        assert_eq!(over(8.0, &[15.0, 14.0, 13.0, 13.5]), Some(3), "not while it falls");
        assert_eq!(over(8.0, &[15.0, 12.0, 15.0, 15.0]), Some(3), "it begins anew");
        assert_eq!(over(8.0, &[12.5; 9]), None, "the threshold itself is none");
    }

    #[test]
    fn after_overuse_is_signalled_its_time_begins_anew() {
        let mut trend = Trend::new();
        trend.groups = 60;
        [8.0; 2].into_iter().for_each(|sending| trend.detect(15.0 / 240.0, sending));
        assert_eq!((trend.signal(), trend.above, trend.above_groups), (Signal::Overuse, Some(0.0), 0));
        trend.detect(-12.5 / 240.0, 8.0);
        assert_eq!(trend.signal(), Signal::Normal);
        trend.detect(-12.6 / 240.0, 8.0);
        assert_eq!((trend.signal(), trend.above), (Signal::Underuse, None));
    }

    /// The threshold rises at 0.0087 and falls at 0.039 per ms, over at most 100 ms per update, between 6 ms and 600
    /// ms. It ignores a trend more than 15 ms above it.
    #[test]
    fn the_threshold_moves_at_its_rates_within_its_bounds() {
        let moved = |from: f64, scaled: f64, ms: f64| {
            let mut trend = Trend::new();
            (trend.groups, trend.changed, trend.threshold) = (60, Some(at(0.0)), from);
            trend.slope = scaled / 240.0;
            trend.adapt(at(ms));
            trend.threshold
        };
        let near = |is: f64, wanted: f64| assert!((is - wanted).abs() < 1e-9, "{is} {wanted}");
        near(moved(20.0, 34.0, 10.0), 20.0 + 10.0 * 0.0087 * 14.0);
        near(moved(20.0, -34.0, 10.0), 20.0 + 10.0 * 0.0087 * 14.0);
        near(moved(20.0, 15.0, 10.0), 20.0 - 10.0 * 0.039 * 5.0);
        near(moved(20.0, 34.0, 100.0), moved(20.0, 34.0, 900.0));
        near(moved(20.0, 35.1, 10.0), 20.0);
        near(moved(7.0, 0.0, 100.0), 6.0);
        near(moved(599.0, 614.0, 100.0), 600.0);
        let mut first = Trend::new();
        first.adapt(at(500.0));
        near(first.threshold, 12.5);
    }

    #[test]
    fn packets_of_a_burst_are_one_group() {
        let mut trend = Trend::new();
        for frame in 0..30_u32 {
            for packet in 0..3_u32 {
                let sent = f64::from(frame) * 33.0 + f64::from(packet) * 2.0;
                trend.packet(at(sent), at(sent + 20.0 + 3.0 * f64::from(packet)));
            }
        }
        // The first group has no predecessor, and the last is not complete.
        assert_eq!(trend.line.len(), WINDOW);
        assert_eq!(trend.groups, 28);
        assert!(trend.slope.abs() < 1e-9, "delay within a group is no trend");
    }

    #[test]
    fn what_an_outage_held_up_is_one_group() {
        let mut trend = Trend::new();
        for i in 0..10_u32 {
            trend.packet(at(10.0 * f64::from(i)), at(500.0 + f64::from(i)));
        }
        assert_eq!(trend.groups, 0);
    }

    #[test]
    fn the_threshold_follows_a_moderate_trend_and_no_extreme_one() {
        let mut trend = Trend::new();
        (trend.groups, trend.changed) = (60, Some(at(0.0)));
        trend.slope = 0.1;
        trend.adapt(at(50.0));
        // 12.5 + 50 * 0.0087 * (24 - 12.5).
        assert!((trend.threshold - 17.5025).abs() < 1e-9, "{}", trend.threshold);
        trend.slope = 1.0;
        trend.adapt(at(100.0));
        assert!((trend.threshold - 17.5025).abs() < 1e-9);
    }
}
