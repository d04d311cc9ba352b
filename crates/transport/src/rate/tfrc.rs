//! # tfrc: TCP-friendly rate control
//!
//! Sends at about the rate of TCP, but smoothly. The receiver measures the loss event rate; the sender
//! computes its rate from this and the round-trip time with the TCP throughput equation. One loss changes
//! the mean over eight loss intervals little, so the rate changes over many round trips, where TCP halves.
//!
//! ## Law
//!
//! [rfc5348 3.1] `X_Bps = s / (R (sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2)))` bytes per second: segments of `s`, a round
//! trip of `R = 0.9 R + 0.1 R_sample`, a loss event rate of `p`.
//!
//! Receiver. A packet is lost when three later ones have arrived [5.1]; losses (and marks) within a round trip are one event
//! [5.2]. `I_i` is the number of packets from the beginning of one event to that of the next, `I_0` that since the last
//! [5.3]. `p = 1 / I_mean`, where `I_mean` is the greater of the weighted means of `I_1 ... I_k` and of `I_0 ... I_(k-1)`, with weights
//! 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 [5.4]. While `I_0` is longer than twice the mean of the others, those are discounted by
//! `DF = max(2 I_mean / I_0, 1/4)` [5.5]. The interval before the first loss is `1 / p`, with `p` from the equation at the maximum rate
//! received [6.3.1]. It reports `p` and the receive rate `X_recv` once per round trip, and at once when `p` has risen [6.1, 6.2].
//!
//! Sender [4.3]. `recv_limit` is twice the maximum `X_recv` of the last two round trips. `p > 0`: `X = max(min(X_Bps, recv_limit), s / 64 s)`.
//! `p = 0`: once per round trip `X = max(min(2 X, recv_limit), W_init / R)`, `W_init = min(4 s, max(2 s, 4380))`. Before the
//! first report one packet per second [4.2]. After an interval without anything to send, `X_recv` does not limit a sender
//! without losses; one with losses is limited to 0.85 of it. No report for `max(4 R, 2 s / X)` (2 s before the first): half as
//! fast, unless the sender was idle and slow already [4.4]. Packets are spaced by `s / X` [4.6].
//!
//! With `oscillation_prevention` they leave at `X sqrt-mean(R) / sqrt(R_sample)`, slower when the last round trip was longer than
//! usual [4.5].
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `tfrc.intervals` | | 8 | number of loss intervals in the average, 2 to 32; fewer and the rate is less smooth, more and it follows late |
//! | `tfrc.discounting` | | true | whether a long time without loss discounts earlier intervals |
//! | `tfrc.oscillation_prevention` | | false | whether the latest round trip modulates the spacing of packets |
//! | `tfrc.timeout` | time | 4 `R` | the retransmission timeout of the TCP in the equation; too long and TFRC gets less than TCP at high loss |
//! | `mss`, `header` | size | of the profile | `s`, and the bytes of the headers of each packet |
//! | `ecn` | | of the profile | whether data is ECN-capable; a mark counts as a loss |
//! | `syn` | time | of the profile | how long to wait before a request is retransmitted |
//!
//! ## Deviations
//!
//! 1. `X_recv` of a report less than a round trip after the last covers the time since the one before, one to two
//!    round trips; in the RFC it covers the last one.
//! 2. `I_mean` in the discount is the mean of the closed intervals, discounts included.
//! 3. Packets lost before the first arrival are assumed to have been lost with it.
//! 4. A mark counts on arrival, even if packets before it are missing.
//! 5. Reports and requests carry the profile's header and no ECN.
//! 6. `tfrc.timeout` models the sender of ns-2, which uses timeouts in steps of 100 ms: 300 ms for every round trip below 150. The interval
//!    before the first loss uses 4 `R` in any case.
//!
//! ## Evidence
//!
//! `src/transport/rate/tfrc/`: the equation and its inverse by hand, loss intervals, discounts and loss detection by
//! hand-worked sequences. `tests/transport/tfrc.rs`: slow start and the nofeedback timer step by step, throughput under random loss
//! against the equation, smoothness. `experiments/models/`: beside TCP.
//!
//! ## References
//!
//! * rfc5348: S. Floyd, M. Handley, J. Padhye, J. Widmer, TCP Friendly Rate Control (TFRC): Protocol Specification, 2008.
//! * floyd00: S. Floyd, M. Handley, J. Padhye, J. Widmer, Equation-Based Congestion Control for Unicast Applications, SIGCOMM 2000.

use aqmkit_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Cx, Report, Sending};

use aqmkit_base::param::{ParamError, require};

mod equation;
mod intervals;
mod losses;
mod receiver;

pub use equation::{throughput, throughput_with_timeout};
pub use receiver::Receiver;

/// [rfc5348 4.3] Maximum spacing of packets, in seconds.
const T_MBI: f64 = 64.0;
/// [rfc5348 4.2] Time to wait for the first report.
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// [rfc5348 4.3, 4.5] Weight of the previous value in the round-trip averages.
const PAST: f64 = 0.9;
/// [rfc5348 4.3] The factor by which losses reduce the receive rate of a data-limited sender.
const LOSS_WHILE_LIMITED: f64 = 0.85;

