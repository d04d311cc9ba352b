//! The hosts of a live run: applications over sockets.
//!
//! The traffic models and their host ([`Host`]) are those of the simulator, but the kernel's TCP sends the data. One
//! thread, in the clients' namespace, serves both ends: a socket belongs to the namespace of the listener that accepted
//! it, whichever thread accepts. Times are those of the scenario, which starts [`setup::START`] after the link's clock.

mod connections;
mod datagrams;
mod effort;
mod record;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::IpAddr;

use aqmkit_base::{Duration, Ecn, Instant};
use aqmkit_live::link::Link;
use aqmkit_live::timing::Clock;
use aqmkit_measure::{HostRecorder, Plan};
use aqmkit_sim::host::{Applications, Datagram, Host, Request};
use aqmkit_sim::{Control, Progress, Scenario};
use aqmkit_traffic::{Arrival, Conn, Event, Side};
use rustix::event::{Timespec, epoll};

use crate::setup;
use connections::Connections;
use datagrams::{Arrived, Datagrams};
pub(crate) use effort::could_not_fill;
use record::Record;
pub(crate) use record::Recorded;

/// Flags in the user data of an `epoll` event: the kind of socket. Without any, it is a connection.
const DATAGRAM: u64 = 1 << 62;
const LISTENER: u64 = 1 << 61;
/// Together with [`DATAGRAM`]: the server's socket of an application, which receives the client's datagrams.
const REPLY: u64 = 1 << 60;

/// The interval of progress reports.
const BEAT: Duration = Duration::from_millis(100);

/// A timed event. Events at the same time are handled in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A measurement window closes. First, so that other events at the same time are not counted in it.
    Close(usize),
    /// A measurement window opens.
    Open(usize),
    /// An interval of the time series ends.
    Interval,
    /// A traffic group starts.
    Start(usize),
    /// An application's timer expires.
    Wake(u32),
    /// A server has finished processing a request.
    RequestProcessed(usize, u64),
    /// A traffic group stops.
    Stop(usize),
}

/// Applications, sockets and timed events.
pub(crate) struct Hosts {
    clock: Clock,
    /// The current time, as the applications see it.
    now: Instant,
    /// The last reading of the clock.
    clock_read: Instant,
    apps: Applications,
    /// Whether the congestion control of each group has a slow-start threshold.
    has_threshold: Vec<bool>,
    event_queue: BinaryHeap<Reverse<(Instant, Due)>>,
    connections: Connections,
    datagrams: Datagrams,
    epoll: rustix::fd::OwnedFd,
    record: Record,
    end: Instant,
}

impl Hosts {
    /// Takes the applications out of a scenario and opens their listening sockets. The thread must be allowed to enter
    /// namespaces.
    ///
    /// # Errors
    /// When a socket cannot be opened.
    pub(crate) fn new(scenario: &mut Scenario, link: &Link) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let record = Record::new(scenario.plan(), scenario.seed);
        let apps = Applications::take(scenario);
        let mut event_queue = BinaryHeap::new();
        for (g, group) in scenario.groups.iter().enumerate() {
            event_queue.extend([Reverse((group.start, Due::Start(g))), Reverse((group.stop, Due::Stop(g)))]);
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
        let of: Vec<usize> = apps.all().iter().map(|app| usize::from(app.group)).collect();
        let datagrams = Datagrams::open(link, &of, scenario.groups.len(), &epoll)?;
        let end = Instant::ZERO + scenario.duration;
        let clock = link.clock;
        let now = Instant::ZERO;
        let clock_read = now;
        Ok(Hosts {
            clock,
            now,
            clock_read,
            apps,
            has_threshold,
            event_queue,
            connections,
            datagrams,
            epoll,
            record,
            end,
        })
    }

    /// Runs the applications to the end of the scenario. The calling thread must be in the clients' namespace.
    ///
    /// # Errors
    /// When a socket fails unexpectedly; `Interrupted` when the run was cancelled.
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

    /// Closes the windows and the interval that end with the run.
    fn end_windows(&mut self) {
        self.now = self.end;
        while let Some(Reverse((at, due))) = self.event_queue.pop().filter(|Reverse((at, _))| *at <= self.end) {
            if matches!(due, Due::Close(_) | Due::Open(_) | Due::Interval) {
                self.handle(at, due);
            }
        }
    }

    /// Reads the clock as a time of the scenario; zero before the scenario starts.
    fn read_clock(&mut self) -> Instant {
        let now = self.clock.now();
        self.now = Instant::from_nanos(now.as_nanos().saturating_sub(setup::START.as_nanos()));
        self.clock_read = self.now;
        if now < Instant::ZERO + setup::START {
            std::thread::sleep(std::time::Duration::from_nanos((Instant::ZERO + setup::START).since(now).as_nanos()));
        }
        self.now
    }

