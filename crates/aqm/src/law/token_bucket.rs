//! A token bucket: limits a rate and a burst.

use aqmkit_base::{Duration, Instant};

/// A token bucket. The caller decides what a token is: a packet or a byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenBucket {
    tokens: f64,
    filled: Instant,
}

impl TokenBucket {
    /// A bucket that holds `burst` tokens at `now`.
    #[must_use]
    pub fn full(burst: f64, now: Instant) -> Self {
        TokenBucket { tokens: burst, filled: now }
    }

    /// Takes `cost` tokens if there are enough, after adding those accrued since the last call: `rate` per second, up
    /// to `burst`.
    pub fn take(&mut self, cost: f64, rate: f64, burst: f64, now: Instant) -> bool {
        self.tokens = self.level(rate, burst, now);
        self.filled = now;
        let enough = self.tokens >= cost;
        if enough {
            self.tokens -= cost;
        }
        enough
    }

    /// How many tokens it holds at `now`.
    #[must_use]
    pub fn level(&self, rate: f64, burst: f64, now: Instant) -> f64 {
        (self.tokens + now.since(self.filled).as_secs_f64() * rate).min(burst)
    }

    /// When there will be `cost` tokens, to the nanosecond after; nothing if there are at `now`. The size of the bucket must be at least `cost`.
    #[must_use]
    pub fn ready(&self, cost: f64, rate: f64, burst: f64, now: Instant) -> Option<Instant> {
        let missing = cost - self.level(rate, burst, now);
        // The most that rounding takes away from a sum of many fractions.
        const ROUNDING: f64 = 1e-6;
        let wait = || Duration::from_nanos((missing / rate * 1e9).ceil().max(1.0) as u64);
        (missing > ROUNDING).then(|| now + wait())
    }

    /// Changes the size of the bucket, so that it is as far from full as it was. `old` is its rate and size until now.
    pub fn resize(&mut self, old: (f64, f64), burst: f64, now: Instant) {
        self.tokens = (self.level(old.0, old.1, now) + burst - old.1).max(0.0);
        self.filled = now;
    }

    /// Takes `cost` tokens, or as many as there are.
    pub fn spend(&mut self, cost: f64, rate: f64, burst: f64, now: Instant) {
        self.tokens = (self.level(rate, burst, now) - cost).max(0.0);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_comes_back_at_the_rate() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        bucket.spend(5.0, 10.0, 3.0, at(0));
        assert_eq!([0, 100, 250, 900].map(|ms| bucket.level(10.0, 3.0, at(ms))), [0.0, 1.0, 2.5, 3.0]);
    }

    #[test]
    fn a_bucket_says_when_there_are_tokens() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        bucket.spend(2.5, 10.0, 3.0, at(0));
        assert_eq!(
            [0.5, 1.0, 3.0].map(|cost| bucket.ready(cost, 10.0, 3.0, at(0))),
            [None, Some(at(50)), Some(at(250))]
        );
        assert_eq!(bucket.ready(1.0, 10.0, 3.0, at(50)), None);
        bucket.resize((10.0, 3.0), 5.0, at(50));
        assert_eq!(bucket.level(10.0, 5.0, at(50)), 3.0);
        bucket.resize((10.0, 5.0), 1.0, at(50));
        assert_eq!(bucket.level(10.0, 1.0, at(50)), 0.0);
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        let mut taken = |ms| bucket.take(1.0, 10.0, 3.0, Instant::ZERO + Duration::from_millis(ms));
        assert_eq!([0, 0, 0, 0, 50, 100, 100].map(&mut taken), [true, true, true, false, false, true, false]);
        assert_eq!([9000, 9000, 9000, 9000].map(&mut taken), [true, true, true, false], "a pause earns one burst");
    }
}
