//! The clock of a capture: small disorder is sorted, and steps are taken out.
//!
//! Packets of two interfaces, or of several processors, are written a little out of order; such a packet arrives with the one before it. A
//! stamp that lies further back than [`STEP`] is a clock that was set, one wrong stamp, or a second capture behind the first: sorting it would
//! move everything after it onto one instant. The step is taken out: that packet arrives one gap after its predecessor, as long as the gap
//! before, and later packets keep their gaps from it.

use aqmkit_base::Duration;

/// The largest disorder; a stamp that goes back further is a step of the clock.
pub const STEP: Duration = Duration::from_millis(500);

/// A step of the clock of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// The packet whose stamp goes back, by its number in the file.
    pub packet: u64,
    /// How far it lies behind its predecessor, in nanoseconds.
    pub back_ns: u64,
}

/// Time of arrival from stamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// The latest stamp, and the first; in nanoseconds since 1970.
    stamps: Option<(u64, u64)>,
    /// The last gap between two packets.
    gap: Duration,
    /// Packets before their predecessor by less than a step.
    pub(super) unordered: u64,
    /// The first step, and the number of them.
    pub(super) step: Option<Step>,
    pub(super) steps: u64,
}

impl Clock {
    /// The time from the packet before to that with this number and stamp.
    pub(super) fn gap(&mut self, packet: u64, at: u64) -> Duration {
        let Some((last, first)) = self.stamps else {
            self.stamps = Some((at, at));
            return Duration::ZERO;
        };
        if at >= last {
            self.gap = Duration::from_nanos(at - last);
            self.stamps = Some((at, first));
            return self.gap;
        }
        let back_ns = last - at;
        if back_ns <= STEP.as_nanos() {
            self.unordered += 1;
            return Duration::ZERO;
        }
        self.steps += 1;
        self.step = self.step.or(Some(Step { packet, back_ns }));
        self.stamps = Some((at, first));
        // A single stamp far ahead has a gap of its own that no packet had.
        self.gap = self.gap.min(STEP);
        self.gap
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
        let (mut clock, mut now, mut all) = (Clock::default(), 0, Vec::new());
        for (packet, stamp) in (1..).zip(stamps) {
            now += clock.gap(packet, (1_000_000 + stamp) * MS).as_nanos() / MS;
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
        assert_eq!(clock.step, Some(Step { packet: 4, back_ns: 1198 * MS }));
        assert_eq!((clock.steps, clock.unordered), (1, 0));
    }

    /// One stamp of eighteen hours ahead is a pause that ends; nothing after it is on one instant.
    #[test]
    fn one_stamp_ahead_moves_no_later_packet_together() {
        let (all, clock) = arrivals(&[0, 65_536_000, 4, 6, 8]);
        let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps[2..], [2, 2]);
        assert!(gaps[1] <= 500 && clock.steps == 1, "{gaps:?}");
    }

    #[test]
    fn a_second_capture_behind_the_first_goes_on_from_there() {
        let (all, _) = arrivals(&[0, 1000, 2000, 0, 1000, 2000]);
        assert_eq!(all, [0, 1000, 2000, 2500, 3500, 4500]);
    }
}
