//! One end of a connection, whatever its transport.

mod other;

use aqmkit_base::{Duration, Instant};
use aqmkit_measure::SenderSample;
use aqmkit_stack::Datagram;
use aqmkit_transport::congestion::ModelView;
use aqmkit_transport::{Event, Output, Profile, Route, Segment, Tcp, Timer, rate};

pub(super) use other::{Other, StackEnd};

use crate::follow::{SenderCounters, SenderState};
use crate::packet::Side;

/// An endpoint. Nearly all are TCP; the others are boxed to keep the type small.
#[repr(align(64))]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
pub(super) enum End {
    Tcp(Tcp),
    Other(Box<Other>),
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

    pub(super) fn rate(&mut self) -> rate::Output<'_> {
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
            End::Other(other) => other.view(p, now),
        }
    }

    /// The state of a sender, for its trace.
    pub(super) fn state(&self, p: &Profile, now: Instant) -> SenderState {
        match self {
            End::Tcp(tcp) => state_of_tcp(tcp, p),
            End::Other(other) => other.state(p, now),
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
            Some(kind) => End::Other(Box::new(Other::Rate(rate::Endpoint::new(kind)))),
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
            End::Other(other) => other.connect(p, now, out),
        }
    }

    pub(super) fn write(&mut self, p: &Profile, bytes: u64, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.write(p, bytes, now, &mut out.tcp()),
            End::Other(other) => other.write(p, bytes, now, out),
        }
    }

    pub(super) fn close(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.close(p, now, &mut out.tcp()),
            End::Other(other) => other.close(p, now, out),
        }
    }

    pub(super) fn on_deadline(&mut self, p: &Profile, now: Instant, out: &mut Outputs) {
        match self {
            End::Tcp(tcp) => tcp.on_deadline(p, now, &mut out.tcp()),
            End::Other(other) => other.on_deadline(p, now, out),
        }
    }

    /// Delivers a packet to a rate-based transport.
    pub(super) fn on_packet(&mut self, p: &Profile, packet: &rate::Packet, now: Instant, out: &mut Outputs) {
        if let End::Other(other) = self {
            other.on_packet(p, packet, now, out);
        }
    }

    /// Delivers a datagram to a stack.
    pub(super) fn on_datagram(&mut self, datagram: Datagram, now: Instant, out: &mut Outputs) {
        if let End::Other(other) = self {
            other.on_datagram(datagram, now, out);
        }
    }

    pub(super) fn deadline(&self, p: &Profile, now: Instant) -> Option<Instant> {
        match self {
            End::Tcp(tcp) => tcp.deadline(),
            End::Other(other) => other.deadline(p, now),
        }
    }

    /// Bytes received for its application.
    pub(super) fn delivered(&self) -> u64 {
        match self {
            End::Tcp(tcp) => tcp.delivered(),
            End::Other(other) => other.delivered(),
        }
    }

    /// Bytes received at the client, each counted once.
    pub(super) fn arrived(&self, side: Side) -> u64 {
        match (self, side) {
            (_, Side::Server) => 0,
            (End::Tcp(tcp), Side::Client) => tcp.arrived(),
            (End::Other(other), Side::Client) => other.delivered(),
        }
    }

    /// Number of timeouts while waiting for the peer.
    pub(super) fn timeouts(&self) -> u32 {
        match self {
            End::Tcp(tcp) => tcp.stats().timeouts,
            End::Other(other) => other.timeouts(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        match self {
            End::Tcp(tcp) => tcp.is_closed(),
            End::Other(other) => other.is_closed(),
        }
    }
}

fn state_of_tcp(tcp: &Tcp, p: &Profile) -> SenderState {
    let (model, stats, phase) = (tcp.model(p), tcp.stats(), tcp.phase());
    // A threshold that nothing has set yet is as good as infinite.
    let is_set = p.congestion.ends_slow_start_at_threshold() && tcp.ssthresh() != p.initial_ssthresh.0;
    SenderState {
        window: Some(tcp.cwnd()),
        ssthresh: is_set.then(|| tcp.ssthresh()),
        in_flight: Some(tcp.pipe(p)),
        pacing_bps: tcp.paced_at().map(|rate| rate.as_bps() as f64),
        rtt: tcp.srtt(p),
        rtt_variation: tcp.rtt_variation(p),
        min_rtt: model.and_then(|model| model.min_rtt),
        phase: model.filter(|_| tcp.is_open()).map_or(phase, |model| model.phase.name()),
        counters: SenderCounters {
            lost: stats.retransmissions.into(),
            timeouts: stats.timeouts.into(),
            fast_retransmits: stats.fast_retransmits.into(),
            tail_probes: stats.tail_probes.into(),
            ecn_reductions: stats.ecn_reductions.into(),
            undone: tcp.undone().into(),
        },
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
