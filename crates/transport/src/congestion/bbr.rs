//! # bbr: a model of the path instead of a window that halves (version 1)
//!
//! Measures the delivery rate and the minimum round-trip time of the path, and sends at that rate with at
//! most two bandwidth-delay products in flight. It does not respond to losses and marks. It fills short
//! queues and takes far more than its share from controls that halve; in long queues it keeps about one
//! bandwidth-delay product queued.
//!
//! ## Law
//!
//! * `BtlBw` is the maximum delivery rate over 10 round trips, `RTprop` the minimum round trip over 10 s [bbr00 section 4.1]. A
//!   sample limited by the application or by `ProbeRTT` counts only if it is at least as large; until a sample counts, none expires `[linux]`.
//! * Pacing at `gain x BtlBw`, and a window of `cwnd_gain x BtlBw x RTprop` plus three quanta, at least 4 segments [bbr00
//!   sections 4.2.1, 4.2.3].
//! * *Startup*, both gains `2 / ln 2`, until the rate has grown by less than 25 % in three round trips; *Drain*, gain `ln
//!   2 / 2`, until at most one bandwidth-delay product is in flight [bbr00 sections 4.3.2, 4.3.3].
//! * *`ProbeBW`*: gains 1.25, 0.75 and six times 1, each for `RTprop`; 1.25 until that much is in flight or something
//!   is lost, 0.75 at most until one product is in flight [bbr00 section 4.3.4].
//! * *`ProbeRTT`*: after 10 s without a shorter round trip, 4 segments for 200 ms and a round trip [bbr00 section 4.3.5]. Not
//!   right after an idle period, which has emptied the queue already; sending then resumes at `BtlBw` [bbr00 `BBRHandleRestartFromIdle`].
//! * After a loss, packet conservation for one round trip; then the window is restored [bbr00 section 4.2.3.4]. After a timeout,
//!   restart at one segment until the old flight is acknowledged; then restore the window.
//!
//! ## Parameters
//!
//! None.
//!
//! ## Deviations
//!
//! 1. The phase in which `ProbeBW` begins is derived from the time, not from a random generator: controls have none.
//! 2. Not in the draft and left out: Linux's detection of policers, and its allowance for aggregated acknowledgements.
//! 3. Segments are sent one at a time, so the quantum affects only the window.
//! 4. The rate counts data; segments are paced with their headers, 1 % below the model's rate, as in Linux.
//!
//! ## Limits
//!
//! It needs SACK and `loss_detection = "rack"`: without them, lost segments count as in flight until they are repaired.
//!
//! ## Evidence
//!
//! `delivery.rs`: its filters by hand. `tests/transport/bbr.rs`: idle periods, `ProbeRTT` and losses. `tests/sim/controls.rs` of the simulator:
//! utilisation and queue on a bottleneck, the visits to four segments, indifference to losses, equal shares.
//!
//! ## References
//!
//! * bbr00: N. Cardwell, Y. Cheng, S. Hassas Yeganeh, V. Jacobson, BBR Congestion Control,
//!   draft-cardwell-iccrg-bbr-congestion-control-00, 2017.
//! * linux: `net/ipv4/tcp_bbr.c`.

use aqmkit_base::rng::derive_seed;
use aqmkit_base::{Duration, Instant};

use super::delivery::{MaxFilter, MinRtt, Rounds, Sample};
use super::{CongestionControl, Cx, Pacer, Window};
use crate::profile::Profile;
use crate::tcp::Sent;

#[cfg(test)]
mod draft;

