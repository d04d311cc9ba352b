//! # cubic: grows as the cube of the time since the last reduction
//!
//! The default of most hosts. After a reduction the window quickly returns to its former size, stays there,
//! and then probes for more, as a function of time and not of round trips; where Reno would be faster, it
//! grows like Reno.
//!
//! ## Law
//!
//! Windows in segments, `t` in seconds since congestion avoidance began, `cwnd_epoch` the window then:
//!
//! * `W_cubic(t) = C (t - K)^3 + W_max` [rfc9438 equation 1], `K = cbrt((W_max - cwnd_epoch) / C)` [equation 2].
//! * Each acknowledged segment adds `(target - cwnd) / cwnd`; `target = W_cubic(t + RTT)`, kept within `cwnd` and `1.5
//!   cwnd` [section 4.2].
//! * `W_est` grows by `alpha / cwnd` for each acknowledged segment, with `alpha = 3 (1 - beta) / (1 + beta)`, and 1 once
//!   it has reached the window before the reduction; if `W_cubic(t) < W_est` the window is `W_est` [section 4.3].
//! * With `first_growth` = g, each acknowledged segment adds at least g before the first reduction and after a timeout, while
//!   `W_max` is unknown [Linux: `bictcp_update`].
//! * A loss or a mark multiplies the window by `beta`. `W_max` is the window before, or that times `(1 + beta) / 2`
//!   if it had not regained the last `W_max`: fast convergence [sections 4.6, 4.7].
//! * Slow start with `HyStart++` `[rfc9406]` or Linux's `HyStart` `[hystart11]`, if selected.
//!
//! In the long run `(C (3 + beta) / (4 (1 - beta)))^(1/4) T^(3/4) / p^(3/4)` segments in a round trip `T` [equation 5]: with the
//! defaults `1.054 (T / p)^(3/4)` [equation 6]; at least Reno's window.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `cubic.c` | segments/s^3 | 0.4 | how fast it grows; above 0 |
//! | `cubic.beta` | | 0.7 | factor of the window at a reduction, above 0 and below 1 |
//! | `cubic.fast_convergence` | | true | whether a flow that loses before regaining its window yields to newer ones |
//! | `cubic.reno_friendly` | | true | whether to be at least as fast as Reno |
//! | `cubic.catch_up` | | true | whether the Reno estimate grows by a whole segment once it has reached the window before the reduction; not in Linux |
//! | `cubic.first_growth` | | 0 | minimum relative growth of the window per round trip before the first reduction and after a timeout; 0.05 in Linux. Without it a flow that has left slow start early takes seconds to fill a long queue |
//! | `cubic.hystart` | | `"no"` | what ends slow start before a loss: `"rfc9406"`, `HyStart++`: longer round trips; `"linux"`: those, or an ACK train of half a round trip |
//!
//! ## Deviations
//!
//! 1. `hystart` is off by default, so that slow start means the same for all controls. rfc9438 section 4.10
//!    recommends it. Round trips are measured by timestamps of 1 ms.
//! 2. The flight, not the window, is multiplied by `beta`, as section 4.6 allows; `W_max` is the window.
//! 3. A spurious reduction is undone (section 4.9) if the profile detects it: `undo`, `frto`.
//! 4. Idle time does not count (section 4.2), and after an idle period of a retransmission timeout a new epoch begins. The
//!    rule that a window that is not full does not grow (section 5.8) is the profile's `cwnd_validation`.
//!
//! ## Evidence
//!
//! `tests/transport/controls.rs`: the window after a loss against equation 1, fast convergence by hand, both `HyStart`s, the
//! law under even loss in both regions.
//!
//! ## References
//!
//! * rfc9438: L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, CUBIC for Fast and Long-Distance Networks, 2023.
//! * hystart11: S. Ha, I. Rhee, Taming the Elephants: New TCP Slow Start, Computer Networks 55(9), 2011; Linux's
//!   `net/ipv4/tcp_cubic.c`, 5.6 and later.
//! * rfc9406: P. Balasubramanian, Y. Huang, M. Olson, `HyStart++`: Modified Slow Start for TCP, 2023.