/// The parameters of TFRC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Number of loss intervals in the average.
    pub intervals: u8,
    /// Whether a long interval without loss discounts the earlier ones.
    pub discounting: bool,
    /// Whether the latest round-trip time modulates the spacing of packets.
    pub oscillation_prevention: bool,
    /// The retransmission timeout in the throughput equation; four round trips if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Params { intervals: 8, discounting: true, oscillation_prevention: false, timeout: None }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let timeout = self.timeout.unwrap_or(FIRST_WAIT);
        require(!timeout.is_zero(), "tfrc.timeout", timeout, "it must be above zero")?;
        require((2..=32).contains(&self.intervals), "tfrc.intervals", self.intervals, "it must be from 2 to 32")
    }
}

/// Averages of the round-trip time, in seconds.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    mean: f64,
    /// The average of the square roots of round-trip times, and the latest root.
    root_mean: f64,
    root: f64,
}

/// Whether the sender was never data-limited (rfc5348 8.2.1).
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    /// Two times at which there was more data than allowed: one in the interval of the next report, one after it.
    first: Option<Instant>,
    second: Option<Instant>,
    /// The end of the last report's interval, and when that report arrived.
    covered: Instant,
    reported: Instant,
}

impl Busy {
    fn note(&mut self, now: Instant) {
        if self.first.is_none_or(|at| at <= self.covered) {
            self.first = Some(now);
        } else if self.second.is_none_or(|at| at <= self.reported) {
            self.second = Some(now);
        }
    }

    /// A report covers the round trip until `end`. Returns whether the sender was data-limited for all of it.
    fn was_limited(&mut self, end: Instant, rtt: Duration, now: Instant) -> bool {
        let start = Instant::ZERO + end.since(Instant::ZERO).saturating_sub(rtt);
        let within = |at: Option<Instant>| at.is_some_and(|at| start <= at && at <= end);
        let busy = within(self.first) || within(self.second);
        (self.covered, self.reported) = (end, now);
        if self.first.is_some_and(|at| at <= end) && self.second.is_some_and(|at| at > end) {
            self.first = self.second;
        }
        !busy
    }
}

/// The sending half. Rates are in bytes per second, as in the RFC.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The allowed rate, and the rate of the equation.
    x: f64,
    x_bps: f64,
    /// The loss event rate as it was last reported.
    p: f64,
    rtt: Option<RoundTrip>,
    /// Receive rates and when they were reported.
    x_recv: Vec<(Instant, f64)>,
    /// When the rate was last doubled.
    doubled: Instant,
    nofeedback: Instant,
    /// Whether anything was sent since the timer was set.
    sent: bool,
    last: Option<Instant>,
    busy: Busy,
    oscillation_prevention: bool,
    /// The RTO in the throughput equation, if not four round trips.
    timeout: Option<f64>,
}

impl Sender {
    /// The state of a new connection.
    #[must_use]
    pub fn new(cx: &Cx<'_>) -> Self {
        let mut x_recv = Vec::with_capacity(4);
        x_recv.push((cx.now, f64::INFINITY));
        Sender {
            x: cx.segment(),
            x_bps: 0.0,
            p: 0.0,
            rtt: None,
            x_recv,
            doubled: cx.now,
            nofeedback: cx.now + FIRST_WAIT,
            sent: false,
            last: None,
            busy: Busy::default(),
            oscillation_prevention: cx.profile.tfrc.oscillation_prevention,
            timeout: cx.profile.tfrc.timeout.map(Duration::as_secs_f64),
        }
    }

    /// [rfc5348 4.2]
    fn initial_rate(&self, cx: &Cx<'_>) -> Option<f64> {
        let s = cx.segment();
        self.rtt.map(|r| (4.0 * s).min((2.0 * s).max(4380.0)) / r.mean)
    }

    fn largest_x_recv(&self) -> f64 {
        self.x_recv.iter().fold(0.0, |most: f64, (_, x)| most.max(*x))
    }

    /// [rfc5348 4.3 step 4] Keeps values at most two round trips old.
    fn update_x_recv(&mut self, x: f64, rtt: f64, now: Instant) {
        let old = Duration::from_secs_f64(2.0 * rtt);
        self.x_recv.retain(|(at, _)| now.since(*at) <= old);
        self.x_recv.push((now, x));
    }

    /// [rfc5348 4.3 step 4] Keeps the largest finite one.
    fn maximize_x_recv(&mut self, x: f64, now: Instant) {
        let finite = self.x_recv.iter().map(|(_, known)| *known).filter(|known| known.is_finite());
        let most = finite.fold(x, f64::max);
        self.x_recv.clear();
        self.x_recv.push((now, most));
    }

