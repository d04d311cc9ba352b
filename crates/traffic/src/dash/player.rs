//! The rules by which players choose the bit rate of the next segment.

use std::collections::VecDeque;

use aqmkit_base::{BitRate, Duration};
use serde::{Deserialize, Serialize};

/// The rule of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// By the buffer level: BBA-0 (Huang et al. 2014, algorithm 1).
    #[default]
    Buffer,
    /// By the throughput of the last segments: FESTIVE (Jiang et al. 2012).
    Rate,
}

/// Number of segments in the throughput estimate (jiang12).
const SAMPLES: usize = 20;
/// Largest share of the estimated throughput that a bit rate may have (jiang12).
const SAFE: f64 = 0.85;

/// Rate map and rate choice of BBA-0. Returns the index of the next bit rate in the ladder.
pub(super) fn by_buffer(
    ladder: &[BitRate],
    now: usize,
    buffered: Duration,
    reservoir: Duration,
    cushion: Duration,
) -> usize {
    let top = ladder.len() - 1;
    if buffered <= reservoir {
        return 0;
    }
    if buffered >= reservoir + cushion {
        return top;
    }
    let rate = |place: usize| ladder[place].as_bps() as f64;
    let part = (buffered - reservoir).as_secs_f64() / cushion.as_secs_f64();
    let mapped = rate(0) + (rate(top) - rate(0)) * part;
    if mapped >= rate((now + 1).min(top)) {
        return (0..=top).rev().find(|&place| rate(place) < mapped).unwrap_or(0);
    }
    if mapped <= rate(now.saturating_sub(1)) {
        return (0..=top).find(|&place| rate(place) > mapped).unwrap_or(top);
    }
    now
}

/// The state of the rule `rate`.
#[derive(Clone, Debug, Default)]
pub(super) struct Throughputs {
    /// Bits per second of the last segments.
    samples: VecDeque<f64>,
    /// Consecutive segments at the current bit rate.
    stayed: usize,
}

impl Throughputs {
    /// Adds the throughput of a segment of `bits` bits.
    pub(super) fn add(&mut self, bits: f64, took: Duration) {
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        // A duration of zero would give an infinite rate: assume a nanosecond.
        self.samples.push_back(bits / took.as_secs_f64().max(1e-9));
    }

    /// The harmonic mean; `None` before the first segment.
    pub(super) fn estimate(&self) -> Option<f64> {
        let inverse: f64 = self.samples.iter().map(|rate| 1.0 / rate).sum();
        (inverse > 0.0).then(|| self.samples.len() as f64 / inverse)
    }

