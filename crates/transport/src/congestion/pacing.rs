//! Pacing: segments leave at a rate instead of in bursts.

use aqmkit_base::{BitRate, Bytes, Duration, Instant};

/// When the next segment may be sent.
///
/// Each segment is followed by its transmission time at the pacing rate, headers included: Linux's earliest departure
/// time, without the credit for a late timer, because timers here are never late. Retransmissions are not delayed, but
/// count.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// Zero: not limited yet.
    rate: BitRate,
    next: Instant,
    /// Whether a segment is waiting for its time.
    holding: bool,
    /// The duration of a super-packet at the pacing rate, in microseconds; 0: as the profile says.
    burst_us: u16,
}

impl Pacer {
    /// Unlimited until there is a rate.
    #[must_use]
    pub const fn new() -> Self {
        Pacer { rate: BitRate::from_bps(0), next: Instant::ZERO, holding: false, burst_us: 0 }
    }

    /// The same, with super-packets that last this many microseconds at the pacing rate and have at least one segment,
    /// if the profile has segmentation offload.
    #[must_use]
    pub const fn with_bursts(self, micros: u16) -> Self {
        Pacer { burst_us: micros, ..self }
    }

    /// The duration of a super-packet, if the control decides it.
    #[must_use]
    pub fn burst(&self) -> Option<Duration> {
        (self.burst_us > 0).then(|| Duration::from_micros(self.burst_us.into()))
    }

    /// Sets the rate, in bytes per second.
    pub fn set_rate(&mut self, bytes_per_second: f64) {
        self.rate = BitRate::from_bytes_per_sec(bytes_per_second);
    }

    /// Sets the rate to one window per round trip, times a gain.
    pub fn set_window(&mut self, cwnd: u64, rtt: Duration, gain: f64) {
        if !rtt.is_zero() {
            self.set_rate(gain * cwnd as f64 / rtt.as_secs_f64());
        }
    }

    /// The rate, once there is one.
    #[must_use]
    pub fn rate(&self) -> Option<BitRate> {
        (self.rate.as_bps() > 0).then_some(self.rate)
    }

    /// Whether the next segment, which the windows would allow, has to wait.
    pub fn holds(&mut self, now: Instant) -> bool {
        self.holding = now < self.next;
        self.holding
    }

    /// When the waiting segment may be sent.
    #[must_use]
    pub fn held_until(&self) -> Option<Instant> {
        self.holding.then_some(self.next)
    }

    /// Releases data that waited for its send time. Returns whether there was any.
    pub fn release(&mut self, now: Instant) -> bool {
        let due = self.holding && self.next <= now;
        self.holding &= !due;
        due
    }

    /// Accounts for bytes sent.
    pub fn on_sent(&mut self, bytes: u64, now: Instant) {
        self.holding = false;
        if self.rate.as_bps() > 0 {
            self.next = self.next.max(now) + self.rate.time_to_send(Bytes(bytes));
        }
    }
}

impl Default for Pacer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    #[test]
    fn segments_are_spread_at_the_rate() {
        let mut pacer = Pacer::new();
        pacer.on_sent(1_000, ms(0));
        assert!(!pacer.holds(ms(0)), "no limit without a rate");
        pacer.set_window(10_000, Duration::from_millis(100), 1.0);
        pacer.on_sent(1_000, ms(0));
        assert!(pacer.holds(ms(9)) && pacer.held_until() == Some(ms(10)));
        assert!(!pacer.release(ms(9)) && pacer.release(ms(10)) && pacer.held_until().is_none());
        // Unused time is not credited.
        assert!(!pacer.holds(ms(50)));
        pacer.on_sent(1_000, ms(50));
        assert!(pacer.holds(ms(59)) && !pacer.holds(ms(60)));
    }
}
