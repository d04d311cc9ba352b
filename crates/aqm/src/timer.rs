//! The timer of an [`Aqm`]: a late call gives the results of a punctual one.

use aqmkit_base::Instant;

use crate::aqm::{Aqm, QueueView};

/// When the timer of an [`Aqm`] is due next, if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    due: Option<Instant>,
}

impl Timer {
    /// A timer that is first due one period after `now`.
    pub(crate) fn new<A: Aqm>(config: &A::Config, now: Instant) -> Self {
        Timer { due: A::tick(config).map(|period| now + period) }
    }

    /// When it is due next.
    pub(crate) fn due(self) -> Option<Instant> {
        self.due
    }

    /// Processes every tick up to and including `now`, each at its own time. Nothing has happened to the queue since
    /// the first of them, so the result is as if each had been punctual; an algorithm in equilibrium skips them all at
    /// once.
    pub(crate) fn catch_up<A: Aqm>(&mut self, aqm: &mut A, config: &A::Config, queue: QueueView, now: Instant) {
        while let (Some(at), Some(period)) = (self.due.filter(|&at| at <= now), A::tick(config)) {
            aqm.on_tick(config, queue, at);
            let mut next = at + period;
            if next <= now {
                let late = now.since(next).whole(period) + 1;
                if aqm.skip_ticks(config, queue, next, late) {
                    next += period * late;
                }
            }
            self.due = Some(next);
        }
    }

    /// Applies a new period from `now` on; no tick comes later than it would have.
    pub(crate) fn change<A: Aqm>(&mut self, config: &A::Config, now: Instant) {
        self.due = A::tick(config).map(|period| self.due.map_or(now + period, |due| due.min(now + period)));
    }
}

/// Whether a tick at `now` leaves this state unchanged, found by trying: for small states whose tick does not depend on
/// the time.
pub(crate) fn unmoved<A: Aqm + Clone + PartialEq>(aqm: &A, config: &A::Config, queue: QueueView, now: Instant) -> bool {
    let mut next = aqm.clone();
    next.on_tick(config, queue, now);
    next == *aqm
}
