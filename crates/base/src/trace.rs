//! A link whose rate varies, as a trace of delivery opportunities in mahimahi's format.
//!
//! Each line is a whole number of milliseconds since the start, in order: at that time the link can deliver up to
//! [`OPPORTUNITY`] bytes. Lines with the same number are opportunities at the same time. After the last line the trace
//! repeats: the last number is its duration.
//!
//! Delivery is accurate to the byte (`LinkQueue::rationalize` of mahimahi): an opportunity carries several small
//! packets, or a part of a large one, which leaves when the last of its bytes has gone. Capacity that an opportunity
//! has beyond the end of the queue is lost. A packet that arrives exactly at an opportunity is too late for it.
//!
//! Mahimahi counts 1504 bytes, because its packets carry four bytes of a TUN header; here, packets are as long as on the wire.
//!
//! Source: Winstein, Sivaraman, Balakrishnan, Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
//! Networks, NSDI 2013; Netravali et al., Mahimahi, USENIX ATC 2015.

use std::sync::Arc;

use crate::{BitRate, Bytes, Duration, Instant};

/// The largest number of bytes that one opportunity delivers.
pub const OPPORTUNITY: Bytes = Bytes(1500);

/// The longest trace, in milliseconds: about 49 days.
const MAX_MILLIS: u64 = u32::MAX as u64;

/// Maximum number of packets per repetition of a trace made from steps.
pub const MAX_OPPORTUNITIES: usize = 10_000_000;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A trace file that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file} line {line}: {what}")]
pub struct TraceError {
    /// Name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The problem in that line.
    pub what: String,
    /// The remedy.
    pub right: &'static str,
}

/// Delivery opportunities that repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The times of the opportunities, in milliseconds from the start of a repetition, ascending. The last one is the
    /// duration of a repetition.
    millis: Vec<u32>,
}

impl Trace {
    /// Reads a trace; errors call it `file`.
    ///
    /// # Errors
    /// When a line is not a number or is less than the one before it, or the duration is zero.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let error = |line, what, right| TraceError { file: file.to_owned(), line, what, right };
        let mut millis: Vec<u32> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let number = line.trim().parse::<u64>().ok().filter(|ms| *ms <= MAX_MILLIS);
            let Some(ms) = number.and_then(|ms| u32::try_from(ms).ok()) else {
                let short: String = line.chars().take(40).collect();
                let right =
                    "each line is the time of a delivery opportunity, a whole number of milliseconds below 2^32";
                return Err(error(i + 1, format!("{short:?} is not a time"), right));
            };
            if let Some(last) = millis.last().filter(|last| **last > ms) {
                let what = format!("{ms} ms comes after {last} ms");
                return Err(error(i + 1, what, "times must be in ascending order"));
            }
            millis.push(ms);
        }
        if millis.last().is_none_or(|last| *last == 0) {
            let what = "the trace has no duration".to_owned();
            return Err(error(millis.len().max(1), what, "its last line is its duration in milliseconds"));
        }
        Ok(Trace { millis })
    }

    /// The trace of a link that cycles through these rates, each for its duration. Each millisecond carries the packets
    /// that the rate allows, rounded down; the remainder carries over. Durations must be whole milliseconds.
    ///
    /// # Errors
    /// A duration that is zero or not whole milliseconds, or more than [`MAX_OPPORTUNITIES`] packets per repetition.
    pub fn of_steps(steps: &[(BitRate, Duration)]) -> Result<Self, &'static str> {
        let mut millis = Vec::new();
        let (mut now, mut bytes) = (0_u64, 0.0);
        for (rate, time) in steps {
            if time.is_zero() || time.as_nanos() % NANOS_PER_MILLI != 0 {
                return Err("each time must be whole milliseconds, and at least one");
            }
            for _ in 0..time.as_nanos() / NANOS_PER_MILLI {
                now += 1;
                bytes += rate.as_bps() as f64 / 8000.0;
                let packets = (bytes / OPPORTUNITY.as_f64()) as usize;
                bytes -= packets as f64 * OPPORTUNITY.as_f64();
                if now > MAX_MILLIS || millis.len() + packets > MAX_OPPORTUNITIES {
                    return Err("all steps together must carry at most ten million packets");
                }
                millis.extend(std::iter::repeat_n(now as u32, packets));
            }
        }
        // The last number is the duration of the trace.
        if millis.last().is_none_or(|last| u64::from(*last) < now) {
            millis.push(now as u32);
        }
        if now == 0 { Err("it needs at least one step") } else { Ok(Trace { millis }) }
    }

    /// The mean rate of a repetition.
    #[must_use]
    pub fn mean_rate(&self) -> BitRate {
        let bytes = self.millis.len() as f64 * OPPORTUNITY.as_f64();
        BitRate::from_bytes_per_sec(bytes * 1000.0 / f64::from(self.last()))
    }

    /// The number of bytes that the link could deliver from the start of the run until before `now`: an opportunity at
    /// `now` is not included.
    #[must_use]
    pub fn deliverable_before(&self, now: Instant) -> u64 {
        self.opportunities_before(now) * OPPORTUNITY.0
    }

    /// The number of opportunities before `now`.
    fn opportunities_before(&self, now: Instant) -> u64 {
        match now.as_nanos().checked_sub(1) {
            Some(ns) => self.opportunities_by(Instant::from_nanos(ns)),
            None => 0,
        }
    }

    /// The number of opportunities up to and including `now`.
    fn opportunities_by(&self, now: Instant) -> u64 {
        let ms = now.as_nanos() / NANOS_PER_MILLI;
        let (whole, rest) = (ms / u64::from(self.last()), ms % u64::from(self.last()));
        let within = self.millis.partition_point(|t| u64::from(*t) <= rest) as u64;
        whole * self.millis.len() as u64 + within
    }

    /// The time of opportunity `n`, counted from 0.
    fn time(&self, n: u64) -> Instant {
        let len = self.millis.len() as u64;
        let within = self.millis.get((n % len) as usize).copied().unwrap_or_default();
        let ms = (n / len).saturating_mul(u64::from(self.last())) + u64::from(within);
        Instant::from_nanos(ms.saturating_mul(NANOS_PER_MILLI))
    }

    fn last(&self) -> u32 {
        // `parse` refuses a trace with a duration of zero.
        self.millis.last().copied().unwrap_or(1)
    }
}

