//! A token bucket: limits a rate and a burst.

use aqmkit_base::Instant;

/// A token bucket. The caller defines a token: a packet or a byte.
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

    /// Takes `cost` tokens if there are as many, after adding those that came since the last call: `rate`
    /// a second, up to `burst`.
    pub fn take(&mut self, cost: f64, rate: f64, burst: f64, now: Instant) -> bool {
        self.tokens = (self.tokens + now.since(self.filled).as_secs_f64() * rate).min(burst);
        self.filled = now;
        let enough = self.tokens >= cost;
        if enough {
            self.tokens -= cost;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use aqmkit_base::Duration;

    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::full(3.0, Instant::ZERO);
        let mut taken = |ms| bucket.take(1.0, 10.0, 3.0, Instant::ZERO + Duration::from_millis(ms));
        assert_eq!([0, 0, 0, 0, 50, 100, 100].map(&mut taken), [true, true, true, false, false, true, false]);
        assert_eq!([9000, 9000, 9000, 9000].map(&mut taken), [true, true, true, false], "a pause earns one burst");
    }
}
