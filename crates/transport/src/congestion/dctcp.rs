//! # dctcp: reduces by the share of packets that were marked
//!
//! Data Center TCP reduces its window by half of the fraction of marked data instead of halving on any
//! mark: small reductions around a short queue if a step or a ramp marks early. It starves controls that
//! halve, unless the queue separates them (`dualq`, `dualpi2`).
//!
//! ## Law
//!
//! Over each window of data, `M` is the share of acknowledged bytes that were marked, and
//!
//! * `alpha <- (1 - g) alpha + g M` [rfc8257 section 3.3, equation at step 7];
//! * `cwnd <- cwnd (1 - alpha / 2)`, once for each window with a mark [rfc8257 section 3.3, step 9];
//! * one segment more in a round trip, slow start, loss and timeout as in RFC 5681 [rfc8257 sections 3.3 to 3.5].
//!
//! In the long run: marks at an even distance of `1/p` packets leave `2 / p` packets in a round trip [dualq15
//! equation 8]. A queue that marks everything in one round trip and nothing in the next ones leaves `2 / p^2`
//! [dualq15 equation 9, from dctcp10].
//!
//! Naming this control turns on ECN with `ecn_feedback = "dctcp"` and `ecn_packets = "all"`, as in Linux, unless the
//! profile's table says otherwise.
//!
//! ## Parameters
//!
//! | field | unit | default | meaning, and what goes wrong |
//! |---|---|---|---|
//! | `dctcp.g` | | 0.0625 | weight of the newest window, above 0 to 1; too large and it follows noise, too small and it reacts late |
//! | `dctcp.alpha` | | 1 | the initial share, 0 to 1: how strong the first reduction is |
//! | `dctcp.loss` | | `"halve"` | `"halve"`: a loss halves the window; `"alpha"`: it counts as a mark |
//!
//! `loss = "alpha"` is Linux from 3.18, where the module appeared, up to 5.0: the same function set the threshold for marks
//! and for losses, so a loss reduced the window by `alpha / 2`, next to nothing for losses without marks. rfc8257
//! section 3.5 forbids that; Linux 5.1 corrected it. After a timeout the window is one segment either way, but slow start
//! returns to the higher threshold.
//!
//! ## Deviations
//!
//! 1. rfc8257 leaves growth to RFC 5681: every acknowledgement of unmarked data opens the window, also in the round trip after a
//!    reduction. Linux does not grow then, nor do its profiles here (`cwr_state`).
//!    Linux also reduces by whole segments, rounded down: with a small alpha by none (`whole_segments` of the profile).
//! 2. With RACK a loss halves the window, as in Linux, if that is less than the flight; otherwise the flight (RFC 5681).
//! 3. Linux before 4.1 keeps `alpha` in integers of 1/1024 and cannot reduce it below 15/1024; here it is exact.
//!
//! ## Evidence
//!
//! `tests/transport/controls.rs`: alpha and window worked by hand, the law under even marking, both reactions to
//! losses. `tests/transport/accurate_ecn.rs`: the receiver's echo.
//!
//! ## References
//!
//! * rfc8257: S. Bensley et al., Data Center TCP, 2017.
//! * dctcp10: M. Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010.
//! * dualq15: K. De Schepper, O. Bondarenko, I. Tsang, B. Briscoe, 'Data Centre to the Home': Deployable Ultra-Low
//!   Queuing Delay for All, 2015.
//! * linux: `net/ipv4/tcp_dctcp.c`, as of 3.18 and 5.1.

use serde::{Deserialize, Serialize};

use super::{CongestionControl, Cx, Window};
use crate::profile::{EcnFeedback, EcnPackets, Profile};
use aqmkit_base::param::{ParamError, require};

/// The response of the window to a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnLoss {
    /// Halves the window (RFC 8257 section 3.5).
    #[default]
    Halve,
    /// Reduces the window by half of alpha, as for a mark (Linux 3.18 to 5.0).
    Alpha,
}

/// The parameters of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the newest window in the average.
    pub g: f64,
    /// The initial share of marks.
    pub alpha: f64,
    /// The response to a loss.
    pub loss: OnLoss,
}

impl Default for Params {
    fn default() -> Self {
        Params { g: 1.0 / 16.0, alpha: 1.0, loss: OnLoss::Halve }
    }
}

impl Params {
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        require(self.g > 0.0 && self.g <= 1.0, "dctcp.g", self.g, "it must be above 0 and at most 1")?;
        require((0.0..=1.0).contains(&self.alpha), "dctcp.alpha", self.alpha, "it must be from 0 to 1")
    }
}

/// The share of marked bytes, averaged over windows (alpha).
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkAverage {
    pub(super) alpha: f64,
    delivered: u64,
    marked: u64,
    /// Bytes left until the current observation window is delivered.
    left: u64,
}

impl MarkAverage {
    pub(super) fn new(alpha: f64) -> Self {
        MarkAverage { alpha, delivered: 0, marked: 0, left: 0 }
    }

    /// Counts feedback for more bytes. Returns whether it completed a window of data.
    pub(super) fn count(&mut self, delivered: u64, marked: u64) -> bool {
        self.delivered += delivered;
        self.marked += marked;
        self.left = self.left.saturating_sub(delivered);
        self.left == 0 && self.delivered > 0
    }

    /// Updates alpha from the counts, and starts the next observation window: the data in flight after `delivered`
    /// bytes.
    pub(super) fn update(&mut self, g: f64, delivered: u64, cx: &Cx<'_>) {
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha = ((1.0 - g) * self.alpha + g * share).min(1.0);
        self.restart(delivered, cx);
    }

    /// Clears the counts.
    pub(super) fn restart(&mut self, delivered: u64, cx: &Cx<'_>) {
        (self.delivered, self.marked) = (0, 0);
        self.left = cx.flight.saturating_sub(delivered);
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    window: Window,
    marks: MarkAverage,
}

impl Dctcp {
    pub(super) fn new(profile: &Profile) -> Self {
        Dctcp { window: Window::new(profile), marks: MarkAverage::new(profile.dctcp.alpha) }
    }

    /// The average share of marks.
    #[cfg(test)]
    pub(super) fn alpha(&self) -> f64 {
        self.marks.alpha
    }

    /// The window reduced by half of alpha.
    fn reduced(&self, cx: &Cx<'_>) -> u64 {
        let cwnd = cx.whole(self.window.cwnd);
        let share = (cwnd as f64 * self.marks.alpha / 2.0).ceil() as u64;
        (cwnd - cx.whole(share)).max(2 * cx.mss())
    }

    fn after_loss(&self, cx: &Cx<'_>) -> u64 {
        match cx.profile.dctcp.loss {
            OnLoss::Halve => self.window.half_at_loss(cx),
            OnLoss::Alpha => self.reduced(cx),
        }
    }
}

impl CongestionControl for Dctcp {
    const NEEDS_ECN: Option<(EcnFeedback, EcnPackets)> = Some((EcnFeedback::Dctcp, EcnPackets::All));

    fn window(&self) -> &Window {
        &self.window
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.window.grow(acked, cx.profile);
    }

    fn on_feedback(&mut self, delivered: u64, marked: u64, cx: &Cx<'_>) {
        if self.marks.count(delivered, marked) {
            self.marks.update(cx.profile.dctcp.g, delivered, cx);
        }
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.window.reduce_to(self.reduced(cx));
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.window.enter_recovery(self.after_loss(cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.window.timed_out(again, self.after_loss(cx), cx);
    }
}
