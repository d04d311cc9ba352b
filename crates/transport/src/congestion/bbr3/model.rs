//! Estimates of the path: recent delivery, bounds on the data in flight, whether the pipe is full, and ACK aggregation.

use aqmkit_base::Instant;

use crate::congestion::delivery::{MaxFilter, Sample};
use crate::congestion::faults::{Fault, has};

/// `BBR.MaxBwFilterLen`: this cycle of probing and the last.
pub(super) const MAX_BW_CYCLES: usize = 2;
/// `BBR.ExtraAckedFilterLen`, in round trips.
const EXTRA_ACKED_ROUNDS: usize = 10;
/// The pipe is full after this many round trips without growth by this factor.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// `BBR.Headroom`.
const HEADROOM: f64 = 0.15;
/// `BBR.Beta`.
pub(super) const BETA: f64 = 0.7;

/// Upper bounds of the data in flight and of the rate, lowered by losses. Infinite (`u64::MAX`) before any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// `BBR.bw_shortterm`, in bytes per second, and `BBR.inflight_shortterm`.
    pub(super) bw_short: f64,
    pub(super) inflight_short: u64,
    /// `BBR.inflight_longterm`.
    pub(super) inflight_long: u64,
}

impl Bounds {
    pub(super) const NONE: Bounds =
        Bounds { bw_short: f64::INFINITY, inflight_short: u64::MAX, inflight_long: u64::MAX };

    /// `ResetShortTermModel`.
    pub(super) fn reset_short(&mut self) {
        (self.bw_short, self.inflight_short) = (Self::NONE.bw_short, Self::NONE.inflight_short);
    }

    /// `InitLowerBounds` and `LossLowerBounds`.
    pub(super) fn lower(&mut self, max_bw: f64, cwnd: u64, latest: &Latest) {
        if has(Fault::NoShortTerm) {
            return;
        }
        let (bw, inflight) = (self.bw_short.min(max_bw), self.short_or(cwnd));
        self.bw_short = latest.bw.max(BETA * bw);
        self.inflight_short = latest.inflight.max((BETA * inflight as f64) as u64);
    }

    /// `BBR.inflight_shortterm`, or the window if there is none.
    pub(super) fn short_or(&self, cwnd: u64) -> u64 {
        if self.inflight_short == u64::MAX { cwnd } else { self.inflight_short }
    }

    /// `InflightWithHeadroom`, without its floor.
    pub(super) fn with_headroom(&self, mss: u64) -> u64 {
        if self.inflight_long == u64::MAX {
            return u64::MAX;
        }
        let headroom = ((HEADROOM * self.inflight_long as f64) as u64).max(mss);
        self.inflight_long.saturating_sub(headroom)
    }

    /// Keeps the bounds from falling below their previous values.
    pub(super) fn restore(&mut self, before: &Bounds) {
        self.bw_short = self.bw_short.max(before.bw_short);
        self.inflight_short = self.inflight_short.max(before.inflight_short);
        self.inflight_long = self.inflight_long.max(before.inflight_long);
    }
}

/// Delivery and loss in the last round trip (`BBR.bw_latest` and related).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    pub(super) bw: f64,
    pub(super) inflight: u64,
    /// `BBR.loss_round_delivered`.
    pub(super) round_end: u64,
    /// `BBR.loss_round_start`.
    pub(super) round_start: bool,
    /// `BBR.is_loss_in_round`.
    pub(super) loss: bool,
    /// Number of separate pieces of the stream lost in this round trip, and the end of the last one.
    pub(super) pieces: u32,
    pub(super) piece_end: u64,
}

impl Latest {
    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update(&mut self, sample: &Sample) {
        self.bw = self.bw.max(sample.rate.unwrap_or(0.0));
        self.inflight = self.inflight.max(sample.delivered - sample.prior_delivered);
        self.round_start = sample.prior_delivered >= self.round_end;
        if self.round_start {
            self.round_end = sample.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance(&mut self, sample: &Sample) {
        if self.round_start {
            self.bw = sample.rate.unwrap_or(0.0);
            self.inflight = sample.delivered - sample.prior_delivered;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset(&mut self) {
        (self.loss, self.bw, self.inflight) = (false, 0.0, 0);
    }

    /// Another segment of the stream was lost.
    pub(super) fn note_piece(&mut self, start: u64, end: u64) {
        self.pieces += u32::from(start != self.piece_end);
        self.piece_end = end;
    }
}

/// Whether a rate that was expected to grow has stopped growing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// `BBR.full_bw` and `BBR.full_bw_count`.
    pub(super) bw: f64,
    pub(super) count: u32,
    /// `BBR.full_bw_now`: since it was last reset.
    pub(super) now: bool,
    /// `BBR.full_bw_reached`: ever.
    pub(super) reached: bool,
}

impl FullPipe {
    /// `ResetFullBW`, with this rate as the new baseline.
    pub(super) fn reset(&mut self, bw: f64) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }

    /// `CheckFullBWReached`.
    pub(super) fn check(&mut self, sample: &Sample, round_start: bool) {
        let Some(rate) = sample.rate.filter(|_| !self.now && round_start && (!sample.app_limited || has(Fault::LimitsArePlateaus))) else { return };
        if rate >= FULL_GROWTH * self.bw {
            self.reset(rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= FULL_ROUNDS;
        self.reached |= self.now;
    }
}

/// How much more data is acknowledged at once than the rate predicts (`BBR.extra_acked`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Aggregation {
    since: Instant,
    acked: u64,
    filter: MaxFilter<EXTRA_ACKED_ROUNDS>,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Aggregation { since: Instant::ZERO, acked: 0, filter: MaxFilter::new() }
    }

    pub(super) fn restart(&mut self, now: Instant) {
        (self.since, self.acked) = (now, 0);
    }

    /// `UpdateACKAggregation`. `round`: whether a round trip began with this acknowledgement, and its number.
    pub(super) fn update(
        &mut self,
        acked: u64,
        bw: f64,
        cwnd: u64,
        (started, round): (bool, u64),
        full: bool,
        now: Instant,
    ) {
        if started && !full {
            self.filter = MaxFilter::new();
        } else if started {
            self.filter.begin(round);
        }
        let mut expected = bw * now.since(self.since).as_secs_f64();
        if self.acked as f64 <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += acked;
        self.filter.add(round, (self.acked as f64 - expected).min(cwnd as f64));
    }

    pub(super) fn extra(&self) -> u64 {
        if has(Fault::NoAggregation) { 0 } else { self.filter.max() as u64 }
    }
}