/// 2 / ln 2: doubles the rate in each round trip.
const HIGH_GAIN: f64 = 2.0 * std::f64::consts::LOG2_E;
const PROBE_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const PROBE_CWND_GAIN: f64 = 2.0;
const RATE_ROUNDS: usize = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const LEAST_SEGMENTS: u64 = 4;
/// The pipe is full after this many round trips without growth by this factor.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Linux paces slower than the model says, so that queues drain.
const MARGIN: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        phase: usize,
        since: Instant,
    },
    ProbeRtt {
        /// When `ProbeRTT` may end, set once at most four segments are in flight; and whether a round trip has passed
        /// since.
        until: Option<Instant>,
        round_done: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    window: Window,
    pacer: Pacer,
    mode: Mode,
    rounds: Rounds,
    rate: MaxFilter<RATE_ROUNDS>,
    /// The newest round in the filter `rate`.
    rated: u64,
    /// Rate samples are limited by `ProbeRTT` for data sent while `delivered` was between these values.
    quiet: (u64, u64),
    least: MinRtt,
    /// Nothing has been delivered yet since sending resumed after an idle period.
    idle_restart: bool,
    full_rate: f64,
    full_count: u32,
    /// The window before a loss or `ProbeRTT`, to restore.
    prior_cwnd: u64,
    /// Whether in fast recovery or repairing a timeout; in the first round trip of fast recovery each delivered segment
    /// releases one (packet conservation).
    recovering: bool,
    conserving: bool,
}

impl Bbr {
    pub(super) fn new(profile: &Profile) -> Self {
        Bbr {
            window: Window { cwnd: profile.initial_window_bytes(), ssthresh: profile.cwnd_limit.0 },
            pacer: Pacer::new(),
            mode: Mode::Startup,
            rounds: Rounds::default(),
            rate: MaxFilter::new(),
            rated: 0,
            quiet: (u64::MAX, 0),
            least: MinRtt::new(),
            idle_restart: false,
            full_rate: 0.0,
            full_count: 0,
            prior_cwnd: 0,
            recovering: false,
            conserving: false,
        }
    }

    fn full(&self) -> bool {
        self.full_count >= FULL_ROUNDS
    }

