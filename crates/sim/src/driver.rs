//! The driver of a link's interface: a transmit ring between the queue and the wire.
//!
//! The driver takes packets out of the queue while its ring has room, and the wire sends from the ring. What waits there has left the
//! queue: the discipline neither counts nor measures it. A descriptor is free again, and byte queue limits learn that a packet was
//! sent, when an interrupt reports it: as its transmission ends, or, with a moderation time, that much later and together with the
//! packets sent meanwhile.
//!
//! Each packet takes one descriptor, and the driver takes the next packet as soon as one is free; real drivers stop the queue a
//! few descriptors before the ring is full and start it again when a part of it is free.

mod dql;

use std::collections::VecDeque;

use aqmkit_base::{Duration, Instant};

use crate::packet::Queued;
use crate::scenario;
use dql::Dql;

/// A packet that has left the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: Queued,
    /// How long it waited in the queue before.
    pub(crate) waited: Duration,
}

/// The ring of an interface.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    descriptors: usize,
    coalesce: Duration,
    limits: Option<Dql>,
    /// The packets to send, next one first.
    ring: VecDeque<Waiting>,
    /// The packet in transmission.
    sending: Option<Waiting>,
    /// Packets that were sent and not yet reported, and their bytes.
    sent: (usize, u64),
    /// When an interrupt will report them.
    interrupt: Option<Instant>,
    /// When to query a queue again that holds its packets back.
    again: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(driver: scenario::Driver) -> Self {
        Driver {
            descriptors: driver.ring as usize,
            coalesce: driver.coalesce,
            limits: driver.bql.map(Dql::new),
            ring: VecDeque::new(),
            sending: None,
            sent: (0, 0),
            interrupt: None,
            again: None,
        }
    }

    /// Whether it accepts another packet.
    pub(crate) fn has_room(&self) -> bool {
        self.occupied() < self.descriptors && self.limits.as_ref().is_none_or(Dql::has_room)
    }

    /// The packets waiting for the wire.
    pub(crate) fn waiting(&self) -> u64 {
        self.ring.len() as u64
    }

    /// Number of descriptors in use.
    fn occupied(&self) -> usize {
        self.ring.len() + usize::from(self.sending.is_some()) + self.sent.0
    }

    /// Bytes of the packets in the ring and of those not reported yet.
    fn in_flight(&self) -> u64 {
        let waiting: u64 = self.ring.iter().map(|waiting| u64::from(waiting.packet.len)).sum();
        waiting + u64::from(self.sending.map_or(0, |sending| sending.packet.len)) + self.sent.1
    }

    /// Takes over a packet that has left the queue.
    pub(crate) fn take(&mut self, waiting: Waiting) {
        if let Some(limits) = &mut self.limits {
            limits.queued(waiting.packet.len.into());
        }
        self.ring.push_back(waiting);
    }

    /// The next packet for the wire.
    pub(crate) fn send(&mut self) -> Option<Queued> {
        self.sending = self.ring.pop_front();
        self.sending.map(|sending| sending.packet)
    }

    /// How long the packet in transmission waited in the queue.
    pub(crate) fn waited(&self) -> Duration {
        self.sending.map_or(Duration::ZERO, |sending| sending.waited)
    }

    /// The wire is idle: the packet in transmission, if any, has been sent. Returns the time of an interrupt to
    /// schedule.
    pub(crate) fn idle(&mut self, now: Instant) -> Option<Instant> {
        let Waiting { packet, .. } = self.sending.take()?;
        self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(packet.len));
        if self.coalesce.is_zero() {
            self.report(now);
            return None;
        }
        if self.interrupt.is_some() {
            return None;
        }
        self.interrupt = Some(now + self.coalesce);
        self.interrupt
    }

    /// A scheduled time has come; if it is the interrupt's, reports the sent packets.
    pub(crate) fn due(&mut self, now: Instant) {
        if self.interrupt.is_some_and(|at| at <= now) {
            self.interrupt = None;
            self.report(now);
        }
    }

    fn report(&mut self, now: Instant) {
        let (_, bytes) = std::mem::take(&mut self.sent);
        if let Some(limits) = &mut self.limits {
            limits.completed(bytes, now);
        }
    }

    /// The queue holds its packets back until `at`. Returns whether to schedule that time.
    pub(crate) fn asks_again(&mut self, at: Instant, now: Instant) -> bool {
        let scheduled = self.again.is_some_and(|pending| pending > now && pending <= at);
        if !scheduled {
            self.again = Some(at);
        }
        !scheduled
    }

    /// Gauges: the descriptors in use, and as in `byte_queue_limits` the bytes in flight and the limit.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&str, f64)) {
        out("ring_packets", self.occupied() as f64);
        out("ring_bytes", self.in_flight() as f64);
        if let Some(limits) = &self.limits {
            out("ring_limit", limits.limit() as f64);
        }
    }
}
