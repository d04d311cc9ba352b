//! Applications: delivery of events and execution of their actions.

use aqmkit_base::{ClassId, Ecn, FlowKey, Instant, Rng};
use aqmkit_measure::{FinishedExchange, GroupInfo};
use aqmkit_traffic::{self as traffic, Action, Application, Arrival, Cx, Exchange};

use super::{SimEvent, World};
use crate::fetch::fetch;
use crate::packet::{Body, Flight, Side};
use crate::scenario::Scenario;

/// An application and its state in the world.
pub(super) struct App {
    pub(super) model: Box<dyn Application>,
    pub(super) group: u16,
    /// How many applications it has had in this place before: datagrams of those are not for this one.
    pub(super) generation: u16,
    /// Its number in its group.
    pub(super) index: u32,
    rng: Rng,
    /// Its next wake-up; far in the future for none.
    pub(super) wake_at: Instant,
    /// Whether it has been stopped.
    pub(super) stopped: bool,
    /// Its open connections.
    pub(super) conns: Conns,
}

impl App {
    /// An application that has not started.
    pub(super) fn new(model: Box<dyn Application>, group: u16, index: u32, rng: Rng) -> Self {
        let (wake_at, conns) = (Instant::FAR_FUTURE, Conns::default());
        App { model, group, generation: 0, index, rng, wake_at, stopped: false, conns }
    }

    /// Fetches the model.
    #[inline(always)]
    pub(super) fn fetch_model(&self) {
        fetch(&*self.model);
    }
}

/// The open connections of an application: its own numbers and the world's. A single connection, the usual
/// case, needs no allocation.
pub(super) struct Conns {
    /// The world's number is [`NO_CONN`] where there is none.
    first: (traffic::Conn, u32),
    /// Boxed, because nearly all of a million applications have none.
    #[allow(clippy::box_collection, reason = "a word less than three for each application")]
    more: Option<Box<Vec<(traffic::Conn, u32)>>>,
}

/// No connection has this number.
const NO_CONN: u32 = u32::MAX;

impl Default for Conns {
    fn default() -> Self {
        Conns { first: (traffic::Conn(0), NO_CONN), more: None }
    }
}

impl Conns {
    pub(super) fn add(&mut self, local: traffic::Conn, conn: u32) {
        if self.first.1 == NO_CONN && self.more.as_ref().is_none_or(|more| more.is_empty()) {
            self.first = (local, conn);
        } else {
            self.more.get_or_insert_default().push((local, conn));
        }
    }

    pub(super) fn remove(&mut self, conn: u32) {
        if self.first.1 == conn {
            self.first.1 = NO_CONN;
        }
        if let Some(more) = &mut self.more {
            more.retain(|(_, c)| *c != conn);
        }
    }

    pub(super) fn find(&self, local: traffic::Conn) -> Option<u32> {
        self.iter().find(|(l, _)| *l == local).map(|(_, conn)| conn)
    }

    /// In the order in which they were opened.
    pub(super) fn iter(&self) -> impl Iterator<Item = (traffic::Conn, u32)> {
        let first = (self.first.1 != NO_CONN).then_some(self.first);
        first.into_iter().chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }
}

/// Bit that distinguishes flow keys of datagrams from those of connections.
const DATAGRAM_FLOW: u64 = 1 << 63;
/// Bit that distinguishes flow keys of datagrams from clients from those to them.
const REPLY_FLOW: u64 = 1 << 62;

/// Takes the applications out of the scenario, in order.
pub(super) fn of(scenario: &mut Scenario) -> Vec<App> {
    let seed = scenario.seed;
    let mut apps = Vec::new();
    for (g, group) in scenario.groups.iter_mut().enumerate() {
        for (index, model) in group.apps.drain(..).enumerate() {
            let rng = Rng::stream(seed, &format!("traffic.{}.{index}", group.name));
            apps.push(App { stopped: !group.active, ..App::new(model, g as u16, index as u32, rng) });
        }
    }
    apps
}

