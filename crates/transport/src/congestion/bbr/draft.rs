//! A second implementation of draft-cardwell-iccrg-bbr-congestion-control-00: its pseudo-code, procedure by procedure
//! and under its names, with the choices listed on the page of `bbr`. Random histories must lead both implementations
//! to the same state.

use aqmkit_base::BitRate;

use super::*;
use crate::congestion::histories::{Both, Event, play};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// `BBRHighGain` is 2/ln 2.
const HIGH: f64 = 2.0 * std::f64::consts::LOG2_E;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Clone, Debug)]
struct Draft {
    mss: u64,
    header: u64,
    initial_cwnd: u64,
    cwnd_limit: u64,
    cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: Option<BitRate>,
    phase: Phase,
    cycle_index: usize,
    cycle_stamp: Instant,
    btl_bw_samples: Vec<(u64, f64)>,
    rt_prop: Option<(Duration, Instant)>,
    next_round_delivered: u64,
    round_start: bool,
    round_count: u64,
    full_bw: f64,
    full_bw_count: u32,
    filled_pipe: bool,
    probe_rtt_done_stamp: Option<Instant>,
    probe_rtt_round_done: bool,
    app_limited: Option<(u64, u64)>,
    idle_restart: bool,
    in_recovery: bool,
    packet_conservation: bool,
}

impl Draft {
    fn new(p: &Profile) -> Self {
        Draft {
            mss: p.mss.0,
            header: p.header.0,
            initial_cwnd: p.initial_window_bytes(),
            cwnd_limit: p.cwnd_limit.0,
            cwnd: p.initial_window_bytes(),
            prior_cwnd: 0,
            pacing_rate: None,
            phase: Phase::Startup,
            cycle_index: 0,
            cycle_stamp: Instant::ZERO,
            btl_bw_samples: vec![],
            rt_prop: None,
            next_round_delivered: 0,
            round_start: false,
            round_count: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            filled_pipe: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            app_limited: None,
            idle_restart: false,
            in_recovery: false,
            packet_conservation: false,
        }
    }

    fn btl_bw(&self) -> f64 {
        self.btl_bw_samples.iter().map(|(_, bw)| *bw).fold(0.0, f64::max)
    }

    fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => HIGH,
            Phase::Drain => 1.0 / HIGH,
            Phase::ProbeBw => CYCLE[self.cycle_index],
            Phase::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup | Phase::Drain => HIGH,
            Phase::ProbeBw => 2.0,
            Phase::ProbeRtt => 1.0,
        }
    }

    fn send_quantum(&self) -> u64 {
        let bits_per_second = 8.0 * self.btl_bw();
        if bits_per_second < 1.2e6 {
            self.mss
        } else if bits_per_second < 24e6 {
            2 * self.mss
        } else {
            ((self.btl_bw() / 1000.0) as u64).min(65_536)
        }
    }

    fn inflight(&self, gain: f64) -> u64 {
        let Some((rt_prop, _)) = self.rt_prop else { return self.initial_cwnd };
        (gain * self.btl_bw() * rt_prop.as_secs_f64()) as u64 + 3 * self.send_quantum()
    }

    fn update_on_ack(&mut self, rs: &Sample, now: Instant) {
        let mut rs = *rs;
        let within = |(from, until): (u64, u64)| from <= rs.prior_delivered && rs.prior_delivered <= until;
        rs.app_limited = rs.app_limited || self.app_limited.is_some_and(within);
        self.update_btl_bw(&rs);
        self.check_cycle_phase(&rs, now);
        self.check_full_pipe(&rs);
        if self.phase == Phase::Startup && self.filled_pipe {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && rs.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
        self.update_rt_prop_and_check_probe_rtt(&rs, now);
        self.set_pacing_rate_with_gain(self.pacing_gain());
        self.set_cwnd(&rs);
    }

    fn update_btl_bw(&mut self, rs: &Sample) {
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = rs.delivered;
            self.round_count += 1;
            self.packet_conservation = false;
        }
        let Some(rate) = rs.rate else { return };
        if rate >= self.btl_bw() || !rs.app_limited {
            let now = self.round_count;
            self.btl_bw_samples.retain(|(round, _)| round + 10 > now);
            self.btl_bw_samples.push((now, rate));
        }
    }

    fn check_cycle_phase(&mut self, rs: &Sample, now: Instant) {
        if self.phase != Phase::ProbeBw {
            return;
        }
        let is_full_length = self.rt_prop.is_some_and(|(rt_prop, _)| now > self.cycle_stamp + rt_prop);
        let gain = CYCLE[self.cycle_index];
        let next = match self.cycle_index {
            0 => is_full_length && (rs.lost > 0 || rs.in_flight >= self.inflight(gain)),
            1 => is_full_length || rs.in_flight <= self.inflight(1.0),
            _ => is_full_length,
        };
        if next {
            (self.cycle_index, self.cycle_stamp) = ((self.cycle_index + 1) % 8, now);
        }
    }

    /// The initial phase of the cycle is random: any but the one that drains the queue.
    fn enter_probe_bw(&mut self, now: Instant) {
        let Mode::ProbeBw { phase, since } = Bbr::probe_bw(now) else { panic!("another mode") };
        assert!(phase != 1 && phase < 8 && since == now);
        (self.phase, self.cycle_index, self.cycle_stamp) = (Phase::ProbeBw, phase, now);
    }

    fn check_full_pipe(&mut self, rs: &Sample) {
        if self.filled_pipe || !self.round_start || rs.app_limited {
            return;
        }
        if self.btl_bw() >= self.full_bw * 1.25 {
            (self.full_bw, self.full_bw_count) = (self.btl_bw(), 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    fn update_rt_prop_and_check_probe_rtt(&mut self, rs: &Sample, now: Instant) {
        let expired = self.rt_prop.is_some_and(|(_, stamp)| now > stamp + Duration::from_secs(10));
        if let Some(rtt) = rs.rtt
            && (expired || self.rt_prop.is_none_or(|(rt_prop, _)| rtt <= rt_prop))
        {
            self.rt_prop = Some((rtt, now));
        }
        if self.phase != Phase::ProbeRtt && expired && !self.idle_restart {
            self.save_cwnd();
            (self.phase, self.probe_rtt_done_stamp) = (Phase::ProbeRtt, None);
            self.app_limited = Some((rs.delivered, 0));
        }
        self.idle_restart = false;
        if self.phase != Phase::ProbeRtt {
            return;
        }
        self.app_limited = self.app_limited.map(|(from, _)| (from, rs.delivered + rs.in_flight));
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done = self.probe_rtt_round_done || self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        } else if rs.in_flight <= 4 * self.mss {
            self.probe_rtt_done_stamp = Some(now + Duration::from_millis(200));
            self.probe_rtt_round_done = false;
            self.next_round_delivered = rs.delivered;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.phase != Phase::ProbeRtt || self.probe_rtt_done_stamp.is_none_or(|stamp| now <= stamp) {
            return;
        }
        self.rt_prop = self.rt_prop.map(|(rt_prop, _)| (rt_prop, now));
        self.restore_cwnd();
        if self.filled_pipe { self.enter_probe_bw(now) } else { self.phase = Phase::Startup }
    }

    fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.btl_bw() * ((self.mss + self.header) as f64 / self.mss as f64) * 0.99;
        let faster = self.pacing_rate.is_none_or(|now| rate > now.bytes_per_sec());
        if rate > 0.0 && (self.filled_pipe || faster) {
            self.pacing_rate = Some(BitRate::from_bytes_per_sec(rate));
        }
    }

    fn set_cwnd(&mut self, rs: &Sample) {
        let target_cwnd = self.inflight(self.cwnd_gain());
        if rs.lost > 0 && self.in_recovery {
            self.cwnd = self.cwnd.saturating_sub(rs.lost).max(self.mss);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(rs.in_flight + rs.acked);
        } else {
            if self.filled_pipe {
                self.cwnd = (self.cwnd + rs.acked).min(target_cwnd);
            } else if self.cwnd < target_cwnd || rs.delivered < self.initial_cwnd {
                self.cwnd += rs.acked;
            }
            self.cwnd = self.cwnd.max(4 * self.mss);
        }
        if self.phase == Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(4 * self.mss);
        }
        self.cwnd = self.cwnd.min(self.cwnd_limit);
    }

    fn save_cwnd(&mut self) {
        if self.in_recovery || self.phase == Phase::ProbeRtt {
            self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        } else {
            self.prior_cwnd = self.cwnd;
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn enter_fast_recovery(&mut self, delivered: u64, in_flight: u64) {
        self.save_cwnd();
        self.cwnd = in_flight + self.mss;
        (self.in_recovery, self.packet_conservation, self.next_round_delivered) = (true, true, delivered);
    }

    fn enter_rto(&mut self) {
        self.save_cwnd();
        self.cwnd = self.mss;
        (self.in_recovery, self.packet_conservation) = (true, false);
    }

    fn exit_recovery(&mut self) {
        self.restore_cwnd();
        (self.in_recovery, self.packet_conservation) = (false, false);
    }

    /// A spurious loss says nothing about the pipe.
    fn undo(&mut self) {
        if !self.filled_pipe {
            (self.full_bw, self.full_bw_count) = (0.0, 0);
        }
        self.exit_recovery();
    }

    fn handle_restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        if self.phase == Phase::ProbeBw { self.set_pacing_rate_with_gain(1.0) } else { self.check_probe_rtt_done(now) }
    }
}

struct Readings {
    bbr: Bbr,
    draft: Draft,
}

impl Both for Readings {
    fn new(profile: &Profile, _counts_marks: bool) -> Self {
        Readings { bbr: Bbr::new(profile), draft: Draft::new(profile) }
    }

    fn happens(&mut self, what: Event, cx: &Cx<'_>) {
        let Readings { bbr, draft } = self;
        let sent = cx.sent.unwrap();
        match what {
            Event::Losses => bbr.on_losses(cx),
            Event::Loss => {
                bbr.on_loss(cx);
                draft.enter_fast_recovery(sent.rate().delivered, sent.in_flight());
            }
            Event::Timeout => {
                bbr.on_timeout(false, cx);
                draft.enter_rto();
            }
            Event::Recovered | Event::Mended => {
                if matches!(what, Event::Mended) { bbr.on_timeout_mended(cx) } else { bbr.on_recovered(0, cx) }
                draft.exit_recovery();
            }
            Event::Needless => {
                let before = *bbr.window();
                bbr.on_spurious(before, cx);
                draft.undo();
            }
            // BBR ignores marks.
            Event::Feedback(delivered, marked) => bbr.on_feedback(delivered, marked, cx),
            Event::Echo => bbr.on_ecn(cx),
            Event::Sample => {
                let known = draft.rt_prop.map_or(Duration::ZERO, |(rtt, _)| rtt);
                bbr.on_sample(cx);
                if let Some(rs) = Sample::read(cx, known) {
                    draft.update_on_ack(&rs, cx.now);
                }
            }
            Event::Restart => {
                bbr.on_restart(cx);
                if sent.rate().app_limited != 0 {
                    draft.handle_restart_from_idle(cx.now);
                }
            }
        }
        let (phase, cycle) = match bbr.mode {
            Mode::Startup => (Phase::Startup, None),
            Mode::Drain => (Phase::Drain, None),
            Mode::ProbeBw { phase, .. } => (Phase::ProbeBw, Some(phase)),
            Mode::ProbeRtt { .. } => (Phase::ProbeRtt, None),
        };
        let rt_prop = bbr.least.rtt.map(|rtt| (rtt, bbr.least.at));
        let one = (phase, cycle, bbr.window.cwnd, bbr.pacer.rate(), rt_prop, bbr.rate.max());
        let drafts = Some(draft.cycle_index).filter(|_| draft.phase == Phase::ProbeBw);
        let two = (draft.phase, drafts, draft.cwnd, draft.pacing_rate, draft.rt_prop, draft.btl_bw());
        assert_eq!(one, two, "after {what:?} at {}", cx.now);
    }

    fn cwnd(&self) -> u64 {
        self.draft.cwnd
    }

    fn phase(&self) -> &'static str {
        match self.draft.phase {
            Phase::Startup => "Startup",
            Phase::Drain => "Drain",
            Phase::ProbeBw => "ProbeBW",
            Phase::ProbeRtt => "ProbeRTT",
        }
    }
}

#[test]
fn every_history_ends_as_the_draft_says() {
    let seen = play::<Readings>();
    let phases = ["Startup", "Drain", "ProbeBW", "ProbeRTT"];
    let events = ["restart", "losses", "loss", "recovered", "timeout", "mended", "needless", "echo"];
    for what in phases.into_iter().chain(events) {
        assert!(seen.get(what).is_some_and(|&count| count > 100), "{what} is rare: {seen:?}");
    }
}
