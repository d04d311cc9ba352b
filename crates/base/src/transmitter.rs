//! The transmitter of a link, and the wire behind it. Simulated and live links have the same one.

use std::sync::Arc;

use crate::trace::{Opportunities, Trace};
use crate::transmission::Transmission;
use crate::wire::{Propagation, Wire};
use crate::{BitRate, Duration, Framing, Instant};

/// Settings of a link's transmitter and wire.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Link rate; with a trace, its mean.
    pub rate: BitRate,
    /// The trace of a varying rate, in place of `rate`.
    pub trace: Option<Arc<Trace>>,
    /// The framing of packets.
    pub framing: Framing,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Impairments of the wire.
    pub wire: Wire,
}

/// Sends one packet after the other.
#[derive(Debug)]
pub struct Transmitter {
    rate: BitRate,
    trace: Option<Opportunities>,
    framing: Framing,
    wire: Propagation,
    /// Rounding remainder of the last transmission, in units of [`BitRate::transmit`].
    carry: u64,
    /// When the transmission ends, or the wait for the next opportunity of the trace.
    busy_until: Option<Instant>,
    /// The end of the latest transmission.
    last_bit: Instant,
}

/// The rest of a packet that is sent at another rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resent {
    /// When its last bit was to be sent.
    pub from: Instant,
    /// When its last bit is sent.
    pub to: Instant,
}

impl Resent {
    /// When the packet arrives that was to arrive at `arrival`: it has the propagation delay of the start of its transmission.
    #[must_use]
    pub fn arrival(&self, arrival: Instant) -> Instant {
        self.to + arrival.since(self.from)
    }
}

impl Transmitter {
    /// An idle transmitter of the link with this name.
    #[must_use]
    pub fn new(link: &str, settings: Settings, seed: u64) -> Self {
        let Settings { rate, trace, framing, delay, wire } = settings;
        Transmitter {
            rate,
            trace: trace.map(Opportunities::new),
            framing,
            wire: Propagation::new(link, delay, wire, seed),
            carry: 0,
            busy_until: None,
            last_bit: Instant::ZERO,
        }
    }

    /// The rate; of a trace, the mean rate.
    #[inline]
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// Until when it transmits, or waits for the next opportunity of its trace; `None` if it is idle. [`Transmitter::wait`] ends this.
    #[inline]
    #[must_use]
    pub fn busy_until(&self) -> Option<Instant> {
        self.busy_until
    }

    /// Ends the transmission or the wait that is over at `now`. Returns until when it has to wait for the next opportunity of its trace,
    /// before which no packet may be dequeued.
    #[inline]
    pub fn wait(&mut self, now: Instant) -> Option<Instant> {
        let resumed = self.busy_until.take().is_some();
        let at = self.trace.as_mut()?.wait(now, !resumed)?;
        self.busy_until = Some(at);
        Some(at)
    }

    /// Starts the transmission of a packet of this length.
    #[inline]
    pub fn transmit(&mut self, len: u32, now: Instant) -> Transmission {
        let size = self.framing.sent(len);
        let transmission = match &mut self.trace {
            None => Transmission::even(now, now + self.rate.transmit(size, &mut self.carry)),
            Some(trace) => Transmission::Trace(Box::new(trace.send(size.0, now))),
        };
        self.last_bit = transmission.until();
        self.busy_until = Some(self.last_bit);
        transmission
    }

    /// When the packet in transmission, which has this length, arrives at the other end.
    #[inline]
    pub fn arrival(&mut self, len: u32) -> Instant {
        self.wire.arrival(self.last_bit, len)
    }

    /// Whether the wire loses the packet in transmission.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.wire.loses()
    }

    /// Whether the wire marks the packet in transmission, which is ECN-capable.
    #[inline]
    pub fn marks(&mut self) -> bool {
        self.wire.marks()
    }

    /// Applies other settings at `now`; the trace stays. The rest of the packet in transmission is sent at the new rate: one that began
    /// at 1 bit/s would occupy the link for hours. Packets sent later do not overtake it.
    pub fn change(&mut self, to: &Settings, now: Instant) -> Option<Resent> {
        let resent = if to.rate == self.rate { None } else { self.send_rest_at(to.rate, now) };
        (self.rate, self.framing) = (to.rate, to.framing);
        self.wire.change(to.delay, to.wire, self.last_bit);
        resent
    }

    fn send_rest_at(&mut self, rate: BitRate, now: Instant) -> Option<Resent> {
        self.carry = 0;
        let from = self.busy_until.filter(|until| *until > now && self.trace.is_none())?;
        let bits = u128::from(from.since(now).as_nanos()) * u128::from(self.rate.as_bps());
        let rest = bits.div_ceil(u128::from(rate.as_bps()).max(1));
        let to = now + Duration::from_nanos(u64::try_from(rest).map_or(LONGEST, |rest| rest.min(LONGEST)));
        (self.busy_until, self.last_bit) = (Some(to), to);
        Some(Resent { from, to })
    }
}

/// The longest transmission, in nanoseconds: 146 years. Later instants remain for propagation delays.
const LONGEST: u64 = u64::MAX / 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(rate: u64) -> Settings {
        let delay = Duration::from_millis(10);
        Settings {
            rate: BitRate::from_bps(rate),
            trace: None,
            framing: Framing::default(),
            delay,
            wire: Wire::default(),
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// 1000 bytes at 1 Mbit/s take 8 ms. After 2 of them, 6000 bits are left: 3 ms at 2 Mbit/s.
    #[test]
    fn the_rest_of_a_packet_is_sent_at_the_new_rate() {
        let mut transmitter = Transmitter::new("link", settings(1_000_000), 1);
        assert_eq!(transmitter.transmit(1000, at(0)).until(), at(8));
        let arrival = transmitter.arrival(1000);
        assert_eq!(arrival, at(18));
        let resent = transmitter.change(&settings(2_000_000), at(2)).unwrap();
        assert_eq!((resent, resent.arrival(arrival)), (Resent { from: at(8), to: at(5) }, at(15)));
        assert_eq!(transmitter.busy_until(), Some(at(5)));
        assert_eq!(transmitter.change(&settings(1_000_000), at(6)), None, "nothing is in transmission");
    }

    /// 4 GiB at 1 bit/s take a thousand years.
    #[test]
    fn a_rate_near_zero_or_zero_neither_overflows_nor_divides_by_zero() {
        for rate in [0, 1] {
            let mut transmitter = Transmitter::new("link", settings(1_000), 1);
            transmitter.transmit(u32::MAX, at(0));
            let arrival = transmitter.arrival(u32::MAX);
            let resent = transmitter.change(&settings(rate), at(1)).unwrap();
            let delay = resent.arrival(arrival).since(resent.to);
            assert_eq!(delay, Duration::from_millis(10), "the propagation delay can still be added");
            assert!(resent.to > resent.from);
        }
    }

    #[test]
    fn packets_after_a_shorter_delay_do_not_overtake() {
        let mut transmitter = Transmitter::new("link", settings(1_000_000), 1);
        transmitter.transmit(125, at(0));
        let first = transmitter.arrival(125);
        transmitter.change(&Settings { delay: Duration::ZERO, ..settings(1_000_000) }, at(3));
        assert_eq!(transmitter.wait(at(3)), None);
        transmitter.transmit(125, at(3));
        assert_eq!((first, transmitter.arrival(125)), (at(11), at(11)));
    }
}
