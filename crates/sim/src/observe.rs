//! Watching packets: what a capture of a link is written from.
//!
//! A run without an [`Observer`] asks for one in a single branch at each link and each sender, and does nothing more.

use aqmkit_base::{Ecn, Instant};
use aqmkit_flows::traffic::model::UDP_HEADERS;
use aqmkit_flows::transport::Segment;

use crate::packet::{Body, Flight, Side};
use crate::scenario::Scenario;

/// Sees packets that concern the measured link: those that cross it, as they leave its queue; and those that
/// the same connections send the other way, as their hosts send them. So everything that an acknowledgement
/// acknowledges was seen before it, unless it was lost before the link.
pub trait Observer {
    /// A packet passes.
    fn packet(&mut self, now: Instant, packet: &Sighting);
}

/// What is seen of a packet.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// Who talks to whom.
    pub parties: Parties,
    /// Bytes with headers.
    pub len: u32,
    /// Its ECN field at this moment.
    pub ecn: Ecn,
    /// What it carries.
    pub content: Content,
}

/// The two ends of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties {
    /// The server's number.
    pub server: u32,
    /// The client's number.
    pub client: u32,
    /// The place of the traffic in [`crate::Scenario::groups`].
    pub group: u16,
    /// The number of the connection, from 1 in the order in which they opened; of an application that sends datagrams, its
    /// place among all applications.
    pub conversation: u64,
    /// Whether the packet comes from the client.
    pub from_client: bool,
}

/// What a packet carries.
#[derive(Clone, Debug)]
pub enum Content {
    /// A TCP segment.
    Segment(Segment),
    /// A datagram with so many bytes of payload.
    Datagram(u32),
}

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It begins to leave the queue of the measured link.
    Measured,
    /// Its host sends it.
    Sender,
}

/// A way as an observer knows it.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Where its packets are seen, if at all.
    place: Option<Place>,
    group: u16,
    server: u32,
    clients: u32,
}

/// A run's observer, and what it has to be asked about.
pub(crate) struct Watch<'o> {
    observer: &'o mut dyn Observer,
    /// In the order of the world's ways: of each server of each group, that from it and that to it.
    ways: Vec<Way>,
    /// The first application of each group.
    first_app: Vec<u32>,
}

impl<'o> Watch<'o> {
    pub(crate) fn new(observer: &'o mut dyn Observer, scenario: &Scenario) -> Self {
        let mut ways = Vec::new();
        let mut first_app = Vec::new();
        let mut apps = 0;
        for (g, group) in scenario.groups.iter().enumerate() {
            first_app.push(apps);
            apps += group.apps.len() as u32;
            for (s, route) in group.routes.iter().enumerate() {
                let crosses = |links: &[usize]| links.contains(&scenario.measured);
                let place = |own: bool, other: bool| match (own, other) {
                    (true, _) => Some(Place::Measured),
                    (false, true) => Some(Place::Sender),
                    (false, false) => None,
                };
                let (down, up) = (crosses(&route.forward), crosses(&route.reverse));
                let way = |at| Way { place: at, group: g as u16, server: s as u32, clients: group.clients };
                ways.extend([way(place(down, up)), way(place(up, down))]);
            }
        }
        Watch { observer, ways, first_app }
    }

    /// A packet is at a place.
    pub(crate) fn see(&mut self, place: Place, flight: &Flight, now: Instant) {
        let Some(way) = self.ways.get(flight.way as usize).filter(|w| w.place == Some(place)) else { return };
        let index = flight.app - self.first_app[usize::from(way.group)];
        let (content, from_client, conversation) = match &flight.body {
            Body::Segment { segment, to, .. } => {
                (Content::Segment(segment.clone()), *to == Side::Server, flight.flow.0 / 2)
            }
            // Its headers as far as they are not UDP's are data of the datagram.
            Body::Rate { to, .. } => {
                let payload = flight.len.saturating_sub(UDP_HEADERS);
                (Content::Datagram(payload), *to == Side::Server, flight.flow.0 / 2)
            }
            Body::Datagram { len, .. } => (Content::Datagram(*len), false, u64::from(flight.app)),
        };
        let (server, client) = (way.server, index % way.clients);
        let parties = Parties { server, client, group: way.group, conversation, from_client };
        self.observer.packet(now, &Sighting { parties, len: flight.len, ecn: flight.ecn, content });
    }
}
