//! The shortest round trip, and `ProbeRTT`.

use aqmkit_base::{Duration, Instant};

use super::Phase::{ProbeRtt, Startup, ProbeBwCruise};
use super::{Draft, INFINITY, gains};

impl Draft {
    pub(super) fn update_min_rtt_and_probe_rtt(&mut self, rtt: Option<Duration>, now: Instant) {
        let older = |stamp: Option<(Duration, Instant)>, seconds: u64| {
            stamp.is_some_and(|(_, at)| now > at + Duration::from_secs(seconds))
        };
        let expired = older(self.probe_rtt_min, 5);
        if let Some(rtt) = rtt
            && (expired || self.probe_rtt_min.is_none_or(|(least, _)| rtt < least))
        {
            self.probe_rtt_min = Some((rtt, now));
        }
        let least = |dated: Option<(Duration, Instant)>| dated.map_or(Duration::from_secs(1_000_000), |(least, _)| least);
        if least(self.probe_rtt_min) < least(self.min_rtt) || older(self.min_rtt, 10) {
            self.min_rtt = self.probe_rtt_min;
        }
        if self.phase != ProbeRtt && expired && !self.idle_restart {
            self.save_cwnd();
            (self.phase, self.probe_rtt_done_stamp) = (ProbeRtt, None);
            self.app_limited = Some((self.delivered, 0));
            self.probe_stopping = true;
            self.start_round();
        }
        if self.phase == ProbeRtt {
            self.handle_probe_rtt(now);
        }
        self.idle_restart = false;
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.bw, gains(ProbeRtt).1).max(self.min_pipe_cwnd())
    }

    fn handle_probe_rtt(&mut self, now: Instant) {
        let until = self.delivered + self.inflight;
        self.app_limited = self.app_limited.map(|(from, _)| (from, until));
        if self.probe_rtt_done_stamp.is_none() {
            if self.inflight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(now + Duration::from_millis(200));
                self.probe_rtt_round_done = false;
                self.start_round();
            }
        } else {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.phase != ProbeRtt || self.probe_rtt_done_stamp.is_none_or(|stamp| now <= stamp) {
            return;
        }
        self.probe_rtt_min = self.probe_rtt_min.map(|(rtt, _)| (rtt, now));
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, INFINITY);
        if self.full_bw_reached {
            self.start_probe_bw_down(now);
            self.phase = ProbeBwCruise;
        } else {
            self.phase = Startup;
        }
    }
}
