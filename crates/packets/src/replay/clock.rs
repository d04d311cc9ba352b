//! The clock of a capture: small reordering is smoothed, and steps are removed.
//!
//! Packets captured on two interfaces or CPUs are written slightly out of order; a late one arrives together with its
//! predecessor. A larger jump is a step of the clock in three cases: the timestamp is more than [`STEP`] behind (the
//! clock was set back, or a second capture follows); it is more than [`LONGEST_PAUSE`] ahead; or it is a single
//! outlier, and the next timestamp continues from the previous one. Sorting such timestamps, or waiting for them, would
//! collapse all later packets onto one instant or let the queue drain. A step is removed: the packet arrives one gap
//! after its predecessor, as long as the previous gap, and later packets keep their gaps. Any other jump ahead is a
//! pause.

use aqmkit_base::Duration;

/// Maximum reordering; a timestamp further back is a clock step.
pub const STEP: Duration = Duration::from_millis(500);

/// Maximum pause between two packets; a timestamp further ahead is a clock step.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// A step of the capture's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// Number of the packet whose timestamp jumps.
    pub packet: u64,
    /// Distance from the previous packet's timestamp in nanoseconds, negative if backwards.
    pub by_ns: i64,
}

/// Derives arrival times from timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// The latest and the first timestamp, in nanoseconds since 1970.
    stamps: Option<(u64, u64)>,
    /// The timestamp before the last step back, if the last packet made it.
    before: Option<u64>,
    /// Gap between the last two packets.
    gap: Duration,
    /// Packets that precede their predecessor by less than a step.
    pub(super) unordered: u64,
    /// The first step, and the number of steps.
    pub(super) step: Option<Step>,
    pub(super) steps: u64,
}

impl Clock {
    /// Whether a timestamp is so far ahead that only the next one can tell whether it is right.
    pub(super) fn is_ahead(&self, at: u64) -> bool {
        self.stamps.is_some_and(|(last, _)| at.saturating_sub(last) > STEP.as_nanos())
            && self.before.is_none_or(|before| at.abs_diff(before) > STEP.as_nanos())
    }

    /// The gap between the previous packet and this one. `next` is the following timestamp, required for one that [is
    /// ahead](Self::is_ahead).
    pub(super) fn gap(&mut self, packet: u64, at: u64, next: Option<u64>) -> Duration {
        let Some((mut last, first)) = self.stamps else {
            self.stamps = Some((at, at));
            return Duration::ZERO;
        };
        if let Some(before) = self.before.take()
            && at.saturating_sub(last) > STEP.as_nanos()
            && at.abs_diff(before) <= STEP.as_nanos()
        {
            // Only the last timestamp was wrong: the clock continues from before.
            last = before + self.gap.as_nanos();
            self.stamps = Some((last, first));
        }
        if at < last {
            let back = last - at;
            if back <= STEP.as_nanos() {
                self.unordered += 1;
                return Duration::ZERO;
            }
            self.note(packet, last, at);
            self.before = Some(last);
            self.stamps = Some((at, first));
            return self.gap;
        }
        let ahead = Duration::from_nanos(at - last);
        if let Some(next) =
            next.filter(|next| at.saturating_sub(*next) > STEP.as_nanos() && *next + STEP.as_nanos() >= last)
        {
            self.note(packet, last, at);
            let gap = self.gap.min(Duration::from_nanos(next.saturating_sub(last)));
            self.stamps = Some((last + gap.as_nanos(), first));
            return gap;
        }
        self.stamps = Some((at, first));
        if ahead > LONGEST_PAUSE {
            self.note(packet, last, at);
            return self.gap;
        }
        // A pause is not a regular gap to be repeated.
        self.gap = ahead.min(STEP);
        ahead
    }

    fn note(&mut self, packet: u64, last: u64, at: u64) {
        let by = i64::try_from(i128::from(at) - i128::from(last));
        let by_ns = by.unwrap_or(if at > last { i64::MAX } else { i64::MIN });
        self.steps += 1;
        self.step = self.step.or(Some(Step { packet, by_ns }));
    }

