//! NewReno: RFC 6582 over RFC 5681.
//!
//! Fast recovery lasts until everything that was in flight at its start is acknowledged. Each partial
//! acknowledgement shows the next hole, so it mends one loss per round trip.

use super::{CongestionControl, Cx, Window};
use crate::transport::profile::Profile;

#[derive(Clone, Debug)]
pub(in crate::transport) struct NewReno(Window);

impl CongestionControl for NewReno {
    fn new(profile: &Profile) -> Self {
        NewReno(Window::new(profile))
    }

    fn window(&self) -> &Window {
        &self.0
    }

    fn window_mut(&mut self) -> &mut Window {
        &mut self.0
    }

    fn on_ack(&mut self, acked: u64, cx: &Cx<'_>) {
        self.0.grow(acked.min(cx.mss()), cx.profile);
    }

    fn on_loss(&mut self, cx: &Cx<'_>) {
        self.0.enter_recovery(Window::half(cx), cx);
    }

    fn on_timeout(&mut self, again: bool, cx: &Cx<'_>) {
        self.0.timed_out(again, Window::half(cx), cx);
    }

    fn on_ecn(&mut self, cx: &Cx<'_>) {
        self.0.reduce_to(Window::half(cx));
    }
}
