//! One end of a connection, whatever its transport.

use aqmkit_base::{Duration, Instant};
use aqmkit_measure::SenderSample;
use aqmkit_transport::congestion::ModelView;
use aqmkit_transport::{Event, Output, Profile, Route, Segment, Tcp, Timer, rate};

use crate::packet::Side;

/// An endpoint. Nearly all are TCP; the others are boxed to keep the type small.
#[derive(Clone, Debug)]
#[repr(align(64))]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(super) enum End {
    Tcp(Tcp),
    Rate(Box<rate::Endpoint>),
}

/// Output buffers of an endpoint.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) segments: Vec<Segment>,
    pub(super) packets: Vec<rate::Packet>,
    pub(super) events: Vec<Event>,
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
        }
    }

    pub(super) fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.write(p, bytes, now, &mut out.tcp()),
            End::Rate(end) => end.write(p, bytes, now, &mut out.rate()),
        }
    }

    pub(super) fn close(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.close(p, now, &mut out.tcp()),
            End::Rate(end) => end.close(p, now, &mut out.rate()),
        }
    }

    pub(super) fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.on_deadline(p, now, &mut out.tcp()),
            End::Rate(end) => end.on_deadline(p, now, &mut out.rate()),
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

    pub(super) fn deadline(&self, p: &Profile, now: Instant) -> Option<Instant> {
        match self {
            End::Tcp(tcp) => tcp.deadline(),
            End::Rate(end) => end.deadline(p, now),
        }
    }

    /// Bytes received for its application.
    pub(super) fn delivered(&self) -> u64 {
        match self {
            End::Tcp(tcp) => tcp.delivered(),
            End::Rate(end) => end.delivered(),
        }
    }

    /// Bytes received at the client, each counted once.
    pub(super) fn arrived(&self, side: Side) -> u64 {
        match (self, side) {
            (_, Side::Server) => 0,
            (End::Tcp(tcp), Side::Client) => tcp.arrived(),
            (End::Rate(end), Side::Client) => end.delivered(),
        }
    }

    /// Number of timeouts while waiting for the peer.
    pub(super) fn timeouts(&self) -> u32 {
        match self {
            End::Tcp(tcp) => tcp.stats().timeouts,
            End::Rate(end) => end.stats().timeouts,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            End::Tcp(tcp) => tcp.is_closed(),
            End::Rate(end) => end.is_closed(),
        }
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
