//! # bbr3: a model of the path that heeds losses (version 3)
//!
//! The path model of version 1 (rate and minimum round-trip time) with bounds: the data in flight stays
//! below the amount at which a probe caused losses until the next probe, and losses between probes reduce
//! the rate temporarily. It probes rarely enough to leave loss-based flows their share, fills short queues
//! far less than `bbr`, and reduces the data in flight to half of the bandwidth-delay product every 5 s.
//!
//! ## Law
//!
//! * `max_bw` is the maximum delivery rate of the current and the previous probing cycle, `min_rtt` the minimum round trip over 10 s [bbr3
//!   sections "`BBR.max_bw`" and "`BBR.min_rtt`"].
//! * Pacing at `0.99 gain bw`, `bw = min(max_bw, bw_shortterm)`; a window of `cwnd_gain bw min_rtt + extra_acked`, at least three quanta (a
//!   millisecond each, from 2 segments to 64 KB) and 4 segments [bbr3 "Updating Control Parameters"].
//! * *Startup*, gains 2.77 and 2, until the rate has failed to grow by 25 % in three round trips, or a round trip of recovery has lost more
//!   than 2 % in six places; then *Drain*, gain 0.5, until at most one product is in flight, or for three round trips.
//! * *Down*, gain 0.9, until the data in flight is within one product and 85 % of `inflight_longterm`; *Cruise*, gain 1; *Refill*, gain 1,
//!   for a round trip; *Up*, gains 1.25 and 2.25, until the rate stops growing or losses exceed 2 %. Probes are 2 to 3 s apart, or as many
//!   round trips as there are segments in the product (Reno's period), at most 63 [bbr3 "`ProbeBW`"].
//! * A probe whose losses exceed 2 % of the data in flight sets `inflight_longterm` to the data in flight at that loss, at least 0.7 of the
//!   window. The next probe stops there; if that causes no losses, the one after it raises the bound by 1, 2, 4, … segments per round trip.
//! * Losses outside of probes: once per round trip `bw_shortterm` and `inflight_shortterm` are reduced to 0.7 of their values, but not below
//!   what was delivered; *Refill* clears them [bbr3 "Updating the Model Upon Packet Loss"].
//! * *`ProbeRTT`*: after 5 s without a shorter round trip, half of the product for 200 ms and a round trip.
//! * A spurious recovery is undone: bounds, window and state.
//! * Marks, if the feedback counts them and `min_rtt` is at most 5 ms: `alpha`, their share averaged with weight 1/16, reduces
//!   `inflight_shortterm` by `alpha / 3` once per round trip; a share above a half ends a probe, two such round trips end *Startup* `[linux]`.
//!
//! ## Parameters
//!
//! None.
//!
//! ## Deviations
//!
//! 1. The time of the next probe is derived from the time and the delivered bytes, not from a random generator: controls have none.
//! 2. bbr3 leaves ECN open except for "treat any CE marks as congestion": if marks are not used as above, one counts as a loss in its round
//!    trip, ends a probe, and ends *Startup* in two consecutive round trips. The share of marks is that of the round trip.
//! 3. A restart from idle resets the count for `extra_acked`, as in Linux: bbr3 restarts the interval and not the count. The maximum is
//!    over the last ten rounds; in Startup over the last one.
//! 4. A timeout leaves one segment; bbr3 allows one more than is in flight, which is the same if everything counts as lost.
//! 5. An unreliable delivery rate is ignored by the test for a full pipe; in bbr3 it counts as 0.
//! 6. Segments are sent one at a time; the quantum affects only the window. They are paced with their headers.
//! 7. Left out: Linux's path load balancing and its quick second probe when marks cease.
//!
//! ## Limits
//!
//! It needs SACK and `loss_detection = "rack"`. Without them it does not see individual losses: a recovery then counts as a loss rate above
//! the threshold, as bbr3 says for connections without SACK, and lost segments count as in flight until repaired.
//!
//! ## Evidence
//!
//! `bbr3/tests.rs`: each law worked by hand, and bbr3's own test cases that concern single decisions. `tests/sim/bbr3.rs` of the
//! simulator: utilisation and queue on a bottleneck, losses at random, losses in a shallow queue beside version 1, shares beside `cubic`.
//!
//! ## References
//!
//! * bbr3: N. Cardwell, I. Swett, J. Beshay (eds.), BBR Congestion Control, draft-ietf-ccwg-bbr, the working group's text of 2026.
//! * linux: `net/ipv4/tcp_bbr.c` of Google's tree, branch v3.

use aqmkit_base::{BitRate, Duration, Instant};

