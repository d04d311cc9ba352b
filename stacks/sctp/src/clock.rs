//! The times of one association.
//!
//! sctp-proto starts the timer of its first INIT at the time of the system's clock, although it is given the time everywhere else. Times
//! of a client are therefore counted from the moment at which it has opened, by that clock: so the timer has expired when it should have,
//! and no other time depends on the clock.

use std::time::{Duration, Instant};

/// Maps the times of the owner to those of an association.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// The same moment for the owner and for the association; equal without it.
    moment: Option<(Instant, Instant)>,
    /// The first timer, in the owner's time, until it expires.
    first: Option<Instant>,
}

impl Clock {
    /// A client has opened at `now` and has just started its first timer.
    #[allow(clippy::disallowed_methods, reason = "it has to be later than the time that the stack has read")]
    pub(crate) fn opened(&mut self, now: Instant, timeout: Duration) {
        self.moment = Some((now, Instant::now()));
        self.first = Some(now + timeout);
    }

    /// The owner's time as the association's.
    pub(crate) fn inward(&self, time: Instant) -> Instant {
        self.moment.map_or(time, |(owner, own)| own + time.saturating_duration_since(owner))
    }

    /// When the owner must call, with the association's deadline.
    pub(crate) fn deadline(&self, deadline: Instant) -> Instant {
        match (self.first, self.moment) {
            (Some(first), _) => first,
            (None, Some((owner, own))) => owner + deadline.saturating_duration_since(own),
            (None, None) => deadline,
        }
    }

    /// The first timer has expired or is no longer needed: later ones start at times that the association is given.
    pub(crate) fn first_is_over(&mut self) {
        self.first = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "there is no other way to make a time")]
    fn the_first_deadline_does_not_depend_on_the_clock_and_later_ones_return_as_they_came() {
        let mut clock = Clock::default();
        let start = Instant::now();
        let (opened, timeout) = (start + Duration::from_secs(500), Duration::from_secs(3));
        assert_eq!((clock.inward(opened), clock.deadline(opened)), (opened, opened));
        let started = Instant::now();
        clock.opened(opened, timeout);
        let due = opened + timeout;
        assert_eq!(clock.deadline(started + timeout), due);
        assert!(clock.inward(due) >= started + timeout);
        clock.first_is_over();
        let later = due + Duration::from_nanos(123_456_789);
        assert_eq!(clock.deadline(clock.inward(later)), later);
    }
}
