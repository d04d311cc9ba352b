//! # ledbat: takes what others leave (RFC 6817)
//!
//! A control for background transfers, "less than best effort": it measures the queueing delay of its own packets, and yields
//! as soon as there is any. Behind a long drop-tail queue a transfer with any other control displaces it. An AQM that keeps the
//! queue below `target` removes this signal, and `ledbat` then shares the link like `newreno`.
//!
//! ## Law
//!
//! With the queue delay `q`, the current one-way delay less the base delay:
//!
//! * each acknowledgement: `cwnd += gain (target - q) / target * acked * mss / cwnd` [rfc6817 section 2.4.2];
//! * never more than one segment above the data in flight, never below two segments [rfc6817 section 2.4.2];
//! * a loss or a mark halves, once per round trip; a timeout leaves one segment [rfc6817 section 2.4.2];
//! * the base delay is the minimum of the last `base_history` minutes, the current delay the minimum of the last `current_filter`
//!   measurements [rfc6817 sections 2.4.2 and 3.4.2].
//!
//! Alone on a link it therefore maintains a queue of `target`, if the queue has room for it.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `ledbat.target` | time | 100ms | the queue delay to aim for; rfc6817 allows at most 100ms; shorter than the queues of others and it is starved, longer and it delays them |
//! | `ledbat.gain` | | 1 | segments per round trip at an empty queue, above 0 to 1 |
//! | `ledbat.base_history` | minutes | 10 | how long a base delay is remembered, 1 to 60; too short and a standing queue is mistaken for the path |
//! | `ledbat.current_filter` | samples | 4 | measurements whose minimum is the current delay, 1 to 64; too many and it reacts late |
//!
//! ## Deviations
//!
//! 1. rfc6817 leaves the measurement of one-way delays to the protocol. Here it is the difference of the two timestamps of an acknowledgement
//!    (RFC 7323), whose clock has ticks of 1 ms in most profiles; without `timestamps` it is the round trip, which includes the queues on the way
//!    back. A delayed acknowledgement counts as delay of the path; the filter keeps most of that out.
//! 2. The initial window is that of the profile, two segments in rfc6817. There is no slow start, which rfc6817 does not describe either.
//! 3. After a timeout the window grows from one segment as above.
//!
//! ## Evidence
//!
//! `congestion/ledbat/tests.rs`: windows worked by hand below, at and above the target, base delays of minutes that pass, losses.
//! `tests/transport/scripts/ledbat.script`: the same on the wire. `crates/sim/tests/sim/controls.rs`: alone it makes a queue of `target`, beside
//! `newreno` it leaves the link to it.
//!
//! ## References
//!
//! * rfc6817: S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind, Low Extra Delay Background Transport (LEDBAT), 2012.

use std::collections::VecDeque;

use aqmkit_base::param::{ParamError, require};
use aqmkit_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{CongestionControl, Cx, Window};
use crate::profile::Profile;

/// The least window, in segments (RFC 6817 section 2.4.2, `MIN_CWND`).
const LEAST_SEGMENTS: u64 = 2;
/// Maximum excess of the window over the data in flight, in segments (`ALLOWED_INCREASE`).
const ALLOWED_INCREASE: u64 = 1;
/// Interval of one entry of the base-delay history.
const BASE_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum target (RFC 6817 section 2.5).
const LONGEST_TARGET: Duration = Duration::from_millis(100);

/// The parameters of LEDBAT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The queue delay to aim for.
    pub target: Duration,
    /// Segments by which the window grows per round trip with an empty queue.
    pub gain: f64,
    /// Minutes for which a base delay is remembered.
    pub base_history: u32,
    /// Number of delay samples whose minimum is the current delay.
    pub current_filter: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { target: LONGEST_TARGET, gain: 1.0, base_history: 10, current_filter: 4 }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let target = !self.target.is_zero() && self.target <= LONGEST_TARGET;
        require(target, "ledbat.target", self.target, "it must be above 0 and at most 100ms")?;
        require(self.gain > 0.0 && self.gain <= 1.0, "ledbat.gain", self.gain, "it must be above 0 and at most 1")?;
        let history = (1..=60).contains(&self.base_history);
        require(history, "ledbat.base_history", self.base_history, "it must be from 1 to 60 minutes")?;
        let filter = (1..=64).contains(&self.current_filter);
        require(filter, "ledbat.current_filter", self.current_filter, "it must be from 1 to 64 measurements")
    }
}

