//! A second implementation of draft-ietf-ccwg-bbr: its pseudo-code, procedure by procedure and under its names, with
//! the choices listed on the page of `bbr3`. Histories of acknowledgements and losses must lead both to the same state
//! (`histories.rs`).

mod losses;
mod probe_rtt;

use aqmkit_base::{BitRate, Duration, Instant};

use super::cycle::draw_wait;
use crate::congestion::Sample;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

use Phase::{Drain, ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp, ProbeRtt, Startup};

/// The rows of the table of gains.
fn gains(phase: Phase) -> (f64, f64) {
    match phase {
        Startup => (4.0 * std::f64::consts::LN_2, 2.0),
        Drain => (0.5, 2.0),
        ProbeBwDown => (0.9, 2.0),
        ProbeBwCruise | ProbeBwRefill => (1.0, 2.0),
        ProbeBwUp => (1.25, 2.25),
        ProbeRtt => (1.0, 0.5),
    }
}

/// No bound on the data in flight.
const INFINITY: u64 = u64::MAX;

/// Constants of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) smss: u64,
    pub(super) header: u64,
    pub(super) initial_cwnd: u64,
    pub(super) cwnd_limit: u64,
    /// Whether every lost segment is reported.
    pub(super) sees_losses: bool,
    /// Whether the feedback counts marks.
    pub(super) counts_marks: bool,
}

/// The state before a loss, to restore if that was spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    at: Option<u64>,
    bounds: Option<(f64, u64, u64)>,
    phase: Option<Phase>,
}

/// `BBR.` and `C.`
#[derive(Clone, Debug)]
pub(super) struct Draft {
    set: Setting,
    pub(super) delivered: u64,
    pub(super) inflight: u64,
    pub(super) cwnd: u64,
    prior_cwnd: u64,
    pub(super) pacing_rate: Option<BitRate>,
    pub(super) phase: Phase,
    in_recovery: bool,
    in_fast_recovery: bool,
    idle_restart: bool,
    app_limited: Option<(u64, u64)>,
    // Rounds.
    next_round_delivered: u64,
    round_start: bool,
    round_count: u64,
    drain_start_round: u64,
    cwnd_limited_rounds: Vec<u64>,
    // The model.
    max_bw_samples: Vec<(u64, f64)>,
    pub(super) bw: f64,
    pub(super) min_rtt: Option<(Duration, Instant)>,
    probe_rtt_min: Option<(Duration, Instant)>,
    probe_rtt_done_stamp: Option<Instant>,
    probe_rtt_round_done: bool,
    extra_acked_samples: Vec<(u64, f64)>,
    extra_acked_since: Instant,
    extra_acked_delivered: u64,
    // The bounds.
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: u64,
    pub(super) inflight_longterm: u64,
    // Congestion signals.
    bw_latest: f64,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    lost_pieces: u32,
    lost_piece_end: u64,
    // The pipe.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    // Probing.
    probe_stopping: bool,
    cycle_count: u64,
    cycle_has_sample: bool,
    bw_probe_samples: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    probe_up_rounds: u32,
    probe_up_acked: u64,
    probe_up_per_inc: u64,
    cycle_stamp: Instant,
    bw_probe_wait: Duration,
    rounds_since_probe_up: u64,
    // Linux's response to marks.
    alpha: f64,
    round_marks: (u64, u64),
    echo: bool,
    marked_rounds: u32,
    saved: Saved,
}

