//! The input of a run: links, routes, traffic, windows.

use std::sync::Arc;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant, Rng};
use aqmkit_measure::{GroupInfo, LinkInfo, Plan};
use aqmkit_stack::Factory;
use aqmkit_traffic::Application;
use aqmkit_transport::Profile;
use serde::Serialize;

use aqmkit_base::trace::Trace;
pub use aqmkit_base::wire::{Loss, Reorder, Wire};

use crate::change::TimedChange;

pub use aqmkit_measure::WindowSpec;

/// One run, complete.
pub struct Scenario {
    /// The run's seed: every random stream is derived from it.
    pub seed: u64,
    /// How long the run lasts, warm-up included.
    pub duration: Duration,
    /// The end of the warm-up, time zero of the output and start of the series.
    pub origin: Instant,
    /// The names of the traffic classes; a class's index is its [`ClassId`].
    pub classes: Vec<String>,
    /// The links.
    pub links: Vec<Link>,
    /// The link at which classes are measured, as an index into `links`.
    pub measured: usize,
    /// The traffic.
    pub groups: Vec<Group>,
    /// The windows to report.
    pub windows: Vec<WindowSpec>,
    /// The interval of the series.
    pub interval: Duration,
    /// Maximum number of listed exchanges; with more, none is listed.
    pub max_exchanges: usize,
    /// Changes during the run, in the order of their times.
    pub changes: Vec<TimedChange>,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name in results.
    pub name: String,
    /// Its rate; with a trace, the mean rate.
    pub rate: BitRate,
    /// The trace of a varying rate.
    pub trace: Option<Arc<Trace>>,
    /// Its propagation delay.
    pub delay: Duration,
    /// The framing that the link adds to each packet.
    pub framing: Framing,
    /// The size of a typical packet, for disciplines that need one.
    pub mean_packet: Bytes,
    /// The queue in front of it.
    pub aqm: Spec,
    /// The driver between the queue and the wire; without one, the wire takes each packet from the queue when it is
    /// free.
    pub driver: Option<Driver>,
    /// Impairments of the wire.
    pub wire: Wire,
    /// Whether the results report it.
    pub report: bool,
}

/// The driver of a link's interface, which takes packets out of the queue ahead of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// The descriptors of its transmit ring, one for each packet (`ethtool -g`).
    pub ring: u32,
    /// Its byte queue limits, if it has any.
    pub bql: Option<Bql>,
    /// How long an interrupt is delayed after a packet was sent, to report several together (`tx-usecs` of `ethtool
    /// -c`).
    pub coalesce: Duration,
}

/// Byte queue limits of a driver, as in `/sys/class/net/*/queues/tx-*/byte_queue_limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bql {
    /// The lowest limit.
    pub limit_min: Bytes,
    /// The highest limit.
    pub limit_max: Bytes,
    /// For how long slack is measured before the limit is lowered.
    pub hold_time: Duration,
}

impl Default for Bql {
    /// As in Linux, whose `DQL_MAX_LIMIT` is 7/16 of the range of 32 bits.
    fn default() -> Self {
        let limit_max = Bytes(u64::from(u32::MAX / 2 - u32::MAX / 16));
        Bql { limit_min: Bytes::ZERO, limit_max, hold_time: Duration::from_secs(1) }
    }
}

impl Driver {
    /// Checks that the ring has room for a packet and the limits are in order.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.ring > 0 && self.bql.is_none_or(|bql| bql.limit_min <= bql.limit_max)
    }
}

/// The path between a server and the clients: links in order, as indices into [`Scenario::links`], and
/// additional delays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// From server to client.
    pub forward: Vec<usize>,
    /// From client to server.
    pub reverse: Vec<usize>,
    /// Further delay from server to client.
    pub forward_delay: Duration,
    /// Further delay from client to server.
    pub reverse_delay: Duration,
}

/// Fixed delay of the round trip in addition to the links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delays {
    /// None.
    None,
    /// For each server and client: `matrix[server][client]`.
    Matrix(Vec<Vec<Duration>>),
    /// For each connection, drawn uniformly from this range.
    Uniform(Duration, Duration),
    /// For each application in turn, starting again at the end.
    Each(Vec<Duration>),
}

/// Applications of one kind.
pub struct Group {
    /// Its name in results.
    pub name: String,
    /// The class of its packets.
    pub class: ClassId,
    /// The applications. Application `i` is at client `i % clients`, unless they are scattered. Clients with the same number are the same host in
    /// all groups; so are servers.
    pub apps: Vec<Box<dyn Application>>,
    /// How both ends of its connections behave.
    pub profile: Profile,
    /// The stack that handles connections at both ends; `None` for the built-in TCP with [`Group::profile`].
    pub stack: Option<Arc<dyn Factory>>,
    /// When it starts.
    pub start: Instant,
    /// When it stops.
    pub stop: Instant,
    /// One route for each server.
    pub routes: Vec<Route>,
    /// Number of client hosts.
    pub clients: u32,
    /// Whether applications are at clients in a random order, rather than application `i` at client `i % clients`.
    pub scattered: bool,
    /// Additional round-trip delay, applied on the reverse path to the server.
    pub delays: Delays,
    /// Bytes that the headers add to each datagram.
    pub datagram_overhead: u32,
    /// Whether its applications start at the beginning; others are started by a change only.
    pub active: bool,
}

/// At which client each application of a group is.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    clients: u32,
    /// The clients in their order; empty where it is that of their numbers.
    order: Vec<u32>,
}

