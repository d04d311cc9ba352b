//! The average loss interval (RFC 5348 sections 5.2 to 5.4) that NADA uses.

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

/// Weights of the last intervals, newest first [section 5.4].
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Loss events: losses within one round trip count as one.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Packets from each loss event to the next, newest first.
    intervals: VecDeque<f64>,
    /// Packets since the first loss of the last event.
    open: u64,
    /// Packets since the last loss.
    since: u64,
    /// Start of the last loss event.
    began: Option<Instant>,
}

impl Losses {
    /// A packet arrived.
    pub(super) fn arrived(&mut self) {
        self.open += 1;
        self.since += 1;
    }

    /// A packet was lost at about this time.
    pub(super) fn lost(&mut self, at: Instant, rtt: Duration) {
        self.since = 0;
        if self.began.is_some_and(|began| at.since(began) < rtt) {
            self.open += 1;
            return;
        }
        self.began = Some(at);
        // The interval includes this lost packet; the first interval begins at the first packet.
        self.intervals.push_front((self.open + 1) as f64);
        self.intervals.truncate(WEIGHTS.len());
        self.open = 0;
    }

    /// Packets since the last loss.
    pub(super) fn since(&self) -> f64 {
        self.since as f64
    }

    /// Average loss interval in packets; `None` before the first loss. Unlike RFC 5348 it excludes the open interval:
    /// with it, the last loss could never be seven averages ago, since the weights sum up to six.
    pub(super) fn average(&self) -> Option<f64> {
        let weighted = self.intervals.iter().zip(WEIGHTS).map(|(interval, weight)| interval * weight);
        let weights: f64 = WEIGHTS[..self.intervals.len()].iter().sum();
        (weights > 0.0).then(|| weighted.sum::<f64>() / weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Each loss follows this number of received packets; losses are a second apart.
    fn after(intervals: &[u64]) -> Losses {
        let mut losses = Losses::default();
        for (i, &arrived) in intervals.iter().enumerate() {
            (0..arrived).for_each(|_| losses.arrived());
            losses.lost(Instant::ZERO + Duration::from_secs(i as u64), RTT);
        }
        losses
    }

    #[test]
    fn equal_intervals_have_their_length_as_the_average() {
        assert_eq!(Losses::default().average(), None);
        for count in 1..12 {
            assert!((after(&vec![99; count]).average().unwrap() - 100.0).abs() < 1e-9, "{count}");
        }
    }

    #[test]
    fn the_weights_are_those_of_rfc_5348() {
        // Intervals of 10 (the oldest), 20, 30, 40, 50: weights 0.8, 1, 1, 1, 1.
        let losses = after(&[9, 19, 29, 39, 49]);
        assert!((losses.average().unwrap() - (0.8 * 10.0 + 20.0 + 30.0 + 40.0 + 50.0) / 4.8).abs() < 1e-9);
        // Of ten intervals only the last eight count: 3 to 10.
        let ten = after(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let sum = 10.0 + 9.0 + 8.0 + 7.0 + 0.8 * 6.0 + 0.6 * 5.0 + 0.4 * 4.0 + 0.2 * 3.0;
        assert!((ten.average().unwrap() - sum / 6.0).abs() < 1e-9);
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let mut losses = after(&[99]);
        losses.lost(Instant::ZERO + Duration::from_millis(99), RTT);
        assert_eq!((losses.intervals.len(), losses.since()), (1, 0.0));
        losses.lost(Instant::ZERO + Duration::from_millis(100), RTT);
        assert_eq!(losses.intervals, [2.0, 100.0]);
    }
}