/// State of the one-way delay estimate.
#[derive(Clone, Debug)]
struct Delays {
    /// Minimum delay in each of the last minutes, oldest first.
    base: VecDeque<Duration>,
    /// When the newest of these minutes began.
    minute: Instant,
    /// The last delay samples, oldest first.
    current: VecDeque<Duration>,
}

impl Delays {
    fn new(p: &Params) -> Self {
        Delays {
            base: VecDeque::with_capacity(p.base_history as usize),
            minute: Instant::ZERO,
            current: VecDeque::with_capacity(p.current_filter as usize),
        }
    }

    fn add(&mut self, delay: Duration, now: Instant, p: &Params) {
        push(&mut self.current, delay, p.current_filter);
        match self.base.back_mut() {
            Some(newest) if now.since(self.minute) < BASE_INTERVAL => *newest = delay.min(*newest),
            _ => {
                push(&mut self.base, delay, p.base_history);
                self.minute = now;
            }
        }
    }

    /// The estimated queueing delay; zero before the first measurement.
    fn queue(&self) -> Option<Duration> {
        let (current, base) = (self.current.iter().min()?, self.base.iter().min()?);
        Some(current.saturating_sub(*base))
    }
}

/// Appends to a list of limited length.
fn push(list: &mut VecDeque<Duration>, delay: Duration, most: u32) {
    if list.len() >= most as usize {
        list.pop_front();
    }
    list.push_back(delay);
}

#[derive(Clone, Debug)]
pub(crate) struct Ledbat {
    window: Window,
    /// The fractional byte of cwnd.
    rest: f64,
    delays: Delays,
}

impl Ledbat {
    pub(super) fn new(profile: &Profile) -> Self {
        Ledbat { window: Window::new(profile), rest: 0.0, delays: Delays::new(&profile.ledbat) }
    }

    fn measure(&mut self, cx: &Cx<'_>) {
        if let Some(delay) = cx.one_way.or(cx.sample) {
            self.delays.add(delay, cx.now, &cx.profile.ledbat);
        }
    }

    /// The distance below the target, relative to it: 1 for an empty queue, negative above the target.
    fn off_target(&self, p: &Params) -> f64 {
        let target = p.target.as_secs_f64();
        self.delays.queue().map_or(0.0, |queue| (target - queue.as_secs_f64()) / target)
    }

    /// Half the window, two segments at least.
    fn half(&self, cx: &Cx<'_>) -> u64 {
        (self.window.cwnd / 2).max(LEAST_SEGMENTS * cx.mss())
    }
}

impl CongestionControl for Ledbat {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.measure(cx);
        let p = &cx.profile.ledbat;
        let (mss, cwnd) = (cx.mss(), self.window.cwnd.max(1) as f64);
        let change = p.gain * self.off_target(p) * acked as f64 * mss as f64 / cwnd;
        // One segment, if a timeout left no more.
        let least = (LEAST_SEGMENTS * mss).min(self.window.cwnd);
        self.window.add(change, &mut self.rest, least, cx.profile);
        let most = (cx.flight + ALLOWED_INCREASE * mss).max(LEAST_SEGMENTS * mss);
        if self.window.cwnd > most {
            (self.window.cwnd, self.rest) = (most, 0.0);
        }
    }

    fn on_unused(&mut self, cx: &Cx<'_>) {
        self.measure(cx);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.window.enter_recovery(self.half(cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, self.half(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.window.reduce_to(self.half(cx));
    }
}

#[cfg(test)]
mod tests;