    /// The stamp of the first packet.
    pub(super) fn first(&self) -> u64 {
        self.stamps.map_or(0, |(_, first)| first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The arrivals of packets with these stamps in milliseconds, and the clock after them.
    fn arrivals(stamps: &[u64]) -> (Vec<u64>, Clock) {
        let stamp = |i: usize| stamps.get(i).map(|ms| (1_000_000_000 + ms) * MS);
        let (mut clock, mut now, mut all) = (Clock::default(), 0, Vec::new());
        for i in 0..stamps.len() {
            let at = stamp(i).unwrap();
            let next = stamp(i + 1).filter(|_| clock.is_ahead(at));
            now += clock.gap(i as u64 + 1, at, next).as_nanos() / MS;
            all.push(now);
        }
        (all, clock)
    }

    #[test]
    fn small_disorder_is_sorted() {
        let (all, clock) = arrivals(&[0, 30, 2, 32, 4, 34]);
        assert_eq!(all, [0, 30, 30, 32, 32, 34]);
        assert_eq!((clock.unordered, clock.steps), (2, 0));
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_the_gaps() {
        let (all, clock) = arrivals(&[2000, 2002, 2004, 806, 808, 811]);
        assert_eq!(all, [0, 2, 4, 6, 8, 11]);
        assert_eq!(clock.step, Some(Step { packet: 4, by_ns: -1198 * MS as i64 }));
        assert_eq!((clock.steps, clock.unordered), (1, 0));
    }

    /// The packet between its neighbours arrives between them, and they keep their distance: 4 ms, for stamps of eighteen hours or of two seconds ahead,
    /// or as much behind.
    #[test]
    fn one_wrong_stamp_moves_no_other_packet() {
        const HOURS: u64 = 65_536_000;
        let base = 2 * HOURS;
        for wrong in [base + HOURS, base + 2000, base - 2000, base - HOURS] {
            let (all, clock) = arrivals(&[base, base + 2, wrong, base + 6, base + 8]);
            assert_eq!(all, [0, 2, 4, 6, 8], "{wrong}");
            let by_ns = (wrong as i64 - (base as i64 + 2)) * MS as i64;
            assert_eq!((clock.step, clock.steps, clock.unordered), (Some(Step { packet: 3, by_ns }), 1, 0), "{wrong}");
        }
        let (all, _) = arrivals(&[0, HOURS, 4, 6, 8]);
        assert_eq!(all, [0, 0, 4, 6, 8], "the second packet has no gap before it");
    }

    /// Every second packet has the clock of another interface.
    #[test]
    fn two_clocks_far_apart_leave_the_gaps() {
        let (all, clock) = arrivals(&[0, 2, 7_200_004, 6, 7_200_008, 10]);
        assert_eq!((all, clock.steps), (vec![0, 2, 4, 6, 8, 10], 2));
    }

    /// Set ahead for good by more than an hour: no packet of a network was waited for that long.
    #[test]
    fn a_clock_that_is_set_ahead_leaves_the_gaps() {
        let (all, clock) = arrivals(&[0, 3, 65_536_005, 65_536_007, 65_536_011]);
        assert_eq!(all, [0, 3, 6, 8, 12]);
        assert_eq!(clock.step, Some(Step { packet: 3, by_ns: 65_536_002 * MS as i64 }));
        assert_eq!(clock.steps, 1);
    }

    #[test]
    fn a_pause_of_an_hour_is_a_pause() {
        for pause in [501, 20_000, 3_600_000] {
            let (all, clock) = arrivals(&[0, 2, 2 + pause, 4 + pause]);
            assert_eq!((all, clock.steps), (vec![0, 2, 2 + pause, 4 + pause], 0));
        }
        // The pause is not repeated where the clock is set back.
        let (all, _) = arrivals(&[0, 20_000, 10, 12]);
        assert_eq!(all, [0, 0, 10, 12]);
        let (later, _) = arrivals(&[10_000, 30_000, 30_600, 10, 12]);
        assert_eq!(later, [0, 20_000, 20_600, 21_100, 21_102]);
    }

    #[test]
    fn a_second_capture_behind_the_first_goes_on_from_there() {
        let (all, _) = arrivals(&[0, 1000, 2000, 0, 1000, 2000]);
        assert_eq!(all, [0, 1000, 2000, 2500, 3500, 4500]);
    }
}
