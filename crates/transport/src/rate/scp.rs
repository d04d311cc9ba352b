//! # scp: streaming control protocol
//!
//! A window like TCP's for data without retransmission. Each packet is acknowledged together with the
//! arrival rate. When this rate stops growing the sender stops probing: its window is then the rate times
//! the empty path's round-trip time, plus a small excess. If bandwidth is available, the excess increases
//! the arrival rate and thus the window; otherwise it stays in a queue. Losses halve the window and are not
//! repaired.
//!
//! ## Law
//!
//! With `r` packets per second that arrive, and the smallest round trip `T` seen so far [parris01 II.2.3.1]:
//!
//! * *slow start*: one packet more for each acknowledgement, until `r` has grown by less than `growth` in a round trip;
//! * *steady*: `W = r T + excess`, updated once per round trip;
//! * *congested*, from a loss until a packet sent after it is acknowledged: half the window, then steady.
//!
//! A packet is lost when one sent three later is acknowledged, or after a timeout without acknowledgements; each further timeout
//! halves the window again and is twice as long.
//!
//! `r` is a running mean of the arrival rate in each round trip, from the first to the last packet, with a weight of one half.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `scp.excess` | packets | 1 | packets in the window beyond those that fit on the empty path; with more it takes from TCP and fills queues |
//! | `scp.growth` | | 0.25 | relative growth of the arrival rate per round trip below which it counts as constant |
//! | `mss`, `header`, `initial_window` | | of the profile | as for TCP |
//! | `min_rto`, `initial_rto`, `max_rto` | time | of the profile | bounds of the timeout `srtt + 4 rttvar` (RFC 6298) |
//!
//! ## Deviations
//!
//! 1. parris01 describes SCP without numbers; of cen98 only the abstract was at hand, which has none either. `excess` is what TCP's window grows by in a round trip, so that both probe alike;
//!    `growth` leaves room between doubling and nothing. Chosen once.
//! 2. The receiver measures over the sender's round trip, which each packet tells it.
//! 3. It ignores ECN marks, and data is ECN-capable only if the profile says so: leave `ecn` off.
//!
//! ## Evidence
//!
//! `tests/transport/scp.rs`: the three states by hand, the steady window and the queue against the law on a bottleneck, back to it after
//! the bandwidth changes, timeouts.
//!
//! ## References
//!
//! * parris01: M. Parris, Class-Based Thresholds, dissertation, UNC 2001, section II.2.3.1.
//! * cen98: S. Cen, J. Walpole, C. Pu, Flow and Congestion Control for Internet Media Streaming Applications, Multimedia Computing and
//!   Networking 1998, Proc. SPIE 3310.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

use super::{Cx, Data, Receiving, Report, Sending};
use crate::profile::Profile;
use aqmkit_base::param::{ParamError, require};

/// A packet is lost when one sent this many packets later is acknowledged: TCP's three duplicates.
const LATER: u64 = 3;

/// The parameters of SCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Packets in the window in addition to those that fit on the empty path.
    pub excess: f64,
    /// Relative growth of the arrival rate per round trip below which it counts as constant.
    pub growth: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { excess: 1.0, growth: 0.25 }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        require(self.excess > 0.0 && self.excess.is_finite(), "scp.excess", self.excess, "it must be above 0")?;
        require(self.growth > 0.0 && self.growth < 1.0, "scp.growth", self.growth, "it must be above 0 and below 1")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SlowStart,
    Steady,
    /// Until this packet or a later one is acknowledged.
    Congested(u64),
}

/// The estimator of RFC 6298, in seconds.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    least: f64,
    smoothed: f64,
    variation: f64,
}

/// The sending half.
#[derive(Clone, Debug)]
pub struct Sender {
    state: State,
    /// In packets.
    window: f64,
    /// Numbers of the packets that are neither acknowledged nor lost.
    flying: VecDeque<u64>,
    /// Next packet number to send.
    end: u64,
    /// The round ends when this packet is acknowledged; and the arrival rate at its start, in packets per second.
    round: u64,
    rate_before: f64,
    arrival_rate: f64,
    rtt: Option<RoundTrip>,
    /// Timeouts since the last acknowledgement.
    backoff: u32,
    timer: Option<Instant>,
}

impl Sender {
    /// The state of a new connection.
    #[must_use]
    pub fn new(cx: &Cx<'_>) -> Self {
        Sender {
            state: State::SlowStart,
            window: f64::from(cx.profile.initial_window),
            flying: VecDeque::new(),
            end: 0,
            round: 0,
            rate_before: 0.0,
            arrival_rate: 0.0,
            rtt: None,
            backoff: 0,
            timer: None,
        }
    }

    fn measure(&mut self, sample: f64) {
        let r = self.rtt.get_or_insert(RoundTrip { least: sample, smoothed: sample, variation: sample });
        r.least = r.least.min(sample);
        r.variation += ((sample - r.smoothed).abs() - r.variation) / 4.0;
        r.smoothed += (sample - r.smoothed) / 8.0;
    }

