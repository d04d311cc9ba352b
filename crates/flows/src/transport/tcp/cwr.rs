//! The answer to a mark as Linux gives it: its state `TCP_CA_CWR`, where the profile has `cwr_state`.
//!
//! The window comes down over the round trip after the mark, in proportion to what is delivered, and grows again when something is
//! acknowledged that was sent after it. A loss in that time belongs to the same congestion: it is mended, but it reduces nothing again,
//! unless the control answers marks by their share and losses by half, which are two reductions.

use super::Tcp;
use super::prr::Prr;
use crate::transport::profile::{Profile, RateReduction};

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

    /// Whether a mark is being answered.
    pub(super) fn in_cwr(&self) -> bool {
        self.outstanding.as_deref().is_some_and(|o| o.cwr)
    }

    /// It is no longer. Returns whether it was.
    pub(super) fn leave_cwr(&mut self) -> bool {
        self.outstanding.as_deref_mut().is_some_and(|o| std::mem::take(&mut o.cwr))
    }

    /// A loss: whether it belongs to congestion that has been answered already.
    pub(super) fn loss_was_answered(&mut self) -> bool {
        self.leave_cwr() && !self.ecn.counts_marks()
    }
}
