//! The state of a run: links, connections, applications and the event loop.
//!
//! The path of a packet: an application issues an action ([`host`]), its connection creates segments
//! ([`connections`]), a packet passes from link to link (here) and is delivered ([`connections`] again).
//! With many connections their state is prefetched ([`ahead`]). The caller observes
//! the run ([`look`], [`follow`]) and changes it ([`changes`]).

mod ahead;
mod changes;
mod connections;
mod drivers;
mod ends;
mod follow;
mod host;
mod limits;
mod look;

use std::collections::BTreeMap;
use std::sync::Arc;

use ahead::Ahead;
use aqmkit_aqm::custom::Customs;
use aqmkit_aqm::{Ack, Dequeued, Ends, ParamError};
use aqmkit_base::{Duration, Ecn, FlowKey, FlowKind, Instant, Rng};
use aqmkit_measure::output::Engine;
use aqmkit_measure::{Circuits, Output, Recorder};
use aqmkit_stack as stack;
use aqmkit_traffic as traffic;
use aqmkit_transport::{Profile, Route};

use crate::event_queue::EventQueue;
use crate::host::{Applications, Host};
use crate::link::{Fate, Link};
use crate::log::{Log, PacketEvent};
use crate::observe::{Observing, Place, Watch};
use crate::packet::{Arena, Body, Flight, Queued, Side};
use crate::profile::{EventKind, Probe};
use crate::scenario::{Delays, Placement, Scenario, WindowSpec};
use connections::Connection;
use ends::Outputs;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimEvent {
    /// A packet arrives at the end of a link or of its path.
    Arrival {
        packet: u32,
    },
    /// A transmitter may dequeue its next packet.
    LinkFree {
        link: u32,
    },
    /// An interrupt reports what a driver's wire has sent, or a queue that held packets back from a driver releases
    /// them.
    Driver {
        link: u32,
    },
    /// A connection's timer may have expired.
    Timer {
        conn: u32,
        generation: u16,
        side: Side,
    },
    /// A server finished processing a request.
    RequestProcessed {
        conn: u32,
        generation: u16,
    },
    /// A wake-up of an application.
    Wake {
        app: u32,
    },
    /// A group starts or stops.
    Start {
        group: u16,
    },
    Stop {
        group: u16,
    },
    /// A window opens or closes.
    Open {
        window: u16,
    },
    Close {
        window: u16,
    },
    /// An interval of the series ends.
    Interval,
}

/// What happened to a packet in a queue with customers.
#[derive(Clone, Copy)]
enum CircuitEvent {
    Offered,
    /// It left after waiting so long.
    Departed(Duration),
    Dropped,
}

/// The links that a packet crosses, and the delay after the last.
#[derive(Clone, Debug)]
struct Path {
    links: Box<[u32]>,
    delay: Duration,
    /// Number of the server at one end.
    server: u32,
    to_client: bool,
}

/// The state that the applications of a group share.
struct Group {
    profile: Profile,
    /// Makes the ends of its connections instead of the profile, where they are of a stack from outside.
    stack: Option<Arc<dyn stack::Factory>>,
    /// From which the seeds of such ends are derived.
    stack_seed: u64,
    class: aqmkit_base::ClassId,
    /// The paths from and to each server, alternating.
    paths: Vec<[u32; 2]>,
    placement: Placement,
    delays: Delays,
    datagram_overhead: u32,
    /// Timer phase of each host, by server and by client.
    server_phase: Vec<Duration>,
    client_phase: Vec<Duration>,
    /// Metrics that hosts cache with their routes, by server and client: the client's and the server's; empty if they
    /// cache none.
    routes: Vec<[Route; 2]>,
    rng: Rng,
}

/// A run in progress.
pub(crate) struct World<'o> {
    now: Instant,
    event_queue: EventQueue<SimEvent>,
    arena: Arena,
    links: Vec<Link>,
    paths: Vec<Path>,
    groups: Vec<Group>,
    apps: Applications,
    conns: Vec<Connection>,
    free_conns: Vec<u32>,
    /// The delay, in addition to the links, of the datagrams from an application's client.
    reply_delays: BTreeMap<u32, Duration>,
    serial: u32,
    meter: Recorder,
    /// Samples of what limits the senders so far.
    limit_turns: usize,
    measured: usize,
    watch: Option<Box<Watch<'o>>>,
    log: Option<Box<Log>>,
    windows: Vec<WindowSpec>,
    events: u64,
    /// When each group starts and stops.
    spans: Vec<(Instant, Instant)>,
    /// Pending events that a change has rescheduled.
    cancelled: Vec<(Instant, SimEvent)>,
    /// Reused between calls.
    #[allow(clippy::vec_box, reason = "a call takes one word out and puts it back, not nine")]
    spare_outputs: Vec<Box<Outputs>>,
    ahead: Ahead,
    /// The customers of links with trees that tell clients apart.
    circuits: Vec<Circuits>,
}

