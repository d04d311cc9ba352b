//! Linux's response to a mark, its state `TCP_CA_CWR`, for profiles with `cwr_state`.
//!
//! The window decreases over the round trip after the mark, in proportion to deliveries, and grows again when data sent
//! after the mark is acknowledged. A loss in that time belongs to the same congestion: it is repaired without another
//! reduction, unless the control responds to marks in proportion and to losses by halving, which are two reductions.

use super::Tcp;
use super::prr::Prr;
use crate::profile::{Profile, RateReduction};

impl Tcp {
    /// The control has just reduced its window because of a mark.
    pub(super) fn enter_cwr(&mut self, p: &Profile) {
        let applies = p.cwr_state && self.sack && p.rate_reduction != RateReduction::No;
        if !applies || !self.control.is_held_after_marks() {
            return;
        }
        let prr = Prr::begin(self.flight(), p.rate_reduction);
        let o = self.outstanding.get_or_insert_default();
        (o.cwr, o.prr) = (true, prr);
    }

    /// Whether the response to a mark is in progress.
    pub(super) fn in_cwr(&self) -> bool {
        self.outstanding.as_deref().is_some_and(|o| o.cwr)
    }

    /// The limit of the data in flight while the window is being reduced.
    pub(super) fn reducing(&self) -> Option<u64> {
        self.outstanding.as_deref().filter(|o| o.cwr).and_then(|o| o.prr.window())
    }

    /// Ends the response. Returns whether it was in progress.
    pub(super) fn leave_cwr(&mut self) -> bool {
        self.outstanding.as_deref_mut().is_some_and(|o| std::mem::take(&mut o.cwr))
    }

    /// Whether a loss belongs to congestion with a response in progress.
    pub(super) fn loss_was_answered(&self) -> bool {
        self.in_cwr() && !self.ecn.counts_marks()
    }
}
