//! Observation of packets, for captures.
//!
//! Without an [`Observer`] the cost is one branch per link and sender.

use aqmkit_base::{Ecn, Instant};
use aqmkit_traffic::model::UDP_HEADERS;
use aqmkit_transport::Segment;

use crate::follow::{Follower, SenderState};
use crate::packet::{Body, Flight, Side};
use crate::scenario::{Placement, Scenario};

/// Sees the packets of the measured link when they leave its queue, and the packets of the same connections in the
/// other direction when the hosts send them. So acknowledged data is seen before its acknowledgement, unless it was
/// lost before the link.
pub trait Observer {
    /// A packet passes.
    fn packet(&mut self, now: Instant, packet: &Sighting);
}

/// The observed packet.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The two hosts.
    pub parties: Parties,
    /// Bytes with headers.
    pub len: u32,
    /// Its ECN field at this moment.
    pub ecn: Ecn,
    /// Its contents.
    pub content: Content,
}

/// The two ends of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties {
    /// The server's number.
    pub server: u32,
    /// The client's number.
    pub client: u32,
    /// Index of the traffic in [`crate::Scenario::groups`].
    pub group: u16,
    /// The number of the connection, from 1 in the order of opening; for an application that sends datagrams, its index
    /// among all applications.
    pub conversation: u64,
    /// Whether the packet comes from the client.
    pub from_client: bool,
}

/// The contents of a packet.
#[derive(Clone, Debug)]
pub enum Content {
    /// A TCP segment.
    Segment(Segment),
    /// A datagram with this many bytes of payload.
    Datagram(u32),
    /// A datagram of a stack, with these bytes.
    Bytes(Vec<u8>),
}

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It begins to leave the queue of the measured link.
    Measured,
    /// Its host sends it.
    Sender,
}

/// A path as an observer sees it.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Where its packets are observed, if at all.
    place: Option<Place>,
    /// Whether the senders of data on it are followed.
    followed: bool,
    group: u16,
    server: u32,
}

/// Who looks.
pub(crate) enum Observing<'o> {
    Packets(&'o mut dyn Observer),
    Senders(&'o mut dyn Follower),
}

/// A run's observer, and its paths.
pub(crate) struct Watch<'o> {
    observer: Observing<'o>,
    /// In the order of the world's paths: for each server of each group, the path from it and the path to
    /// it.
    paths: Vec<Path>,
    /// By group.
    placements: Vec<Placement>,
}

impl<'o> Watch<'o> {
    pub(crate) fn new(observer: Observing<'o>, scenario: &Scenario) -> Self {
        let mut paths = Vec::new();
        for (g, group) in scenario.groups.iter().enumerate() {
            for (s, route) in group.routes.iter().enumerate() {
                let crosses = |links: &[usize]| links.contains(&scenario.measured);
                let place = |own: bool, other: bool| match (own, other) {
                    (true, _) => Some(Place::Measured),
                    (false, true) => Some(Place::Sender),
                    (false, false) => None,
                };
                let (down, up) = (crosses(&route.forward), crosses(&route.reverse));
                let path = |at, followed| Path { place: at, followed, group: g as u16, server: s as u32 };
                paths.extend([path(place(down, up), down), path(place(up, down), false)]);
            }
        }
        let placements = scenario.groups.iter().map(|group| Placement::of(group, scenario.seed)).collect();
        Watch { observer, paths, placements }
    }

    /// Reports a packet of the application with this number in its group.
    pub(crate) fn see(&mut self, place: Place, flight: &Flight, index: u32, now: Instant) {
        let Some(path) = self.paths.get(flight.path as usize) else { return };
        match &mut self.observer {
            Observing::Packets(observer) if path.place == Some(place) => {
                observer.packet(now, &path.sighting(flight, index, &self.placements));
            }
            Observing::Senders(follower) if path.followed && place == Place::Sender => {
                // Datagrams of applications belong to no connection.
                if !matches!(flight.body, Body::Datagram { .. }) {
                    follower.sent(now, &path.sighting(flight, index, &self.placements));
                }
            }
            Observing::Packets(_) | Observing::Senders(_) => {}
        }
    }

    /// Whether senders are followed.
    pub(crate) fn follows(&self) -> bool {
        matches!(self.observer, Observing::Senders(_))
    }

    /// The follower of the sender of data on a path, and the parties of its connection with this number.
    pub(crate) fn follower(&mut self, path: u32, index: u32, connection: u64) -> Option<(&mut dyn Follower, Parties)> {
        let path = self.paths.get(path as usize).filter(|path| path.followed)?;
        match &mut self.observer {
            Observing::Packets(_) => None,
            Observing::Senders(follower) => {
                Some((&mut **follower, path.parties(index, connection, false, &self.placements)))
            }
        }
    }

    /// Reports a packet that reaches a followed sender. `path` is that of its data.
    pub(crate) fn see_reception(&mut self, path: u32, flight: &Flight, index: u32, now: Instant) {
        let Some(seen) = self.paths.get(path as usize).map(|path| path.sighting(flight, index, &self.placements))
        else {
            return;
        };
        if let Some((follower, _)) = self.follower(path, index, 0) {
            follower.received(now, &seen);
        }
    }

    /// Reports the state of a followed sender.
    pub(crate) fn see_state(&mut self, path: u32, index: u32, connection: u64, state: &SenderState, now: Instant) {
        if let Some((follower, parties)) = self.follower(path, index, connection) {
            follower.state(now, &parties, state);
        }
    }
}

impl Path {
    /// A packet of the application with this number in its group.
    fn sighting(&self, flight: &Flight, index: u32, placements: &[Placement]) -> Sighting {
        let connection = flight.flow.0 / 2;
        let (content, conversation) = match &flight.body {
            Body::Segment(segment) => (Content::Segment(segment.clone()), connection),
            // Headers beyond UDP's count as payload.
            Body::Rate(_) => (Content::Datagram(flight.len.saturating_sub(UDP_HEADERS)), connection),
            Body::Bytes(bytes) => (Content::Bytes(bytes.clone()), connection),
            Body::Datagram { len, .. } => (Content::Datagram(*len), u64::from(flight.app)),
        };
        let parties = self.parties(index, conversation, flight.to == Side::Server, placements);
        Sighting { parties, len: flight.len, ecn: flight.ecn, content }
    }

    fn parties(&self, index: u32, conversation: u64, from_client: bool, placements: &[Placement]) -> Parties {
        let client = placements[usize::from(self.group)].client(index);
        Parties { server: self.server, client, group: self.group, conversation, from_client }
    }
}
