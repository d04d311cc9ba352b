//! The hosts of a live run: applications over sockets.
//!
//! The traffic models are those of the simulator; the kernel sends the data. One thread stands in the
//! clients' namespace and serves both ends: a socket
//! belongs to the namespace of the listener that accepted it, whichever thread accepts. Time is that of the scenario, which begins [`setup::START`] after the link's clock.

mod connections;
mod datagrams;
mod effort;
mod record;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::IpAddr;

use aqmkit_base::{Duration, Ecn, Instant, Rng};
use aqmkit_live::link::Link;
use aqmkit_live::timing::Clock;
use aqmkit_sim::{Control, Progress, Scenario};
use aqmkit_traffic::{self as traffic, Action, Application, Arrival, Cx, Side};
use rustix::event::{Timespec, epoll};

use crate::setup;
use connections::Connections;
use datagrams::{Arrived, Datagrams};
pub(crate) use effort::could_not_fill;
use record::Record;
pub(crate) use record::Recorded;

/// The subject of an `epoll` event.
const DATAGRAM: u64 = 1 << 62;
const LISTENER: u64 = 1 << 61;
/// A datagram from a client to the server of an application.
const REPLY: u64 = 1 << 60;

/// The interval of progress reports.
const BEAT: Duration = Duration::from_millis(100);

/// A timed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A window closes; first, so that nothing of the same moment is counted in the wrong one.
    Close(usize),
    /// A window opens.
    Open(usize),
    /// An interval of the series ends.
    Interval,
    /// A group starts.
    Start(usize),
    /// An application wants to be woken.
    Wake(usize),
    /// A server has processed a request.
    RequestProcessed(usize, u64),
    /// A group stops.
    Stop(usize),
}

/// An application and its state.
struct App {
    model: Box<dyn Application>,
    group: usize,
    rng: Rng,
    wake_at: Option<Instant>,
    stopped: bool,
}

/// Applications, sockets and timed events.
pub(crate) struct Hosts {
    clock: Clock,
    /// The time that applications see.
    now: Instant,
    /// The clock at its last reading.
    clock_read: Instant,
    apps: Vec<App>,
    /// For each group its class, the servers it has, and its applications.
    groups: Vec<(usize, u32, std::ops::Range<usize>)>,
    /// Whether the congestion control of each group has a slow-start threshold.
    has_threshold: Vec<bool>,
    event_queue: BinaryHeap<Reverse<(Instant, Due)>>,
    app_events: VecDeque<(usize, traffic::Event)>,
    connections: Connections,
    datagrams: Datagrams,
    epoll: rustix::fd::OwnedFd,
    record: Record,
    end: Instant,
}

