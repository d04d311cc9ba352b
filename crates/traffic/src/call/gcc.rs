//! Google Congestion Control (GCC), the default control of a call.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

use super::control::Bounds;
use super::trend::{Signal, Trend};

/// Growth per second while the capacity is unknown (gcc 5.5).
const GROWTH: f64 = 1.08;
/// New rate relative to the received rate after overuse (gcc 5.6).
const DECREASE: f64 = 0.85;
/// Upper bound of the estimate relative to the received rate (gcc 5.5).
const AHEAD: f64 = 1.5;
/// The window over which the received rate is measured (gcc 5.6).
const WINDOW: Duration = Duration::from_millis(500);
/// Weight of the old value in the mean and variance of the received rates at decreases (gcc 5.5).
const PAST: f64 = 0.95;
/// The smallest increase of the estimate near the capacity, in bits (gcc 5.5).
const LEAST_STEP: f64 = 1000.0;
/// Assumed frame rate and packet size in bits for the increase near the capacity (gcc 5.5).
const FRAMES: f64 = 30.0;
const PACKET: f64 = 1200.0 * 8.0;
/// Loss rates below which the rate grows and above which it falls, and the growth factor (gcc 6).
const FEW: f64 = 0.02;
const MANY: f64 = 0.1;
const LOSS_GROWTH: f64 = 1.05;
/// Period over which losses are counted for one decision.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the delay-based controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The controller at the sender.
#[derive(Clone, Debug)]
pub(super) struct Gcc {
    bounds: Bounds,
    trend: Trend,
    state: State,
    /// Estimates of the delay-based and of the loss-based controller, in bits per second.
    by_delay: f64,
    by_loss: f64,
    /// Arrival time and size in bits of the packets in the window.
    received: VecDeque<(Instant, f64)>,
    /// Mean and variance of the received rates at decreases; `None` while the capacity is unknown.
    capacity: Option<(f64, f64)>,
    updated: Option<Instant>,
    /// Start of the current loss interval, packets in it, and lost packets among them.
    losses: (Option<Instant>, u64, u64),
}

impl Gcc {
    pub(super) fn new(start: f64, bounds: Bounds) -> Self {
        Gcc {
            bounds,
            trend: Trend::new(),
            state: State::Increase,
            by_delay: start,
            by_loss: start,
            received: VecDeque::new(),
            capacity: None,
            updated: None,
            losses: (None, 0, 0),
        }
    }

    /// The rate of the video in bits per second.
    pub(super) fn rate(&self) -> f64 {
        self.by_delay.min(self.by_loss).clamp(self.bounds.least, self.bounds.most)
    }

    /// Processes a packet that the receiver has reported. Packets are passed in the order of transmission.
    pub(super) fn packet(&mut self, sent: Instant, arrived: Instant, bytes: u32) {
        self.trend.packet(sent, arrived);
        self.received.push_back((arrived, 8.0 * f64::from(bytes)));
        while self.received.front().is_some_and(|(at, _)| arrived.since(*at) > WINDOW) {
            self.received.pop_front();
        }
    }

