//! # newreno: RFC 6582 over RFC 5681
//!
//! Reno whose fast recovery lasts until everything that was in flight at its start is acknowledged. Each
//! partial acknowledgement shows the next hole, so it repairs one loss per round trip, or all of them with
//! SACK.
//!
//! ## Law
//!
//! * Slow start adds the acknowledged bytes, at most a segment; avoidance `mss^2 / cwnd` [rfc5681 equations 2 and 3].
//! * A loss halves the flight [rfc5681 equation 4]; a partial acknowledgement deflates the window [rfc6582 section 3.2].
//! * A timeout halves, unless the same segment timed out before, and returns to one segment.
//! * A mark halves, down to one segment [rfc3168 section 6.1.2] or the profile's `least_after_mark`. Waiting for the timer at one segment, as
//!   that section asks, is left out, as it was in BSD.
//!
//! In the long run as `reno`: `sqrt(3 / (2 b p))` segments in a round trip `[mathis97]`.
//!
//! ## Parameters
//!
//! None of its own; those of the transport profile.
//!
//! ## Deviations
//!
//! Duplicates after a recovery may begin another one although they acknowledge no more than `recover`, as in FreeBSD 4.5; rfc6582
//! (section 3.2 step 2) leaves that to the timer. With RACK the flight is halved up to the window, because it includes SACKed data.
//! Choices allowed by rfc6582: the impatient variant of the timer, and after recovery a window of at most the flight plus one segment.
//!
//! ## Evidence
//!
//! `tests/transport/loss.rs`: sequences worked by hand. `tests/transport/throughput.rs`: the law.
//!
//! ## References
//!
//! * rfc5681: M. Allman, V. Paxson, E. Blanton, TCP Congestion Control, 2009.
//! * rfc6582: T. Henderson, S. Floyd, A. Gurtov, Y. Nishida, The `NewReno` Modification, 2012.
//! * rfc3168: K. Ramakrishnan, S. Floyd, D. Black, The Addition of Explicit Congestion Notification to IP, 2001.
//! * mathis97: M. Mathis, J. Semke, J. Mahdavi, T. Ott, The Macroscopic Behavior of the TCP Congestion Avoidance
//!   Algorithm, CCR 27(3), 1997.

use super::{CongestionControl, Cx, Window};
use crate::profile::Profile;

#[derive(Clone, Debug)]
pub(crate) struct NewReno(Window);

impl NewReno {
    pub(super) fn new(profile: &Profile) -> Self {
        NewReno(Window::new(profile))
    }
}

impl CongestionControl for NewReno {
    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.0.grow(acked, cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.0.enter_recovery(self.0.half_at_loss(cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.0.timed_out(again, self.0.half_at_loss(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.0.halve_for_mark(cx);
    }
}
