//! Samples of the rate at which data is delivered (draft-cheng-iccrg-delivery-rate-estimation-02).

use aqmkit_base::{Duration, Instant};

use super::Cx;

/// A rate sample: one acknowledgement's evidence about the path.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes per second delivered during the flight of the newest segment that the acknowledgement covers. `None` if
    /// the interval was shorter than any round trip (section 3.3).
    pub rate: Option<f64>,
    /// Round trip of that segment, unless it was retransmitted.
    pub rtt: Option<Duration>,
    /// Bytes newly delivered.
    pub acked: u64,
    /// Bytes newly detected as lost.
    pub lost: u64,
    /// Bytes delivered when the newest segment was sent.
    pub prior_delivered: u64,
    /// Total bytes delivered so far.
    pub delivered: u64,
    /// Bytes in the network now.
    pub in_flight: u64,
    /// Whether the sample is application-limited.
    pub app_limited: bool,
    /// Bytes that were in the network when the newest segment was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes lost since then.
    pub lost_since: u64,
}

impl Sample {
    /// `GenerateRateSample` (section 3.3), for an acknowledgement that delivers anything.
    pub(super) fn read(cx: &Cx<'_>, min_rtt: Duration) -> Option<Sample> {
        let sent = cx.sent?;
        let newest = sent.news().newest?;
        let rate = sent.rate();
        let sending = newest.sent.since(newest.first_sent);
        let acking = rate.delivered_at.since(newest.delivered_at);
        let interval = sending.max(acking);
        let bytes = rate.delivered - newest.delivered;
        let usable = !interval.is_zero() && interval >= min_rtt;
        Some(Sample {
            rate: usable.then(|| bytes as f64 / interval.as_secs_f64()),
            rtt: (!newest.resent).then(|| cx.now.since(newest.sent)),
            acked: sent.news().delivered,
            lost: sent.news().lost,
            prior_delivered: newest.delivered,
            delivered: rate.delivered,
            in_flight: sent.in_flight(),
            app_limited: newest.app_limited,
            tx_in_flight: u64::from(newest.tx_in_flight),
            lost_since: newest.lost_since(rate),
        })
    }
}

/// Counts round trips by delivery: one ends when data is delivered that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    next: u64,
    pub(super) count: u64,
    /// Whether the newest sample began a round trip.
    pub(super) started: bool,
}

impl Rounds {
    pub(super) fn update(&mut self, sample: &Sample) {
        self.started = sample.prior_delivered >= self.next;
        if self.started {
            self.restart(sample.delivered);
            self.count += 1;
        }
    }

    /// Begins a round trip now, with this many bytes delivered.
    pub(super) fn restart(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// The largest value of the last `N` rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    rounds: [f64; N],
}

impl<const N: usize> MaxFilter<N> {
    pub(super) const fn new() -> Self {
        MaxFilter { rounds: [0.0; N] }
    }

    /// Begins another round, which expires the oldest.
    pub(super) fn begin(&mut self, round: u64) {
        self.rounds[(round % N as u64) as usize] = 0.0;
    }

    pub(super) fn add(&mut self, round: u64, value: f64) {
        let slot = &mut self.rounds[(round % N as u64) as usize];
        *slot = slot.max(value);
    }

    pub(super) fn max(&self) -> f64 {
        self.rounds.iter().fold(0.0, |a, &b| a.max(b))
    }
}

/// The shortest round trip, and when it was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    pub(super) rtt: Option<Duration>,
    pub(super) at: Instant,
}

impl MinRtt {
    pub(super) const fn new() -> Self {
        MinRtt { rtt: None, at: Instant::ZERO }
    }