impl Draft {
    pub(super) fn new(set: Setting) -> Self {
        Draft {
            set,
            delivered: 0,
            inflight: 0,
            cwnd: set.initial_cwnd,
            prior_cwnd: 0,
            pacing_rate: None,
            phase: Startup,
            in_recovery: false,
            in_fast_recovery: false,
            idle_restart: false,
            app_limited: None,
            next_round_delivered: 0,
            round_start: false,
            round_count: 0,
            drain_start_round: 0,
            cwnd_limited_rounds: vec![],
            max_bw_samples: vec![],
            bw: 0.0,
            min_rtt: None,
            probe_rtt_min: None,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            extra_acked_samples: vec![],
            extra_acked_since: Instant::ZERO,
            extra_acked_delivered: 0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: INFINITY,
            inflight_longterm: INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            lost_pieces: 0,
            lost_piece_end: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            probe_stopping: false,
            cycle_count: 0,
            cycle_has_sample: false,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_up_rounds: 0,
            probe_up_acked: 0,
            probe_up_per_inc: INFINITY,
            cycle_stamp: Instant::ZERO,
            bw_probe_wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            alpha: 1.0,
            round_marks: (0, 0),
            echo: false,
            marked_rounds: 0,
            saved: Saved::default(),
        }
    }

    fn max_bw(&self) -> f64 {
        let lately = self.max_bw_samples.iter().filter(|(cycle, _)| cycle + 2 > self.cycle_count);
        lately.map(|(_, bw)| *bw).fold(0.0, f64::max)
    }

    fn extra_acked(&self) -> f64 {
        self.extra_acked_samples.iter().map(|(_, extra)| *extra).fold(0.0, f64::max)
    }

    fn is_probing_bw(&self) -> bool {
        [Startup, ProbeBwRefill, ProbeBwUp].contains(&self.phase)
    }

    fn is_in_a_probe_bw_state(&self) -> bool {
        [ProbeBwDown, ProbeBwCruise, ProbeBwRefill, ProbeBwUp].contains(&self.phase)
    }

    fn min_pipe_cwnd(&self) -> u64 {
        4 * self.set.smss
    }

    fn bdp_multiple(&self, bw: f64, gain: f64) -> u64 {
        self.min_rtt.map_or(self.set.initial_cwnd, |(rtt, _)| (gain * bw * rtt.as_secs_f64()) as u64)
    }

    fn quantization_budget(&self, inflight: u64) -> u64 {
        let in_a_millisecond = self.pacing_rate.map_or(0.0, BitRate::bytes_per_sec) * 0.001;
        let send_quantum = (in_a_millisecond as u64).min(65_536).max(2 * self.set.smss);
        let budget = inflight.max(3 * send_quantum).max(self.min_pipe_cwnd());
        if self.phase == ProbeBwUp { budget + 2 * self.set.smss } else { budget }
    }

    fn inflight_of(&self, bw: f64) -> u64 {
        self.quantization_budget(self.bdp_multiple(bw, 1.0))
    }

    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited_rounds.iter().any(|round| round + 1 >= self.round_count)
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    // Once for each acknowledgement.

    pub(super) fn update_on_ack(&mut self, rs: &Sample, now: Instant) {
        let mut rs = *rs;
        (self.delivered, self.inflight) = (rs.delivered, rs.in_flight);
        rs.app_limited |=
            self.app_limited.is_some_and(|(from, until)| from <= rs.prior_delivered && rs.prior_delivered <= until);
        let before = rs.in_flight + rs.acked + rs.lost;
        if before + self.set.smss > self.cwnd {
            self.cwnd_limited_rounds.push(self.round_count);
        }
        self.update_latest_delivery_signals(&rs);
        self.update_round(&rs);
        self.update_max_bw(&rs);
        self.adapt_lower_bounds(&rs, now);
        self.update_ack_aggregation(&rs, now);
        self.check_full_bw_reached(&rs);
        self.check_startup_done(&rs);
        self.check_drain_done(now);
        if self.full_bw_reached {
            self.update_probe_bw_cycle_phase(&rs, now);
        }
        self.update_min_rtt_and_probe_rtt(rs.rtt, now);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (rs.rate.unwrap_or(0.0), rs.delivered - rs.prior_delivered);
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
        self.set_pacing_rate_with_gain(gains(self.phase).0);
        self.set_cwnd(&rs);
    }