    /// Pacing gain and window gain.
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw { phase, .. } => (PROBE_GAINS[phase], PROBE_CWND_GAIN),
            Mode::ProbeRtt { .. } => (1.0, 1.0),
        }
    }

    /// `BBRInflight`: this many bandwidth-delay products, in bytes.
    fn inflight(&self, gain: f64, cx: &Cx<'_>) -> u64 {
        match self.least.rtt {
            Some(rtt) => (gain * self.rate.max() * rtt.as_secs_f64()) as u64 + 3 * self.quantum(cx),
            None => cx.profile.initial_window_bytes(),
        }
    }

    /// bbr00 section 4.2.2.
    fn quantum(&self, cx: &Cx<'_>) -> u64 {
        let rate = self.rate.max();
        if rate < 1.2e6 / 8.0 {
            cx.mss()
        } else if rate < 24e6 / 8.0 {
            2 * cx.mss()
        } else {
            ((rate / 1e3) as u64).min(64 << 10)
        }
    }

    fn update_rate(&mut self, sample: &Sample) {
        self.rounds.update(sample);
        if self.rounds.started {
            self.conserving = false;
        }
        if let Some(rate) = sample.rate.filter(|&rate| !sample.app_limited || rate >= self.rate.max()) {
            self.admit(rate);
        }
    }

    /// Old rounds leave the filter only when a new rate enters it, as in Linux: without new samples the estimate stays.
    fn admit(&mut self, rate: f64) {
        let now = self.rounds.count;
        let oldest = (now + 1).saturating_sub(RATE_ROUNDS as u64);
        (oldest.max(self.rated + 1)..=now).for_each(|round| self.rate.begin(round));
        self.rate.add(now, rate);
        self.rated = now;
    }

    /// `BBRCheckCyclePhase`.
    fn advance_phase(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let Mode::ProbeBw { phase, since } = self.mode else { return };
        let whole = self.least.rtt.is_some_and(|rtt| cx.now.since(since) > rtt);
        let gain = PROBE_GAINS[phase];
        let over = if gain > 1.0 {
            whole && (sample.lost > 0 || sample.in_flight >= self.inflight(gain, cx))
        } else if gain < 1.0 {
            whole || sample.in_flight <= self.inflight(1.0, cx)
        } else {
            whole
        };
        if over {
            self.mode = Mode::ProbeBw { phase: (phase + 1) % PROBE_GAINS.len(), since: cx.now };
        }
    }

    /// `BBREnterProbeBW`: any phase but the second.
    fn probe_bw(now: Instant) -> Mode {
        let phases = PROBE_GAINS.len() as u64;
        let back = derive_seed(now.as_nanos(), "bbr") % (phases - 1);
        Mode::ProbeBw { phase: ((phases - back) % phases) as usize, since: now }
    }

    /// `BBRCheckFullPipe`.
    fn check_full(&mut self, sample: &Sample) {
        if self.full() || !self.rounds.started || sample.app_limited {
            return;
        }
        if self.rate.max() >= self.full_rate * FULL_GROWTH {
            (self.full_rate, self.full_count) = (self.rate.max(), 0);
        } else {
            self.full_count += 1;
        }
    }

    /// `BBRCheckDrain`.
    fn check_drain(&mut self, sample: &Sample, cx: &Cx<'_>) {
        if self.mode == Mode::Startup && self.full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && sample.in_flight <= self.inflight(1.0, cx) {
            self.mode = Self::probe_bw(cx.now);
        }
    }

    /// `BBRUpdateMinRTT` and `BBRCheckProbeRTT`.
    fn check_probe_rtt(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let expired = self.least.update(sample.rtt, MIN_RTT_WINDOW, cx.now);
        let restarted = std::mem::take(&mut self.idle_restart);
        if expired && !restarted && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
            self.quiet.0 = sample.delivered;
        }
        self.handle_probe_rtt(sample, cx);
    }

    /// `BBRHandleProbeRTT`.
    fn handle_probe_rtt(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let Mode::ProbeRtt { until, round_done } = &mut self.mode else { return };
        self.quiet.1 = sample.delivered + sample.in_flight;
        if until.is_none() && sample.in_flight <= LEAST_SEGMENTS * cx.mss() {
            (*until, *round_done) = (Some(cx.now + PROBE_RTT_TIME), false);
            self.rounds.restart(sample.delivered);
        } else if until.is_some() {
            *round_done |= self.rounds.started;
            if *round_done {
                self.check_probe_rtt_done(cx.now);
            }
        }
    }

    /// `BBRExitProbeRTT`, if it is time.
    fn check_probe_rtt_done(&mut self, now: Instant) {
        let Mode::ProbeRtt { until: Some(until), .. } = self.mode else { return };
        if now > until {
            self.least.at = now;
            self.restore_cwnd();
            self.mode = if self.full() { Self::probe_bw(now) } else { Mode::Startup };
        }
    }

    /// `BBRSetPacingRate`.
    fn pace(&mut self, gain: f64, cx: &Cx<'_>) {
        let p = cx.profile;
        let on_wire = (p.mss.0 + p.header.0) as f64 / p.mss.0 as f64;
        let rate = gain * self.rate.max() * on_wire * MARGIN;
        let faster = self.pacer.rate().is_none_or(|now| rate > now.bytes_per_sec());
        if rate > 0.0 && (self.full() || faster) {
            self.pacer.set_rate(rate);
        }
    }

    /// `BBRSetCwnd`.
    fn set_cwnd(&mut self, sample: &Sample, cx: &Cx<'_>) {
        let least = LEAST_SEGMENTS * cx.mss();
        let target = self.inflight(self.gains().1, cx);
        let mut cwnd = self.window.cwnd;
        if sample.lost > 0 && self.recovering {
            cwnd = cwnd.saturating_sub(sample.lost).max(cx.mss());
        }
        if self.conserving {
            cwnd = cwnd.max(sample.in_flight + sample.acked);
        } else {
            if self.full() {
                cwnd = (cwnd + sample.acked).min(target);
            } else if cwnd < target || sample.delivered < cx.profile.initial_window_bytes() {
                cwnd += sample.acked;
            }
            cwnd = cwnd.max(least);
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            cwnd = cwnd.min(least);
        }
        self.window.cwnd = cwnd.min(cx.profile.cwnd_limit.0);
    }

    /// `BBRSaveCwnd`.
    fn save_cwnd(&mut self) {
        let reduced = self.recovering || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if reduced { self.prior_cwnd.max(self.window.cwnd) } else { self.window.cwnd };
    }

    /// `BBRRestoreCwnd`.
    fn restore_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
    }

    fn end_recovery(&mut self) {
        (self.recovering, self.conserving) = (false, false);
        self.restore_cwnd();
    }
}

