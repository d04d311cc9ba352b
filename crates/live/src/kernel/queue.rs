//! Measures a queue inside the kernel packet by packet, as a [`Meter`] measures a queue of this process.
//!
//! The classifier logs each decision with the time of the arrival. The shaper behind it keeps the order of packets and sends to a
//! TUN device, so a packet read from this device is the oldest one that the classifier passed.

use std::collections::VecDeque;

use aqmkit_aqm::{Backlog, Packet};
use aqmkit_base::{BitRate, Bytes, FlowKind, Instant, Transmission};
use aqmkit_packets::frame::{Frame, Keys, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::meter::Watch;
use aqmkit_packets::wire::View;

use super::decisions::{Decision, Decisions, HEADERS};
use crate::timing::Clock;

/// A queue inside the kernel as it is seen from here.
pub(crate) struct KernelQueue {
    decisions: Decisions,
    reader: Reader,
    flow: FlowKind,
    clock: Clock,
    meter: Meter,
    rate: BitRate,
    carry: u64,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    /// When a link that sends packet by packet would have sent all that came out, no earlier than it came out.
    sent_at: Instant,
    gauges: Vec<(String, f64)>,
    /// The time of the last event: the meter takes events in their order.
    last: Instant,
    unknown: u64,
}

/// A packet that was let through, and has not come out yet.
struct Waiting {
    frame: Frame,
    headers: [u8; HEADERS],
    arrived: Instant,
}

impl KernelQueue {
    /// A queue that is empty, behind a shaper of this rate.
    pub(crate) fn new(
        decisions: Decisions,
        reader: Reader,
        flow: FlowKind,
        clock: Clock,
        rate: BitRate,
        meter: Meter,
    ) -> Self {
        KernelQueue {
            gauges: Vec::new(),
            decisions,
            reader,
            flow,
            clock,
            meter,
            rate,
            carry: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sent_at: Instant::ZERO,
            last: Instant::ZERO,
            unknown: 0,
        }
    }

    /// Takes in what has been decided until `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        while let Some(decision) = self.decisions.next() {
            self.arrived(&decision);
        }
        self.last = self.last.max(now);
        self.meter.advance(now);
    }

    fn arrived(&mut self, decision: &Decision) {
        let at = self.clock.at_monotonic(decision.now).max(self.last);
        self.last = at;
        let mut bytes = decision.headers.to_vec();
        bytes.resize(decision.bytes as usize, 0);
        let view = View::of(self.reader.encapsulation, &bytes);
        let keys = Keys::of(&view, self.flow, self.reader.salt);
        let frame = Frame::new(&view, keys, self.reader.classes.of(&view), Vec::new(), decision.bytes, ());
        self.meter.offered(&frame, at);
        self.gauges.clear();
        self.gauges.extend(self.decisions.gauges(decision).map(|(name, value)| (name.to_owned(), value)));
        match decision.verdict() {
            (2, why) => return self.meter.dropped(frame, why, at, at),
            (1, why) => self.meter.marked(&frame, why, at, at),
            _ => {}
        }
        self.waiting_bytes += u64::from(decision.bytes);
        self.waiting.push_back(Waiting { frame, headers: decision.headers, arrived: at });
        let backlog = self.backlog();
        Watch::<Frame>::queue(&mut self.meter, backlog, at);
    }

    /// A packet has come out of the queue. When it did: what is read later than a link that sends packet by packet would have sent it, left by
    /// then, as the shaper may be ahead of such a link but not behind.
    pub(crate) fn departed(&mut self, packet: &[u8], now: Instant) -> Instant {
        self.advance(now);
        let Some(place) = self.waiting.iter().position(|waiting| waiting.is(packet)) else {
            self.unknown += 1;
            return now;
        };
        // What waited before it was lost behind the classifier: where the shaper or the device had no room, or dropped at the head of the queue.
        for lost in self.waiting.drain(..place).collect::<Vec<_>>() {
            self.waiting_bytes -= u64::from(lost.frame.len());
            self.meter.dropped(lost.frame, self.decisions.lost, lost.arrived, now);
        }
        let Some(found) = self.waiting.pop_front() else { return now };
        let due =
            found.arrived.max(self.sent_at) + self.rate.transmit(Bytes(found.frame.len().into()), &mut self.carry);
        let left = now.min(due);
        self.sent_at = now.max(due);
        self.waiting_bytes -= u64::from(found.frame.len());
        let until = left + self.rate.transmit(Bytes(found.frame.len().into()), &mut 0);
        let waited = left.since(found.arrived);
        self.meter.departed(&found.frame, waited, Transmission::even(left, until), now);
        let backlog = self.backlog();
        Watch::<Frame>::queue(&mut self.meter, backlog, now);
        left
    }

    /// What waits.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.waiting_bytes }
    }

    /// The law's gauges after the last arrival.
    pub(crate) fn gauges(&self) -> &[(String, f64)] {
        &self.gauges
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Packets that came out of the queue and that no decision was known about.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }
}

impl Waiting {
    /// Whether a packet that came out is this one. What changes on the way is left out: ECN bits, and checksums that are filled in
    /// last.
    fn is(&self, packet: &[u8]) -> bool {
        let unchanged = |from: usize, to: usize| {
            let end = to.min(packet.len());
            packet.get(from..end) == self.headers.get(from..end)
        };
        let same = match packet.first().map(|b| b >> 4) {
            // Identification; addresses, ports, and half of the sequence number.
            Some(4) => unchanged(4, 6) && unchanged(12, 26),
            Some(6) => unchanged(6, 46),
            _ => true,
        };
        same && packet.len() == self.frame.len() as usize
    }
}
