//! Traffic models: the demands of applications on the network, without I/O.
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
        /// The number that the application gives the connection; free to use again after `Closed` or `Failed`.
        conn: Conn,
        /// The index of the server.
        server: u32,
    },
    /// Send a request on a connection that is open or being opened; when the server has received all of it, it waits
    /// for `think` and sends the response. On an open connection either may be empty: with an empty request the server
    /// sends unasked; with an empty response, [`Event::Response`] reports that the server has received the request.
    Request {
        /// The connection.
        conn: Conn,
        /// Bytes of the request.
        request: u64,
        /// Bytes of the response; [`ENDLESS`] for as long as the connection lives.
        response: u64,
        /// The server's processing time.
        think: Duration,
        /// Whether the server closes the connection after the response.
        close: bool,
    },
    /// Send bytes from the server's side now, on an open connection, independent of requests. Such a connection has no
    /// other responses.
    Push {
        /// The connection.
        conn: Conn,
        /// How many.
        bytes: u64,
    },
    /// Close the connection from the client's side.
    Close {
        /// The connection.
        conn: Conn,
    },
    /// Send a datagram from the server's side now.
    Datagram {
        /// Bytes of payload.
        len: u32,
        /// Data about it for the receiving half of the model.
        tag: u64,
        /// The ECN codepoint that it is sent with.
        ecn: Ecn,
    },
    /// Send a datagram from the client's side now: a report, a player's command. The network treats it like a request;
    /// it counts as a packet of the application, but not as received data.
    Reply {
        /// Bytes of payload.
        len: u32,
        /// Data about it for the sending half of the model.
        tag: u64,
        /// The ECN codepoint that it is sent with.
        ecn: Ecn,
    },
    /// Call the application again at this time with [`Event::Wake`]. Replaces an earlier request.
    WakeAt(Instant),
    /// An exchange has finished; for statistics.
    Done(Exchange),
}

/// A response with no end.
pub const ENDLESS: u64 = u64::MAX;

/// A finished request and its response, or a finished page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Its kind, as an index into [`Application::exchange_kinds`].
    pub kind: u8,
    /// The time of the request.
    pub started: Instant,
    /// The number of bytes received.
    pub bytes: u64,
}

/// An event of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The run has reached the application's start time.
    Start,
    /// The run has reached the application's stop time: it must request nothing more. Its open connections are closed.
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

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The side where it arrived.
    pub to: Side,
    /// Its tag.
    pub tag: u64,
    /// Bytes of payload.
    pub len: u32,
    /// The time of transmission.
    pub sent: Instant,
    /// Its ECN codepoint: `Ce` where a queue has marked it. Live hosts do not read it, and say `NotEct`.
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
    /// The requested actions, in order.
    pub actions: &'a mut Vec<Action>,
}

impl Cx<'_> {
    /// Adds an action.
    pub fn want(&mut self, action: Action) {
        self.actions.push(action);
    }
}

/// One user or one flow.
pub trait Application: Send {
    /// An event has occurred.
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>);

    /// The receiving half: a datagram of this application has arrived.
    fn on_datagram(&mut self, _tag: u64, _len: u32, _sent: Instant, _now: Instant) {}

    /// A datagram of this application has arrived at either side, for applications that answer it or report its delay.
    /// By default, [`Application::on_datagram`] is called for the client's side.
    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        if arrival.to == Side::Client {
            self.on_datagram(arrival.tag, arrival.len, arrival.sent, cx.now);
        }
    }

    /// Whether it reacts to [`Arrival::ecn`], which only simulated hosts report.
    fn reads_marks(&self) -> bool {
        false
    }

    /// The names of the kinds of [`Exchange`] that this application reports.
    fn exchange_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Counters since the start, by name, such as received and playable frames. Results report their increase over a
    /// second or a window.
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of the counter at `index` of [`Application::counters`].
    fn counter(&self, _index: usize) -> f64 {
        0.0
    }
}
