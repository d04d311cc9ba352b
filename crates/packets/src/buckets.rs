//! A histogram of durations with monotonic counts: the difference of two snapshots is the histogram of the interval
//! between them.

use aqmkit_base::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Nanoseconds per unit of bucket bounds.
const UNIT: u64 = 1024;
/// Buckets per doubling, for a resolution of one eighth.
const SPLIT: u32 = 8;
/// Number of buckets, for durations up to 18 minutes.
const BUCKETS: usize = 224;

/// A histogram of durations whose bucket width grows with the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buckets {
    counts: [u64; BUCKETS],
    /// Sum of all durations, in nanoseconds.
    sum: u64,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { counts: [0; BUCKETS], sum: 0 }
    }
}

/// The bucket index of a duration.
fn place(time: Duration) -> usize {
    let units = time.as_nanos() / UNIT;
    let place = match units.checked_ilog2() {
        Some(log) if log >= 3 => SPLIT * (log - 2) + (units >> (log - 3)) as u32 % SPLIT,
        _ => units as u32,
    };
    (place as usize).min(BUCKETS - 1)
}

/// The upper bound of a bucket, in nanoseconds.
fn end(place: usize) -> u64 {
    let place = place as u64 + 1;
    let (octave, part) = (place / 8, place % 8);
    UNIT * if octave == 0 { part } else { (8 + part) << (octave - 1) }
}

impl Buckets {
    /// Adds a duration.
    pub fn record(&mut self, time: Duration) {
        self.counts[place(time)] += 1;
        self.sum = self.sum.saturating_add(time.as_nanos());
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Buckets) {
        self.counts.iter_mut().zip(other.counts).for_each(|(own, more)| *own += more);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The number of durations recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all durations, in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum as f64 / 1e9
    }

    /// The durations recorded since the snapshot `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Buckets) -> Buckets {
        let counts = std::array::from_fn(|i| self.counts[i].saturating_sub(earlier.counts[i]));
        Buckets { counts, sum: self.sum.saturating_sub(earlier.sum) }
    }

    /// The quantile `part` in milliseconds; `None` if nothing was recorded.
    #[must_use]
    pub fn quantile_ms(&self, part: f64) -> Option<f64> {
        let all = self.count();
        let mut rest = (part * all as f64).clamp(0.0, all as f64);
        let holder = self.counts.iter().position(|n| {
            let here = *n > 0 && rest <= *n as f64;
            rest -= if here { 0.0 } else { *n as f64 };
            here
        })?;
        let from = if holder == 0 { 0 } else { end(holder - 1) } as f64;
        // Within a bucket, durations are assumed to be uniform.
        let within = rest / self.counts[holder] as f64;
        Some((from + (end(holder) as f64 - from) * within) / 1e6)
    }

    /// For each doubling from 65 µs to 68.7 s: the upper bound in seconds, and the number of shorter durations.
    pub fn doublings(&self) -> impl Iterator<Item = (f64, u64)> {
        (6_usize..=26).map(|log| {
            let below = (log - 2) * SPLIT as usize;
            (end(below - 1) as f64 / 1e9, self.counts[..below].iter().sum())
        })
    }
}

impl Serialize for Buckets {
    /// As the sum in nanoseconds, and the non-empty buckets with their counts.
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let filled: Vec<_> = self.counts.iter().enumerate().filter(|(_, n)| **n > 0).collect();
        (self.sum, filled).serialize(s)
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let (sum, filled) = <(u64, Vec<(usize, u64)>)>::deserialize(d)?;
        let mut buckets = Buckets { sum, ..Buckets::default() };
        for (place, count) in filled {
            *buckets.counts.get_mut(place).ok_or_else(|| D::Error::custom("no such bucket"))? = count;
        }
        Ok(buckets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_quantile_between_two_looks_forgets_what_was_before() {
        let mut buckets = Buckets::default();
        (0..1000).for_each(|_| buckets.record(Duration::from_millis(500)));
        let before = buckets;
        assert_eq!(buckets.since(&before).quantile_ms(0.5), None);
        (1..=100).for_each(|ms| buckets.record(Duration::from_millis(ms)));
        let now = buckets.since(&before);
        assert_eq!((now.count(), now.sum_s()), (100, 5.05));
        let median = now.quantile_ms(0.5).unwrap();
        assert!((median / 50.0 - 1.0).abs() < 0.05, "{median}");
    }

    proptest! {
        #[test]
        fn a_sum_is_as_if_all_times_were_recorded_in_one(
            times in prop::collection::vec((any::<u64>(), any::<bool>()), 0..40),
        ) {
            let [mut one, mut other, mut both] = [Buckets::default(); 3];
            for (ns, here) in times {
                let part = if here { &mut one } else { &mut other };
                part.record(Duration::from_nanos(ns));
                both.record(Duration::from_nanos(ns));
            }
            one.add(&other);
            prop_assert_eq!(one, both);
        }

        #[test]
        fn a_time_is_in_its_bucket(ns in 0_u64..1_000_000_000_000) {
            let place = place(Duration::from_nanos(ns));
            prop_assert!(ns < end(place) && (place == 0 || ns >= end(place - 1)), "{} in {}", ns, place);
        }

        #[test]
        fn it_reads_back(times in prop::collection::vec(any::<u64>(), 0..20)) {
            let mut buckets = Buckets::default();
            times.iter().for_each(|ns| buckets.record(Duration::from_nanos(*ns)));
            let text = serde_json::to_string(&buckets).unwrap();
            prop_assert_eq!(serde_json::from_str::<Buckets>(&text).unwrap(), buckets);
            let all: Vec<_> = buckets.doublings().collect();
            prop_assert!(all.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        }
    }
}
