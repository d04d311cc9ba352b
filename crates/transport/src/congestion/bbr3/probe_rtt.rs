//! The minimum round-trip time, and `ProbeRTT`, which drains the queue so that it can be measured.

use aqmkit_base::{Duration, Instant};

use super::{Bbr3, Dated, LEAST_SEGMENTS, State};
use crate::congestion::Cx;
use crate::congestion::faults::{Fault, has};
use crate::congestion::delivery::Sample;

/// `BBR.MinRTTFilterLen`, `BBR.ProbeRTTInterval`, `BBR.ProbeRTTDuration`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

impl Bbr3 {
    /// `UpdateMinRTT`. Returns whether it is time for `ProbeRTT`.
    pub(super) fn update_min_rtt(&mut self, rtt: Option<Duration>, now: Instant) -> bool {
        let old = |dated: Option<Dated>, window| dated.is_some_and(|(_, at)| now.since(at) > window);
        let expired = old(self.probe_rtt, PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt.filter(|&rtt| expired || self.probe_rtt.is_none_or(|(least, _)| rtt < least)) {
            self.probe_rtt = Some((rtt, now));
        }
        let shorter = match (self.probe_rtt, self.min_rtt) {
            (Some((new, _)), Some((least, _))) => new < least,
            (new, _) => new.is_some(),
        };
        if shorter || old(self.min_rtt, MIN_RTT_WINDOW) {
            self.min_rtt = self.probe_rtt;
        }
        expired
    }

    /// `CheckProbeRTT` and `HandleProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, expired: bool, sample: &Sample, cx: &Cx<'_>) {
        let idle = self.idle_restart && !has(Fault::ProbesAfterIdleness);
        if expired && !idle && !self.state.is_probe_rtt() && !has(Fault::NoProbeRtt) {
            self.save_cwnd();
            self.state = State::ProbeRtt { until: None, round_done: false };
            self.quiet.0 = sample.delivered;
            self.cycle.begin_probe_rtt();
            self.rounds.restart(sample.delivered);
        }
        let cwnd = self.probe_rtt_cwnd(cx);
        if let State::ProbeRtt { until, round_done } = &mut self.state {
            self.quiet.1 = sample.delivered + sample.in_flight;
            if until.is_none() && sample.in_flight <= cwnd {
                (*until, *round_done) = (Some(cx.now + PROBE_RTT_TIME), false);
                self.rounds.restart(sample.delivered);
            } else if until.is_some() {
                *round_done |= self.rounds.started;
                if *round_done {
                    self.check_probe_rtt_done(sample.delivered, cx);
                }
            }
        }
        self.idle_restart = false;
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, delivered: u64, cx: &Cx<'_>) {
        let State::ProbeRtt { until: Some(until), .. } = self.state else { return };
        if cx.now <= until {
            return;
        }
        if let Some((_, at)) = &mut self.probe_rtt {
            *at = cx.now;
        }
        self.restore_cwnd();
        self.bounds.reset_short();
        if self.full.reached || has(Fault::LeavesStartup) {
            self.start_down(delivered, cx);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    pub(super) fn probe_rtt_cwnd(&self, cx: &Cx<'_>) -> u64 {
        let gain = State::ProbeRtt { until: None, round_done: false }.cwnd_gain();
        self.product(self.bw, gain, cx).max(LEAST_SEGMENTS * cx.mss())
    }
}