use super::delivery::{MaxFilter, Rounds, Sample};
use super::faults::{Fault, has};
use super::{CongestionControl, Cx, ModelView, Pacer, Window};
use crate::profile::Profile;

mod cycle;
#[cfg(test)]
mod draft;
#[cfg(test)]
mod histories;
mod losses;
mod model;
mod probe_rtt;
#[cfg(test)]
mod tests;
mod view;

use self::cycle::Cycle;
use self::losses::{Marks, Undo};
use self::model::{Aggregation, Bounds, FullPipe, Latest, MAX_BW_CYCLES};

/// 1 % below the rate, so that queues drain (`BBR.PacingMarginPercent`).
const MARGIN: f64 = 0.99;
/// `BBR.MinPipeCwnd`.
const LEAST_SEGMENTS: u64 = 4;
/// Maximum round trips in Drain.
const DRAIN_ROUNDS: u64 = 3;
/// The time that a quantum lasts at the pacing rate, and its limits.
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const QUANTUM_SEGMENTS: u64 = 2;
const QUANTUM_MOST: u64 = 64 << 10;

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain {
        /// The round count when it began.
        since: u64,
    },
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt {
        /// When `ProbeRTT` may end, set once little enough is in flight; and whether a round trip has passed since.
        until: Option<Instant>,
        round_done: bool,
    },
}

impl State {
    fn pacing_gain(self) -> f64 {
        match self {
            // 4 ln 2.
            State::Startup => 4.0 * std::f64::consts::LN_2,
            State::Drain { .. } => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt { .. } => 1.0,
            State::Up => 1.25,
        }
    }

    fn cwnd_gain(self) -> f64 {
        match self {
            State::Up => 2.25,
            State::ProbeRtt { .. } => 0.5,
            _ => 2.0,
        }
    }

    /// `IsInAProbeBWState`.
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    fn is_probe_rtt(self) -> bool {
        matches!(self, State::ProbeRtt { .. })
    }
}

/// A round trip and when it was measured.
type Dated = (Duration, Instant);

#[derive(Clone, Debug)]
pub(crate) struct Bbr3 {
    window: Window,
    pacer: Pacer,
    state: State,
    rounds: Rounds,
    /// `BBR.max_bw_filter`, over cycles, and whether the current cycle is in it.
    max_bw: MaxFilter<MAX_BW_CYCLES>,
    sampled: bool,
    /// `BBR.bw`.
    bw: f64,
    /// `BBR.min_rtt` and `BBR.probe_rtt_min_delay`.
    min_rtt: Option<Dated>,
    probe_rtt: Option<Dated>,
    bounds: Bounds,
    latest: Latest,
    full: FullPipe,
    aggregation: Aggregation,
    cycle: Cycle,
    marks: Marks,
    undo: Undo,
    /// The window before a loss or `ProbeRTT`, to restore.
    prior_cwnd: u64,
    /// Whether in fast recovery or repairing a timeout.
    recovering: bool,
    fast: bool,
    /// `BBR.idle_restart`.
    idle_restart: bool,
    /// Whether the window was fully used in this round trip and the last (`C.is_cwnd_limited`).
    limited: [bool; 2],
    /// Rate samples are limited by `ProbeRTT` for data sent while `delivered` was between these values
    /// (`MarkConnectionAppLimited`).
    quiet: (u64, u64),
}

impl Bbr3 {
    pub(super) fn new(profile: &Profile) -> Self {
        Bbr3 {
            window: Window { cwnd: profile.initial_window_bytes(), ssthresh: profile.cwnd_limit.0 },
            pacer: Pacer::new(),
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxFilter::new(),
            sampled: false,
            bw: 0.0,
            min_rtt: None,
            probe_rtt: None,
            bounds: Bounds::NONE,
            latest: Latest::default(),
            full: FullPipe::default(),
            aggregation: Aggregation::new(),
            cycle: Cycle::default(),
            marks: Marks::new(),
            undo: Undo::default(),
            prior_cwnd: 0,
            recovering: false,
            fast: false,
            idle_restart: false,
            limited: [false; 2],
            quiet: (u64::MAX, 0),
        }
    }

    fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// `BDPMultiple` for the given rate.
    fn product(&self, bw: f64, gain: f64, cx: &Cx<'_>) -> u64 {
        match self.min_rtt() {
            Some(rtt) => (gain * bw * rtt.as_secs_f64()) as u64,
            None => cx.profile.initial_window_bytes(),
        }
    }

