//! Dynamic queue limits: how many bytes a driver holds so that the wire never runs dry, and no more.
//!
//! The algorithm of Linux's byte queue limits (BQL, `lib/dynamic_queue_limits.c`). A driver accepts packets while it
//! holds no more bytes than the limit, so that one packet may exceed it. It learns only from interrupts which bytes the
//! wire has sent; each such completion ends an interval and adjusts the limit:
//!
//! * The wire ran dry if the limit had stopped the driver and nothing is left to send, or if the limit had stopped it in the interval
//!   before and the wire has sent everything of that time. The limit grows by the bytes that came and were sent in this interval,
//!   plus what exceeded the limit in the one before.
//! * If the wire had something to send during the whole interval, what was held beyond twice the bytes sent is slack. The smallest
//!   slack of a hold time is taken off the limit.
//!
//! Time is exact here; Linux counts it in ticks of its clock.

use aqmkit_base::{Duration, Instant};

use crate::scenario::Bql;

/// A limit and what it is computed from, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Dql {
    least: u64,
    most: u64,
    hold: Duration,
    limit: u64,
    in_flight: u64,
    /// The size of the last packet queued.
    last: u64,
    before: Before,
    /// The minimum slack since `slack_since`.
    slack: u64,
    slack_since: Instant,
}

/// The state after the last completion.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    in_flight: u64,
    /// Bytes above the limit before this completion; zero if it changed the limit.
    excess: u64,
    /// The size of the last packet queued at that time.
    last: u64,
}

impl Dql {
    pub(crate) fn new(bql: Bql) -> Self {
        Dql {
            least: bql.limit_min.0,
            most: bql.limit_max.0,
            hold: bql.hold_time,
            limit: 0,
            in_flight: 0,
            last: 0,
            before: Before::default(),
            slack: u64::MAX,
            slack_since: Instant::ZERO,
        }
    }

    /// Whether the driver may take another packet, of any size.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight <= self.limit
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The driver takes a packet.
    pub(crate) fn queued(&mut self, bytes: u64) {
        self.in_flight += bytes;
        self.last = bytes;
    }

    /// The driver learns that these bytes, of one or several packets, have been sent.
    pub(crate) fn completed(&mut self, bytes: u64, now: Instant) {
        let excess = self.in_flight.saturating_sub(self.limit);
        let left = self.in_flight.saturating_sub(bytes);
        // Bytes queued after the last completion.
        let fresh = bytes.saturating_sub(self.before.in_flight);
        let ran_dry = (excess > 0 && left == 0) || (self.before.excess > 0 && fresh > 0);
        let was_busy = left > 0 && self.before.in_flight > 0 && fresh == 0;
        let limit = if ran_dry {
            self.measure_slack_from(now);
            self.limit + fresh + self.before.excess
        } else if was_busy {
            self.limit.saturating_sub(self.slack_after(bytes, now))
        } else {
            self.limit
        };
        let limit = limit.min(self.most).max(self.least);
        let excess = if limit == self.limit { excess } else { 0 };
        self.before = Before { in_flight: left, excess, last: self.last };
        (self.limit, self.in_flight) = (limit, left);
    }

    /// How much to lower the limit after an interval in which the wire was always busy; zero before the hold time has
    /// passed.
    fn slack_after(&mut self, sent: u64, now: Instant) -> u64 {
        let Before { excess, last, .. } = self.before;
        // The part below the limit of the packet that exceeded it: without that packet, a lower limit would have
        // sufficed.
        let of_last = if excess > 0 { last.saturating_sub(excess) } else { 0 };
        let slack = (self.limit + excess).saturating_sub(2 * sent).max(of_last);
        self.slack = self.slack.min(slack);
        if now.since(self.slack_since) <= self.hold {
            return 0;
        }
        let lowest = self.slack;
        self.measure_slack_from(now);
        lowest
    }

