//! How the bounds respond to losses and marks, and how a response is undone.

use aqmkit_base::Duration;

use super::model::{BETA, Bounds};
use super::{Bbr3, State};
use crate::congestion::Cx;
use crate::congestion::faults::{Fault, has};
use crate::congestion::delivery::Sample;
use crate::tcp::{Loss, Sent};

/// `BBR.LossThresh`.
const LOSS_THRESHOLD: f64 = 0.02;
/// `BBRStartupFullLossCnt`.
const STARTUP_PIECES: u32 = 6;
/// Linux: marks indicate a short queue if round trips are no longer than this.
const ECN_MOST_RTT: Duration = Duration::from_millis(5);
/// Linux's constants for the share of marked data: the weight of a new round trip, the reduction per share, the share
/// that counts as excessive, and the number of excessive round trips that end Startup.
const ECN_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESHOLD: f64 = 0.5;
const ECN_ROUNDS: u32 = 2;

/// The state before a loss (`BBR.undo_state` and related).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that a loss ended.
    state: Option<State>,
    bounds: Option<Bounds>,
    /// Bytes delivered when it was saved.
    at: Option<u64>,
}

impl Undo {
    /// Losses have ended Startup.
    pub(super) fn end_startup(&mut self) {
        self.state = Some(State::Startup);
    }
}

/// The averaged share of marked data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) alpha: f64,
    delivered: u64,
    marked: u64,
    /// Whether there was an echo in this round trip that does not count marks.
    echo: bool,
    /// Consecutive round trips with too many marks; enough of them end Startup.
    rounds: u32,
}

impl Marks {
    pub(super) fn new() -> Self {
        Marks { alpha: 1.0, delivered: 0, marked: 0, echo: false, rounds: 0 }
    }

    pub(super) fn count(&mut self, delivered: u64, marked: u64) {
        self.delivered += delivered;
        self.marked += marked;
    }

    /// A round trip has ended. Returns the share of its data that was marked.
    fn end_round(&mut self, weighed: bool) -> f64 {
        let share = if self.delivered > 0 { self.marked as f64 / self.delivered as f64 } else { 0.0 };
        if weighed && self.delivered > 0 {
            self.alpha = ((1.0 - ECN_GAIN) * self.alpha + ECN_GAIN * share).min(1.0);
        }
        (self.delivered, self.marked) = (0, 0);
        let much = std::mem::take(&mut self.echo) || (weighed && share >= ECN_THRESHOLD);
        self.rounds = if much { self.rounds + 1 } else { 0 };
        share
    }
}