impl<'o> World<'o> {
    /// The world at time zero.
    pub(crate) fn new(
        mut scenario: Scenario,
        observing: Option<Observing<'o>>,
        customs: &Customs,
    ) -> Result<Self, ParamError> {
        let meter = Recorder::new(scenario.plan());
        let links: Result<Vec<Link>, ParamError> =
            scenario.links.iter().map(|l| Link::new(l, &scenario, customs)).collect();
        let (paths, groups) = lay_out(&scenario);
        let watch = observing.map(|o| Box::new(Watch::new(o, &scenario)));
        let apps = Applications::take(&mut scenario);
        let mut world = World {
            now: Instant::ZERO,
            event_queue: EventQueue::default(),
            arena: Arena::default(),
            links: links?,
            paths,
            groups,
            // Most have one connection at a time. Unused capacity takes no physical memory, whereas growing
            // takes half as much again.
            conns: Vec::with_capacity(apps.all().len()),
            apps,
            free_conns: Vec::new(),
            reply_delays: BTreeMap::new(),
            serial: 0,
            meter,
            limit_turns: 0,
            measured: scenario.measured,
            watch,
            log: None,
            windows: scenario.windows,
            events: 0,
            spans: scenario.groups.iter().map(|g| (g.start, g.stop)).collect(),
            cancelled: Vec::new(),
            spare_outputs: Vec::new(),
            ahead: Ahead::default(),
            circuits: Vec::new(),
        };
        for (link, of) in scenario.links.iter().enumerate().filter(|(_, of)| of.report) {
            let all = crate::link::circuits(of, &scenario.classes);
            if let Some(circuits) = Circuits::new(link, &of.name, all, world.windows.len()) {
                world.links[link].circuits = u16::try_from(world.circuits.len()).ok();
                world.links[link].observed = true;
                world.circuits.push(circuits);
            }
        }
        world.links[scenario.measured].observed |= world.watch.is_some();
        world.schedule(scenario.origin, &scenario.groups);
        Ok(world)
    }

    /// Schedules the initial events.
    fn schedule(&mut self, origin: Instant, groups: &[crate::scenario::Group]) {
        for (i, window) in self.windows.iter().enumerate() {
            self.event_queue.put(window.from, SimEvent::Open { window: i as u16 });
            self.event_queue.put(window.to, SimEvent::Close { window: i as u16 });
        }
        self.event_queue.put(origin, SimEvent::Interval);
        for (i, group) in groups.iter().enumerate() {
            self.event_queue.put(group.start, SimEvent::Start { group: i as u16 });
            self.event_queue.put(group.stop, SimEvent::Stop { group: i as u16 });
        }
    }

    /// Processes all events up to `end` and sets the time to `end`, unless `stop` events have been processed since the
    /// start before. Returns whether it reached `end`.
    pub(crate) fn run_until(&mut self, end: Instant, stop: u64, probe: &mut impl Probe) -> bool {
        while self.events < stop {
            self.look_ahead();
            let Some((at, event)) = self.event_queue.take_until(end) else {
                self.now = end;
                return true;
            };
            debug_assert!(at >= self.now, "time went backwards");
            self.now = at;
            self.events += 1;
            if !self.cancelled.is_empty() && self.is_cancelled(at, event) {
                continue;
            }
            self.process(event, probe);
        }
        false
    }

    #[inline(always)]
    fn process<P: Probe>(&mut self, event: SimEvent, probe: &mut P) {
        if P::WATCHES {
            probe.found(self.kind_of(event));
        }
        let sender = if probe.follows() { self.followed(event) } else { None };
        self.handle(event);
        self.deliver_events();
        if let Some(sender) = sender {
            self.report(sender);
        }
        probe.processed();
    }