    /// Processes a report on this number of packets, of which `lost` were lost.
    pub(super) fn report(&mut self, now: Instant, rtt: Duration, packets: u64, lost: u64) {
        self.update_by_loss(now, packets, lost);
        let since = self.updated.replace(now).map_or(0.0, |last| now.since(last).as_millis_f64());
        self.state = match (self.trend.signal(), self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Underuse, _) | (Signal::Normal, State::Decrease) => State::Hold,
            (Signal::Normal, _) => State::Increase,
        };
        let received = self.received_rate();
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(since, rtt, received),
            State::Decrease => self.decrease(received),
        }
        self.by_delay = self.by_delay.clamp(self.bounds.least, self.bounds.most);
    }

    /// Halves the rate after a long time without reports.
    pub(super) fn silence(&mut self) {
        self.by_delay = (0.5 * self.by_delay).max(self.bounds.least);
        self.by_loss = self.by_loss.min(self.by_delay);
    }

    /// Received rate in bits per second; `None` while less than half a window is covered.
    fn received_rate(&self) -> Option<f64> {
        let (first, last) = (self.received.front()?.0, self.received.back()?.0);
        let enough = last.since(first) >= WINDOW / 2;
        // The first packet only marks the start of the window: its bits arrived before.
        let bits: f64 = self.received.iter().skip(1).map(|(_, bits)| bits).sum();
        enough.then(|| bits / last.since(first).as_secs_f64())
    }

    fn increase(&mut self, since: f64, rtt: Duration, received: Option<f64>) {
        if let (Some((mean, variance)), Some(rate)) = (self.capacity, received)
            && rate > mean + 3.0 * libm::sqrt(variance)
        {
            // The path carries more than the known capacity: forget it.
            self.capacity = None;
        }
        if self.capacity.is_some() {
            let share = 0.5 * (since / (100.0 + rtt.as_millis_f64())).min(1.0);
            let frame = self.by_delay / FRAMES;
            let packet = frame / libm::ceil(frame / PACKET).max(1.0);
            self.by_delay += (share * packet).max(LEAST_STEP);
        } else {
            self.by_delay *= libm::pow(GROWTH, (since / 1000.0).min(1.0));
        }
        if let Some(rate) = received {
            self.by_delay = self.by_delay.min((AHEAD * rate).max(self.bounds.least));
        }
    }

    fn decrease(&mut self, received: Option<f64>) {
        let Some(rate) = received else {
            self.by_delay *= DECREASE;
            return;
        };
        self.by_delay = self.by_delay.min(DECREASE * rate);
        self.capacity = Some(match self.capacity {
            Some((mean, variance)) if rate > mean - 3.0 * libm::sqrt(variance) => {
                let off = rate - mean;
                (PAST * mean + (1.0 - PAST) * rate, PAST * variance + (1.0 - PAST) * off * off)
            }
            // Until there is an estimate, assume a standard deviation of a tenth of the rate.
            _ => (rate, 0.01 * rate * rate),
        });
    }

    fn update_by_loss(&mut self, now: Instant, packets: u64, lost: u64) {
        let (since, mut all, mut gone) = self.losses;
        let began = since.unwrap_or(now);
        (all, gone) = (all + packets, gone + lost);
        self.losses = (Some(began), all, gone);
        if now.since(began) < LOSS_INTERVAL || all == 0 {
            return;
        }
        self.losses = (Some(now), 0, 0);
        let share = gone as f64 / all as f64;
        if share > MANY {
            self.by_loss = self.rate() * (1.0 - 0.5 * share);
        } else if share < FEW {
            self.by_loss *= LOSS_GROWTH;
        }
        self.by_loss = self.by_loss.clamp(self.bounds.least, self.bounds.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { least: 150e3, most: 1.5e6 };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Sends packets of 500 bytes every 4 ms (1 Mbit/s) through a path with these delays in milliseconds, with a report
    /// every 100 ms.
    fn run(gcc: &mut Gcc, from: u64, to: u64, delay: impl Fn(u64) -> f64) {
        for ms in (from..to).step_by(4) {
            let arrived = at(ms) + Duration::from_secs_f64(delay(ms) / 1000.0);
            gcc.packet(at(ms), arrived, 500);
            if (ms / 4).is_multiple_of(25) {
                gcc.report(at(ms), Duration::from_millis(50), 25, 0);
            }
        }
    }

    #[test]
    fn on_an_idle_path_it_grows_by_8_percent_a_second_with_losses_5() {
        let mut gcc = Gcc::new(300e3, BOUNDS);
        run(&mut gcc, 0, 10_001, |_| 20.0);
        assert!((gcc.by_delay / 300e3 / libm::pow(1.08, 10.0) - 1.0).abs() < 0.001, "{}", gcc.by_delay);
        assert!((gcc.by_loss / 300e3 / libm::pow(1.05, 10.0) - 1.0).abs() < 0.001, "{}", gcc.by_loss);
        assert_eq!(gcc.rate(), gcc.by_loss);
    }

    #[test]
    fn overuse_leads_to_85_percent_of_what_arrives_and_then_small_steps() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        run(&mut gcc, 0, 3000, |_| 20.0);
        // One packet in 5 ms arrives: the path has 0.8 Mbit/s.
        run(&mut gcc, 3000, 4000, |ms| 20.0 + 0.25 * (ms - 3000) as f64);
        assert!((gcc.by_delay / (0.85 * 0.8e6) - 1.0).abs() < 0.03, "{}", gcc.by_delay);
        assert!(gcc.capacity.is_some_and(|(mean, _)| (mean / 0.8e6 - 1.0).abs() < 0.15));
        let before = gcc.by_delay;
        gcc.state = State::Increase;
        gcc.increase(100.0, Duration::from_millis(50), Some(0.75e6));
        // Half a packet in 150 ms; a packet is a third of a frame of 680 kbit/s / 30.
        let step = gcc.by_delay - before;
        assert!((step - 0.5 * 100.0 / 150.0 * before / 30.0 / 3.0).abs() < 1.0, "{step}");
        gcc.increase(100.0, Duration::from_millis(50), Some(1.4e6));
        assert!(gcc.capacity.is_none(), "far above what the path had");
    }

    #[test]
    fn the_estimate_stays_near_what_arrives() {
        let mut gcc = Gcc::new(1.4e6, BOUNDS);
        gcc.increase(100.0, Duration::from_millis(50), Some(0.4e6));
        assert_eq!(gcc.by_delay, 0.6e6);
    }

    #[test]
    fn losses_above_a_tenth_lower_the_rate_by_half_of_them() {
        let lose = |lost: u64| {
            let mut gcc = Gcc::new(1e6, BOUNDS);
            (0..=10).for_each(|i| gcc.update_by_loss(at(100 * i), 100, lost));
            gcc.by_loss
        };
        assert!((lose(20) - 0.9e6).abs() < 1.0, "{}", lose(20));
        assert_eq!([lose(5), lose(10)], [1e6; 2], "between 2 % and 10 % it stays");
        assert_eq!([lose(1), lose(0)], [1.05e6; 2]);
    }

    /// After one second or more without an update, growth counts for one second.
    #[test]
    fn it_grows_for_a_second_at_most() {
        let grown = |ms: f64| {
            let mut gcc = Gcc::new(300e3, BOUNDS);
            gcc.increase(ms, Duration::from_millis(50), None);
            gcc.by_delay / 300e3
        };
        for (ms, wanted) in [(0.0, 1.0), (500.0, libm::sqrt(1.08)), (1000.0, 1.08), (5000.0, 1.08)] {
            assert!((grown(ms) - wanted).abs() < 1e-9, "{ms}: {}", grown(ms));
        }
    }

    /// Near the capacity the rate grows by half a packet per response time (100 ms + RTT): by at most half a packet and
    /// at least 1000 bits per update. A frame is split into equal packets.
    #[test]
    fn near_the_capacity_it_grows_by_half_a_packet() {
        let step = |rate: f64, ms: f64| {
            let mut gcc = Gcc::new(rate, BOUNDS);
            gcc.capacity = Some((rate, 1.0));
            gcc.increase(ms, Duration::from_millis(50), None);
            gcc.by_delay - rate
        };
        for (rate, ms, wanted) in [
            (240e3, 150.0, 0.5 * 8000.0),
            (600e3, 150.0, 0.5 * 20_000.0 / 3.0),
            (600e3, 75.0, 0.25 * 20_000.0 / 3.0),
            (600e3, 900.0, 0.5 * 20_000.0 / 3.0),
            (240e3, 10.0, 1000.0),
        ] {
            assert!((step(rate, ms) - wanted).abs() < 1e-6, "{rate} {ms}: {}", step(rate, ms));
        }
    }

    /// The capacity is an average of the rates at decreases, with a weight of 5 % for the newest, and applies within
    /// three standard deviations.
    #[test]
    fn the_capacity_is_an_average_within_three_deviations() {
        let mut gcc = Gcc::new(1.4e6, BOUNDS);
        gcc.decrease(Some(1e6));
        assert_eq!((gcc.by_delay, gcc.capacity), (0.85e6, Some((1e6, 0.01e12))));
        gcc.decrease(Some(0.8e6));
        let (mean, variance) = gcc.capacity.unwrap();
        assert!((mean - 0.99e6).abs() < 1e-3 && (variance - (0.95 * 0.01e12 + 0.05 * 0.04e12)).abs() < 1.0);
        assert!((gcc.by_delay - 0.68e6).abs() < 1e-6);
        // A rate three standard deviations (107 kbit/s) below starts a new estimate; one above makes the capacity
        // unknown.
        let three = 3.0 * libm::sqrt(variance);
        let mut same = gcc.clone();
        same.decrease(Some(mean - three + 1.0));
        assert!((same.capacity.unwrap().0 - (mean - 0.05 * (three - 1.0))).abs() < 1e-3);
        gcc.decrease(Some(mean - three - 1.0));
        let other = mean - three - 1.0;
        assert_eq!(gcc.capacity, Some((other, 0.01 * other * other)));
        for (above, known) in [(-1.0, true), (1.0, false)] {
            let mut there = Gcc::new(1e6, BOUNDS);
            there.capacity = Some((mean, variance));
            there.increase(10.0, Duration::from_millis(50), Some(mean + three + above));
            assert_eq!(there.capacity.is_some(), known, "{above}");
        }
        // Without a measured received rate its own rate is lowered, and the capacity stays unknown.
        let mut unknown = Gcc::new(1e6, BOUNDS);
        unknown.decrease(None);
        assert_eq!((unknown.by_delay, unknown.capacity), (0.85e6, None));
    }

    /// Losses of one second do not count in the next.
    #[test]
    fn losses_are_counted_anew_every_second() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        for (second, lost) in [(0, 40), (1, 5), (2, 0)] {
            for i in 0..10 {
                gcc.update_by_loss(at(1000 * second + 100 * i), 100, lost);
            }
        }
        // The first report of a second still counts in the previous one: 400 + 5 of 1000 + 100 packets are lost.
        let first = 1e6 * (1.0 - 0.5 * 405.0 / 1100.0);
        assert!((gcc.by_loss - first).abs() < 1.0, "{}", gcc.by_loss);
        gcc.update_by_loss(at(3000), 100, 0);
        assert!((gcc.by_loss - 1.05 * first).abs() < 1.0, "{}", gcc.by_loss);
        // The rate stays within its bounds for any loss rate.
        for (lost, bound) in [(0, 1.5e6), (100, 150e3)] {
            let mut bounded = Gcc::new(1e6, BOUNDS);
            (0..60).for_each(|second| bounded.update_by_loss(at(1000 * second), 100, lost));
            assert_eq!(bounded.by_loss, bound);
        }
        // At exactly 2 % it stays.
        let mut edge = Gcc::new(1e6, BOUNDS);
        (0..=10).for_each(|i| edge.update_by_loss(at(100 * i), 100, 2));
        assert_eq!(edge.by_loss, 1e6);
    }

    /// The second interval has a hundred packets, a fifth of them lost; packets of the first do not count.
    #[test]
    fn an_interval_counts_its_own_packets_alone() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        gcc.update_by_loss(at(0), 100, 5);
        gcc.update_by_loss(at(1000), 0, 0);
        assert_eq!(gcc.by_loss, 1e6, "between 2 % and 10 %");
        gcc.update_by_loss(at(2000), 100, 20);
        assert!((gcc.by_loss - 0.9e6).abs() < 1e-6, "{}", gcc.by_loss);
    }

    /// The received rate is measured over half a second, once at least half of that is covered.
    #[test]
    fn the_received_rate_is_that_of_half_a_second() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        let mut rates = Vec::new();
        for i in 0..120 {
            gcc.packet(at(10 * i), at(10 * i + 20), 1250);
            rates.push(gcc.received_rate());
        }
        assert!(rates[..25].iter().all(Option::is_none), "25 gaps of 10 ms are needed");
        assert!(rates[25..].iter().all(|rate| rate.is_some_and(|rate| (rate - 1e6).abs() < 1e-3)));
        assert_eq!(gcc.received.len(), 51, "both ends of half a second");
    }

    #[test]
    fn silence_halves_the_rate_down_to_the_least() {
        let mut gcc = Gcc::new(1e6, BOUNDS);
        gcc.silence();
        assert_eq!(gcc.rate(), 0.5e6);
        (0..5).for_each(|_| gcc.silence());
        assert_eq!(gcc.rate(), 150e3);
    }
}