    /// `QuantizationBudget`.
    fn budget(&self, inflight: u64, cx: &Cx<'_>) -> u64 {
        let rate = self.pacer.rate().map_or(0.0, BitRate::bytes_per_sec);
        let quantum = (rate * QUANTUM_TIME.as_secs_f64()) as u64;
        let quantum = quantum.min(QUANTUM_MOST).max(QUANTUM_SEGMENTS * cx.mss());
        let more = if self.state == State::Up { 2 * cx.mss() } else { 0 };
        inflight.max(3 * quantum).max(LEAST_SEGMENTS * cx.mss()) + more
    }

    /// `Inflight`: the data in flight that a rate needs.
    fn inflight(&self, bw: f64, cx: &Cx<'_>) -> u64 {
        self.budget(self.product(bw, 1.0, cx), cx)
    }

    /// `TargetInflight`.
    fn target_inflight(&self, cx: &Cx<'_>) -> u64 {
        self.product(self.bw, 1.0, cx).min(self.window.cwnd)
    }

    /// `UpdateModelAndState` and `UpdateControlParameters`.
    fn update(&mut self, sample: &Sample, cx: &Cx<'_>) {
        self.latest.update(sample);
        self.update_max_bw(sample, cx);
        self.adapt_to_congestion(sample, cx);
        self.update_aggregation(sample, cx);
        let deaf = match self.state {
            State::Startup => has(Fault::StartupHasNoPlateau),
            _ => has(Fault::UpHasNoPlateau),
        };
        if !deaf {
            self.full.check(sample, self.rounds.started);
        }
        self.check_startup_done(sample, cx);
        self.check_drain_done(sample, cx);
        self.update_cycle(sample, cx);
        let expired = self.update_min_rtt(sample.rtt, cx.now);
        self.check_probe_rtt(expired, sample, cx);
        self.latest.advance(sample);
        self.bw = self.max_bw.max().min(self.bounds.bw_short);
        self.pace(self.state.pacing_gain(), cx);
        self.set_cwnd(sample, cx);
    }

    /// `UpdateMaxBw` and `UpdateRound`.
    fn update_max_bw(&mut self, sample: &Sample, cx: &Cx<'_>) {
        // The data in flight when the acknowledgement arrived. A sender of whole segments stops where the next does not fit.
        let before = sample.in_flight + sample.acked + sample.lost;
        self.limited[0] |= before + cx.mss() > self.window.cwnd;
        self.rounds.update(sample);
        if self.rounds.started {
            self.cycle.rounds_since_up += 1;
            self.limited = [false, self.limited[0]];
        }
        if has(Fault::AdmitsLimited) && sample.app_limited {
            self.max_bw = MaxFilter::new();
        }
        let above = |rate: &f64| !sample.app_limited || *rate >= self.max_bw.max();
        if let Some(rate) = sample.rate.filter(above) {
            self.max_bw.add(self.cycle.count, rate);
            self.sampled = true;
        }
    }

    fn is_cwnd_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }

    fn update_aggregation(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let round = (self.rounds.started, self.rounds.count);
        self.aggregation.update(sample.acked, self.bw, self.window.cwnd, round, self.full.reached, cx.now);
    }

    /// `CheckDrainDone`.
    fn check_drain_done(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let State::Drain { since } = self.state else { return };
        let drained = sample.in_flight <= self.inflight(self.bw, cx) && !has(Fault::DrainWaitsForTime);
        let late = self.rounds.count > since + DRAIN_ROUNDS && !has(Fault::DrainHasNoLimit);
        if drained || late {
            self.start_down(sample.delivered, cx);
        }
    }

    /// `SetPacingRateWithGain`.
    fn pace(&mut self, gain: f64, cx: &Cx<'_>) {
        self.pace_at(gain * self.bw * MARGIN, cx);
    }

    /// In bytes of data per second. Until the pipe is full, the rate never decreases.
    fn pace_at(&mut self, rate: f64, cx: &Cx<'_>) {
        let p = cx.profile;
        let on_wire = rate * (p.mss.0 + p.header.0) as f64 / p.mss.0 as f64;
        let faster = self.pacer.rate().is_none_or(|now| on_wire > now.bytes_per_sec());
        if on_wire > 0.0 && (self.full.reached || faster) {
            self.pacer.set_rate(on_wire);
        }
    }

    /// `SetCwnd`.
    fn set_cwnd(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let least = LEAST_SEGMENTS * cx.mss();
        let inflight = self.product(self.bw, self.state.cwnd_gain(), cx) + self.aggregation.extra();
        let most = self.budget(inflight, cx);
        let mut cwnd = self.window.cwnd;
        if self.full.reached {
            cwnd = (cwnd + sample.acked).min(most);
        } else if cwnd < most || sample.delivered < cx.profile.initial_window_bytes() {
            cwnd += sample.acked;
        }
        if has(Fault::NoFloor) {
            cwnd = cx.mss();
        } else {
            cwnd = cwnd.max(least);
        }
        if self.state.is_probe_rtt() {
            cwnd = cwnd.min(self.probe_rtt_cwnd(cx));
        }
        self.window.cwnd = cwnd.min(self.cwnd_cap(cx)).min(cx.profile.cwnd_limit.0);
    }

    /// `BoundCwndForModel`.
    fn cwnd_cap(&self, cx: &Cx<'_>) -> u64 {
        let long = match self.state {
            State::Cruise | State::ProbeRtt { .. } => self.bounds.with_headroom(cx.mss()),
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Startup | State::Drain { .. } => u64::MAX,
        };
        long.min(self.bounds.inflight_short).max(LEAST_SEGMENTS * cx.mss())
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self) {
        let reduced = self.recovering || self.state.is_probe_rtt();
        self.prior_cwnd = if reduced { self.prior_cwnd.max(self.window.cwnd) } else { self.window.cwnd };
    }

    /// `RestoreCwnd`.
    fn restore_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
    }

    fn end_recovery(&mut self) {
        (self.recovering, self.fast) = (false, false);
        self.restore_cwnd();
    }
}

