//! Ends that are not the simulator's TCP.
//!
//! [`End`](super::End) distinguishes only TCP from the others: with a third variant of its own, every segment would pay for it.

use aqmkit_base::{Duration, Instant};
use aqmkit_stack::{Datagram, Stack, StackStats};
use aqmkit_transport::{Event, Profile, rate};

use super::{Outputs, SenderView};
use crate::follow::{SenderCounters, SenderState};

/// An end of another transport than TCP.
#[allow(clippy::large_enum_variant, reason = "each is in a box of its own")]
pub(in crate::world) enum Other {
    /// Of the rate-based transport.
    Rate(rate::Endpoint),
    /// Of a stack from outside.
    Stack(StackEnd),
}

impl Other {
    pub(super) fn view(&self, p: &Profile, now: Instant) -> SenderView {
        match self {
            Other::Rate(end) => SenderView {
                rate: end.rate(p, now).map(|bytes_per_s| 8.0 * bytes_per_s),
                phase: "rate-based",
                ..SenderView::default()
            },
            Other::Stack(end) => end.view(),
        }
    }

    pub(super) fn state(&self, p: &Profile, now: Instant) -> SenderState {
        let view = self.view(p, now);
        let counters = match self {
            Other::Rate(_) => SenderCounters::default(),
            Other::Stack(end) => SenderCounters {
                lost: end.stats.lost,
                timeouts: end.stats.timeouts.into(),
                ..SenderCounters::default()
            },
        };
        SenderState {
            window: view.window,
            ssthresh: view.ssthresh,
            in_flight: view.in_flight,
            pacing_bps: view.rate,
            rtt: view.rtt,
            phase: view.phase,
            counters,
            ..SenderState::default()
        }
    }

    pub(super) fn connect(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            Other::Rate(end) => end.connect(p, now, &mut out.rate()),
            Other::Stack(end) => end.call(now, out, |stack| stack.connect(now)),
        }
    }

    pub(super) fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Outputs) {
        match self {
            Other::Rate(end) => end.write(p, bytes, now, &mut out.rate()),
            Other::Stack(end) => end.call(now, out, |stack| stack.write(bytes, now)),
        }
    }

    pub(super) fn close(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            Other::Rate(end) => end.close(p, now, &mut out.rate()),
            Other::Stack(end) => end.call(now, out, |stack| stack.close(now)),
        }
    }

    pub(super) fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            Other::Rate(end) => end.on_deadline(p, now, &mut out.rate()),
            Other::Stack(end) => end.call(now, out, |stack| stack.on_deadline(now)),
        }
    }

    pub(super) fn on_packet(&mut self, p: &Profile, packet: &rate::Packet, now: Instant, out: &mut Outputs) {
        if let Other::Rate(end) = self {
            end.on_packet(p, packet, now, &mut out.rate());
        }
    }

    pub(super) fn on_datagram(&mut self, datagram: Datagram, now: Instant, out: &mut Outputs) {
        if let Other::Stack(end) = self {
            end.call(now, out, |stack| stack.on_datagram(datagram, now));
        }
    }

    pub(super) fn deadline(&self, p: &Profile, now: Instant) -> Option<Instant> {
        match self {
            Other::Rate(end) => end.deadline(p, now),
            Other::Stack(end) => end.deadline,
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        match self {
            Other::Rate(end) => end.delivered(),
            Other::Stack(end) => end.stack.delivered(),
        }
    }

    pub(super) fn timeouts(&self) -> u32 {
        match self {
            Other::Rate(end) => end.stats().timeouts,
            Other::Stack(end) => end.stats.timeouts,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            Other::Rate(end) => end.is_closed(),
            Other::Stack(end) => end.stack.is_closed(),
        }
    }
}

/// The shortest time to a stack's next deadline: one that asks to be called at once, again and again, must not stop the time.
const SOONEST: Duration = Duration::from_micros(1);

/// One end of a connection of a stack from outside.
pub(in crate::world) struct StackEnd {
    stack: Box<dyn Stack>,
    /// As of its last call.
    stats: StackStats,
    deadline: Option<Instant>,
}

impl StackEnd {
    pub(in crate::world) fn new(stack: Box<dyn Stack>) -> Self {
        StackEnd { stack, stats: StackStats::default(), deadline: None }
    }

    /// Calls the stack and takes everything that the call brings.
    #[inline(never)]
    fn call(&mut self, now: Instant, out: &mut Outputs, call: impl FnOnce(&mut dyn Stack)) {
        call(&mut *self.stack);
        out.datagrams.extend(std::iter::from_fn(|| self.stack.transmit(now)));
        let events = std::iter::from_fn(|| self.stack.event(now));
        out.events.extend(events.map(as_event));
        self.deadline = self.stack.deadline(now).map(|at| at.max(now + SOONEST));
        let stats = self.stack.stats();
        out.lost += stats.lost.saturating_sub(self.stats.lost);
        // The owner subtracts what it saw before.
        self.stats = StackStats { timeouts: stats.timeouts.max(self.stats.timeouts), ..stats };
    }

    fn view(&self) -> SenderView {
        let view = self.stack.view();
        SenderView {
            window: view.window,
            ssthresh: view.ssthresh,
            rtt: view.rtt,
            in_flight: view.in_flight,
            rate: view.pacing_bps,
            phase: view.phase,
            ..SenderView::default()
        }
    }
}

fn as_event(event: aqmkit_stack::Event) -> Event {
    match event {
        aqmkit_stack::Event::Connected => Event::Connected,
        aqmkit_stack::Event::Delivered => Event::Delivered,
        aqmkit_stack::Event::PeerFinished => Event::PeerFinished,
        aqmkit_stack::Event::Closed => Event::Closed,
        aqmkit_stack::Event::Failed => Event::Failed,
    }
}
