//! One end of a connection, whatever its transport.

use aqmkit_base::{Duration, Instant};
use aqmkit_measure::SenderSample;
use aqmkit_stack::{Datagram, Stack, StackStats};
use aqmkit_transport::congestion::ModelView;
use aqmkit_transport::{Event, Output, Profile, Route, Segment, Tcp, Timer, rate};

use crate::packet::Side;

/// An endpoint. Nearly all are TCP; the others are boxed to keep the type small.
#[repr(align(64))]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(super) enum End {
    Tcp(Tcp),
    Rate(Box<rate::Endpoint>),
    Stack(Box<StackEnd>),
}

/// Output buffers of an endpoint.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) segments: Vec<Segment>,
    pub(super) packets: Vec<rate::Packet>,
    pub(super) events: Vec<Event>,
    pub(super) datagrams: Vec<Datagram>,
    /// Datagrams that a stack declared lost in this call.
    pub(super) lost: u64,
}

impl Outputs {
    pub(super) fn tcp(&mut self) -> Output<'_> {
        Output { segments: &mut self.segments, events: &mut self.events }
    }

    fn rate(&mut self) -> rate::Output<'_> {
        rate::Output { packets: &mut self.packets, events: &mut self.events }
    }
}

/// A snapshot of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SenderView {
    pub(super) window: Option<u64>,
    pub(super) ssthresh: Option<u64>,
    pub(super) rtt: Option<Duration>,
    pub(super) in_flight: Option<u64>,
    /// In bits per second.
    pub(super) rate: Option<f64>,
    pub(super) phase: &'static str,
    pub(super) model: Option<ModelView>,
    /// The estimate of what is in the network.
    pub(super) pipe: Option<u64>,
}

impl End {
    /// The visible state of a sender.
    pub(super) fn view(&self, p: &Profile, now: Instant) -> SenderView {
        match self {
            End::Tcp(tcp) => SenderView {
                window: Some(tcp.cwnd()),
                ssthresh: Some(tcp.ssthresh()),
                rtt: tcp.srtt(p),
                in_flight: Some(tcp.flight()),
                rate: None,
                phase: tcp.phase(),
                model: tcp.model(p),
                pipe: Some(tcp.pipe(p)),
            },
            End::Rate(end) => SenderView {
                rate: end.rate(p, now).map(|bytes_per_s| 8.0 * bytes_per_s),
                phase: "rate-based",
                ..SenderView::default()
            },
            End::Stack(end) => end.view(),
        }
    }

    /// The limit of the sender; `None` unless it is an open TCP.
    pub(super) fn sample(&self, p: &Profile) -> Option<SenderSample> {
        let End::Tcp(tcp) = self else { return None };
        // Ticks are much longer than most round trips.
        let rtt = tcp.srtt(p).filter(|_| p.timer == Timer::Exact);
        Some(SenderSample { limit: tcp.limit(p)?, window: tcp.window(), rtt, endless: tcp.is_endless() })
    }

    /// Creates an endpoint for a profile, on a host with this timer phase.
    pub(super) fn new(p: &Profile, tick_phase: Duration) -> Self {
        match p.congestion.rate_based() {
            None => End::Tcp(Tcp::new(p, tick_phase)),
            Some(kind) => End::Rate(Box::new(rate::Endpoint::new(kind))),
        }
    }

    /// A TCP starts with the metrics cached in the host's route to its peer.
    pub(super) fn begin_with(&mut self, p: &Profile, route: &Route) {
        if let End::Tcp(tcp) = self {
            tcp.begin_with(p, route);
        }
    }

    /// A TCP saves its estimates in the host's route to its peer.
    pub(super) fn leave_with(&self, p: &Profile, route: &mut Route) {
        if let End::Tcp(tcp) = self {
            tcp.leave_with(p, route);
        }
    }

    pub(super) fn connect(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.connect(p, now, &mut out.tcp()),
            End::Rate(end) => end.connect(p, now, &mut out.rate()),
            End::Stack(end) => end.call(now, out, |stack| stack.connect(now)),
        }
    }

    pub(super) fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.write(p, bytes, now, &mut out.tcp()),
            End::Rate(end) => end.write(p, bytes, now, &mut out.rate()),
            End::Stack(end) => end.call(now, out, |stack| stack.write(bytes, now)),
        }
    }

    pub(super) fn close(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.close(p, now, &mut out.tcp()),
            End::Rate(end) => end.close(p, now, &mut out.rate()),
            End::Stack(end) => end.call(now, out, |stack| stack.close(now)),
        }
    }

    pub(super) fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.on_deadline(p, now, &mut out.tcp()),
            End::Rate(end) => end.on_deadline(p, now, &mut out.rate()),
            End::Stack(end) => end.call(now, out, |stack| stack.on_deadline(now)),
        }
    }

    /// Delivers a segment to a TCP.
    pub(super) fn on_segment(&mut self, p: &Profile, segment: &Segment, now: Instant, out: &mut Outputs) {
        if let End::Tcp(tcp) = self {
            tcp.on_segment(p, segment, now, &mut out.tcp());
        }
    }

    /// Delivers a packet to another transport.
    pub(super) fn on_packet(&mut self, p: &Profile, packet: &rate::Packet, now: Instant, out: &mut Outputs) {
        if let End::Rate(end) = self {
            end.on_packet(p, packet, now, &mut out.rate());
        }
    }

    /// Delivers a datagram to a stack.
    pub(super) fn on_datagram(&mut self, datagram: Datagram, now: Instant, out: &mut Outputs) {
        if let End::Stack(end) = self {
            end.call(now, out, |stack| stack.on_datagram(datagram, now));
        }
    }

    pub(super) fn deadline(&self, p: &Profile, now: Instant) -> Option<Instant> {
        match self {
            End::Tcp(tcp) => tcp.deadline(),
            End::Rate(end) => end.deadline(p, now),
            End::Stack(end) => end.deadline,
        }
    }

    /// Bytes received for its application.
    pub(super) fn delivered(&self) -> u64 {
        match self {
            End::Tcp(tcp) => tcp.delivered(),
            End::Rate(end) => end.delivered(),
            End::Stack(end) => end.stack.delivered(),
        }
    }

    /// Bytes received at the client, each counted once.
    pub(super) fn arrived(&self, side: Side) -> u64 {
        match (self, side) {
            (_, Side::Server) => 0,
            (End::Tcp(tcp), Side::Client) => tcp.arrived(),
            (End::Rate(end), Side::Client) => end.delivered(),
            (End::Stack(end), Side::Client) => end.stack.delivered(),
        }
    }

    /// Number of timeouts while waiting for the peer.
    pub(super) fn timeouts(&self) -> u32 {
        match self {
            End::Tcp(tcp) => tcp.stats().timeouts,
            End::Rate(end) => end.stats().timeouts,
            End::Stack(end) => end.stats.timeouts,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            End::Tcp(tcp) => tcp.is_closed(),
            End::Rate(end) => end.is_closed(),
            End::Stack(end) => end.stack.is_closed(),
        }
    }
}

/// The shortest time to a stack's next deadline: one that asks to be called at once, again and again, must not stop the time.
const SOONEST: Duration = Duration::from_micros(1);

/// One end of a connection of a stack from outside.
pub(super) struct StackEnd {
    stack: Box<dyn Stack>,
    /// As of its last call.
    stats: StackStats,
    deadline: Option<Instant>,
}

impl StackEnd {
    pub(super) fn new(stack: Box<dyn Stack>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_takes_no_room() {
        assert_eq!(size_of::<End>(), size_of::<Tcp>());
    }
}
