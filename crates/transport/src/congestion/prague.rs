//! # prague: DCTCP for the Internet
//!
//! The control of the low-latency service (L4S): the response of `dctcp` to marks, on accurate feedback, ECT(1) and
//! paced segments, with windows in fractions of a segment, the classic response to losses, and an increase that does not favour
//! short round trips.
//!
//! ## Law
//!
//! * `alpha <- (1 - g) alpha + g M` once in a round trip, from the first mark on, with `M` the share of bytes marked
//!   [prague section 2.4.2; linux].
//! * On a mark, once in a round trip: `cwnd <- cwnd (1 - alpha / 2)`, in fractions [prague section 2.4.3].
//! * Each acknowledgement of unmarked data increases `cwnd` by `a / cwnd` segments per segment, also right after a
//!   reduction; `a = 1`, or with RTT independence `(rtt / target)^2`, where `target = max(rtt, rtt_target)` replaces the round
//!   trip in both rules above, from `rounds` round trips after slow start on [prague section 2.4.4; linux,
//!   mode "rate"]. So a flow with a shorter round trip has the rate of one with `rtt_target`.
//! * Losses halve, and timeouts return to one segment, as in RFC 5681 [prague section 2.4.5; rfc9331 section 4.3].
//! * Segments are paced at one window per round trip, at two below half of the threshold `[linux]`.
//!
//! Naming this control turns on ECN with `ecn_feedback = "accurate"` and `ecn_packets = "all"`, unless the profile's
//! table says otherwise. It sends ECT(1) if the peer agrees to accurate feedback. Otherwise it sends ECT(0), and
//! halves as `newreno` does. If both ends send RFC 9768's option (`ecn_option`, on unless a profile says otherwise), `M` is the exact share of
//! marked bytes; otherwise that of packets, counted modulo eight and assumed to be full segments.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `prague.g` | | 0.0625 | weight of the newest round trip, above 0 to 1 |
//! | `prague.rtt_independence` | | true | whether short round trips grow as slowly as `rtt_target` |
//! | `prague.rtt_target` | time | 25ms | the round trip whose growth rate shorter ones adopt; above 0 |
//! | `prague.rounds` | | 500 | round trips after slow start before that applies: short transfers are not slowed down |
//!
//! ## Deviations
//!
//! 1. Left out: the fallback on a bottleneck with classic ECN, detected by delay (off in Linux too), and loss detection in
//!    units of time, which is part of the endpoint.
//! 2. Linux counts segments; here the window is in bytes and a fraction of one.
//! 3. With segmentation offload (`gso_max_size` of the profile) a super-packet is what the pacing rate sends in 250 us, at least one
//!    segment, as in Linux (`prague_burst_usec`).
//! 4. The minimum window is two segments, as in Linux; rfc9331 section 4.3 asks for less on very short paths.
//!
//! ## Evidence
//!
//! `tests/transport/controls.rs`: increase and reduction worked by hand, the law under even marking, equal rates of
//! different round trips.
//!
//! ## References
//!
//! * prague: K. De Schepper, O. Tilmans, B. Briscoe, V. Goel, Prague Congestion Control,
//!   draft-briscoe-iccrg-prague-congestion-control.
//! * rfc9331: K. De Schepper, B. Briscoe, The Explicit Congestion Notification (ECN) Protocol for L4S, 2023.
//! * linux: `net/ipv4/tcp_prague.c` of the L4S team's tree.

use aqmkit_base::{Duration, Ecn, Instant};
use serde::{Deserialize, Serialize};

use super::dctcp::MarkAverage;
use super::{CongestionControl, Cx, Pacer, Window};
use crate::profile::{EcnFeedback, EcnPackets, Profile};
use aqmkit_base::param::{ParamError, require};

/// The initial share of marks, so that the first mark halves the window (Linux).
const FIRST_ALPHA: f64 = 1.0;

/// The parameters of Prague.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the newest round trip in the average.
    pub g: f64,
    /// Whether round trips shorter than the target grow as slowly as the target.
    pub rtt_independence: bool,
    /// The target round trip, whose growth rate shorter ones adopt.
    pub rtt_target: Duration,
    /// Round trips after slow start before this applies.
    pub rounds: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { g: 1.0 / 16.0, rtt_independence: true, rtt_target: Duration::from_millis(25), rounds: 500 }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        require(self.g > 0.0 && self.g <= 1.0, "prague.g", self.g, "it must be above 0 and at most 1")?;
        require(!self.rtt_target.is_zero(), "prague.rtt_target", self.rtt_target, "it must be above zero")
    }
}