    /// Updates the minimum with a round trip. Returns whether the previous minimum had become older than `window`.
    pub(super) fn update(&mut self, rtt: Option<Duration>, window: Duration, now: Instant) -> bool {
        let expired = self.rtt.is_some() && now.since(self.at) > window;
        if let Some(rtt) = rtt.filter(|&rtt| expired || self.rtt.is_none_or(|least| rtt <= least)) {
            (self.rtt, self.at) = (Some(rtt), now);
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::tcp::{Range, Rtt, Sent};

    #[test]
    fn the_largest_of_the_last_rounds_counts() {
        let mut filter = MaxFilter::<3>::new();
        for (round, value, max) in
            [(0, 5.0, 5.0), (1, 2.0, 5.0), (2, 3.0, 5.0), (3, 1.0, 3.0), (4, 1.0, 3.0), (5, 1.0, 1.0)]
        {
            filter.begin(round);
            filter.add(round, value);
            assert!((filter.max() - max).abs() < 1e-9, "round {round}: {}", filter.max());
        }
    }

    /// By hand: segments of 1000 bytes are sent every 10 ms and arrive after 100 ms, four of them together; the rate is
    /// what was delivered since the newest of them was sent, over the longer of the send and acknowledgement intervals.
    #[test]
    fn a_sample_is_what_was_delivered_since_the_newest_segment_left() {
        let ms = |n: u64| Instant::from_nanos(n * 1_000_000);
        let profile = Profile::rfc();
        let rtt = Rtt::new(&profile);
        let mut sent = Sent::new(true, true, ms(0));
        let read = |record: &Sent, now, least| {
            let cx = Cx {
                now,
                profile: &profile,
                flight: 0,
                reducing: None,
                peer_window: 0,
                sack: true,
                sent: Some(record),
                counts_marks: false,
                sample: None,
                one_way: None,
                rtt: &rtt,
            };
            Sample::read(&cx, Duration::from_millis(least))
        };
        let piece = |n: u64| Range { start: 1000 * n, end: 1000 * n + 1000 };
        assert!(read(&sent, ms(0), 0).is_none(), "nothing was delivered");
        (0..4).for_each(|n| sent.on_sent(piece(n), ms(10 * n)));
        sent.on_acked(1000, ms(100), |_| ());
        let first = read(&sent, ms(100), 100).unwrap();
        // 1000 bytes in 100 ms, as long as the shortest round trip.
        assert_eq!((first.rate, first.rtt), (Some(10_000.0), Some(Duration::from_millis(100))));
        assert_eq!((first.acked, first.prior_delivered, first.delivered, first.in_flight), (1000, 0, 1000, 3000));
        assert!(read(&sent, ms(100), 101).unwrap().rate.is_none(), "no path delivers in less than its round trip");
        (4..6).for_each(|n| sent.on_sent(piece(n), ms(100)));
        sent.begin_ack();
        sent.on_acked(4000, ms(130), |_| ());
        // The fourth was sent at 30 ms; by 130 ms all four were delivered, 130 ms after the first was sent.
        let all = read(&sent, ms(130), 50).unwrap();
        assert_eq!((all.rate, all.acked, all.tx_in_flight), (Some(4000.0 / 0.13), 3000, 4000));
        // Sent at 100 ms, when one had been delivered: five in 105 ms. A retransmitted segment gives no round-trip
        // sample.
        sent.begin_ack();
        sent.on_sent(piece(5), ms(110));
        sent.on_sacked(piece(5), ms(205), |_| ());
        let again = read(&sent, ms(205), 0).unwrap();
        assert_eq!((again.rtt, again.prior_delivered, again.delivered), (None, 4000, 5000));
        // Delivered at the very time at which it was sent: no rate, whatever the minimum round trip.
        let mut at_once = Sent::new(true, true, ms(0));
        at_once.on_sent(piece(0), ms(7));
        at_once.on_acked(1000, ms(7), |_| ());
        assert!(read(&at_once, ms(7), 0).unwrap().rate.is_none());
    }

    #[test]
    fn the_largest_of_nothing_is_zero() {
        let mut filter = MaxFilter::<2>::new();
        assert!(filter.max() <= 0.0);
        filter.add(0, 0.25);
        assert!((filter.max() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_that_is_too_old_is_replaced_by_a_longer_one() {
        let ms = Duration::from_millis;
        let mut least = MinRtt::new();
        let at = |n| Instant::ZERO + ms(n);
        assert!(!least.update(Some(ms(20)), ms(100), at(0)));
        assert!(!least.update(Some(ms(30)), ms(100), at(100)));
        assert_eq!(least.rtt, Some(ms(20)));
        assert!(least.update(Some(ms(30)), ms(100), at(101)));
        assert_eq!(least.rtt, Some(ms(30)));
    }
}