    fn update_latest_delivery_signals(&mut self, rs: &Sample) {
        self.bw_latest = rs.rate.into_iter().fold(self.bw_latest, f64::max);
        self.inflight_latest = self.inflight_latest.max(rs.delivered - rs.prior_delivered);
        self.loss_round_start = rs.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = self.delivered;
        }
    }

    fn update_round(&mut self, rs: &Sample) {
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    fn update_max_bw(&mut self, rs: &Sample) {
        let Some(rate) = rs.rate else { return };
        if rate >= self.max_bw() || !rs.app_limited {
            self.max_bw_samples.push((self.cycle_count, rate));
            self.cycle_has_sample = true;
        }
    }

    /// `UpdateCongestionSignals`, with Linux's share of marks.
    fn adapt_lower_bounds(&mut self, rs: &Sample, now: Instant) {
        let of_marks = if self.round_start { self.end_round_of_marks(rs, now) } else { None };
        if self.loss_round_start {
            if self.loss_in_round && !self.is_probing_bw() {
                let bw = if self.bw_shortterm.is_infinite() { self.max_bw() } else { self.bw_shortterm };
                let bw = bw.min(self.max_bw());
                let inflight = if self.inflight_shortterm == INFINITY { self.cwnd } else { self.inflight_shortterm };
                self.bw_shortterm = self.bw_latest.max(0.7 * bw);
                self.inflight_shortterm = self.inflight_latest.max((0.7 * inflight as f64) as u64);
            }
            self.loss_in_round = false;
        }
        if let Some(bound) = of_marks.filter(|_| !self.is_probing_bw()) {
            self.inflight_shortterm = self.inflight_shortterm.min(bound);
        }
    }

    /// Reduces the short-term bounds after a round trip with marks.
    fn end_round_of_marks(&mut self, rs: &Sample, now: Instant) -> Option<u64> {
        let weighed = self.weighs_marks();
        let (delivered, marked) = std::mem::take(&mut self.round_marks);
        let share = if delivered == 0 { 0.0 } else { marked as f64 / delivered as f64 };
        if weighed && delivered > 0 {
            self.alpha = (15.0 / 16.0 * self.alpha + share / 16.0).min(1.0);
        }
        let much = std::mem::take(&mut self.echo) || weighed && share >= 0.5;
        self.marked_rounds = if much { self.marked_rounds + 1 } else { 0 };
        if !weighed || share == 0.0 {
            return None;
        }
        let bound = if self.inflight_shortterm == INFINITY { self.cwnd } else { self.inflight_shortterm };
        if share > 0.5 {
            self.handle_inflight_too_high(rs.tx_in_flight, rs.app_limited, now);
        }
        Some(((1.0 - self.alpha * (1.0 / 3.0)) * bound as f64) as u64)
    }

    fn weighs_marks(&self) -> bool {
        self.set.counts_marks && self.min_rtt.is_some_and(|(rtt, _)| rtt <= Duration::from_millis(5))
    }

    fn update_ack_aggregation(&mut self, rs: &Sample, now: Instant) {
        let mut expected = self.bw * now.since(self.extra_acked_since).as_secs_f64();
        if self.extra_acked_delivered as f64 <= expected {
            (self.extra_acked_since, self.extra_acked_delivered, expected) = (now, 0, 0.0);
        }
        self.extra_acked_delivered += rs.acked;
        let extra = (self.extra_acked_delivered as f64 - expected).min(self.cwnd as f64);
        let rounds = if self.full_bw_reached { 10 } else { 1 };
        // The filter length matters when a round begins: a sample that expires then does not return.
        if self.round_start {
            self.extra_acked_samples.retain(|(round, _)| round + rounds > self.round_count);
        }
        self.extra_acked_samples.push((self.round_count, extra));
    }

    fn check_full_bw_reached(&mut self, rs: &Sample) {
        let Some(rate) = rs.rate else { return };
        if self.full_bw_now || !self.round_start || rs.app_limited {
            return;
        }
        if rate >= self.full_bw * 1.25 {
            self.reset_full_bw(rate);
        } else {
            self.full_bw_count += 1;
            self.full_bw_now = self.full_bw_count >= 3;
            self.full_bw_reached = self.full_bw_reached || self.full_bw_now;
        }
    }

    fn reset_full_bw(&mut self, rate: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (rate, 0, false);
    }

    fn check_startup_done(&mut self, rs: &Sample) {
        let lossy = if self.set.sees_losses {
            let too_high = rs.lost_since as f64 > 0.02 * rs.tx_in_flight as f64;
            self.loss_round_start && self.in_fast_recovery && self.lost_pieces >= 6 && too_high
        } else {
            self.in_fast_recovery
        };
        if self.loss_round_start {
            self.lost_pieces = 0;
        }
        if self.phase != Startup {
            return;
        }
        if !self.full_bw_reached && (lossy || self.marked_rounds >= 2) {
            (self.full_bw_reached, self.full_bw_now) = (true, true);
            self.inflight_longterm = self.bdp_multiple(self.bw, 1.0).max(self.inflight_latest);
            self.saved.phase = Some(Startup);
        }
        if self.full_bw_reached {
            (self.phase, self.drain_start_round) = (Drain, self.round_count);
        }
    }

    fn check_drain_done(&mut self, now: Instant) {
        let rounds = self.round_count - self.drain_start_round;
        if self.phase == Drain && (self.inflight <= self.inflight_of(self.bw) || rounds > 3) {
            self.start_probe_bw_down(now);
        }
    }

    // Probing for bandwidth.

    fn update_probe_bw_cycle_phase(&mut self, rs: &Sample, now: Instant) {
        if self.adapt_long_term_model(rs) {
            return;
        }
        let phase = self.phase;
        match phase {
            ProbeBwDown | ProbeBwCruise if self.is_time_to_probe_bw(now) => self.start_probe_bw_refill(),
            ProbeBwDown if self.is_time_to_cruise() => self.phase = ProbeBwCruise,
            ProbeBwRefill if self.round_start => {
                self.bw_probe_samples = true;
                self.start_round();
                self.reset_full_bw(rs.rate.unwrap_or(0.0));
                self.phase = ProbeBwUp;
                self.raise_slope();
            }
            ProbeBwUp if self.is_time_to_go_down(rs) => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down(now);
            }
            _ => {}
        }
    }

    fn start_probe_bw_down(&mut self, now: Instant) {
        (self.loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0);
        self.probe_up_per_inc = INFINITY;
        // Derived from the time and the delivered bytes, as described on the page.
        (self.rounds_since_probe_up, self.bw_probe_wait) = draw_wait(self.delivered, now);
        self.cycle_stamp = now;
        self.probe_stopping = true;
        self.start_round();
        self.phase = ProbeBwDown;
    }

    fn start_probe_bw_refill(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, INFINITY);
        (self.probe_up_rounds, self.probe_up_acked) = (0, 0);
        (self.probe_stopping, self.prev_probe_precautionary) = (false, false);
        self.start_round();
        self.phase = ProbeBwRefill;
    }

    fn is_time_to_probe_bw(&self, now: Instant) -> bool {
        let target_inflight = self.bdp_multiple(self.bw, 1.0).min(self.cwnd);
        let reno_rounds = (target_inflight / self.set.smss).min(63);
        now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= reno_rounds
    }

    fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITY {
            return INFINITY;
        }
        let headroom = ((0.15 * self.inflight_longterm as f64) as u64).max(self.set.smss);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    fn is_time_to_cruise(&self) -> bool {
        self.inflight <= self.inflight_with_headroom() && self.inflight <= self.inflight_of(self.max_bw())
    }

    fn is_time_to_go_down(&mut self, rs: &Sample) -> bool {
        if self.prev_probe_too_high && self.inflight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw(rs.rate.unwrap_or(0.0));
        }
        self.full_bw_now
    }

    fn adapt_long_term_model(&mut self, rs: &Sample) -> bool {
        if self.probe_stopping && self.round_start {
            (self.probe_stopping, self.bw_probe_samples) = (false, false);
            if self.is_in_a_probe_bw_state() {
                if !rs.app_limited && std::mem::take(&mut self.cycle_has_sample) {
                    self.cycle_count += 1;
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
        }
        let too_high = rs.lost_since as f64 > 0.02 * rs.tx_in_flight as f64;
        if too_high || self.inflight_longterm == INFINITY {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(rs.tx_in_flight);
        if self.phase == ProbeBwUp && self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            self.probe_up_acked += rs.acked;
            while self.probe_up_acked >= self.probe_up_per_inc {
                self.probe_up_acked -= self.probe_up_per_inc;
                self.inflight_longterm += self.set.smss;
            }
            if self.round_start {
                self.raise_slope();
            }
        }
        false
    }

    fn raise_slope(&mut self) {
        let growth_this_round = 1 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_per_inc = (self.cwnd / growth_this_round).max(self.set.smss);
    }

    // Control parameters.

    fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        self.set_pacing_rate(gain * self.bw * 0.99);
    }

    fn set_pacing_rate(&mut self, rate: f64) {
        let on_wire = rate * (self.set.smss + self.set.header) as f64 / self.set.smss as f64;
        let faster = self.pacing_rate.is_none_or(|now| on_wire > now.bytes_per_sec());
        if on_wire > 0.0 && (self.full_bw_reached || faster) {
            self.pacing_rate = Some(BitRate::from_bytes_per_sec(on_wire));
        }
    }

    fn set_cwnd(&mut self, rs: &Sample) {
        let with_gain = self.bdp_multiple(self.bw, gains(self.phase).1) + self.extra_acked() as u64;
        let max_inflight = self.quantization_budget(with_gain);
        let mut cwnd = self.cwnd;
        if self.full_bw_reached {
            cwnd = (cwnd + rs.acked).min(max_inflight);
        } else if cwnd < max_inflight || self.delivered < self.set.initial_cwnd {
            cwnd += rs.acked;
        }
        cwnd = cwnd.max(self.min_pipe_cwnd());
        if self.phase == ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        let mut cap = match self.phase {
            ProbeBwDown | ProbeBwRefill | ProbeBwUp => self.inflight_longterm,
            ProbeBwCruise | ProbeRtt => self.inflight_with_headroom(),
            Startup | Drain => INFINITY,
        };
        cap = cap.min(self.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = cwnd.min(cap).min(self.set.cwnd_limit);
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd =
            if self.in_recovery || self.phase == ProbeRtt { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    // Marks, and silence.

    pub(super) fn on_feedback(&mut self, delivered: u64, marked: u64) {
        self.round_marks = (self.round_marks.0 + delivered, self.round_marks.1 + marked);
    }

    pub(super) fn on_echo(&mut self, now: Instant) {
        if !self.weighs_marks() {
            self.echo = true;
            self.note_loss();
            self.handle_inflight_too_high(self.inflight, false, now);
        }
    }

    /// `InitPacingRate`, and `HandleRestartFromIdle` where the application was idle.
    pub(super) fn on_transmit(&mut self, srtt: Option<Duration>, app_limited: bool, now: Instant) {
        if self.pacing_rate.is_none() {
            let srtt = srtt.unwrap_or(Duration::from_millis(1)).as_secs_f64();
            self.set_pacing_rate(gains(self.phase).0 * (self.set.initial_cwnd as f64 / srtt));
        }
        if app_limited {
            self.idle_restart = true;
            (self.extra_acked_since, self.extra_acked_delivered) = (now, 0);
            if self.is_in_a_probe_bw_state() {
                self.set_pacing_rate_with_gain(1.0);
            } else {
                self.check_probe_rtt_done(now);
            }
        }
    }
}
