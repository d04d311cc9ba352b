//! NADA (RFC 8698), which sets the rate of a video sender from delay, losses and marks.
//!
//! The reports contain the arrival time and mark of each packet, and the sender computes what the receiver computes in
//! section 4.2 (section 5.3 allows either).

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

use super::control::Bounds;
use super::losses::Losses;

// The parameters of table 2, times in milliseconds.
/// Reference congestion level.
const XREF: f64 = 10.0;
/// Scaling factors of the gradual update.
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
/// Upper bound of the round-trip time in the gradual update.
const TAU: f64 = 500.0;
/// Target feedback interval.
const DELTA: f64 = 100.0;
/// The window over which the packets of a report are summarised.
const LOGWIN: Duration = Duration::from_millis(500);
/// Queueing delay above which a queue is building up.
const QEPS: f64 = 10.0;
/// Bound on the delay of the receiver's filter.
const DFILT: f64 = 120.0;
/// Upper bound of the rate increase while ramping up.
const GAMMA_MAX: f64 = 0.5;
/// Queueing delay that ramping up may cause.
const QBOUND: f64 = 50.0;
/// The last loss expires after this many average loss intervals.
const MULTILOSS: f64 = 7.0;
/// Delay above which warping begins, and its exponent.
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
/// Delay penalties at the reference ratios of losses (`PLRREF`) and marks (`PMRREF`).
const DLOSS: f64 = 10.0;
const PLRREF: f64 = 0.01;
const DMARK: f64 = 2.0;
const PMRREF: f64 = 0.01;
/// Smoothing weight of the newest ratios.
const ALPHA: f64 = 0.1;
/// Scaling of the rate changes by the buffer's content (encoder and sender), and their upper bound relative to the
/// rate.
const BETA: f64 = 0.1;
const MOST_CHANGE: f64 = 0.05;

/// Length of the minimum filter [section 5.1.1].
const FILTER: usize = 15;
/// The largest congestion signal that a report can carry: 15 bits of 0.1 ms [section 5.3].
const LARGEST: f64 = 3276.7;

/// A packet in the window.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Arrival time; for a lost packet, that of the next one.
    at: Instant,
    /// Zero for a lost packet.
    bits: f64,
    /// Queueing delay in milliseconds.
    delay: f64,
    marked: bool,
    lost: bool,
}
#[derive(Clone, Debug)]
pub(super) struct Nada {
    bounds: Bounds,
    /// Weight of the flow (PRIO).
    priority: f64,
    /// Frames per second.
    fps: f64,
    /// The reference rate in bits per second.
    rate: f64,
    /// Lowest one-way delay so far.
    base: Option<Duration>,
    /// The last queueing delays in milliseconds, for the minimum filter.
    recent: VecDeque<f64>,
    window: VecDeque<Seen>,
    /// Round-trip times at losses that wait for the next arrival, whose time they take.
    missing: Vec<Duration>,
    losses: Losses,
    loss_ratio: f64,
    mark_ratio: f64,
    /// Congestion signal at the last report, in milliseconds.
    before: f64,
    /// Arrival of the last report.
    updated: Instant,
}

impl Nada {
    /// `start` is the initial rate, `priority` the weight of the flow.
    pub(super) fn new(start: f64, bounds: Bounds, priority: f64, fps: f64) -> Self {
        Nada {
            bounds,
            priority,
            fps,
            rate: start,
            base: None,
            recent: VecDeque::new(),
            window: VecDeque::new(),
            missing: Vec::new(),
            losses: Losses::default(),
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            before: 0.0,
            updated: Instant::ZERO,
        }
    }

    /// The call starts.
    pub(super) fn start(&mut self, now: Instant) {
        self.updated = now;
    }

    /// The reference rate in bits per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Rate for the encoder: lowered while the rate-shaping buffer holds bytes [equations 11 and 13].
    pub(super) fn video(&self, held: f64) -> f64 {
        (self.rate - self.change(held)).max(self.bounds.least)
    }

    /// Sending rate: raised while the buffer holds bytes [equations 12 and 14].
    pub(super) fn sending(&self, held: f64) -> f64 {
        (self.rate + self.change(held)).min(self.bounds.most)
    }

    fn change(&self, held: f64) -> f64 {
        (MOST_CHANGE * self.rate).min(BETA * 8.0 * held * self.fps)
    }

