//! Traffic models: what applications want from the network, sans-I/O.
//!
//! An [`Application`] is one user or one flow. It receives events ([`Event`]) and returns actions
//! ([`Action`]). A traffic model (`http-mah`, `mpeg` …) creates the applications of an experiment: its
//! [`Model`] holds the user's parameters, [`Model::prepare`] checks them and returns a [`Population`], and
//! the population creates the applications. [`registry`] lists the models by name; a program
//! adds models of its own to a [`Catalogue`].
//!
//! Data flows from a *server* across the congested link to the application's *client*; requests and
//! acknowledgements go the other way. An application says what it wants (open a connection, ask for so many bytes,
//! send a datagram now), never how it is sent, so the same model drives simulated and real sockets.

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

/// What an application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open a connection to this server (an index below [`Cx::servers`]).
    Open {
        /// The number that the application gives the connection; free to use again after `Closed` or `Failed`.
        conn: Conn,
        /// The index of the server.
        server: u32,
    },
    /// Send a request on a connection that is open or being opened; when the server has all of it, it
    /// waits for `think` and sends the response. On an open connection either may be empty: without a request the server
    /// sends unasked, without a response [`Event::Response`] says that the server has the request.
    Request {
        /// The connection.
        conn: Conn,
        /// Bytes of the request.
        request: u64,
        /// Bytes of the response; [`ENDLESS`] for as long as the connection lives.
        response: u64,
        /// How long the server thinks.
        think: Duration,
        /// Whether the server closes the connection after the response.
        close: bool,
    },
    /// Send bytes from the server's side now, on an open connection, without regard to requests. A connection on which this
    /// is done has no other responses.
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
    /// Send a datagram from the client's side now: a report, a player's command. The network treats it as it does a
    /// request; it counts as a packet of the application, but not as data received.
    Reply {
        /// Bytes of payload.
        len: u32,
        /// Data about it for the sending half of the model.
        tag: u64,
        /// The ECN codepoint that it is sent with.
        ecn: Ecn,
    },
    /// Call again at this time with [`Event::Wake`]. Replaces an earlier wish.
    WakeAt(Instant),
    /// Something that took time is done: for the statistics.
    Done(Exchange),
}

/// A response with no end.
pub const ENDLESS: u64 = u64::MAX;

/// A finished request and its response, or a finished page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What it was: the model names its kinds ([`Application::exchange_kinds`]), this is an index into them.
    pub kind: u8,
    /// When it was asked for.
    pub started: Instant,
    /// Bytes that came.
    pub bytes: u64,
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The run has reached the application's start time.
    Start,
    /// The run has reached its stop time: ask for nothing more. Open connections are closed for it.
    Stop,
    /// The time asked for with [`Action::WakeAt`].
    Wake,
    /// The connection is open.
    Opened(Conn),
    /// The oldest unanswered request of the connection has its whole response.
    Response(Conn),
    /// The connection is closed on both sides, after everything was delivered.
    Closed(Conn),
    /// The connection was given up.
    Failed(Conn),
}

/// A side of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where data go to.
    Client,
    /// Where data come from.
    Server,
}

/// A datagram that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The side where it has arrived.
    pub to: Side,
    /// Its tag.
    pub tag: u64,
    /// Bytes of payload.
    pub len: u32,
    /// When it was sent.
    pub sent: Instant,
}

/// What an application may use.
pub struct Cx<'a> {
    /// Now.
    pub now: Instant,
    /// How many servers there are.
    pub servers: u32,
    /// The application's own random stream.
    pub rng: &'a mut Rng,
    /// Its wishes, in order.
    pub actions: &'a mut Vec<Action>,
}

impl Cx<'_> {
    /// Adds a wish.
    pub fn want(&mut self, action: Action) {
        self.actions.push(action);
    }
}

/// One user or one flow.
pub trait Application: Send {
    /// Something has happened.
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>);

    /// The receiving half: a datagram of this application has arrived.
    fn on_datagram(&mut self, _tag: u64, _len: u32, _sent: Instant, _now: Instant) {}

    /// A datagram of this application has arrived at either side, for applications that answer to it or report how
    /// long it took. The others leave this as it is, and have [`Application::on_datagram`] called for the client's side.
    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        if arrival.to == Side::Client {
            self.on_datagram(arrival.tag, arrival.len, arrival.sent, cx.now);
        }
    }

    /// The names of the kinds of [`Exchange`] that this application reports.
    fn exchange_kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// Counters since the start, by name, of what the application achieved: frames received, frames
    /// playable. Their differences over a second or a window are what is reported.
    fn counters(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of the counter at `index` of [`Application::counters`].
    fn counter(&self, _index: usize) -> f64 {
        0.0
    }
}
