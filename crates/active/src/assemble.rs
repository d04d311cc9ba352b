//! Measurements from what both hosts have seen, on the clock of the one that measures.

use aqmkit_estimate::measurement::{Bin, Counted, Direction, Flow, Format, Measurement, Probe, Sample};

use crate::probe::PAYLOAD;
use crate::protocol;
use crate::transfer::{Received, Sent};

/// Bytes of the headers of IPv4 and UDP.
const IP_AND_UDP: usize = 28;
/// Bytes of an IPv4 header and a TCP header with the timestamps option (RFC 7323), which Linux uses by default.
const IP_AND_TCP: u64 = 52;
/// Bytes that an IPv6 header has more than an IPv4 header.
const MORE_OF_IPV6: usize = 20;

/// A load in one direction as both ends have seen it.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    direction: protocol::Direction,
    pub(crate) sent: Vec<Sent>,
    pub(crate) received: Vec<Received>,
}

impl Load {
    /// A load of which nothing is known yet.
    pub(crate) fn new(direction: protocol::Direction) -> Load {
        Load { direction, sent: Vec::new(), received: Vec::new() }
    }

    /// With what the server received, whose clock is `behind` that of this host by so many seconds.
    pub(crate) fn with_received(mut self, received: Vec<Received>, behind: f64) -> Load {
        self.received = received;
        for (from, to, _) in self.received.iter_mut().flat_map(|one| &mut one.counts) {
            *from += behind;
            *to += behind;
        }
        self
    }

    /// With what the server sent.
    pub(crate) fn with_sent(mut self, sent: Vec<Sent>, behind: f64) -> Load {
        self.sent = sent;
        for (at, ..) in self.sent.iter_mut().flat_map(|one| &mut one.samples) {
            *at += behind;
        }
        self
    }

    /// When its first byte was received.
    pub(crate) fn begin(&self) -> f64 {
        self.busy().map(|(from, ..)| from).fold(f64::INFINITY, f64::min)
    }

    /// When its last byte was received.
    pub(crate) fn end(&self) -> f64 {
        self.busy().map(|(_, to, _)| to).fold(f64::NEG_INFINITY, f64::max)
    }

    fn busy(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        self.received.iter().flat_map(|one| one.counts.iter().copied()).filter(|(.., bytes)| *bytes > 0)
    }
}

/// The measurement of one direction.
pub(crate) fn assemble(host: &str, samples: Vec<Sample>, load: Load, is_v6: bool) -> Measurement {
    let more = if is_v6 { MORE_OF_IPV6 } else { 0 };
    let packet = Some((PAYLOAD + IP_AND_UDP + more) as f64);
    let probe = Probe { name: "UDP".to_owned(), packet, samples, knows_losses: true };
    let Load { direction, sent, received } = load;
    let flow = |one: Received| {
        let other = sent.iter().find(|other| other.port == one.port);
        flow(direction, &one, other, more as u64)
    };
    Measurement {
        file: host.to_owned(),
        format: Format::Active,
        epoch: None,
        probes: vec![probe],
        flows: received.into_iter().map(flow).collect(),
        unseen: Vec::new(),
    }
}

fn flow(direction: protocol::Direction, received: &Received, sent: Option<&Sent>, more: u64) -> Flow {
    let bin = |&(from, to, bytes): &(f64, f64, u64)| Bin { from, to, bytes: bytes as f64, lost: 0.0 };
    let mut bins: Vec<Bin> = received.counts.iter().filter(|(from, to, _)| to > from).map(bin).collect();
    let samples = sent.map(|sent| sent.samples.as_slice()).unwrap_or_default();
    for pair in samples.windows(2) {
        let lost = pair[1].2.saturating_sub(pair[0].2);
        // The last count holds what was lost near the end.
        let place = bins.partition_point(|one| one.to < pair[1].0).min(bins.len().saturating_sub(1));
        if let Some(count) = bins.get_mut(place) {
            count.lost += f64::from(lost);
        }
    }
    let counted = match sent.map(|sent| sent.segment).filter(|segment| *segment >= 500) {
        Some(payload) => {
            Counted::Payload { payload: payload as f64, packet: (payload + IP_AND_TCP + more) as f64, known: true }
        }
        None => Counted::USUAL,
    };
    Flow {
        name: format!("port {}", received.port),
        direction: match direction {
            protocol::Direction::Up => Direction::Up,
            protocol::Direction::Down => Direction::Down,
        },
        counted,
        bins,
        rtts: samples.iter().filter(|(_, rtt, _)| *rtt > 0.0).map(|(at, rtt, _)| (*at, *rtt)).collect(),
        smoothed: true,
        knows_losses: sent.is_some(),
    }
}