    /// Polls the sockets for at most `most`, and serves those that are ready.
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
                self.receive_replies((data & !DATAGRAM & !REPLY) as u32);
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

    /// Handles an event as if at the time when it was due. Otherwise a model that is woken late would count its next
    /// interval from the late time, and offer less load than it should.
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
                let counters = self.apps.counters(self.record.plan());
                self.record.open(window, at, counters);
                self.record.slow_start(window, self.in_slow_start());
            }
            Due::Close(window) => {
                self.connections.count(&mut self.record, at);
                let counters = self.apps.counters(self.record.plan());
                self.record.close(window, at, counters);
            }
            Due::Interval => {
                self.connections.count(&mut self.record, at);
                let counters = self.apps.counters(self.record.plan());
                self.record.interval(at, counters);
                self.event_queue.push(Reverse((at + self.record.interval_length(), Due::Interval)));
            }
            Due::Start(group) => self.deliver_to_group(group, Event::Start),
            Due::Wake(app) => self.wake(app),
            Due::RequestProcessed(conn, serial) => self.with_connections(|c, w| c.request_processed(conn, serial, w)),
            Due::Stop(group) => self.stop_group(group),
        }
    }

    /// For each group, the number of connections in their first slow start.
    fn in_slow_start(&self) -> Vec<u64> {
        let mut all = vec![0; self.record.plan().groups.len()];
        self.connections
            .without_threshold()
            .filter(|group| self.has_threshold[*group])
            .for_each(|group| all[group] += 1);
        all
    }

    fn with_connections(&mut self, act: impl FnOnce(&mut Connections, &mut connections::World<'_>)) {
        let mut world = connections::World {
            now: self.now,
            apps: &mut self.apps,
            event_queue: &mut self.event_queue,
            record: &mut self.record,
            epoll: &self.epoll,
        };
        act(&mut self.connections, &mut world);
    }

    /// Reads the datagrams that have arrived at the client socket of a group.
    fn receive(&mut self, group: usize) {
        while let Some(datagram) = self.datagrams.receive(group) {
            self.deliver(Side::Client, datagram);
        }
    }

    /// Reads the datagrams that have arrived at the server socket of an application.
    fn receive_replies(&mut self, app: u32) {
        while let Some(datagram) = self.datagrams.receive_reply(app) {
            if datagram.app == app {
                self.deliver(Side::Server, datagram);
            }
        }
    }

    /// Passes a datagram to its application.
    fn deliver(&mut self, to: Side, Arrived { app, tag, len, sent }: Arrived) {
        if (app as usize) < self.apps.all().len() {
            self.deliver_datagram(app, Arrival { to, tag, len, sent, ecn: Ecn::NotEct });
        }
    }
}

impl Host for Hosts {
    fn now(&self) -> Instant {
        self.now
    }

    fn applications(&mut self) -> &mut Applications {
        &mut self.apps
    }

    fn measurements(&mut self) -> (&Plan, &mut HostRecorder) {
        self.record.hosts()
    }

    /// One address stands for all servers: they would differ only by their paths, and a live link has one path.
    fn open_connection(&mut self, app: u32, conn: Conn, _server: u32) {
        let group = usize::from(self.apps[app].group);
        self.with_connections(|c, w| c.open(app, group, conn, w));
    }

    fn send_request(&mut self, connection: u32, request: Request) {
        self.with_connections(|c, w| c.request(connection as usize, request, w));
    }

    fn push(&mut self, connection: u32, bytes: u64) {
        self.with_connections(|c, w| c.push(connection as usize, bytes, w));
    }

    fn close_connection(&mut self, connection: u32) {
        self.with_connections(|c, w| c.close(connection as usize, w));
    }

    fn abandon_connection(&mut self, connection: u32) {
        self.connections.abandon(connection as usize, &mut self.record, self.now);
    }

    fn send_datagram(&mut self, app: u32, to: Side, datagram: Datagram) {
        if datagram.len > datagrams::LONGEST_WHOLE {
            self.record.sends_fragments(app);
        }
        let opened = match to {
            Side::Client => self.datagrams.send(app, datagram, self.clock_read),
            Side::Server => self.datagrams.reply(app, datagram, self.clock_read, &self.epoll),
        };
        if let Some(ends) = opened {
            self.record.owns(app, record::UDP, ends, self.now);
        }
    }

    fn schedule_wake(&mut self, app: u32, at: Instant) {
        self.event_queue.push(Reverse((at, Due::Wake(app))));
    }
}