use aqmkit_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

pub use super::hystart::SlowStartEnd;
use super::hystart::{HyStart, Step};
use super::{CongestionControl, Cx, Window};
use crate::profile::Profile;
use aqmkit_base::param::{ParamError, require};

/// The target is never more than this times the window.
const LARGEST_STEP: f64 = 1.5;

/// The parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How fast the window grows, in segments per second cubed.
    pub c: f64,
    /// Factor of the window at a reduction.
    pub beta: f64,
    /// Whether a flow that loses before regaining its window yields (fast convergence).
    pub fast_convergence: bool,
    /// Whether to be at least as fast as Reno.
    pub reno_friendly: bool,
    /// Whether the Reno estimate grows by a whole segment per round trip once it has reached the window before the
    /// reduction (RFC 9438 section 4.3). Linux keeps the slower growth.
    pub catch_up: bool,
    /// The minimum relative growth of the window per round trip of congestion avoidance before the first reduction,
    /// while `W_max` is unknown: 0.05 in Linux, none in RFC 9438.
    pub first_growth: f64,
    /// The criterion that ends slow start before a loss.
    pub hystart: SlowStartEnd,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            catch_up: true,
            first_growth: 0.0,
            hystart: SlowStartEnd::No,
        }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        require(self.c > 0.0 && self.c.is_finite(), "cubic.c", self.c, "it must be above 0")?;
        require(self.beta > 0.0 && self.beta < 1.0, "cubic.beta", self.beta, "it must be above 0 and below 1")?;
        let first = self.first_growth;
        require((0.0..=1.0).contains(&first), "cubic.first_growth", first, "it must be from 0 to 1")
    }
}

/// The current period of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds until the window is back at `w_max` (`K`).
    k: f64,
    /// The window Reno would have, in segments (`W_est`).
    w_est: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    window: Window,
    /// The fractional byte of cwnd.
    rest: f64,
    /// The window before the last reduction, in segments: with fast convergence, and without it. Zero: none.
    w_max: f64,
    cwnd_prior: f64,
    /// Whether `W_max` is known: there was a reduction (Linux's `last_max_cwnd` is not zero).
    knows_capacity: bool,
    epoch: Option<Epoch>,
    hystart: Option<HyStart>,
    /// When data was last acknowledged in congestion avoidance.
    heard: Instant,
    /// Since when the window has not been fully used, if so.
    unused: Option<Instant>,
    /// The values before a reduction, in case it was spurious: `w_max`, `cwnd_prior`, the epoch.
    before: (f64, f64, Option<Epoch>),
}

impl Cubic {
    pub(super) fn new(profile: &Profile) -> Self {
        Cubic {
            window: Window::new(profile),
            rest: 0.0,
            w_max: 0.0,
            cwnd_prior: 0.0,
            knows_capacity: false,
            epoch: None,
            hystart: HyStart::new(profile.cubic.hystart),
            heard: Instant::ZERO,
            unused: None,
            before: (0.0, 0.0, None),
        }
    }

    /// The window in segments.
    fn segments(&self, cx: &Cx<'_>) -> f64 {
        (self.window.cwnd as f64 + self.rest) / cx.mss() as f64
    }

    /// RFC 9438 section 4.2: congestion avoidance begins.
    fn begin(&mut self, cwnd: f64, cx: &Cx<'_>) -> Epoch {
        if self.w_max <= cwnd {
            self.w_max = cwnd;
        }
        let k = libm::cbrt((self.w_max - cwnd) / cx.profile.cubic.c);
        Epoch { start: cx.now, k, w_est: cwnd }
    }

    /// RFC 9438 equation 1.
    fn w_cubic(&self, epoch: &Epoch, time: Duration, cx: &Cx<'_>) -> f64 {
        let t = time.as_secs_f64() - epoch.k;
        cx.profile.cubic.c * t * t * t + self.w_max
    }