impl CongestionControl for Bbr3 {
    const PACES: bool = true;
    const SAMPLES_DELIVERY: bool = true;
    const HELD_AFTER_MARKS: bool = false;
    const WATCHES_LOSSES: bool = true;

    window_and_pacer!();

    fn model_view(&self, mss: u64) -> Option<ModelView> {
        Some(self.variables(mss))
    }

    fn on_sample(&mut self, cx: &Cx<'_>) {
        let Some(mut sample) = Sample::read(cx, self.min_rtt().unwrap_or(Duration::ZERO)) else { return };
        if has(Fault::CountsAfterProbeRtt) {
            self.quiet = (u64::MAX, 0);
        }
        sample.app_limited |= (self.quiet.0..=self.quiet.1).contains(&sample.prior_delivered);
        self.update(&sample, cx);
    }

    fn on_losses(&mut self, cx: &Cx<'_>) {
        for loss in cx.sent.map_or(&[][..], |sent| sent.losses()) {
            self.on_lost_segment(loss, cx);
        }
    }

    fn on_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    /// `OnEnterFastRecovery`.
    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.note_loss(cx);
        (self.recovering, self.fast) = (true, true);
        if !Self::sees_losses(cx) {
            self.end_probe_too_high(cx.flight, false, cx);
        }
    }

    fn on_dup_ack(&mut self, _cx: &Cx<'_>) {}

    fn on_partial_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_recovered(&mut self, _acked: u64, _cx: &Cx<'_>) {
        self.end_recovery();
    }

    /// `OnEnterRTO`.
    fn on_timeout(&mut self, _again: bool, cx: &Cx<'_>) {
        self.note_loss(cx);
        (self.recovering, self.fast) = (true, false);
        self.window.cwnd = cx.mss();
    }

    fn on_timeout_mended(&mut self, _cx: &Cx<'_>) {
        self.end_recovery();
    }

    fn on_spurious(&mut self, _before: Window, cx: &Cx<'_>) {
        (self.recovering, self.fast) = (false, false);
        self.take_back(cx.sent.map_or(0, |sent| sent.rate().delivered));
    }

    fn on_feedback(&mut self, delivered: u64, marked: u64, _cx: &Cx<'_>) {
        self.marks.count(delivered, marked);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.on_echo(cx);
    }

    /// `HandleRestartFromIdle` and `InitPacingRate`.
    fn on_restart(&mut self, cx: &Cx<'_>) {
        if self.pacer.rate().is_none() {
            let rtt = cx.srtt().filter(|rtt| !rtt.is_zero()).unwrap_or(QUANTUM_TIME);
            let rate = cx.profile.initial_window_bytes() as f64 / rtt.as_secs_f64();
            self.pace_at(self.state.pacing_gain() * rate, cx);
        }
        let Some(rate) = cx.sent.map(|sent| *sent.rate()).filter(|rate| rate.app_limited != 0) else { return };
        self.idle_restart = true;
        self.aggregation.restart(cx.now);
        if self.state.is_probe_bw() {
            self.pace(1.0, cx);
        } else {
            self.check_probe_rtt_done(rate.delivered, cx);
        }
    }

    /// Keeps the pacing rate, as Linux does.
    fn on_idle(&mut self, _cx: &Cx<'_>) {}
}
