//! Measures an in-kernel queue packet by packet, as [`Meter`] measures a queue of this process.
//!
//! The classifier logs each decision with its arrival time. The shaper behind it preserves order and sends to a TUN
//! device, so a packet read from that device is the oldest one that the classifier passed.

use std::collections::VecDeque;

use aqmkit_aqm::{Backlog, Packet};
use aqmkit_base::{BitRate, Bytes, FlowKind, Instant, Transmission};
use aqmkit_packets::frame::{Frame, Keys, Reader};
use aqmkit_packets::meter::Meter;
use aqmkit_packets::meter::Watch;
use aqmkit_packets::wire::View;

use super::decisions::{Decision, Decisions, HEADERS};
use crate::timing::Clock;

/// An in-kernel queue, as reconstructed from the decision log and the packets that come out.
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
    /// When a packet-by-packet transmitter would have finished sending what has come out, but not before it came out.
    sent_at: Instant,
    gauges: Vec<(String, f64)>,
    /// Time of the last event: the meter requires events in order.
    last: Instant,
    unknown: u64,
}

/// A packet passed by the classifier that has not come out yet.
struct Waiting {
    frame: Frame,
    headers: [u8; HEADERS],
    arrived: Instant,
}

impl KernelQueue {
    /// An empty queue behind a shaper of this rate.
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

    /// Processes the decisions logged up to `now`.
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

    /// Records a packet that came out of the queue, and returns its departure time: the read time, or the time at which
    /// a packet-by-packet transmitter would have sent it if that is earlier. (The shaper may run ahead of such a
    /// transmitter, but not behind.)
    pub(crate) fn departed(&mut self, packet: &[u8], now: Instant) -> Instant {
        self.advance(now);
        let Some(place) = self.waiting.iter().position(|waiting| waiting.is(packet)) else {
            self.unknown += 1;
            return now;
        };
        // Earlier packets were lost behind the classifier: the shaper or device was full, or they were dropped at the
        // head.
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

    /// The queue's backlog.
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.waiting_bytes }
    }

    /// The law's gauges after the last arrival, by name.
    pub(crate) fn gauges(&self) -> &[(String, f64)] {
        &self.gauges
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Packets that came out without a logged decision.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }
}

impl Waiting {
    /// Whether a packet that came out is this one. Fields that change on the way are ignored: the ECN field, and
    /// checksums filled in last.
    fn is(&self, packet: &[u8]) -> bool {
        let unchanged = |from: usize, to: usize| {
            let end = to.min(packet.len());
            packet.get(from..end) == self.headers.get(from..end)
        };
        let same = match packet.first().map(|b| b >> 4) {
            // IP identification; addresses, ports, and the upper half of the sequence number.
            Some(4) => unchanged(4, 6) && unchanged(12, 26),
            Some(6) => unchanged(6, 46),
            _ => true,
        };
        same && packet.len() == self.frame.len() as usize
    }
}