impl Bbr3 {
    /// Whether the endpoint reports every lost segment.
    pub(super) fn sees_losses(cx: &Cx<'_>) -> bool {
        cx.sack && cx.profile.uses_rack()
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_too_high(lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > LOSS_THRESHOLD * tx_in_flight as f64
    }

    /// `NoteLoss`, and `SaveStateUponLoss` at the first loss of a round trip. The loss that ends a probe also begins a
    /// recovery; both share the saved state.
    pub(super) fn note_loss(&mut self, cx: &Cx<'_>) {
        if std::mem::replace(&mut self.latest.loss, true) {
            return;
        }
        let at = delivered(cx);
        self.latest.round_end = at;
        if self.undo.at != Some(at) {
            self.save_cwnd();
            self.undo = Undo { state: None, bounds: Some(self.bounds), at: Some(at) };
        }
    }

    /// `HandleLostPacket`.
    pub(super) fn on_lost_segment(&mut self, loss: &Loss, cx: &Cx<'_>) {
        let entry = &loss.entry;
        self.note_loss(cx);
        self.latest.note_piece(entry.seq, entry.end());
        let tx_in_flight = u64::from(entry.tx_in_flight);
        if Self::is_too_high(loss.since, tx_in_flight) {
            let at_loss = inflight_at_loss(u64::from(entry.len), tx_in_flight, loss.since);
            self.end_probe_too_high(at_loss, entry.app_limited, cx);
        }
    }

    /// `HandleInflightTooHigh`, if the loss or mark belongs to a probe.
    pub(super) fn end_probe_too_high(&mut self, inflight: u64, app_limited: bool, cx: &Cx<'_>) {
        if has(Fault::UpIsDeaf) || !std::mem::take(&mut self.cycle.sample) {
            return;
        }
        self.cycle.too_high = true;
        if !app_limited && !has(Fault::KeepsLongTerm) {
            let least = (BETA * self.target_inflight(cx) as f64) as u64;
            self.bounds.inflight_long = inflight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(delivered(cx), cx);
        }
    }

    /// `UpdateCongestionSignals`, the part done once per round trip: `AdaptLowerBoundsFromCongestion`.
    pub(super) fn adapt_to_congestion(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let (low, share) = if self.rounds.started { self.read_marks(sample, cx) } else { (u64::MAX, 0.0) };
        if self.latest.round_start {
            if self.latest.loss && !self.state.accelerates() {
                self.bounds.lower(self.max_bw.max(), self.window.cwnd, &self.latest);
            }
            self.latest.loss = false;
        }
        if share > 0.0 && !self.state.accelerates() {
            self.bounds.inflight_short = self.bounds.inflight_short.min(low);
        }
    }

    /// Linux: averages the share of marks of the round trip that ended, and reduces the short-term bound by it.
    fn read_marks(&mut self, sample: &Sample, cx: &Cx<'_>) -> (u64, f64) {
        let share = self.marks.end_round(self.weighs_marks(cx));
        if !self.weighs_marks(cx) {
            return (u64::MAX, 0.0);
        }
        if share > ECN_THRESHOLD {
            self.end_probe_too_high(sample.tx_in_flight, sample.app_limited, cx);
        }
        let rest = 1.0 - self.marks.alpha * ECN_FACTOR;
        ((rest * self.bounds.short_or(self.window.cwnd) as f64) as u64, share)
    }

    /// Whether marks are counted, and not only their presence reported.
    fn weighs_marks(&self, cx: &Cx<'_>) -> bool {
        cx.counts_marks && self.min_rtt().is_some_and(|rtt| rtt <= ECN_MOST_RTT)
    }

    /// A mark is treated as a loss if marks are not counted.
    pub(super) fn on_echo(&mut self, cx: &Cx<'_>) {
        if !self.weighs_marks(cx) {
            self.marks.echo = true;
            self.note_loss(cx);
            self.end_probe_too_high(cx.sent.map_or(cx.flight, Sent::in_flight), false, cx);
        }
    }

    /// `CheckStartupDone` with `CheckStartupHighLoss`.
    pub(super) fn check_startup_done(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let lossy = if has(Fault::StartupIsDeaf) {
            false
        } else if Self::sees_losses(cx) {
            self.latest.round_start
                && self.fast
                && self.latest.pieces >= STARTUP_PIECES
                && Self::is_too_high(sample.lost_since, sample.tx_in_flight)
        } else {
            self.fast
        };
        if self.latest.round_start {
            self.latest.pieces = 0;
        }
        if self.state != State::Startup {
            return;
        }
        if !self.full.reached && (lossy || self.marks.rounds >= ECN_ROUNDS) {
            self.undo.end_startup();
            (self.full.now, self.full.reached) = (true, true);
            self.bounds.inflight_long = self.product(self.bw, 1.0, cx).max(self.latest.inflight);
        }
        if self.full.reached {
            self.state = State::Drain { since: self.rounds.count };
        }
    }

    /// `HandleSpuriousLossDetection`.
    pub(super) fn take_back(&mut self, delivered: u64) {
        if has(Fault::NoUndo) {
            return;
        }
        self.restore_cwnd();
        self.latest.loss = false;
        self.full.reset(0.0);
        let undo = std::mem::take(&mut self.undo);
        if let Some(before) = undo.bounds {
            self.bounds.restore(&before);
        }
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if !self.state.is_probe_rtt() {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if self.state != State::Up && !self.state.is_probe_rtt() => self.start_refill(delivered),
            _ => {}
        }
    }
}

/// `C.delivered`.
fn delivered(cx: &Cx<'_>) -> u64 {
    cx.sent.map_or(0, |sent| sent.rate().delivered)
}

/// `InflightAtLoss`: the data in flight with a lost segment, itself included, up to the point at which losses exceeded
/// the threshold.
pub(super) fn inflight_at_loss(size: u64, tx_in_flight: u64, lost: u64) -> u64 {
    let (before, lost) = (tx_in_flight.saturating_sub(size), lost.saturating_sub(size));
    let prefix = (LOSS_THRESHOLD * before as f64 - lost as f64) / (1.0 - LOSS_THRESHOLD);
    before + prefix.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share is averaged with a sixteenth for each round trip that counts; two in a row with half or more marked, or with a bare echo,
    /// are too much.
    #[test]
    fn marks_are_weighed_round_trip_by_round_trip() {
        let mut marks = Marks::new();
        let mut alpha: f64 = 1.0;
        for (delivered, marked, weighed, echo, rounds) in [
            (1000, 499, true, false, 0),
            (1000, 500, true, false, 1),
            (400, 400, true, false, 2),
            (0, 0, true, false, 0),
            (1000, 900, false, false, 0),
            (1000, 0, false, true, 1),
            (1000, 1000, true, false, 2),
            (1000, 0, true, false, 0),
        ] {
            marks.count(delivered / 2, marked / 2);
            marks.count(delivered - delivered / 2, marked - marked / 2);
            marks.echo = echo;
            let share = if delivered > 0 { marked as f64 / delivered as f64 } else { 0.0 };
            if weighed && delivered > 0 {
                alpha += (share - alpha) / 16.0;
            }
            assert_eq!((marks.end_round(weighed), marks.rounds), (share, rounds), "{marked} of {delivered}");
            assert!((marks.alpha - alpha).abs() < 1e-12, "{} instead of {alpha}", marks.alpha);
        }
    }
}