    /// [rfc5348 4.3 step 4] The limit from the receive rates.
    fn receive_limit(&mut self, report: &Report, limited: bool, rtt: f64, now: Instant) -> f64 {
        if !limited {
            self.update_x_recv(report.rate, rtt, now);
        } else if report.loss > self.p {
            self.x_recv.iter_mut().for_each(|(_, x)| *x /= 2.0);
            self.maximize_x_recv(LOSS_WHILE_LIMITED * report.rate, now);
            return self.largest_x_recv();
        } else {
            self.maximize_x_recv(report.rate, now);
        }
        2.0 * self.largest_x_recv()
    }

    /// [rfc5348 4.3 step 4] The allowed rate.
    fn set_rate(&mut self, recv_limit: f64, cx: &Cx<'_>) {
        let s = cx.segment();
        let Some(r) = self.rtt else { return };
        if self.p > 0.0 {
            self.x_bps = throughput_with_timeout(s, r.mean, self.timeout.unwrap_or(4.0 * r.mean), self.p);
            self.x = self.x_bps.min(recv_limit).max(s / T_MBI);
        } else if cx.now.since(self.doubled).as_secs_f64() >= r.mean {
            let initial = self.initial_rate(cx).unwrap_or(0.0);
            self.x = (2.0 * self.x).min(recv_limit).max(initial);
            self.doubled = cx.now;
        }
    }

    fn set_timer(&mut self, cx: &Cx<'_>) {
        let r = self.rtt.map_or(0.0, |r| r.mean);
        let wait = Duration::from_secs_f64((4.0 * r).max(2.0 * cx.segment() / self.x));
        self.nofeedback = cx.now + if self.rtt.is_some() { wait } else { wait.max(FIRST_WAIT) };
        self.sent = false;
    }

    /// [rfc5348 4.4] `Update_Limits`.
    fn limit_to(&mut self, limit: f64, cx: &Cx<'_>) {
        let limit = limit.max(cx.segment() / T_MBI);
        self.x_recv.clear();
        self.x_recv.push((cx.now, limit / 2.0));
        self.set_rate(limit, cx);
    }

    /// [rfc5348 4.3 steps 1, 2] Adds a round-trip sample; returns whether it is the first.
    fn measure(&mut self, sample: f64) -> bool {
        let root = sample.sqrt();
        let first = self.rtt.is_none();
        let old = self.rtt.unwrap_or(RoundTrip { mean: sample, root_mean: root, root });
        let mean = |past: f64, new: f64| PAST * past + (1.0 - PAST) * new;
        self.rtt = Some(RoundTrip { mean: mean(old.mean, sample), root_mean: mean(old.root_mean, root), root });
        first
    }
}

impl Sending for Sender {
    /// [rfc5348 4.3]
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>) {
        let sample = cx.now.since(report.echo).saturating_sub(report.held).as_secs_f64();
        let first = self.measure(sample.max(1e-9));
        let rtt = self.rtt.map_or(sample, |r| r.mean);
        let limited = self.busy.was_limited(report.echo, Duration::from_secs_f64(rtt), cx.now);
        let recv_limit = self.receive_limit(report, limited, rtt, cx.now);
        self.p = report.loss;
        if first && self.p == 0.0 {
            self.x = self.initial_rate(cx).unwrap_or(self.x);
            self.doubled = cx.now;
        } else {
            self.set_rate(recv_limit, cx);
        }
        self.set_timer(cx);
    }

    fn timer(&self) -> Option<Instant> {
        Some(self.nofeedback)
    }

    /// [rfc5348 4.4]
    fn on_timer(&mut self, cx: &Cx<'_>) {
        let x_recv = self.largest_x_recv();
        let idle = !self.sent;
        let slow = match self.initial_rate(cx) {
            Some(recover) if self.p > 0.0 => x_recv < recover,
            Some(recover) => self.x < 2.0 * recover,
            None => true,
        };
        if idle && slow {
            // It sends no more than it would after a restart.
        } else if self.p == 0.0 {
            self.x = (self.x / 2.0).max(cx.segment() / T_MBI);
        } else if self.x_bps > 2.0 * x_recv {
            self.limit_to(x_recv, cx);
        } else {
            self.limit_to(self.x_bps / 2.0, cx);
        }
        self.set_timer(cx);
    }

    /// [rfc5348 4.6]
    fn next(&self, cx: &Cx<'_>) -> Option<Instant> {
        let Some(last) = self.last else { return Some(cx.now) };
        let distance = Duration::from_secs_f64(cx.segment() / self.rate(cx));
        Some(last + distance.max(Duration::from_nanos(1)))
    }

    fn on_sent(&mut self, _seq: u64, more: bool, cx: &Cx<'_>) {
        (self.last, self.sent) = (Some(cx.now), true);
        if more {
            self.busy.note(cx.now);
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|r| Duration::from_secs_f64(r.mean))
    }

    /// [rfc5348 4.5]
    fn rate(&self, cx: &Cx<'_>) -> f64 {
        match self.rtt.filter(|_| self.oscillation_prevention) {
            Some(r) => (self.x * r.root_mean / r.root).max(cx.segment() / T_MBI),
            None => self.x,
        }
    }
}

#[cfg(test)]
mod tests;