/// A transmitter that follows a trace.
#[derive(Clone, Debug)]
pub struct Opportunities {
    trace: Arc<Trace>,
    /// The next opportunity that was neither used nor missed.
    next: u64,
    /// The remaining bytes of the opportunity before it.
    left: u64,
}

impl Opportunities {
    /// An idle transmitter.
    #[must_use]
    pub fn new(trace: Arc<Trace>) -> Self {
        Opportunities { trace, next: 0, left: 0 }
    }

    /// The time at which the transmitter can send, unless it can send now. `idle`: the transmitter was idle, so earlier
    /// opportunities were missed.
    pub fn wait(&mut self, now: Instant, idle: bool) -> Option<Instant> {
        if idle {
            self.left = 0;
            self.next = self.trace.opportunities_by(now);
        }
        if self.left > 0 {
            return None;
        }
        let at = self.trace.time(self.next);
        if at > now {
            return Some(at);
        }
        self.take();
        None
    }

    /// Starts sending a packet of `size` bytes now.
    pub fn send(&mut self, size: u64, now: Instant) -> Carriage {
        let (mut rest, mut until) = (size, now);
        while rest > self.left {
            rest -= self.left;
            until = self.trace.time(self.next);
            self.take();
        }
        self.left -= rest;
        let trace = Arc::clone(&self.trace);
        Carriage { until, trace, size, last: self.next.saturating_sub(1), last_bytes: rest }
    }

    fn take(&mut self) {
        self.next += 1;
        self.left = OPPORTUNITY.0;
    }
}

/// The opportunities that carry a packet.
#[derive(Clone, Debug)]
pub struct Carriage {
    /// The time at which the last byte of the packet is sent.
    pub until: Instant,
    trace: Arc<Trace>,
    /// Bytes of the packet, with framing.
    size: u64,
    /// The opportunity that carries its last byte.
    last: u64,
    /// The number of bytes that this opportunity carries.
    last_bytes: u64,
}

impl Carriage {
    /// The share of the packet that is not sent before `now`, which is after the start of the transmission.
    #[must_use]
    pub fn unsent(&self, now: Instant) -> f64 {
        if now > self.until || self.size == 0 {
            return 0.0;
        }
        // The opportunities between the first and the last carry only this packet.
        let whole = self.last.saturating_sub(self.trace.opportunities_before(now));
        let bytes = (whole * OPPORTUNITY.0 + self.last_bytes).min(self.size);
        bytes as f64 / self.size as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opportunities(text: &str) -> Opportunities {
        Opportunities::new(Arc::new(Trace::parse("t", text).unwrap()))
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * NANOS_PER_MILLI)
    }

