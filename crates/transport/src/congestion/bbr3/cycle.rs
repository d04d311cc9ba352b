//! `ProbeBW`: when to probe for bandwidth, and how the probe changes the bounds.

use aqmkit_base::rng::derive_seed;
use aqmkit_base::{Duration, Instant};

use super::{Bbr3, LEAST_SEGMENTS, State};
use crate::congestion::Cx;
use crate::congestion::faults::{Fault, has};
use crate::congestion::delivery::Sample;

/// Minimum time between probes, and the range of the random addition.
const WAIT: Duration = Duration::from_secs(2);
const WAIT_VARIES: Duration = Duration::from_secs(1);
/// Maximum number of round trips between probes.
const MOST_ROUNDS: u64 = 63;
/// The maximum number of doublings of the bound's growth.
const MOST_DOUBLINGS: u32 = 30;

/// The state of probing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// ACKs still reflect the finished probe, until a round trip has passed (`BBR.ack_phase` is `ACKS_PROBE_STOPPING`).
    stopping: bool,
    /// `BBR.cycle_count`.
    pub(super) count: u64,
    /// `BBR.is_bw_probe_sample`.
    pub(super) sample: bool,
    /// `BBR.prev_probe_too_high` and `BBR.prev_probe_precautionary`.
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
    /// `BBR.bw_probe_up_acked`, `BBR.probe_up_acked_per_inc`, `BBR.bw_probe_up_rounds`.
    acked: u64,
    per_increase: u64,
    up_rounds: u32,
    /// `BBR.rounds_since_probe_up`.
    pub(super) rounds_since_up: u64,
    /// `BBR.bw_probe_wait` and `BBR.cycle_stamp`.
    pub(super) wait: Duration,
    start: Instant,
}

impl Default for Cycle {
    fn default() -> Self {
        Cycle {
            stopping: false,
            count: 0,
            sample: false,
            too_high: false,
            precautionary: false,
            acked: 0,
            per_increase: u64::MAX,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            start: Instant::ZERO,
        }
    }
}

impl Cycle {
    /// The next ACKs still reflect the probe that `ProbeRTT` interrupted.
    pub(super) fn begin_probe_rtt(&mut self) {
        self.stopping = true;
    }

    /// `PickProbeWait`.
    fn pick_wait(&mut self, delivered: u64, now: Instant) {
        (self.rounds_since_up, self.wait) = draw_wait(delivered, now);
    }

    /// `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self, cwnd: u64, mss: u64) {
        self.per_increase = (cwnd >> self.up_rounds).max(mss);
        self.up_rounds = if has(Fault::LinearSteps) { 0 } else { (self.up_rounds + 1).min(MOST_DOUBLINGS) };
    }
}

/// Draws when to probe next: the round trips counted as already past (0 or 1), and the minimum wait.
pub(super) fn draw_wait(delivered: u64, now: Instant) -> (u64, Duration) {
    let bits = derive_seed(now.as_nanos() ^ delivered.rotate_left(32), "bbr3");
    let share = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    (bits & 1, WAIT + WAIT_VARIES.mul_f64(share))
}

impl Bbr3 {
    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, sample: &Sample, cx: &Cx<'_>) {
        if !self.full.reached || self.adapt_long_term(sample, cx) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(cx) => self.start_refill(sample.delivered),
            State::Down if self.is_time_to_cruise(sample, cx) => self.state = State::Cruise,
            State::Refill if self.rounds.started => {
                self.cycle.sample = true;
                self.start_up(sample, cx);
            }
            State::Up if self.is_time_to_go_down(sample) => {
                self.cycle.too_high = false;
                self.start_down(sample.delivered, cx);
            }
            _ => {}
        }
    }

    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, delivered: u64, cx: &Cx<'_>) {
        self.latest.reset();
        self.cycle.per_increase = u64::MAX;
        self.cycle.pick_wait(delivered, cx.now);
        self.cycle.start = cx.now;
        self.cycle.stopping = true;
        self.rounds.restart(delivered);
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.bounds.reset_short();
        (self.cycle.up_rounds, self.cycle.acked) = (0, 0);
        self.cycle.precautionary = false;
        self.cycle.stopping = false;
        self.rounds.restart(delivered);
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, sample: &Sample, cx: &Cx<'_>) {
        self.rounds.restart(sample.delivered);
        self.full.reset(sample.rate.unwrap_or(0.0));
        self.state = State::Up;
        self.cycle.raise_slope(self.window.cwnd, cx.mss());
    }

    /// `IsTimeToProbeBW`: by the clock, or when Reno would have regained its window.
    fn is_time_to_probe(&self, cx: &Cx<'_>) -> bool {
        let reno = (self.target_inflight(cx) / cx.mss()).min(MOST_ROUNDS);
        if has(Fault::IgnoresWait) && self.state == State::Down {
            return false;
        }
        cx.now > self.cycle.start + self.cycle.wait || self.cycle.rounds_since_up >= reno
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, sample: &Sample, cx: &Cx<'_>) -> bool {
        let headroom = self.bounds.with_headroom(cx.mss()).max(LEAST_SEGMENTS * cx.mss());
        !has(Fault::NeverCruises) && sample.in_flight <= headroom.min(self.inflight(self.max_bw.max(), cx))
    }

    /// `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        if self.cycle.too_high && sample.in_flight >= self.bounds.inflight_long {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.window.cwnd >= self.bounds.inflight_long {
            // The bound limits the rate, not the path.
            self.full.reset(sample.rate.unwrap_or(0.0));
            return false;
        }
        self.full.now
    }

    /// `AdaptLongTermModel`. Returns whether it has changed the state.
    fn adapt_long_term(&mut self, sample: &Sample, cx: &Cx<'_>) -> bool {
        if self.cycle.stopping && self.rounds.started {
            (self.cycle.sample, self.cycle.stopping) = (false, false);
            if self.state.is_probe_bw() && !sample.app_limited {
                self.advance_max_bw();
            }
            if self.state.is_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
                self.start_refill(sample.delivered);
                return true;
            }
        }
        if self.bounds.inflight_long != u64::MAX && !Self::is_too_high(sample.lost_since, sample.tx_in_flight) {
            self.bounds.inflight_long = self.bounds.inflight_long.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.raise_long_term(sample, cx);
            }
        }
        false
    }

    /// `AdvanceMaxBwFilter`. A cycle without samples keeps the old ones.
    fn advance_max_bw(&mut self) {
        if std::mem::take(&mut self.sampled) && !has(Fault::NeverForgets) {
            self.cycle.count += 1;
            self.max_bw.begin(self.cycle.count);
        }
    }

    /// `ProbeInflightLongtermUpward`.
    fn raise_long_term(&mut self, sample: &Sample, cx: &Cx<'_>) {
        if !self.is_cwnd_limited() || self.window.cwnd < self.bounds.inflight_long {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.acked += sample.acked;
        let steps = cycle.acked / cycle.per_increase;
        cycle.acked -= steps * cycle.per_increase;
        self.bounds.inflight_long += steps * cx.mss();
        if self.rounds.started {
            cycle.raise_slope(self.window.cwnd, cx.mss());
        }
    }
}
