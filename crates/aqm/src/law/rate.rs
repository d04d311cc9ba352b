//! The rate of a stream of packets, estimated packet by packet.

use aqmkit_base::{Duration, Instant};

/// A rate in bits per second, averaged exponentially over the gaps between packets (Stoica, Shenker, Zhang 1998,
/// equation 3): `r <- (1 - e^(-T/K)) l/T + e^(-T/K) r`, for a packet of `l` bits after a gap of `T`. Unlike an average
/// with a fixed weight it does not depend on the sizes or number of packets; after a gap much longer than `K` it is
/// `l/T`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimate {
    rate: f64,
    /// When the last packet arrived; `None` before the first.
    at: Option<Instant>,
    /// Bits that arrived at the time of the last packet and are not in the rate yet: a zero gap gives no rate.
    together: f64,
}

impl RateEstimate {
    /// The rate of a stream of which nothing has been seen until `now`.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        RateEstimate { rate: 0.0, at: Some(now), together: 0.0 }
    }

    /// The rate of a stream without history: its first packet counts as if it followed a gap of `k`.
    #[must_use]
    pub fn unknown() -> Self {
        RateEstimate { rate: 0.0, at: None, together: 0.0 }
    }

    /// Bits per second.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.rate
    }

    /// A packet of this many bits has arrived; `k` is the averaging constant, which is not zero.
    pub fn packet(&mut self, bits: f64, k: Duration, now: Instant) {
        self.together += bits;
        let gap = self.at.map_or(k, |at| now.since(at));
        if gap.is_zero() {
            return;
        }
        let old = libm::exp(-(gap.as_secs_f64() / k.as_secs_f64()));
        self.rate = (1.0 - old) * self.together / gap.as_secs_f64() + old * self.rate;
        self.at = Some(now);
        self.together = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: Duration = Duration::from_millis(100);

    fn after(gap: Duration, packets: usize) -> RateEstimate {
        let (mut rate, mut now) = (RateEstimate::new(Instant::ZERO), Instant::ZERO);
        for _ in 0..packets {
            now += gap;
            rate.packet(8000.0, K, now);
        }
        rate
    }

    #[test]
    fn a_constant_stream_has_its_rate() {
        for micros in [80, 800, 8000, 80_000] {
            let rate = after(Duration::from_micros(micros), 2_000_000 / micros as usize).get();
            let exact = 8000.0 / (micros as f64 / 1e6);
            assert!((rate / exact - 1.0).abs() < 1e-6, "{rate} for {exact}");
        }
    }

    #[test]
    fn before_the_first_packet_it_is_nothing() {
        assert!(RateEstimate::new(Instant::ZERO).get() <= 0.0 && RateEstimate::unknown().get() <= 0.0);
        let mut first = RateEstimate::new(Instant::ZERO);
        first.packet(8000.0, K, Instant::ZERO + K);
        assert!((first.get() - 80_000.0 * (1.0 - 1.0 / std::f64::consts::E)).abs() < 1e-6, "{}", first.get());
    }

    #[test]
    fn after_a_silence_it_is_one_packet_in_that_time() {
        let mut rate = after(Duration::from_micros(800), 1000);
        rate.packet(8000.0, K, Instant::ZERO + Duration::from_micros(800_000) + K * 50);
        assert!((rate.get() - 8000.0 / 5.0).abs() < 1e-9, "{}", rate.get());
    }

    #[test]
    fn packets_at_the_same_time_count_with_the_next() {
        let (mut two, mut one) = (RateEstimate::new(Instant::ZERO), RateEstimate::new(Instant::ZERO));
        let later = Instant::ZERO + K;
        two.packet(8000.0, K, Instant::ZERO);
        two.packet(8000.0, K, later);
        one.packet(16_000.0, K, later);
        assert_eq!(two, one);
    }
}