    /// Processes a received packet.
    pub(super) fn packet(&mut self, sent: Instant, arrived: Instant, bytes: u32, marked: bool) {
        for rtt in std::mem::take(&mut self.missing) {
            self.losses.lost(arrived, rtt);
            self.window.push_back(Seen { at: arrived, bits: 0.0, delay: 0.0, marked: false, lost: true });
        }
        self.losses.arrived();
        let way = arrived.since(sent);
        let base = self.base.map_or(way, |base| base.min(way));
        self.base = Some(base);
        let delay = way.saturating_sub(base).as_millis_f64();
        if self.recent.len() == FILTER {
            self.recent.pop_front();
        }
        self.recent.push_back(delay);
        self.window.push_back(Seen { at: arrived, bits: 8.0 * f64::from(bytes), delay, marked, lost: false });
    }

    /// Processes a lost packet; a received one follows.
    pub(super) fn lost(&mut self, rtt: Duration) {
        self.missing.push(rtt);
    }

    /// Processes a report that the receiver generated at `made`: the sender's algorithm of section 4.3.
    pub(super) fn report(&mut self, now: Instant, made: Instant, rtt: Duration) {
        while self.window.front().is_some_and(|seen| made.since(seen.at) > LOGWIN) {
            self.window.pop_front();
        }
        let delta = now.since(self.updated).as_millis_f64();
        self.updated = now;
        let signal = self.signal();
        let rate = if self.ramps_up() {
            self.rate.max((1.0 + gamma(rtt.as_millis_f64())) * self.received())
        } else {
            self.gradual(signal, delta)
        };
        self.rate = rate.clamp(self.bounds.least, self.bounds.most);
        self.before = signal;
    }

    /// Halves the rate after a long time without reports.
    pub(super) fn silence(&mut self) {
        self.rate = (0.5 * self.rate).max(self.bounds.least);
    }

    /// The receiving rate in bits per second [section 5.1.3].
    fn received(&self) -> f64 {
        self.window.iter().map(|seen| seen.bits).sum::<f64>() / LOGWIN.as_secs_f64()
    }

    /// Whether there is no sign of congestion in the window.
    fn ramps_up(&self) -> bool {
        self.window.iter().all(|seen| !seen.lost && !seen.marked && seen.delay < QEPS)
    }

    /// The aggregate congestion signal in milliseconds [equation 2], after smoothing the ratios [equation 10].
    fn signal(&mut self) -> f64 {
        let count = |which: fn(&Seen) -> bool| self.window.iter().filter(|seen| which(seen)).count() as f64;
        let all = (self.window.len() as f64).max(1.0);
        let (lost, marked) = (count(|seen| seen.lost) / all, count(|seen| seen.marked) / all);
        self.loss_ratio = ALPHA * lost + (1.0 - ALPHA) * self.loss_ratio;
        self.mark_ratio = ALPHA * marked + (1.0 - ALPHA) * self.mark_ratio;
        (self.delay() + penalty(DMARK, self.mark_ratio / PMRREF) + penalty(DLOSS, self.loss_ratio / PLRREF))
            .min(LARGEST)
    }

    /// Queueing delay, warped after losses; interpolated between both while the last loss expires [section 4.2].
    fn delay(&self) -> f64 {
        let delay = self.recent.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let Some(interval) = self.losses.average() else { return delay };
        let expired = ((self.losses.since() - MULTILOSS * interval) / interval).clamp(0.0, 1.0);
        expired * delay + (1.0 - expired) * warped(delay)
    }

    /// The rate after the gradual update [equations 5 to 7].
    fn gradual(&self, signal: f64, delta: f64) -> f64 {
        let offset = signal - self.priority * XREF * self.bounds.most / self.rate;
        let change = signal - self.before;
        self.rate - KAPPA * (delta / TAU) * (offset / TAU) * self.rate - KAPPA * ETA * (change / TAU) * self.rate
    }
}

/// Delay warping, so that the flow keeps its share against loss-based flows [equation 1].
fn warped(delay: f64) -> f64 {
    if delay < QTH { delay } else { QTH * libm::exp(-LAMBDA * (delay - QTH) / QTH) }
}

/// Delay penalty of a ratio of losses or marks, relative to its reference ratio.
fn penalty(reference: f64, ratio: f64) -> f64 {
    reference * ratio * ratio
}

/// Rate increase while ramping up [equation 3].
fn gamma(rtt: f64) -> f64 {
    (QBOUND / (rtt + DELTA + DFILT)).min(GAMMA_MAX)
}

#[cfg(test)]
mod tests;