/// The duration of a super-packet at the pacing rate, in microseconds (`prague_burst_usec` in Linux).
const BURST_US: u16 = 250;

#[derive(Clone, Debug)]
pub(crate) struct Prague {
    window: Window,
    /// The fractional byte of cwnd.
    rest: f64,
    marks: MarkAverage,
    /// Whether there has been a mark; before, nothing is known about the path.
    marked: bool,
    /// Round trips in congestion avoidance.
    rounds: u32,
    updated: Instant,
    reduced: Instant,
    pacer: Pacer,
}

impl Prague {
    pub(super) fn new(profile: &Profile) -> Self {
        Prague {
            window: Window::new(profile),
            rest: 0.0,
            marks: MarkAverage::new(FIRST_ALPHA),
            marked: false,
            rounds: 0,
            updated: Instant::ZERO,
            reduced: Instant::ZERO,
            pacer: Pacer::new().with_bursts(BURST_US),
        }
    }

    /// The round trip that its growth is based on, if not its own.
    fn target(&self, cx: &Cx<'_>) -> Option<Duration> {
        let p = &cx.profile.prague;
        let independent = p.rtt_independence && self.rounds >= p.rounds && !self.window.in_slow_start(cx.profile);
        independent.then(|| cx.srtt().map_or(p.rtt_target, |rtt| rtt.max(p.rtt_target)))
    }

    /// Segments added per round trip.
    fn increase(&self, cx: &Cx<'_>) -> f64 {
        match (self.target(cx), cx.srtt()) {
            (Some(target), Some(rtt)) => {
                let share = rtt.as_secs_f64() / target.as_secs_f64();
                share * share
            }
            _ => 1.0,
        }
    }

    /// Whether a round trip, its own or the one that its growth is based on, has passed since.
    fn due(&self, since: Instant, cx: &Cx<'_>) -> bool {
        self.target(cx).is_none_or(|target| cx.now.since(since) >= target)
    }

    fn pace(&mut self, cx: &Cx<'_>) {
        let p = cx.profile;
        let full = p.mss.0 + p.header.0;
        if let Some(rtt) = cx.srtt() {
            let gain = if self.window.cwnd < self.window.ssthresh / 2 { 2.0 } else { 1.0 };
            let on_wire = self.window.cwnd * full / p.mss.0;
            self.pacer.set_window(on_wire, rtt, gain);
        }
    }

    fn least(cx: &Cx<'_>) -> u64 {
        2 * cx.mss()
    }
}

impl CongestionControl for Prague {
    const PACES: bool = true;
    // Linux's Prague has its own `cong_control`, which grows by the unmarked data.
    const HELD_AFTER_MARKS: bool = false;
    const ECT: Ecn = Ecn::Ect1;
    const NEEDS_ECN: Option<(EcnFeedback, EcnPackets)> = Some((EcnFeedback::Accurate, EcnPackets::All));

    window_and_pacer!();

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        if self.window.in_slow_start(cx.profile) {
            self.window.open(self.window.within_threshold(acked, cx.profile), cx.profile);
        } else {
            let cwnd = self.window.cwnd as f64 + self.rest;
            let bytes = self.increase(cx) * cx.mss() as f64 * acked as f64 / cwnd;
            self.window.add(bytes, &mut self.rest, Self::least(cx), cx.profile);
        }
        self.pace(cx);
    }

    fn on_feedback(&mut self, delivered: u64, marked: u64, cx: &Cx<'_>) {
        self.marked |= marked > 0;
        if !self.marks.count(delivered, marked) {
            return;
        }
        if !self.window.in_slow_start(cx.profile) {
            self.rounds = self.rounds.saturating_add(1);
        }
        if !self.marked {
            self.marks.restart(delivered, cx);
        } else if self.due(self.updated, cx) {
            self.updated = cx.now;
            self.marks.update(cx.profile.prague.g, delivered, cx);
        }
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        if !cx.counts_marks {
            self.window.reduce_to(Window::half(cx));
        } else if self.due(self.reduced, cx) {
            self.reduced = cx.now;
            let bytes = (self.window.cwnd as f64 + self.rest) * self.marks.alpha / -2.0;
            self.window.add(bytes, &mut self.rest, Self::least(cx), cx.profile);
            self.window.ssthresh = self.window.cwnd;
        }
        self.pace(cx);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.window.enter_recovery(self.window.half_at_loss(cx), cx);
    }

    fn on_recovered(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window.recovered(acked, cx);
        self.pace(cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, self.window.half_at_loss(cx), cx);
    }
}