impl CongestionControl for Bbr {
    const PACES: bool = true;
    const SAMPLES_DELIVERY: bool = true;
    const HELD_AFTER_MARKS: bool = false;

    window_and_pacer!();

    fn on_sample(&mut self, cx: &Cx<'_>) {
        let Some(mut sample) = Sample::read(cx, self.least.rtt.unwrap_or(Duration::ZERO)) else { return };
        sample.app_limited |= (self.quiet.0..=self.quiet.1).contains(&sample.prior_delivered);
        self.update_rate(&sample);
        self.advance_phase(&sample, cx);
        self.check_full(&sample);
        self.check_drain(&sample, cx);
        self.check_probe_rtt(&sample, cx);
        self.pace(self.gains().0, cx);
        self.set_cwnd(&sample, cx);
    }

    fn on_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.save_cwnd();
        (self.recovering, self.conserving) = (true, true);
        // The round of packet conservation begins now, as in Linux: the current round may be almost over.
        if let Some(sent) = cx.sent {
            self.rounds.restart(sent.rate().delivered);
        }
        let in_flight = cx.sent.map_or(cx.flight, Sent::in_flight);
        self.window.cwnd = in_flight + cx.mss();
    }

    fn on_dup_ack(&mut self, _cx: &Cx<'_>) {}

    fn on_partial_ack(&mut self, _acked: u64, _cx: &Cx<'_>) {}

    fn on_recovered(&mut self, _acked: u64, _cx: &Cx<'_>) {
        self.end_recovery();
    }

    fn on_timeout(&mut self, _again: bool, cx: &Cx<'_>) {
        self.save_cwnd();
        (self.recovering, self.conserving) = (true, false);
        self.window.cwnd = cx.mss();
    }

    fn on_timeout_mended(&mut self, _cx: &Cx<'_>) {
        self.end_recovery();
    }

    /// As in Linux.
    fn on_spurious(&mut self, _before: Window, _cx: &Cx<'_>) {
        (self.full_rate, self.full_count) = if self.full() { (self.full_rate, self.full_count) } else { (0.0, 0) };
        self.end_recovery();
    }

    fn on_ecn(&mut self, _cx: &Cx<'_>) {}

    /// `BBRHandleRestartFromIdle`; the idle period may also have outlasted `ProbeRTT`, as in Linux.
    fn on_restart(&mut self, cx: &Cx<'_>) {
        if cx.sent.is_none_or(|sent| sent.rate().app_limited == 0) {
            return;
        }
        self.idle_restart = true;
        match self.mode {
            Mode::ProbeBw { .. } => self.pace(1.0, cx),
            _ => self.check_probe_rtt_done(cx.now),
        }
    }

    /// Keeps the pacing rate, as Linux does.
    fn on_idle(&mut self, _cx: &Cx<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::super::Rtt;
    use super::super::worked::at;
    use super::*;

    /// `BBREnterProbeBW`: each phase except the one that drains the queue is equally likely.
    #[test]
    fn the_first_phase_is_drawn() {
        let mut drawn = [0_u32; PROBE_GAINS.len()];
        for n in 0..7_000 {
            let Mode::ProbeBw { phase, .. } = Bbr::probe_bw(Instant::from_nanos(n * 1_234_567)) else { panic!("not ProbeBW") };
            drawn[phase] += 1;
        }
        let even = |&count: &u32| (850..1_150).contains(&count);
        assert!(drawn[1] == 0 && even(&drawn[0]) && drawn[2..].iter().all(even), "{drawn:?}");
    }

    /// 25 % counts as growth; the third round trip with less ends Startup.
    #[test]
    fn the_pipe_is_full_after_three_round_trips_with_less_growth() {
        let sample = |rate, app_limited| Sample {
            rate: Some(rate),
            rtt: None,
            acked: 0,
            lost: 0,
            prior_delivered: 0,
            delivered: 0,
            in_flight: 0,
            app_limited,
            tx_in_flight: 0,
            lost_since: 0,
        };
        let mut bbr = Bbr::new(&Profile::rfc());
        for (rate, app_limited, count) in
            [(1000.0, false, 0), (1250.0, false, 0), (1500.0, false, 1), (1500.0, true, 1), (1560.0, false, 2), (1562.5, false, 0)]
        {
            let sample = sample(rate, app_limited);
            bbr.update_rate(&sample);
            bbr.check_full(&sample);
            assert_eq!((bbr.full_count, bbr.full()), (count, false), "{rate}");
        }
        for count in 1..=4 {
            let sample = sample(1600.0, false);
            bbr.update_rate(&sample);
            bbr.check_full(&sample);
            assert_eq!((bbr.full_count, bbr.full()), (count.min(3), count >= 3));
        }
    }

    /// bbr00 section 4.2.2: one segment below 1.2 Mb/s, two below 24 Mb/s, then what a millisecond sends, up to 64 KB.
    #[test]
    fn a_quantum_is_what_a_millisecond_sends() {
        let profile = Profile::rfc();
        let (rtt, mss) = (Rtt::new(&profile), profile.mss.0);
        let cx = at(0.0, 0, &profile, &rtt);
        for (bps, bytes) in [
            (1_199_992.0, mss),
            (1_200_000.0, 2 * mss),
            (23_999_992.0, 2 * mss),
            (24_000_000.0, 3_000),
            (100e6, 12_500),
            (524_288_000.0, 65_536),
            (1e9, 65_536),
        ] {
            let mut bbr = Bbr::new(&profile);
            bbr.admit(bps / 8.0);
            assert_eq!(bbr.quantum(&cx), bytes, "{bps} b/s");
        }
    }

    /// bbr00 section 4.2.3.6, before the pipe is full: the window grows by the acknowledged bytes while it is below its
    /// target, or while less than an initial window has been delivered.
    #[test]
    fn in_startup_the_window_grows_to_its_target() {
        let profile = Profile::rfc();
        let rtt = Rtt::new(&profile);
        let cx = at(0.0, 0, &profile, &rtt);
        let initial = profile.initial_window_bytes();
        for (below, delivered, grows) in
            [(1, 1 << 20, true), (0, 1 << 20, false), (0, initial, false), (0, initial - 1, true), (1, 0, true)]
        {
            let mut bbr = Bbr::new(&profile);
            bbr.admit(1e6);
            bbr.least.rtt = Some(Duration::from_millis(100));
            // 2.885 times 100 kB, and three quanta.
            let target = bbr.inflight(HIGH_GAIN, &cx);
            assert!((288_000..300_000).contains(&target), "{target}");
            bbr.window.cwnd = target - below;
            let sample = Sample {
                rate: Some(1e6),
                rtt: None,
                acked: 1000,
                lost: 0,
                prior_delivered: 0,
                delivered,
                in_flight: 50_000,
                app_limited: false,
                tx_in_flight: 0,
                lost_since: 0,
            };
            bbr.set_cwnd(&sample, &cx);
            let grown = if grows { 1000 } else { 0 };
            assert_eq!(bbr.window.cwnd, target - below + grown, "{below} below, {delivered} delivered");
        }
    }
}