    fn set_timer(&mut self, cx: &Cx<'_>) {
        let p = cx.profile;
        let wait = match self.rtt {
            Some(r) => Duration::from_secs_f64(r.smoothed + 4.0 * r.variation).max(p.min_rto),
            None => p.initial_rto,
        };
        let backed_off = wait.mul_f64(libm::exp2(f64::from(self.backoff.min(16)))).min(p.max_rto);
        self.timer = (!self.flying.is_empty()).then(|| cx.now + backed_off);
    }

    fn halve(&mut self) {
        self.window = (self.window / 2.0).max(1.0);
        self.state = State::Congested(self.end);
    }

    /// Ends a round trip, whose arrival rate has been measured.
    fn end_round(&mut self, cx: &Cx<'_>) {
        let p = &cx.profile.scp;
        let constant = self.rate_before > 0.0 && self.arrival_rate < (1.0 + p.growth) * self.rate_before;
        if self.state == State::SlowStart && constant {
            self.state = State::Steady;
        }
        if let (State::Steady, Some(r)) = (self.state, self.rtt) {
            self.window = (self.arrival_rate * r.least + p.excess).max(1.0);
        }
        self.begin_round();
    }

    fn begin_round(&mut self) {
        (self.round, self.rate_before) = (self.end, self.arrival_rate);
    }

    /// Removes the packets that the acknowledgement of `acked` shows as delivered or lost; returns whether a loss is
    /// new.
    fn take_out(&mut self, acked: u64) -> bool {
        let before = match self.state {
            State::Congested(until) => until,
            _ => 0,
        };
        let is_lost = |seq: u64| seq + LATER <= acked;
        let news = self.flying.iter().any(|&seq| is_lost(seq) && seq >= before);
        self.flying.retain(|&seq| seq != acked && !is_lost(seq));
        news
    }
}

impl Sending for Sender {
    fn on_report(&mut self, report: &Report, cx: &Cx<'_>) {
        self.measure(cx.now.since(report.echo).saturating_sub(report.held).as_secs_f64());
        self.arrival_rate = report.rate / cx.segment();
        self.backoff = 0;
        if self.take_out(report.seq) {
            self.halve();
        } else if self.state == State::SlowStart {
            self.window += 1.0;
        }
        if let State::Congested(until) = self.state
            && report.seq >= until
        {
            // It takes a full round trip until the arrival rate reflects the smaller window.
            self.state = State::Steady;
            self.begin_round();
        } else if report.seq >= self.round {
            self.end_round(cx);
        }
        self.set_timer(cx);
    }

    fn timer(&self) -> Option<Instant> {
        self.timer
    }

    fn on_timer(&mut self, cx: &Cx<'_>) {
        self.flying.clear();
        self.halve();
        self.backoff += 1;
        self.set_timer(cx);
    }

    fn next(&self, cx: &Cx<'_>) -> Option<Instant> {
        ((self.flying.len() as f64) < self.window).then_some(cx.now)
    }

    fn on_sent(&mut self, seq: u64, _more: bool, cx: &Cx<'_>) {
        self.flying.push_back(seq);
        self.end = seq + 1;
        if self.timer.is_none() {
            self.set_timer(cx);
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt.map(|r| Duration::from_secs_f64(r.smoothed))
    }

    fn rate(&self, cx: &Cx<'_>) -> f64 {
        self.rtt.map_or(0.0, |r| self.window * cx.segment() / r.smoothed)
    }
}

/// The receiving half: it acknowledges each packet.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The first packet of the round trip being measured, and the bytes since.
    since: Option<Instant>,
    bytes: u64,
    /// Bytes per second.
    rate: f64,
}

impl Receiver {
    /// The state of a new connection.
    #[must_use]
    pub fn new(_profile: &Profile) -> Self {
        Receiver::default()
    }
}

impl Receiving for Receiver {
    fn on_data(&mut self, data: &Data, len: u32, _marked: bool, cx: &Cx<'_>) -> Option<Report> {
        let since = *self.since.get_or_insert(cx.now);
        let time = cx.now.since(since);
        if cx.now > since {
            self.bytes += u64::from(len);
        }
        if !data.rtt.is_zero() && time >= data.rtt {
            let sample = self.bytes as f64 / time.as_secs_f64();
            self.rate = if self.rate == 0.0 { sample } else { (self.rate + sample) / 2.0 };
            (self.since, self.bytes) = (Some(cx.now), 0);
        }
        Some(Report { echo: data.sent, seq: data.seq, rate: self.rate, ..Report::default() })
    }

    fn timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _cx: &Cx<'_>) -> Option<Report> {
        None
    }
}

#[cfg(test)]
mod tests;