    /// The kind of an event that is about to be processed.
    fn kind_of(&self, event: SimEvent) -> EventKind {
        match event {
            SimEvent::Arrival { packet } => {
                let flight = self.arena.get(packet);
                let links = &self.paths[flight.path as usize].links;
                match &flight.body {
                    _ if usize::from(flight.hop) < links.len() => EventKind::AtLink,
                    Body::Segment(segment) if segment.len > 0 => EventKind::Data,
                    Body::Segment(_) => EventKind::Acknowledgement,
                    Body::Datagram { .. } | Body::Rate(_) | Body::Bytes(_) => EventKind::Datagram,
                }
            }
            SimEvent::LinkFree { .. } | SimEvent::Driver { .. } => EventKind::LinkFree,
            SimEvent::Timer { .. } => EventKind::Timer,
            SimEvent::RequestProcessed { .. } => EventKind::Request,
            SimEvent::Wake { .. } => EventKind::Wake,
            SimEvent::Start { .. }
            | SimEvent::Stop { .. }
            | SimEvent::Open { .. }
            | SimEvent::Close { .. }
            | SimEvent::Interval => EventKind::Measurement,
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: SimEvent) {
        match event {
            SimEvent::Arrival { packet } => self.forward(packet),
            SimEvent::LinkFree { link } => self.link_free(link as usize),
            SimEvent::Driver { link } => self.driver_due(link as usize),
            SimEvent::Timer { conn, generation, side } => self.timer(conn, generation, side),
            SimEvent::RequestProcessed { conn, generation } => self.request_processed(conn, generation),
            SimEvent::Wake { app } => self.wake(app),
            SimEvent::Start { group } => self.deliver_to_group(usize::from(group), traffic::Event::Start),
            SimEvent::Stop { group } => self.stop_group(usize::from(group)),
            SimEvent::Open { window } => {
                let counters = self.counters();
                self.meter.open(window as usize, self.now, counters);
                let connections = self.in_slow_start();
                self.meter.slow_start(window as usize, connections);
                self.circuits.iter_mut().for_each(|circuits| circuits.open(window.into(), self.now));
            }
            SimEvent::Close { window } => {
                let counters = self.counters();
                self.meter.close(window as usize, self.now, counters);
                self.circuits.iter_mut().for_each(|circuits| circuits.close(window.into(), self.now));
            }
            SimEvent::Interval => self.interval(),
        }
    }

    /// Sends a packet into the first link of its path.
    fn send(&mut self, id: u32) {
        let sent = self.arena.get(id);
        if let Some(watch) = &mut self.watch {
            watch.see(Place::Sender, sent, self.apps[sent.app].index, self.now);
        }
        match self.paths[sent.path as usize].links.first() {
            Some(&link) => self.enter(id, link as usize),
            None => {
                let delay = self.end_delay(sent);
                self.event_queue.put(self.now + delay, SimEvent::Arrival { packet: id });
            }
        }
    }

    /// A packet reaches the next link of its path, or its end.
    fn forward(&mut self, id: u32) {
        let flight = self.arena.get(id);
        match self.paths[flight.path as usize].links.get(usize::from(flight.hop)) {
            Some(&link) => self.enter(id, link as usize),
            None => self.deliver(id),
        }
    }

    /// A packet reaches a link.
    fn enter(&mut self, id: u32, link: usize) {
        let flight = self.arena.get_mut(id);
        flight.hop += 1;
        flight.queued = self.now;
        let mut handle = Queued {
            flow: flight.flow,
            id,
            len: flight.len,
            label: flight.label,
            ends: Ends::default(),
            ack: None,
            class: flight.class,
            ecn: flight.ecn,
        };
        self.meter.offered(link, flight.seen());
        if self.log.is_some() {
            self.record_of(link, PacketEvent::Arrival, id);
        }
        let kind = self.links[link].flow;
        if kind != FlowKind::Connection {
            handle.flow = self.flow_by_ends(self.arena.get(id), kind);
        }
        if self.links[link].hosts {
            (handle.ends, handle.ack) = self.hosts_of(link, id);
        }
        self.links[link].enqueue(handle, self.now);
        if self.links[link].transmitter.busy_until().is_none() {
            self.transmit(link);
        } else if self.links[link].driver.is_some() {
            self.fill_ring(link);
        } else {
            self.account(link);
        }
    }

    /// The flow key of a packet for a queue that distinguishes hosts (source, destination or both). Hosts
    /// are those of the topology: client 3 is one host for all traffic.
    fn flow_by_ends(&self, flight: &Flight, kind: FlowKind) -> FlowKey {
        let (source, destination) = self.ends(flight);
        let (source, destination) = kind.ends(source, destination);
        FlowKey(source.unwrap_or(0) << 32 | destination.unwrap_or(0))
    }

    /// The numbers of a packet's hosts: its sender and its receiver.
    fn ends(&self, flight: &Flight) -> (u64, u64) {
        let path = &self.paths[flight.path as usize];
        let client = u64::from(Ends::of_client(self.client_of(flight)));
        let server = 2 * u64::from(path.server) + 1;
        if path.to_client { (server, client) } else { (client, server) }
    }

    /// The client that sends a packet or is to receive it.
    fn client_of(&self, flight: &Flight) -> u32 {
        let app = &self.apps[flight.app];
        self.groups[usize::from(app.group)].placement.client(app.index)
    }

    /// The hosts and the acknowledgement of a packet that arrives, for a queue that needs them. Not inlined: most need none.
    #[inline(never)]
    fn hosts_of(&mut self, link: usize, id: u32) -> (Ends, Option<Ack>) {
        self.of_circuit(link, id, CircuitEvent::Offered);
        let arrived = self.arena.get(id);
        let (source, destination) = self.ends(arrived);
        (Ends { source: source as u32, destination: destination as u32 }, arrived.ack())
    }

    /// Shows a packet that leaves its queue to the observer, and measures it for its circuit.
    #[inline(never)]
    fn observe_departure(&mut self, link: usize, id: u32, waited: Duration) {
        self.of_circuit(link, id, CircuitEvent::Departed(waited));
        if link == self.measured
            && let Some(watch) = &mut self.watch
        {
            let sent = self.arena.get(id);
            watch.see(Place::Measured, sent, self.apps[sent.app].index, self.now);
        }
    }

    /// Measures a packet for its circuit, where the link has circuits.
    fn of_circuit(&mut self, link: usize, id: u32, event: CircuitEvent) {
        let Some(circuits) = self.links[link].circuits else { return };
        let flight = self.arena.get(id);
        let (client, len) = (self.client_of(flight), flight.len);
        let circuits = &mut self.circuits[usize::from(circuits)];
        match event {
            CircuitEvent::Offered => circuits.offered(client, len, self.now),
            CircuitEvent::Departed(waited) => circuits.departed(client, len, waited, self.now),
            CircuitEvent::Dropped => circuits.dropped(client, self.now),
        }
    }

    /// A transmitter becomes free, or its wait ends.
    fn link_free(&mut self, link: usize) {
        if self.links[link].transmitter.busy_until().is_none_or(|until| until <= self.now) {
            self.transmit(link);
        }
    }

    /// Starts the next transmission if the transmitter is free.
    fn transmit(&mut self, link: usize) {
        let next = match self.links[link].driver {
            None => self.links[link].dequeue(self.now),
            Some(_) => self.next_of_ring(link),
        };
        match next {
            Dequeued::Packet(packet) => self.begin_transmission(link, &packet),
            Dequeued::Empty => {}
            Dequeued::NotBefore(at) => self.event_queue.put(at, SimEvent::LinkFree { link: link as u32 }),
        }
        self.account(link);
    }

    /// Sends a packet that leaves the queue, or the ring of a driver.
    #[inline(always)]
    fn begin_transmission(&mut self, link: usize, packet: &Queued) {
        let id = packet.id;
        let state = &mut self.links[link];
        let transmission = state.transmitter.transmit(packet.len, self.now);
        let free = transmission.until();
        let arrives = state.transmitter.arrival(packet.len);
        let flight = self.arena.get_mut(id);
        (flight.ecn, flight.label) = (packet.ecn, packet.label);
        let waited = match &state.driver {
            None => self.now.since(flight.queued),
            Some(driver) => driver.waited(),
        };
        self.meter.departed(link, flight.seen(), waited, transmission);
        if state.observed {
            self.observe_departure(link, id, waited);
        }
        if self.log.is_some() && self.links[link].driver.is_none() {
            self.record_of(link, PacketEvent::Departure, id);
        }
        if packet.ecn.is_capable() && self.links[link].transmitter.marks() {
            self.arena.get_mut(id).ecn = Ecn::Ce;
        }
        self.event_queue.put(free, SimEvent::LinkFree { link: link as u32 });
        if self.links[link].transmitter.loses() {
            self.meter.lost(self.arena.get(id).app);
            self.arena.release(id);
            self.links[link].sent_last = None;
            return;
        }
        let sent = self.arena.get(id);
        let last = usize::from(sent.hop) == self.paths[sent.path as usize].links.len();
        let rest = if last { self.end_delay(sent) } else { Duration::ZERO };
        let arrives = arrives + rest;
        self.links[link].sent_last = Some((id, arrives));
        self.event_queue.put(arrives, SimEvent::Arrival { packet: id });
    }

    /// Processes drops and marks of a queue, and measures its length.
    #[inline]
    fn account(&mut self, link: usize) {
        let state = &self.links[link];
        self.meter.queue(link, state.waiting(), self.now);
        if state.has_fates() {
            self.account_fates(link);
        }
    }

    #[inline(never)]
    fn account_fates(&mut self, link: usize) {
        while let Some(fate) = self.links[link].next_fate() {
            match fate {
                Fate::Dropped(packet, why) => {
                    let flight = self.arena.get(packet.id);
                    self.meter.dropped(link, flight.app, flight.seen(), why, flight.queued);
                    self.of_circuit(link, packet.id, CircuitEvent::Dropped);
                    if self.log.is_some() {
                        self.record_of(link, PacketEvent::Drop, packet.id);
                    }
                    self.arena.release(packet.id);
                }
                Fate::Marked(packet, why) => {
                    let flight = self.arena.get(packet.id);
                    self.meter.marked(link, flight.seen(), why, flight.queued);
                    if self.log.is_some() {
                        self.record_of(link, PacketEvent::Mark, packet.id);
                    }
                }
            }
        }
    }

    /// An interval of the series ends.
    fn interval(&mut self) {
        let mut gauges = Vec::new();
        self.links[self.measured].probe(&mut |gauge, value| gauges.push((gauge.to_owned(), value)));
        self.sample_limits();
        let counters = self.counters();
        self.meter.interval(self.now, counters, &gauges);
        self.event_queue.put(self.now + self.meter.plan().interval, SimEvent::Interval);
    }

    /// The measurements. Packets and events are counted; the caller fills in the costs.
    pub(crate) fn output(mut self) -> Output {
        // Free the run's memory before building the results.
        (self.conns, self.apps, self.arena, self.event_queue) = Default::default();
        let mut output = self.meter.output(self.now);
        for (window, results) in output.windows.iter_mut().enumerate() {
            results.circuits.extend(self.circuits.iter_mut().filter_map(|circuits| circuits.take(window)));
        }
        Output { engine: Engine { events: self.events, ..output.engine }, ..output }
    }
}

/// The paths to the servers of every group, and the groups.
fn lay_out(scenario: &Scenario) -> (Vec<Path>, Vec<Group>) {
    let mut paths = Vec::new();
    let mut path = |server: usize, to_client, links: &[usize], delay| {
        let links = links.iter().map(|&l| l as u32).collect();
        paths.push(Path { links, delay, server: server as u32, to_client });
        paths.len() as u32 - 1
    };
    let groups = scenario.groups.iter().map(|g| {
        let mut rng = Rng::stream(scenario.seed, &format!("group.{}", g.name));
        // Hosts booted at different times, so their timers tick at different times.
        let mut phases = |n: usize| (0..n).map(|_| Duration::from_secs_f64(rng.uniform())).collect();
        Group {
            server_phase: phases(g.routes.len()),
            client_phase: phases(g.clients as usize),
            routes: if g.profile.keeps_routes() {
                vec![Default::default(); g.routes.len() * g.clients as usize]
            } else {
                Vec::new()
            },
            profile: g.profile.clone(),
            stack: g.stack.clone(),
            stack_seed: aqmkit_base::rng::derive_seed(scenario.seed, &format!("stack.{}", g.name)),
            class: g.class,
            paths: g
                .routes
                .iter()
                .enumerate()
                .map(|(s, r)| [path(s, true, &r.forward, r.forward_delay), path(s, false, &r.reverse, r.reverse_delay)])
                .collect(),
            placement: Placement::of(g, scenario.seed),
            delays: g.delays.clone(),
            datagram_overhead: g.datagram_overhead,
            rng,
        }
    });
    let groups = groups.collect();
    (paths, groups)
}