impl World<'_> {
    /// Delivers all pending events to applications.
    pub(super) fn deliver_events(&mut self) {
        while let Some((app, event)) = self.app_events.pop_front() {
            self.deliver_event(app, event);
        }
    }

    pub(super) fn deliver_event(&mut self, app: u32, event: traffic::Event) {
        if !self.apps[app as usize].stopped {
            self.with_model(app, |model, cx| model.on_event(event, cx));
        }
    }

    fn act(&mut self, app: u32, action: Action) {
        match action {
            Action::Open { conn, server } => self.open_connection(app, conn, server),
            Action::Request { conn, request, response, think, close } => {
                self.request(app, conn, super::connections::Request { request, response, think, close });
            }
            Action::Push { conn, bytes } => self.push(app, conn, bytes),
            Action::Close { conn } => self.close_connection(app, conn),
            Action::Datagram { len, tag, ecn } => self.send_datagram(app, Side::Client, (len, tag), ecn),
            Action::Reply { len, tag, ecn } => {
                if !self.reply_delays.contains_key(&app) {
                    let (group, index) = (self.apps[app as usize].group, self.apps[app as usize].index);
                    let server = index as usize % self.groups[usize::from(group)].paths.len();
                    let delay = self.extra_delay(group, index, server);
                    self.reply_delays.insert(app, delay);
                }
                self.send_datagram(app, Side::Server, (len, tag), ecn);
            }
            Action::WakeAt(at) => {
                self.apps[app as usize].wake_at = at;
                self.event_queue.put(at.max(self.now), SimEvent::Wake { app });
            }
            Action::Done(exchange) => self.done(app, exchange),
        }
    }

    fn send_datagram(&mut self, app: u32, to: Side, (len, tag): (u32, u64), ecn: Ecn) {
        let it = &self.apps[app as usize];
        let group = &self.groups[usize::from(it.group)];
        let (id, flight) = self.arena.claim();
        *flight = Flight {
            body: Body::Datagram { app, generation: it.generation, to, tag, len },
            sent: self.now,
            queued: self.now,
            flow: FlowKey(DATAGRAM_FLOW | if to == Side::Server { REPLY_FLOW } else { 0 } | u64::from(app)),
            len: len + group.datagram_overhead,
            payload: len,
            path: group.paths[it.index as usize % group.paths.len()][to as usize],
            hop: 0,
            label: 0.0,
            class: group.class,
            ecn,
            app,
        };
        self.meter.sent(app).packets += 1;
        self.send(id);
    }

    /// A datagram has reached its receiver.
    pub(super) fn deliver_datagram(&mut self, app: u32, class: ClassId, arrival: Arrival) {
        if arrival.to == traffic::Side::Client {
            self.meter.arrived(class.index(), self.now.since(arrival.sent));
            self.meter.delivered(app, class.index(), u64::from(arrival.len));
        }
        self.with_model(app, |model, cx| model.on_arrival(arrival, cx));
    }

    /// Calls an application's model and does what it wants, unless it has been stopped.
    fn with_model(&mut self, app: u32, call: impl FnOnce(&mut dyn Application, &mut Cx<'_>)) {
        let mut actions = std::mem::take(&mut self.actions);
        let it = &mut self.apps[app as usize];
        let servers = self.groups[usize::from(it.group)].paths.len() as u32;
        call(&mut *it.model, &mut Cx { now: self.now, servers, rng: &mut it.rng, actions: &mut actions });
        let stopped = it.stopped;
        for action in actions.drain(..).filter(|_| !stopped) {
            self.act(app, action);
        }
        self.actions = actions;
    }

    fn done(&mut self, app: u32, exchange: Exchange) {
        let group = usize::from(self.apps[app as usize].group);
        let kind = usize::from(exchange.kind);
        self.meter
            .exchange(FinishedExchange { group, kind, started: exchange.started, bytes: exchange.bytes }, self.now);
    }

    /// A wake-up of an application, ignored if it has requested another since.
    pub(super) fn wake(&mut self, app: u32) {
        let it = &mut self.apps[app as usize];
        if it.wake_at <= self.now {
            it.wake_at = Instant::FAR_FUTURE;
            self.deliver_event(app, traffic::Event::Wake);
        }
    }

    pub(super) fn deliver_to_group(&mut self, group: u16, event: traffic::Event) {
        let members: Vec<usize> = self.meter.plan().groups[usize::from(group)].members().collect();
        for app in members {
            self.deliver_event(app as u32, event);
        }
    }

    /// Stops a group: notifies its applications and ends their connections at once.
    pub(super) fn stop_group(&mut self, group: u16) {
        self.deliver_to_group(group, traffic::Event::Stop);
        let members: Vec<usize> = self.meter.plan().groups[usize::from(group)].members().collect();
        members.into_iter().for_each(|app| self.stop_app(app));
    }

    /// Stops an application that has been notified, and ends its connections at once.
    pub(super) fn stop_app(&mut self, app: usize) {
        self.apps[app].stopped = true;
        for (_, conn) in std::mem::take(&mut self.apps[app].conns).iter() {
            self.free_connection(conn);
        }
    }

    /// The models' own counters, by group, summed over its applications.
    pub(super) fn counters(&self) -> Vec<Vec<f64>> {
        let group = |(g, retired): (&GroupInfo, &Vec<f64>)| {
            let sum = |i: usize| {
                let now: f64 = g.members().map(|app| self.apps[app].model.counter(i)).sum();
                retired.get(i).map_or(now, |before| now + before)
            };
            (0..g.counters.len()).map(sum).collect()
        };
        self.meter.plan().groups.iter().zip(&self.retired).map(group).collect()
    }
}