    #[test]
    fn opportunities_repeat_after_the_last() {
        let trace = Trace::parse("t", "0\n2\n2\n5\n").unwrap();
        let times: Vec<Instant> = (0..9).map(|n| trace.time(n)).collect();
        assert_eq!(times, [0, 2, 2, 5, 5, 7, 7, 10, 10].map(ms));
        assert_eq!(trace.mean_rate(), BitRate::from_bps(4 * 1500 * 8 * 200));
        for n in 0..40 {
            assert!(trace.opportunities_by(trace.time(n)) > n);
            assert!(trace.time(trace.opportunities_by(trace.time(n))) > trace.time(n));
        }
    }

    #[test]
    fn steps_carry_what_their_rates_say() {
        let of = |steps: &[(u64, u64)]| {
            let steps: Vec<_> =
                steps.iter().map(|(mbps, ms)| (BitRate::from_mbps(*mbps), Duration::from_millis(*ms))).collect();
            Trace::of_steps(&steps)
        };
        // 12 Mbit/s are one packet in a millisecond, 30 two and a half.
        assert_eq!(of(&[(12, 2), (30, 2)]).unwrap().millis, [1, 2, 3, 3, 4, 4, 4]);
        assert_eq!(of(&[(6, 3)]).unwrap().millis, [2, 3], "the last one says how long it lasts");
        let long = of(&[(100, 20_000), (10, 20_000)]).unwrap();
        assert!((long.mean_rate().as_bps() as f64 / 55e6 - 1.0).abs() < 1e-4);
        for refused in [&[][..], &[(1, 0)], &[(1_000_000, 1_000_000)]] {
            assert!(of(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn an_opportunity_carries_small_packets_and_parts_of_large_ones() {
        let mut link = opportunities("0\n4\n6\n10\n");
        assert_eq!(link.wait(ms(1), true), Some(ms(4)), "the one at 0 is over");
        assert_eq!(link.wait(ms(4), false), None);
        assert_eq!(link.send(400, ms(4)).until, ms(4));
        assert_eq!((link.wait(ms(4), false), link.send(900, ms(4)).until), (None, ms(4)));
        // 200 bytes now, 1300 of the next; then 200, 1500, 1000.
        assert_eq!((link.wait(ms(4), false), link.send(1500, ms(4)).until), (None, ms(6)));
        assert_eq!((link.wait(ms(6), false), link.send(2700, ms(6)).until), (None, ms(10)));
        assert_eq!(link.wait(ms(10), false), None, "500 bytes are left");
        assert_eq!(
            link.wait(ms(10), true),
            Some(ms(14)),
            "but not for who comes now: also the one at 10 + 0 is missed"
        );
    }

    /// A packet of 4000 bytes that goes in four opportunities: 500, 1500, 1500 and 500 bytes at 4, 6, 6 and 10 ms.
    #[test]
    fn a_packet_goes_piece_by_piece() {
        let mut link = opportunities("4\n6\n6\n10\n");
        assert_eq!((link.wait(ms(0), true), link.wait(ms(4), false)), (Some(ms(4)), None));
        assert_eq!(link.send(1000, ms(4)).unsent(ms(5)), 0.0);
        let large = link.send(4000, ms(4));
        let unsent = [5, 6, 7, 10, 11].map(|t| large.unsent(ms(t)) * 4000.0);
        assert_eq!(unsent, [3500.0, 3500.0, 500.0, 500.0, 0.0], "what goes at a moment has not gone before it");
        assert_eq!([0, 4, 5, 6, 7, 11].map(|t| link.trace.deliverable_before(ms(t)) / 1500), [0, 0, 1, 1, 3, 4]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let refused = |text| Trace::parse("a.down", text).unwrap_err().to_string();
        assert_eq!(refused("1\nx\n"), "a.down line 2: \"x\" is not a time");
        assert_eq!(refused("1\n-3\n"), "a.down line 2: \"-3\" is not a time");
        assert_eq!(refused("1\n\n3"), "a.down line 2: \"\" is not a time");
        assert_eq!(refused("4294967296\n"), "a.down line 1: \"4294967296\" is not a time");
        assert_eq!(refused("1\n5\n4\n"), "a.down line 3: 4 ms comes after 5 ms");
        assert_eq!(refused("0\n0\n"), "a.down line 2: the trace has no duration");
        assert_eq!(refused(""), "a.down line 1: the trace has no duration");
    }
}
