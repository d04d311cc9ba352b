//! The state of a control that models the path, for displays and tests.

use aqmkit_base::{BitRate, Duration};

/// A state of the machine of draft-ietf-ccwg-bbr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `Startup`: the rate doubles in each round trip.
    Startup,
    /// `Drain`: the queue that Startup has built empties.
    Drain,
    /// `ProbeBW_DOWN`: slower than the path, after a probe.
    Down,
    /// `ProbeBW_CRUISE`: at the rate of the path.
    Cruise,
    /// `ProbeBW_REFILL`: a round trip that fills the pipe before a probe.
    Refill,
    /// `ProbeBW_UP`: faster than the path.
    Up,
    /// `ProbeRTT`: less in flight than the path holds.
    ProbeRtt,
}

impl Phase {
    /// The name in the draft.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Startup => "Startup",
            Phase::Drain => "Drain",
            Phase::Down => "ProbeBW_DOWN",
            Phase::Cruise => "ProbeBW_CRUISE",
            Phase::Refill => "ProbeBW_REFILL",
            Phase::Up => "ProbeBW_UP",
            Phase::ProbeRtt => "ProbeRTT",
        }
    }

    /// Whether it is one of the four states of `ProbeBW`.
    #[must_use]
    pub fn is_probe_bw(self) -> bool {
        matches!(self, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }
}

/// The variables of draft-ietf-ccwg-bbr at one moment. Rates are in bytes of data per second, amounts in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelView {
    /// `BBR.state`.
    pub phase: Phase,
    /// `BBR.pacing_gain`.
    pub pacing_gain: f64,
    /// `BBR.cwnd_gain`.
    pub cwnd_gain: f64,
    /// `C.pacing_rate`, with headers; `None` before the first round trip.
    pub pacing_rate: Option<BitRate>,
    /// `C.cwnd`.
    pub cwnd: u64,
    /// `BBR.max_bw`.
    pub max_bw: f64,
    /// `BBR.bw`.
    pub bw: f64,
    /// `BBR.min_rtt`.
    pub min_rtt: Option<Duration>,
    /// `BBR.round_count`.
    pub rounds: u64,
    /// `BBR.cycle_count`.
    pub cycles: u64,
    /// `BBR.full_bw_count`.
    pub full_bw_count: u32,
    /// `BBR.full_bw_now`.
    pub full_bw_now: bool,
    /// `BBR.full_bw_reached`.
    pub full_bw_reached: bool,
    /// `BBR.bw_shortterm`; `None` where it is infinite.
    pub bw_shortterm: Option<f64>,
    /// `BBR.inflight_shortterm`; `None` where it is infinite.
    pub inflight_shortterm: Option<u64>,
    /// `BBR.inflight_longterm`; `None` where it is infinite.
    pub inflight_longterm: Option<u64>,
    /// `InflightWithHeadroom()`; `None` where it is infinite.
    pub inflight_with_headroom: Option<u64>,
    /// `BBR.extra_acked`.
    pub extra_acked: u64,
    /// `BBR.bw_probe_wait`.
    pub bw_probe_wait: Duration,
    /// `BBR.idle_restart`.
    pub idle_restart: bool,
}

impl ModelView {
    /// `BBR.bdp`: what the path holds at `BBR.bw`. `None` before the first round trip.
    #[must_use]
    pub fn bdp(&self) -> Option<f64> {
        self.min_rtt.map(|rtt| self.bw * rtt.as_secs_f64())
    }
}
