//! The departure rate of a queue, and the delay derived from it.
//!
//! RFC 8033, section 5.2. A departure first starts a measurement and then counts, in that order, so that the packet
//! that starts one after a pause counts although it took no time: as in Linux (`pie_process_dequeue`). The RFC's
//! pseudo-code counts first and then starts one. Between consecutive measurements there is no difference.

use aqmkit_base::{Bytes, Duration, Instant};

/// The average time in which `threshold` bytes leave a queue, measured only while at least as much is queued: then the
/// link, not the arrivals, determines the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DqRate {
    /// Seconds for `threshold` bytes; zero before the first measurement.
    avg_dq_time: f64,
    /// When the current measurement began, and how many bytes have left since.
    measuring: Option<(Instant, u64)>,
}

impl DqRate {
    /// A packet of `len` bytes has left a queue in which `backlog` bytes remain. The weight of the average is
    /// `threshold / 2^16`.
    pub fn on_departure(&mut self, threshold: Bytes, len: u64, backlog: u64, now: Instant) {
        let enough = backlog >= threshold.0;
        if enough && self.measuring.is_none() {
            self.measuring = Some((now, 0));
        }
        let Some((since, count)) = &mut self.measuring else { return };
        *count += len;
        if *count < threshold.0 {
            return;
        }
        let dq_time = now.since(*since).as_secs_f64();
        let weight = threshold.as_f64() / 65_536.0;
        self.avg_dq_time = match self.avg_dq_time {
            0.0 => dq_time,
            avg => weight * dq_time + (1.0 - weight) * avg,
        };
        self.measuring = enough.then_some((now, 0));
    }

    /// The time in which `backlog` bytes leave; `None` before the first measurement.
    #[must_use]
    pub fn delay(&self, threshold: Bytes, backlog: u64) -> Duration {
        Duration::from_secs_f64(backlog as f64 * self.avg_dq_time / threshold.as_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of 1000 bytes each millisecond.
    #[test]
    fn a_steady_link_is_measured() {
        let (mut rate, mut now) = (DqRate::default(), Instant::ZERO);
        for _ in 0..40 {
            rate.on_departure(Bytes(10_000), 1000, 9_999, now);
            now += Duration::from_millis(1);
        }
        assert_eq!(rate.delay(Bytes(10_000), 50_000), Duration::ZERO, "too little waits");
        for _ in 0..400 {
            rate.on_departure(Bytes(10_000), 1000, 50_000, now);
            now += Duration::from_millis(1);
        }
        // The packet that starts the first measurement leaves in no time, so that one is a millisecond short.
        let delay = rate.delay(Bytes(10_000), 50_000).as_millis_f64();
        assert!((49.9..50.0).contains(&delay), "{delay}");
    }
}