impl Hosts {
    /// Takes the applications out of a scenario and opens what listens. Call it with the rights to enter namespaces.
    ///
    /// # Errors
    /// When a socket cannot be opened.
    pub(crate) fn new(scenario: &mut Scenario, link: &Link) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let record = Record::new(scenario.plan(), scenario.seed);
        let (mut apps, mut groups, mut event_queue) = (Vec::new(), Vec::new(), BinaryHeap::new());
        for (g, group) in scenario.groups.iter_mut().enumerate() {
            let first = apps.len();
            for (index, model) in group.apps.drain(..).enumerate() {
                let rng = Rng::stream(scenario.seed, &format!("traffic.{}.{index}", group.name));
                apps.push(App { model, group: g, rng, wake_at: None, stopped: false });
            }
            groups.push((group.class.index(), group.routes.len() as u32, first..apps.len()));
            event_queue.push(Reverse((group.start, Due::Start(g))));
            event_queue.push(Reverse((group.stop, Due::Stop(g))));
        }
        for (w, window) in scenario.windows.iter().enumerate() {
            event_queue.extend([Reverse((window.from, Due::Open(w))), Reverse((window.to, Due::Close(w)))]);
        }
        event_queue.push(Reverse((scenario.origin, Due::Interval)));
        let address: IpAddr = link.addresses.server[0];
        let controls =
            scenario.groups.iter().map(|g| setup::control(&g.profile).unwrap_or_default()).collect::<Vec<_>>();
        let connections = link.server.namespace.inside(|| Connections::listen(address, &controls, &epoll))?;
        let has_threshold =
            scenario.groups.iter().map(|g| g.profile.congestion.ends_slow_start_at_threshold()).collect();
        let of: Vec<usize> = apps.iter().map(|a| a.group).collect();
        let datagrams = Datagrams::open(link, &of, groups.len(), &epoll)?;
        let end = Instant::ZERO + scenario.duration;
        let clock = link.clock;
        let (now, app_events) = (Instant::ZERO, VecDeque::new());
        let clock_read = now;
        Ok(Hosts {
            clock,
            now,
            clock_read,
            apps,
            groups,
            has_threshold,
            event_queue,
            app_events,
            connections,
            datagrams,
            epoll,
            record,
            end,
        })
    }

    /// Runs the applications until the end of the scenario. The calling thread must be in the clients' namespace.
    ///
    /// # Errors
    /// When a socket fails unexpectedly; `Interrupted` when the run was stopped.
    pub(crate) fn run(mut self, on_progress: &mut dyn FnMut(Progress) -> Control) -> io::Result<Recorded> {
        let mut beat = Instant::ZERO;
        let mut events = Vec::with_capacity(256);
        while self.read_clock() < self.end {
            if self.now >= beat {
                beat = self.now + BEAT;
                if let Control::Stop = on_progress(Progress { now: self.now, end: self.end }) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            let next = self.event_queue.peek().map_or(self.end, |Reverse((at, _))| *at).min(self.end).min(beat);
            self.listen(&mut events, next.since(self.now))?;
            self.read_clock();
            while let Some(Reverse((at, due))) =
                self.event_queue.peek().copied().filter(|Reverse((at, _))| *at <= self.now)
            {
                self.event_queue.pop();
                self.handle_on_time(at, due);
            }
        }
        self.end_windows();
        Ok(self.record.finish())
    }

    /// Closes the windows and intervals that end with the run.
    fn end_windows(&mut self) {
        self.now = self.end;
        while let Some(Reverse((at, due))) = self.event_queue.pop().filter(|Reverse((at, _))| *at <= self.end) {
            if matches!(due, Due::Close(_) | Due::Open(_) | Due::Interval) {
                self.handle(at, due);
            }
        }
    }

    /// The scenario's time; zero before it begins.
    fn read_clock(&mut self) -> Instant {
        let now = self.clock.now();
        self.now = Instant::from_nanos(now.as_nanos().saturating_sub(setup::START.as_nanos()));
        self.clock_read = self.now;
        if now < Instant::ZERO + setup::START {
            std::thread::sleep(std::time::Duration::from_nanos((Instant::ZERO + setup::START).since(now).as_nanos()));
        }
        self.now
    }

    /// Waits for sockets, but no longer than `most`, and serves those that are ready.
    fn listen(&mut self, events: &mut Vec<epoll::Event>, most: Duration) -> io::Result<()> {
        events.clear();
        let ns = most.as_nanos();
        let patience = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&patience)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.read_clock();
        for event in events.iter() {
            let data = event.data.u64();
            if data & DATAGRAM != 0 && data & REPLY != 0 {
                self.receive_replies((data & !DATAGRAM & !REPLY) as usize);
            } else if data & DATAGRAM != 0 {
                self.receive((data & !DATAGRAM) as usize);
            } else if data & LISTENER != 0 {
                self.connections.accept((data & !LISTENER) as usize, self.now, &self.epoll);
            } else {
                self.with_connections(|c, w| c.ready(data, w));
            }
            self.deliver_events();
        }
        Ok(())
    }

    /// Handles an event under the time at which it was due: a model that is woken late would count its next interval from then, and offer
    /// less than it should.
    fn handle_on_time(&mut self, at: Instant, due: Due) {
        self.now = at;
        self.handle(at, due);
        self.deliver_events();
        self.now = self.clock_read;
    }

    fn handle(&mut self, at: Instant, due: Due) {
        match due {
            Due::Open(window) => {
                self.connections.count(&mut self.record, at);
                let counters = self.counters();
                self.record.open(window, at, counters);
                self.record.slow_start(window, self.in_slow_start());
            }
            Due::Close(window) => {
                self.connections.count(&mut self.record, at);
                let counters = self.counters();
                self.record.close(window, at, counters);
            }
            Due::Interval => {
                self.connections.count(&mut self.record, at);
                let counters = self.counters();
                self.record.interval(at, counters);
                self.event_queue.push(Reverse((at + self.record.interval_length(), Due::Interval)));
            }
            Due::Start(group) => self.deliver_to_group(group, traffic::Event::Start),
            Due::Wake(app) => {
                if self.apps[app].wake_at.is_some_and(|wish| wish <= self.now) {
                    self.apps[app].wake_at = None;
                    self.deliver_event(app, traffic::Event::Wake);
                }
            }
            Due::RequestProcessed(conn, serial) => self.with_connections(|c, w| c.request_processed(conn, serial, w)),
            Due::Stop(group) => {
                self.deliver_to_group(group, traffic::Event::Stop);
                for app in self.groups[group].2.clone() {
                    self.apps[app].stopped = true;
                    self.connections.drop_all_of(app, &mut self.record, at);
                }
            }
        }
    }

    /// Connections of each group that are in their first slow start.
    fn in_slow_start(&self) -> Vec<u64> {
        let mut all = vec![0; self.groups.len()];
        self.connections
            .without_threshold()
            .filter(|group| self.has_threshold[*group])
            .for_each(|group| all[group] += 1);
        all
    }

    /// The models' own counters, by group, summed over its applications.
    fn counters(&self) -> Vec<Vec<f64>> {
        let of = |apps: &std::ops::Range<usize>| {
            let names = self.apps.get(apps.start).map_or(0, |a| a.model.counters().len());
            (0..names).map(|i| self.apps[apps.clone()].iter().map(|a| a.model.counter(i)).sum()).collect()
        };
        self.groups.iter().map(|(_, _, apps)| of(apps)).collect()
    }

    fn with_connections(&mut self, act: impl FnOnce(&mut Connections, &mut connections::World<'_>)) {
        let mut world = connections::World {
            now: self.now,
            app_events: &mut self.app_events,
            event_queue: &mut self.event_queue,
            record: &mut self.record,
            epoll: &self.epoll,
        };
        act(&mut self.connections, &mut world);
    }

    fn deliver_to_group(&mut self, group: usize, event: traffic::Event) {
        self.app_events.extend(self.groups[group].2.clone().map(|app| (app, event)));
        self.deliver_events();
    }

    fn deliver_events(&mut self) {
        while let Some((app, event)) = self.app_events.pop_front() {
            self.deliver_event(app, event);
        }
    }

    fn deliver_event(&mut self, app: usize, event: traffic::Event) {
        if !self.apps[app].stopped {
            self.with_model(app, |model, cx| model.on_event(event, cx));
        }
    }

    /// Calls an application's model and carries out its actions, unless it has been stopped.
    fn with_model(&mut self, app: usize, call: impl FnOnce(&mut dyn Application, &mut Cx<'_>)) {
        let it = &mut self.apps[app];
        let (mut actions, servers) = (Vec::new(), self.groups[it.group].1);
        call(&mut *it.model, &mut Cx { now: self.now, servers, rng: &mut it.rng, actions: &mut actions });
        if !it.stopped {
            actions.into_iter().for_each(|action| self.act(app, action));
        }
    }

    fn act(&mut self, app: usize, action: Action) {
        let group = self.apps[app].group;
        match action {
            // One address serves for all servers: they differ by their path, and here there is one.
            Action::Open { conn, .. } => self.with_connections(|c, w| c.open(app, group, conn, w)),
            Action::Request { conn, request, response, think, close } => {
                let request = connections::Request { request, response, think, close };
                self.with_connections(|c, w| c.request(app, conn, request, w));
            }
            Action::Push { conn, bytes } => self.with_connections(|c, w| c.push(app, conn, bytes, w)),
            Action::Close { conn } => self.with_connections(|c, w| c.close(app, conn, w)),
            Action::Datagram { len, tag, ecn } => {
                self.record.sent(app).packets += 1;
                self.send_datagram(app, len, tag, ecn);
            }
            Action::Reply { len, tag, ecn } => {
                self.record.sent(app).packets += 1;
                if let Some(ends) = self.datagrams.reply(app, (len, tag), ecn, self.clock_read, &self.epoll) {
                    self.record.owns(app, record::UDP, ends, self.now);
                }
            }
            Action::WakeAt(at) => {
                self.apps[app].wake_at = Some(at);
                self.event_queue.push(Reverse((at.max(self.now), Due::Wake(app))));
            }
            Action::Done(exchange) => self.record.exchange(group, exchange, self.now),
        }
    }

    fn send_datagram(&mut self, app: usize, len: u32, tag: u64, ecn: Ecn) {
        if len > datagrams::LONGEST_WHOLE {
            self.record.sends_fragments(app);
        }
        if let Some(ends) = self.datagrams.send(app, len, tag, ecn, self.clock_read) {
            self.record.owns(app, record::UDP, ends, self.now);
        }
    }

    /// Reads the datagrams that have arrived at the clients of a group.
    fn receive(&mut self, group: usize) {
        while let Some(datagram) = self.datagrams.receive(group) {
            let Some(it) = self.apps.get(datagram.app) else { continue };
            let class = self.groups[it.group].0;
            self.record.arrived(class, self.now.since(datagram.sent));
            self.record.delivered(datagram.app, class, u64::from(datagram.len));
            self.arrived(Side::Client, datagram);
        }
    }

    /// Reads the datagrams that have arrived at the server of an application.
    fn receive_replies(&mut self, app: usize) {
        while let Some(datagram) = self.datagrams.receive_reply(app) {
            if datagram.app == app {
                self.arrived(Side::Server, datagram);
            }
        }
    }

    /// Hands a datagram to its application.
    fn arrived(&mut self, to: Side, Arrived { app, tag, len, sent }: Arrived) {
        self.with_model(app, |model, cx| model.on_arrival(Arrival { to, tag, len, sent, ecn: Ecn::NotEct }, cx));
    }
}
