//! The variables of the draft, for displays and tests.

use super::{Bbr3, State};
use crate::congestion::Window;
use crate::congestion::view::{ModelView, Phase};

impl Bbr3 {
    fn phase(&self) -> Phase {
        match self.state {
            State::Startup => Phase::Startup,
            State::Drain { .. } => Phase::Drain,
            State::Down => Phase::Down,
            State::Cruise => Phase::Cruise,
            State::Refill => Phase::Refill,
            State::Up => Phase::Up,
            State::ProbeRtt { .. } => Phase::ProbeRtt,
        }
    }

    pub(super) fn variables(&self, mss: u64) -> ModelView {
        let Window { cwnd, .. } = self.window;
        let finite = |amount: u64| (amount != u64::MAX).then_some(amount);
        let least = |amount: u64| amount.max(super::LEAST_SEGMENTS * mss);
        ModelView {
            phase: self.phase(),
            pacing_gain: self.state.pacing_gain(),
            cwnd_gain: self.state.cwnd_gain(),
            pacing_rate: self.pacer.rate(),
            cwnd,
            max_bw: self.max_bw.max(),
            bw: self.bw,
            min_rtt: self.min_rtt(),
            rounds: self.rounds.count,
            cycles: self.cycle.count,
            full_bw_count: self.full.count,
            full_bw_now: self.full.now,
            full_bw_reached: self.full.reached,
            bw_shortterm: self.bounds.bw_short.is_finite().then_some(self.bounds.bw_short),
            inflight_shortterm: finite(self.bounds.inflight_short),
            inflight_longterm: finite(self.bounds.inflight_long),
            inflight_with_headroom: finite(self.bounds.with_headroom(mss)).map(least),
            extra_acked: self.aggregation.extra(),
            bw_probe_wait: self.cycle.wait,
            idle_restart: self.idle_restart,
        }
    }
}
