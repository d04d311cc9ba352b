//! Linux's `HyStart` (`net/ipv4/tcp_cubic.c`, from 5.6 on; S. Ha, I. Rhee, Taming the Elephants: New TCP Slow Start,
//! 2011).
//!
//! Slow start ends when the acknowledgements of a round arrive as one train lasting half of the minimum round trip,
//! which shows that the path is full, or when the minimum of eight round trips exceeds the minimum so far by an eighth
//! (4 to 16 ms).
//!
//! Rounds are counted from the first segment on, whatever the window. Kernels since 5.16 began to count at a window of
//! 16 segments, in the middle of a train, and so left slow start a round trip late; 6.14 and the stable kernels of early
//! 2025 have the correction.

use aqmkit_base::{Duration, Instant};

use super::Step;
use crate::congestion::Cx;

/// The window in segments at which slow start may end (`hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// Acknowledgements further apart do not belong to one train (`hystart_ack_delta_us`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Samples of the round trip before their minimum is compared (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Bounds of the increase that ends slow start (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// A train may be longer by the delay that offload can add: four of its largest packets, at most a millisecond.
const HELD_BYTES: u64 = 4 << 16;
const HELD_MOST: Duration = Duration::from_millis(1);

/// The state of slow start.
#[derive(Clone, Copy, Debug)]
pub(in crate::congestion) struct Linux {
    /// The round ends when this byte is acknowledged.
    left: u64,
    round_start: Instant,
    last_ack: Instant,
    /// The minimum round trip of this round, and overall.
    this_round: Option<Duration>,
    least: Option<Duration>,
    samples: u32,
}

impl Linux {
    pub(super) const fn new() -> Self {
        let never = Instant::ZERO;
        Linux { left: 0, round_start: never, last_ack: never, this_round: None, least: None, samples: 0 }
    }

    /// `bictcp_acked` and `hystart_update`.
    pub(super) fn on_ack(&mut self, acked: u64, cwnd: u64, cx: &Cx<'_>) -> Step {
        self.least = self.least.into_iter().chain(cx.sample).min();
        let (Some(delay), Some(least)) = (cx.sample, self.least) else {
            self.left = self.left.saturating_sub(acked);
            return Step::Grow(acked);
        };
        self.count(acked, cx);
        if cwnd < LOW_WINDOW * cx.mss() {
            return Step::Grow(acked);
        }
        let found = self.is_long_train(least, cwnd, cx) || self.is_slower(delay, least);
        if found { Step::End } else { Step::Grow(acked) }
    }

    /// A round ends when the data in flight at its start is acknowledged.
    fn count(&mut self, acked: u64, cx: &Cx<'_>) {
        if acked > self.left {
            self.left = cx.flight.saturating_sub(acked);
            (self.round_start, self.last_ack) = (cx.now, cx.now);
            (self.this_round, self.samples) = (None, 0);
        } else {
            self.left -= acked;
        }
    }

    fn is_long_train(&mut self, least: Duration, cwnd: u64, cx: &Cx<'_>) -> bool {
        if cx.now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = cx.now;
        // The rate of slow start: two windows in a round trip (`tcp_pacing_ss_ratio`).
        let held = cx.srtt().map_or(HELD_MOST, |rtt| rtt.mul_f64(HELD_BYTES as f64 / (2 * cwnd) as f64).min(HELD_MOST));
        cx.now.since(self.round_start) > (least + held) / 2
    }

    fn is_slower(&mut self, delay: Duration, least: Duration) -> bool {
        let this_round = self.this_round.map_or(delay, |r| r.min(delay));
        self.this_round = Some(this_round);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        this_round > least + (least / 8).clamp(DELAY_MIN, DELAY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on each of ten round trips of a round.
    fn judged(micros: [u64; 10], least_ms: u64) -> [bool; 10] {
        let mut it = Linux::new();
        micros.map(|us| it.is_slower(Duration::from_micros(us), Duration::from_millis(least_ms)))
    }

    /// `HYSTART_MIN_SAMPLES`: eight round trips are gathered, and their least is judged with the ninth.
    #[test]
    fn the_ninth_round_trip_of_a_round_is_judged() {
        let mut from_the_ninth = [false; 10];
        from_the_ninth[8..].fill(true);
        assert_eq!(judged([120_000; 10], 100), from_the_ninth);
        let mut one_is_short = [120_000; 10];
        one_is_short[3] = 100_000;
        assert_eq!(judged(one_is_short, 100), [false; 10]);
    }

    /// `HYSTART_DELAY_THRESH`: longer by an eighth, by 4 ms at least and 16 at most.
    #[test]
    fn a_round_trip_is_longer_by_an_eighth() {
        for (least_ms, most_us) in [(100, 112_500), (8, 12_000), (32, 36_000), (128, 144_000), (200, 216_000)] {
            assert!(!judged([most_us; 10], least_ms)[9] && judged([most_us + 1; 10], least_ms)[9], "{least_ms} ms");
        }
    }
}