impl Placement {
    /// The placement of a group: where it is random, the same for a seed whatever else differs.
    pub(crate) fn of(group: &Group, seed: u64) -> Self {
        let mut order: Vec<u32> = if group.scattered { (0..group.clients).collect() } else { Vec::new() };
        let mut rng = Rng::stream(seed, &format!("clients.{}", group.name));
        for last in (1..order.len()).rev() {
            order.swap(last, rng.below(last as u64 + 1) as usize);
        }
        Placement { clients: group.clients, order }
    }

    /// The number of clients.
    pub(crate) fn clients(&self) -> u32 {
        self.clients
    }

    /// The client of the application with this number in its group.
    #[inline]
    pub(crate) fn client(&self, index: u32) -> u32 {
        let place = index % self.clients;
        if self.order.is_empty() { place } else { self.order[place as usize] }
    }
}

impl Group {
    /// The group as named in results, with these numbers of its applications.
    fn info(&self, apps: std::ops::Range<usize>) -> GroupInfo {
        let model = self.apps.first();
        GroupInfo {
            name: self.name.clone(),
            class: self.class.index(),
            apps,
            joined: Vec::new(),
            exchange_kinds: model.map_or(&[], |a| a.exchange_kinds()),
            counters: model.map_or(&[], |a| a.counters()),
        }
    }
}

impl Scenario {
    /// The measurements of a run.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let link = |l: &Link| LinkInfo {
            name: l.name.clone(),
            report: l.report,
            rate: l.rate,
            trace: l.trace.clone(),
            changes: Vec::new(),
        };
        let mut first = 0;
        let groups = self.groups.iter().map(|g| {
            let apps = first..first + g.apps.len();
            first = apps.end;
            g.info(apps)
        });
        Plan {
            origin: self.origin,
            interval: self.interval,
            max_exchanges: self.max_exchanges,
            groups: groups.collect(),
            links: self.links.iter().map(link).collect(),
            measured: self.measured,
            classes: self.classes.clone(),
            windows: self.windows.clone(),
        }
    }

    /// Checks that indices are valid and times are in order.
    ///
    /// # Errors
    /// A message naming the contradiction.
    pub fn check(&self) -> Result<(), String> {
        let end = Instant::ZERO + self.duration;
        if self.duration.is_zero() || self.interval.is_zero() {
            return Err("the duration and the interval of a scenario must not be zero".into());
        }
        if self.measured >= self.links.len() {
            return Err(format!("the measured link is {}, but there are {} links", self.measured, self.links.len()));
        }
        if let Some(link) = self.links.iter().find(|l| l.rate == BitRate::default()) {
            return Err(format!("link {:?} has no rate", link.name));
        }
        if let Some(link) = self.links.iter().find(|l| !l.wire.is_possible()) {
            return Err(format!("the wire of link {:?} has a probability outside 0 to 1", link.name));
        }
        if let Some(link) = self.links.iter().find(|l| l.driver.is_some_and(|driver| !driver.is_possible())) {
            return Err(format!(
                "the driver of link {:?} has no ring, or limits that contradict each other",
                link.name
            ));
        }
        if let Some(w) = self.windows.iter().find(|w| w.from >= w.to || w.to > end) {
            return Err(format!("window {:?} is not within the run of {end}", w.name));
        }
        self.groups.iter().try_for_each(|g| self.check_group(g))?;
        self.check_changes()
    }

    fn check_group(&self, group: &Group) -> Result<(), String> {
        let name = &group.name;
        let mut links = group.routes.iter().flat_map(|r| r.forward.iter().chain(&r.reverse));
        if group.routes.is_empty() || group.clients == 0 {
            return Err(format!("traffic {name:?} has no server or no client"));
        }
        if links.any(|&l| l >= self.links.len()) || group.class.index() >= self.classes.len() {
            return Err(format!("traffic {name:?} names a link or a class that does not exist"));
        }
        let fits = match &group.delays {
            Delays::Matrix(rows) => {
                rows.len() >= group.routes.len() && rows.iter().all(|r| r.len() >= group.clients as usize)
            }
            Delays::Each(list) => !list.is_empty(),
            Delays::Uniform(low, high) => low <= high,
            Delays::None => true,
        };
        if fits { Ok(()) } else { Err(format!("the delays of traffic {name:?} do not fit its servers and clients")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(scattered: bool) -> Group {
        Group {
            name: "web".into(),
            class: ClassId(0),
            apps: Vec::new(),
            profile: Profile::rfc(),
            stack: None,
            start: Instant::ZERO,
            stop: Instant::ZERO,
            routes: vec![Route::default()],
            clients: 100,
            scattered,
            delays: Delays::None,
            datagram_overhead: 0,
            active: true,
        }
    }

    /// Scattered applications are at all clients before any has two, in an order that depends on the seed alone.
    #[test]
    fn scattered_applications_are_at_clients_in_a_random_order() {
        let at = |scattered, seed| {
            let placement = Placement::of(&group(scattered), seed);
            (0..150).map(|index| placement.client(index)).collect::<Vec<u32>>()
        };
        let (plain, random) = (at(false, 1), at(true, 1));
        assert!((0..100).chain(0..50).eq(plain.iter().copied()));
        let mut all = random[..100].to_vec();
        all.sort_unstable();
        assert!((0..100).eq(all) && random[..50] == random[100..]);
        assert!(random != plain && random == at(true, 1) && random != at(true, 2));
    }
}
