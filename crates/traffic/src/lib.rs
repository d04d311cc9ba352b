//! Traffic models: what applications send and when. No I/O.
//!
//! An [`Application`] is one user or one flow. It receives events ([`Event`]) and returns actions
//! ([`Action`]). A traffic model (`http-mah`, `mpeg` …) creates the applications of an experiment: its
//! [`Model`] holds the user's parameters, [`Model::prepare`] checks them and returns a [`Population`], and
//! the population creates the applications. [`registry`] lists the models by name; a program
//! adds models of its own to a [`Catalogue`].
//!
//! Data flows from a *server* across the congested link to the application's *client*; requests and acknowledgements go
//! the other way. An application requests actions (open a connection, request a number of bytes, send a datagram now),
//! independent of the transport, so the same model drives simulated and real sockets.

#![forbid(unsafe_code)]

pub mod abt;
mod added;
mod browser;
pub mod bulk;
pub mod call;
pub mod catalogue;
pub mod cbr;
pub mod dash;
mod datagrams;
mod downloads;
pub mod empirical;
pub mod game;
pub mod http_mah;
pub mod http_unc;
pub mod law;
pub mod mah_tables;
pub mod model;
pub mod mpeg;
pub mod on_off;
pub mod pages;
pub mod pcap;
pub mod ramp;
pub mod recording;
pub mod registry;
pub mod short_flows;
pub mod videoconf;
pub mod voip;
pub mod web;

pub use added::Added;
pub use catalogue::{Addition, Catalogue};
pub use model::{Data, Format, Model, ParamError, Population};

use aqmkit_base::{Duration, Ecn, Instant, Rng};

/// One of an application's connections, by the application's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Conn(pub u16);

/// An action that an application requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection to this server (an index below [`Cx::servers`]).
    Open {
        /// The application's number for the connection; it can be reused after `Closed` or `Failed`.
        conn: Conn,
        /// The index of the server.
        server: u32,
    },
    /// Send a request on a connection that is open or being opened; when the server has received all of it, it waits
    /// for `think` and sends the response. On an open connection either may be empty: with an empty request the server
    /// sends without being asked; with an empty response, [`Event::Response`] reports that the server has received the
    /// request.
    Request {
        /// The connection, open or being opened.
        conn: Conn,
        /// Bytes of the request.
        request: u64,
        /// Bytes of the response; [`ENDLESS`] to send until the connection closes.
        response: u64,
        /// The server's processing time.
        think: Duration,
        /// Whether the server closes the connection after the response.
        close: bool,
    },
    /// Send bytes from the server's side now, on an open connection, independently of requests. A connection with
    /// pushes has no responses.
    Push {
        /// The connection, which must be open.
        conn: Conn,
        /// Number of bytes.
        bytes: u64,
    },
    /// Close the connection from the client's side.
    Close {
        /// The connection to close; its number is free after `Closed`.
        conn: Conn,
    },
    /// Send a datagram from the server's side now.
    Datagram {
        /// Bytes of payload.
        len: u32,
        /// Passed to the model's receiving half.
        tag: u64,
        /// ECN codepoint of the packet.
        ecn: Ecn,
    },
    /// Send a datagram from the client's side now: a report, or a player's command. The network treats it like a
    /// request; it counts as a packet of the application, but not as received data.
    Reply {
        /// Bytes of payload.
        len: u32,
        /// Passed to the model's sending half.
        tag: u64,
        /// ECN codepoint of the packet.
        ecn: Ecn,
    },
    /// Call the application at this time with [`Event::Wake`]. Replaces an earlier `WakeAt`.
    WakeAt(Instant),
    /// An exchange has finished; for statistics.
    Done(Exchange),
}

/// The response size of an endless transfer.
pub const ENDLESS: u64 = u64::MAX;

/// A finished request and its response, or a finished page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Index into [`Application::exchange_kinds`].
    pub kind: u8,
    /// When it was requested.
    pub started: Instant,
    /// Received bytes.
    pub bytes: u64,
}

/// An event that an application is informed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The run has reached the application's start time.
    Start,
    /// The run has reached the application's stop time: it must not request anything more. The host closes its open
    /// connections.
    Stop,
    /// The time requested with [`Action::WakeAt`].
    Wake,
    /// The connection is open.
    Opened(Conn),
    /// The whole response to the oldest unanswered request of the connection has arrived.
    Response(Conn),
    /// The connection is closed on both sides, after everything was delivered.
    Closed(Conn),
    /// The connection failed.
    Failed(Conn),
}

/// A side of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The receiver of data.
    Client,
    /// The sender of data.
    Server,
}

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The side where it arrived.
    pub to: Side,
    /// The tag that its sender gave it.
    pub tag: u64,
    /// Payload bytes.
    pub len: u32,
    /// When it was sent.
    pub sent: Instant,
    /// ECN codepoint at arrival: `Ce` if a queue has marked it. Live hosts do not read it; there it is `NotEct`.
    pub ecn: Ecn,
}

/// The context of a call of an application.
pub struct Cx<'a> {
    /// The present time.
    pub now: Instant,
    /// The number of servers.
    pub servers: u32,
    /// The application's own random stream.
    pub rng: &'a mut Rng,
    /// Requested actions, in order.
    pub actions: &'a mut Vec<Action>,
}

impl Cx<'_> {
    /// Requests an action.
    pub fn want(&mut self, action: Action) {
        self.actions.push(action);
    }
}

/// One user or one flow.
pub trait Application: Send {
    /// Handles an event.
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>);

    /// Handles a datagram that has arrived at the client.
    fn on_datagram(&mut self, _tag: u64, _len: u32, _sent: Instant, _now: Instant) {}

    /// Handles a datagram that has arrived at either side; for applications that answer datagrams or report their
    /// delay. The default passes those that arrive at the client to [`Application::on_datagram`].
    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        if arrival.to == Side::Client {
            self.on_datagram(arrival.tag, arrival.len, arrival.sent, cx.now);
        }
    }

    /// Whether it uses [`Arrival::ecn`], which only simulated hosts report.
    fn reads_marks(&self) -> bool {
        false
    }

    /// The names of the kinds of [`Exchange`] that this application reports.
    fn exchange_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Names of counters since the start, such as received and playable frames. Results report their increase per
    /// second or over a window.
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of the counter at `index` of [`Application::counters`].
    fn counter(&self, _index: usize) -> f64 {
        0.0
    }
}
