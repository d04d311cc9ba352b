//! The host of applications: it passes events to the traffic models, and carries out the actions that they request.
//!
//! Simulated and live runs share it, so that the same rules hold in both: when a wake-up is superseded, what a stopped
//! application may still do, and what is counted. Only the network differs, and implements [`Host`]: the simulator has
//! simulated connections, a live run has sockets.

mod applications;
mod open;

pub use applications::{App, Applications};

use aqmkit_base::{Duration, Ecn, Instant};
use aqmkit_measure::{FinishedExchange, HostRecorder, Plan};
use aqmkit_traffic::{Action, Application, Arrival, Conn, Cx, Event, Exchange, Side};

/// A request of an application to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the response; [`ENDLESS`](aqmkit_traffic::ENDLESS) for as long as the connection lives.
    pub response: u64,
    /// The server's processing time.
    pub think: Duration,
    /// Whether the server closes the connection after the response.
    pub close: bool,
}

/// A datagram to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of payload.
    pub len: u32,
    /// Data for the receiving half of the model.
    pub tag: u64,
    /// The ECN codepoint that it is sent with.
    pub ecn: Ecn,
}

/// Runs applications. The required methods give access to the network of a run; the provided methods are common to all
/// runs.
///
/// Applications are numbered as in the results. A connection has two numbers: the application's, a [`Conn`], and the
/// network's. [`Applications`] maps the first to the second: an implementation adds each connection that it opens and
/// removes it when it ends.
pub trait Host: Sized {
    /// The time that applications see.
    fn now(&self) -> Instant;

    /// The applications.
    fn applications(&mut self) -> &mut Applications;

    /// The plan of the measurement, and the recorder.
    fn measurements(&mut self) -> (&Plan, &mut HostRecorder);

    /// Starts to open a connection of an application to a server.
    fn open_connection(&mut self, app: u32, conn: Conn, server: u32);

    /// Sends a request on an open connection.
    fn send_request(&mut self, connection: u32, request: Request);

    /// Sends data from the server of an open connection.
    fn push(&mut self, connection: u32, bytes: u64);

    /// Closes an open connection from the client's side.
    fn close_connection(&mut self, connection: u32);

    /// Aborts a connection, without an event; its application has already given it up.
    fn abandon_connection(&mut self, connection: u32);

    /// Sends a datagram of an application to the given side, from the other side.
    fn send_datagram(&mut self, app: u32, to: Side, datagram: Datagram);

    /// Schedules a call of [`Host::wake`] at this time, which has not passed.
    fn schedule_wake(&mut self, app: u32, at: Instant);

    /// Delivers all pending events, including those that the deliveries cause.
    #[inline(always)]
    fn deliver_events(&mut self) {
        while let Some((app, event)) = self.applications().next_event() {
            self.deliver_event(app, event);
        }
    }

    /// Delivers an event to an application, unless it has been stopped.
    fn deliver_event(&mut self, app: u32, event: Event) {
        if !self.applications()[app].stopped {
            with_model(self, app, |model, cx| model.on_event(event, cx));
        }
    }

    /// Delivers an event to the applications of a group.
    fn deliver_to_group(&mut self, group: usize, event: Event) {
        members(self, group).into_iter().for_each(|app| self.deliver_event(app, event));
    }

    /// A datagram has reached its receiver.
    fn deliver_datagram(&mut self, app: u32, arrival: Arrival) {
        if arrival.to == Side::Client {
            let latency = self.now().since(arrival.sent);
            let group = usize::from(self.applications()[app].group);
            let (plan, recorder) = self.measurements();
            let class = plan.groups[group].class;
            recorder.arrived(class, latency);
            recorder.delivered(app, class, u64::from(arrival.len));
        }
        with_model(self, app, |model, cx| model.on_arrival(arrival, cx));
    }

    /// A wake-up of an application, ignored if it has asked for a later one since.
    fn wake(&mut self, app: u32) {
        let now = self.now();
        if self.applications().is_due(app, now) {
            self.deliver_event(app, Event::Wake);
        }
    }

    /// Stops a group: notifies its applications and ends their connections at once.
    fn stop_group(&mut self, group: usize) {
        self.deliver_to_group(group, Event::Stop);
        members(self, group).into_iter().for_each(|app| self.stop_app(app));
    }

    /// Stops an application that has been notified, and ends its connections at once.
    fn stop_app(&mut self, app: u32) {
        let open = self.applications().stop(app);
        for connection in open.iter() {
            self.abandon_connection(connection);
        }
    }
}

/// The applications of a group.
fn members(host: &mut impl Host, group: usize) -> Vec<u32> {
    host.measurements().0.groups[group].members().map(|app| app as u32).collect()
}

/// Calls the model of an application and carries out its actions, unless it has been stopped.
fn with_model(host: &mut impl Host, app: u32, call: impl FnOnce(&mut dyn Application, &mut Cx<'_>)) {
    let now = host.now();
    let (mut actions, stopped) = host.applications().call(app, now, call);
    for action in actions.drain(..).filter(|_| !stopped) {
        perform(host, app, action);
    }
    host.applications().reuse(actions);
}

/// Carries out an action. An action on a connection that has ended has no effect: the application will be notified of
/// the end.
fn perform(host: &mut impl Host, app: u32, action: Action) {
    match action {
        Action::Open { conn, server } => {
            host.measurements().1.sent(app).connections += 1;
            host.open_connection(app, conn, server);
        }
        Action::Request { conn, request, response, think, close } => {
            if let Some(connection) = host.applications().connection(app, conn) {
                host.send_request(connection, Request { request, response, think, close });
            }
        }
        Action::Push { conn, bytes } => {
            if let Some(connection) = host.applications().connection(app, conn) {
                host.push(connection, bytes);
            }
        }
        Action::Close { conn } => {
            if let Some(connection) = host.applications().connection(app, conn) {
                host.close_connection(connection);
            }
        }
        Action::Datagram { len, tag, ecn } => send(host, app, Side::Client, Datagram { len, tag, ecn }),
        Action::Reply { len, tag, ecn } => send(host, app, Side::Server, Datagram { len, tag, ecn }),
        Action::WakeAt(at) => {
            host.applications().wake_at(app, at);
            let at = at.max(host.now());
            host.schedule_wake(app, at);
        }
        Action::Done(exchange) => record_exchange(host, app, exchange),
    }
}

fn send(host: &mut impl Host, app: u32, to: Side, datagram: Datagram) {
    host.measurements().1.sent(app).packets += 1;
    host.send_datagram(app, to, datagram);
}

fn record_exchange(host: &mut impl Host, app: u32, exchange: Exchange) {
    let now = host.now();
    let (group, kind) = (usize::from(host.applications()[app].group), usize::from(exchange.kind));
    let (plan, recorder) = host.measurements();
    recorder.exchange(plan, FinishedExchange { group, kind, started: exchange.started, bytes: exchange.bytes }, now);
}