    /// The index of the next bit rate in the ladder.
    pub(super) fn next(&mut self, ladder: &[BitRate], now: usize) -> usize {
        self.stayed += 1;
        let Some(estimate) = self.estimate() else { return now };
        let fits = |place: usize| ladder[place].as_bps() as f64 <= SAFE * estimate;
        let next = if !fits(now) {
            now.saturating_sub(1)
        } else if now + 1 < ladder.len() && fits(now + 1) && self.stayed > now {
            now + 1
        } else {
            now
        };
        if next != now {
            self.stayed = 0;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn ladder() -> Vec<BitRate> {
        [1, 2, 4, 8].map(BitRate::from_mbps).to_vec()
    }

    /// A reservoir of 90 s and a cushion of 70 s: one Mbit/s for each 10 s.
    fn bba(now: usize, buffered: u64) -> usize {
        let secs = Duration::from_secs;
        by_buffer(&ladder(), now, secs(buffered), secs(90), secs(70))
    }

    #[test]
    fn the_buffer_map_has_its_corners() {
        for now in 0..4 {
            assert_eq!([bba(now, 0), bba(now, 90)], [0, 0]);
            assert_eq!([bba(now, 160), bba(now, 240)], [3, 3]);
        }
    }

    #[test]
    fn a_rate_stays_until_the_map_reaches_a_neighbour() {
        // f = 1.9 Mbit/s at 99 s and 2 Mbit/s at 100 s.
        assert_eq!([bba(0, 99), bba(0, 100)], [0, 0], "the highest rate below f = 2 Mbit/s is still the lowest");
        assert_eq!(bba(0, 101), 1);
        // At 2 Mbit/s: up from f = 4 Mbit/s at 120 s, down at f = 1 Mbit/s, which f has within the reservoir.
        assert_eq!([bba(1, 91), bba(1, 119), bba(1, 121)], [1, 1, 2]);
        // At 8 Mbit/s: the rate stays while f is above 4 Mbit/s; at f = 4 Mbit/s and below it falls to the lowest rate
        // above f.
        assert_eq!([bba(3, 121), bba(3, 120), bba(3, 119), bba(3, 95)], [3, 3, 2, 1]);
    }

    /// Algorithm 1 of Huang et al. 2014, transcribed literally.
    fn literal(rates: &[f64], prev: f64, buf: f64, r: f64, cu: f64) -> f64 {
        let (min, max) = (rates[0], *rates.last().unwrap());
        let plus = rates.iter().copied().filter(|&i| i > prev).fold(f64::INFINITY, f64::min);
        let plus = if prev == max { max } else { plus };
        let minus = rates.iter().copied().filter(|&i| i < prev).fold(0.0, f64::max);
        let minus = if prev == min { min } else { minus };
        let f = min + (max - min) * (buf - r) / cu;
        if buf <= r {
            min
        } else if buf >= r + cu {
            max
        } else if f >= plus {
            rates.iter().copied().filter(|&i| i < f).fold(min, f64::max)
        } else if f <= minus {
            rates.iter().copied().filter(|&i| i > f).fold(max, f64::min)
        } else {
            prev
        }
    }

    proptest! {
        /// Ladders of one to seven rates. The buffer levels include those at which f equals a rate exactly.
        #[test]
        fn the_choice_is_that_of_the_published_algorithm(
            steps in proptest::collection::vec(1..4_u64, 1..8), now in 0..7_usize, quarter in 0..140_u64,
        ) {
            let ladder: Vec<BitRate> = steps.iter().scan(0, |sum, step| { *sum += step; Some(BitRate::from_mbps(*sum)) }).collect();
            let rates: Vec<f64> = ladder.iter().map(|rate| rate.as_bps() as f64).collect();
            let now = now.min(ladder.len() - 1);
            let top = steps.iter().sum::<u64>() - steps[0];
            // The cushion has one second per Mbit/s.
            let (reservoir, cushion) = (Duration::from_secs(5), Duration::from_secs(top.max(1)));
            let buffered = Duration::from_millis(250 * quarter);
            let next = by_buffer(&ladder, now, buffered, reservoir, cushion);
            let wanted = literal(&rates, rates[now], buffered.as_secs_f64(), 5.0, cushion.as_secs_f64());
            prop_assert_eq!(rates[next], wanted);
        }
    }

    #[test]
    fn the_estimate_is_the_harmonic_mean_of_the_last_twenty() {
        let mut seen = Throughputs::default();
        assert_eq!(seen.estimate(), None);
        let second = Duration::from_secs(1);
        seen.add(2e6, second);
        seen.add(6e6, second);
        assert!((seen.estimate().unwrap() - 3e6).abs() < 1e-3);
        (0..20).for_each(|_| seen.add(5e6, second));
        assert!((seen.estimate().unwrap() - 5e6).abs() < 1e-3, "older ones are forgotten");
    }

    #[test]
    fn a_segment_takes_a_nanosecond_at_least() {
        for took in [Duration::ZERO, Duration::from_nanos(1)] {
            let mut seen = Throughputs::default();
            seen.add(4.0, took);
            assert!((seen.estimate().unwrap() / 4e9 - 1.0).abs() < 1e-12, "{took}");
        }
    }

    #[test]
    fn steps_up_wait_and_steps_down_do_not() {
        let second = Duration::from_secs(1);
        let mut seen = Throughputs::default();
        let mut now = 0;
        let mut places = Vec::new();
        for _ in 0..8 {
            seen.add(9.5e6, second);
            now = seen.next(&ladder(), now);
            places.push(now);
        }
        // One segment at the first rate, two at the second, three at the third; the fourth rate does not fit: 8 > 0.85
        // * 9.4.
        assert_eq!(places, [1, 1, 2, 2, 2, 3, 3, 3]);
        (0..20).for_each(|_| seen.add(1.5e6, second));
        let down: Vec<usize> = (0..4)
            .map(|_| {
                now = seen.next(&ladder(), now);
                now
            })
            .collect();
        assert_eq!(down, [2, 1, 0, 0]);
    }
}