    fn measure_slack_from(&mut self, now: Instant) {
        (self.slack, self.slack_since) = (u64::MAX, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Takes packets of 1000 bytes while there is room, and returns how many.
    fn fill(dql: &mut Dql) -> u64 {
        let mut taken = 0;
        while dql.has_room() {
            dql.queued(1000);
            taken += 1;
        }
        taken
    }

    /// Worked by hand from the algorithm: the wire sends up to four packets between two interrupts.
    #[test]
    fn the_limit_grows_until_the_wire_is_always_busy() {
        let mut dql = Dql::new(Bql::default());
        // (packets queued, packets sent, the limit afterwards): a wire that has sent everything has run dry.
        for (taken, sent, limit) in [(1, 1, 1000), (2, 2, 3000), (4, 4, 7000), (8, 4, 7000), (4, 4, 7000), (4, 4, 7000)]
        {
            assert_eq!(fill(&mut dql), taken);
            dql.completed(1000 * sent, at(1));
            assert_eq!(dql.limit(), limit, "after {taken} taken and {sent} sent");
        }
    }

    /// On a slower wire the limit falls after a hold time during which the slack was never smaller.
    #[test]
    fn slack_is_taken_off_after_the_hold_time() {
        let mut dql = Dql::new(Bql::default());
        for sent in [1, 2, 4, 4] {
            fill(&mut dql);
            dql.completed(1000 * sent, at(0));
        }
        assert_eq!(dql.limit(), 7000);
        // Eight packets are held, two are sent in an interval: 8000 - 2 * 2000 are slack.
        for ms in (100..=1000).step_by(100) {
            assert_eq!(fill(&mut dql), if ms == 100 { 4 } else { 2 });
            dql.completed(2000, at(ms));
            assert_eq!(dql.limit(), 7000, "the hold time is not over at {ms} ms");
        }
        assert_eq!(fill(&mut dql), 2);
        dql.completed(2000, at(1001));
        assert_eq!(dql.limit(), 3000);
        // Six packets are held. With a limit of 3000 four suffice for two in an interval.
        assert_eq!(fill(&mut dql), 0);
        dql.completed(2000, at(1100));
        assert_eq!((fill(&mut dql), dql.limit()), (0, 3000), "4000 bytes are above the limit");
        dql.completed(2000, at(1200));
        for ms in (1300..5000).step_by(100) {
            fill(&mut dql);
            dql.completed(2000, at(ms));
            assert_eq!(dql.limit(), 3000, "no slack is left at {ms} ms");
        }
    }

    /// The second sign of a wire that ran dry: it sent everything that the limit had admitted, and then packets queued
    /// later.
    #[test]
    fn a_wire_that_may_have_run_dry_between_two_completions_gets_more() {
        let mut dql = Dql::new(Bql::default());
        for sent in [1, 2, 4, 4] {
            fill(&mut dql);
            dql.completed(1000 * sent, at(0));
        }
        // Four packets are left of the eight that exceeded the limit of 7000 by one.
        assert_eq!(fill(&mut dql), 4);
        dql.completed(5000, at(1));
        assert_eq!(dql.limit(), 7000 + 1000 + 1000, "the packet that came and was sent, and the excess before");
    }

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let bql = Bql { limit_min: aqmkit_base::Bytes(3000), limit_max: aqmkit_base::Bytes(5000), ..Bql::default() };
        let mut dql = Dql::new(bql);
        assert_eq!(fill(&mut dql), 1, "the lowest limit holds from the first completion on");
        dql.completed(1000, at(0));
        assert_eq!((dql.limit(), fill(&mut dql)), (3000, 4));
        dql.completed(4000, at(0));
        assert_eq!(dql.limit(), 5000, "7000 without a highest limit");
        // One packet in each interval: 6000 - 2000 would be slack.
        for ms in (0..3000).step_by(100) {
            fill(&mut dql);
            dql.completed(1000, at(ms));
        }
        assert_eq!(dql.limit(), 3000);
    }
}