    /// RFC 9438 sections 4.2 to 4.5.
    fn avoid(&mut self, acked: u64, cx: &Cx<'_>) {
        let p = &cx.profile.cubic;
        let cwnd = self.segments(cx);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin(cwnd, cx));
        // RFC 9438 section 4.2: t excludes the time in which the window did not grow because it was not used.
        if let Some(since) = self.unused.take() {
            epoch.start = epoch.start + cx.now.since(since.max(epoch.start));
        }
        self.heard = cx.now;
        let acked = acked as f64 / cx.mss() as f64;
        let caught_up = p.catch_up && epoch.w_est >= self.cwnd_prior;
        let alpha = if caught_up { 1.0 } else { 3.0 * (1.0 - p.beta) / (1.0 + p.beta) };
        epoch.w_est += alpha * acked / cwnd;
        self.epoch = Some(epoch);
        let t = cx.now.since(epoch.start);
        let ahead = t + cx.srtt().unwrap_or(Duration::ZERO);
        let target = self.w_cubic(&epoch, ahead, cx).clamp(cwnd, LARGEST_STEP * cwnd);
        let step = if p.reno_friendly && self.w_cubic(&epoch, t, cx) < epoch.w_est {
            epoch.w_est - cwnd
        } else {
            (target - cwnd) / cwnd * acked
        };
        let least = if self.knows_capacity { 0.0 } else { p.first_growth * acked };
        self.window.add(step.max(least) * cx.mss() as f64, &mut self.rest, cx.mss(), cx.profile);
    }

    /// RFC 9438 sections 4.6 and 4.7. Returns the new threshold.
    fn reduce(&mut self, cx: &Cx<'_>) -> u64 {
        let p = &cx.profile.cubic;
        let cwnd = if cx.profile.whole_segments { self.segments(cx).floor() } else { self.segments(cx) };
        self.before = (self.w_max, self.cwnd_prior, self.epoch);
        let gives_way = p.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + p.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.knows_capacity = true;
        (self.epoch, self.hystart, self.unused, self.rest) = (None, None, None, 0.0);
        cx.whole((cx.flight.min(self.window.cwnd) as f64 * p.beta) as u64).max(2 * cx.mss())
    }
}

impl CongestionControl for Cubic {
    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        if !self.window.in_slow_start(cx.profile) {
            self.avoid(acked, cx);
            return;
        }
        match self.hystart.as_mut().map(|h| h.on_ack(acked, self.window.cwnd, cx)) {
            None => self.window.grow(acked, cx.profile),
            Some(Step::Grow(bytes)) => self.window.open(self.window.within_threshold(bytes, cx.profile), cx.profile),
            Some(Step::End) => {
                self.window.ssthresh = self.window.cwnd;
                self.hystart = None;
            }
        }
    }

    fn on_unused(&mut self, cx: &Cx<'_>) {
        self.unused.get_or_insert(cx.now);
    }

    fn on_restart(&mut self, _cx: &Cx<'_>) {
        self.unused.get_or_insert(self.heard);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        let ssthresh = self.reduce(cx);
        self.window.enter_recovery(ssthresh, cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        let ssthresh = self.reduce(cx);
        self.window.reduce_to(ssthresh);
    }

    /// RFC 9438 section 4.8: congestion avoidance after a timeout starts at the plateau.
    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        // A repeated timeout does not reduce the saved values further: the window left then has no information.
        let ssthresh = if again { self.window.ssthresh } else { self.reduce(cx) };
        (self.w_max, self.knows_capacity, self.epoch, self.rest) = (0.0, false, None, 0.0);
        if cx.profile.cubic.hystart == SlowStartEnd::Linux {
            // `HyStart++` is for the first slow start only (RFC 9406 section 4.3); Linux looks again.
            self.hystart = HyStart::new(SlowStartEnd::Linux);
        }
        self.window.timed_out(again, ssthresh, cx);
    }

    /// RFC 9438 section 4.9.
    fn on_spurious(&mut self, before: Window, _cx: &Cx<'_>) {
        self.window.restore(before);
        (self.w_max, self.cwnd_prior, self.epoch) = self.before;
    }

    fn on_idle(&mut self, cx: &Cx<'_>) {
        self.epoch = None;
        self.window.restart(cx.profile);
    }
}
