//! A token bucket: limits a rate and a burst.

use aqmkit_base::Instant;

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

    /// Takes `cost` tokens, or as many as there are.
    pub fn spend(&mut self, cost: f64, rate: f64, burst: f64, now: Instant) {
        self.tokens = (self.level(rate, burst, now) - cost).max(0.0);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration;

    use super::*;

    #[test]
    fn what_is_spent_comes_back_at_the_rate() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        bucket.spend(5.0, 10.0, 3.0, at(0));
        assert_eq!([0, 100, 250, 900].map(|ms| bucket.level(10.0, 3.0, at(ms))), [0.0, 1.0, 2.5, 3.0]);
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        let mut taken = |ms| bucket.take(1.0, 10.0, 3.0, Instant::ZERO + Duration::from_millis(ms));
        assert_eq!([0, 0, 0, 0, 50, 100, 100].map(&mut taken), [true, true, true, false, false, true, false]);
        assert_eq!([9000, 9000, 9000, 9000].map(&mut taken), [true, true, true, false], "a pause earns one burst");
    }
}
