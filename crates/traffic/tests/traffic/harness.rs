//! A host without a network: connections open at once, responses arrive after a fixed time. It checks that an
//! application keeps to the protocol of actions.

use std::collections::{BTreeMap, VecDeque};

use aqmkit_base::{Duration, Ecn, Instant, Rng};
use aqmkit_traffic::registry::Spec;
use aqmkit_traffic::{Action, Application, Arrival, Conn, Cx, ENDLESS, Event, Exchange, Population, Side};

/// Reads the parameters of a model from JSON.
pub(crate) fn spec(kind: &str, json: &str) -> Spec {
    Spec::read(kind, &mut serde_json::Deserializer::from_str(json)).unwrap()
}

/// The population of a model with parameters in JSON.
pub(crate) fn population(kind: &str, json: &str) -> Box<dyn Population> {
    spec(kind, json).prepare(&[]).unwrap()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) len: u32,
    pub(crate) tag: u64,
    pub(crate) ecn: Ecn,
}

#[derive(Debug, Default)]
struct Open {
    server: u32,
    unanswered: VecDeque<u64>,
    /// No more requests may follow: the server or the client closes the connection.
    closing: bool,
}

/// One application and its host.
pub(crate) struct Host {
    pub(crate) app: Box<dyn Application>,
    rng: Rng,
    pub(crate) servers: u32,
    /// Time from a request to its response, and from a side's close to the other's.
    pub(crate) answer: Duration,
    /// Every `fail_every`-th connection fails; 0 for none.
    pub(crate) fail_every: u64,
    now: Instant,
    wake: Option<Instant>,
    /// Scheduled events by time and serial number.
    due: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    open: BTreeMap<Conn, Open>,
    opened: u64,
    stopped: bool,
    pub(crate) most_awaited: usize,
    pub(crate) opens: Vec<(Instant, u32)>,
    pub(crate) requests: Vec<(u64, u64)>,
    /// Times of the requests.
    pub(crate) asked: Vec<Instant>,
    pub(crate) pushes: Vec<(Instant, u64)>,
    pub(crate) done: Vec<(Instant, Exchange)>,
    pub(crate) sent: Vec<Sent>,
    /// Transit time of the n-th datagram; `None` if it is lost. Without a network, no datagram arrives.
    pub(crate) network: Option<fn(usize) -> Option<Duration>>,
    /// Whether the n-th datagram is marked, if it is ECN-capable.
    pub(crate) marks: Option<fn(usize) -> bool>,
    /// The same as `network`, for datagrams from the client.
    pub(crate) network_back: Option<fn(usize) -> Option<Duration>>,
    /// Datagrams in transit, by arrival time and serial number.
    in_transit: BTreeMap<(Instant, u64), Arrival>,
    /// Datagrams that the client has sent.
    pub(crate) replies: Vec<Sent>,
    pub(crate) closes: usize,
}

impl Host {
    pub(crate) fn new(population: &dyn Population, index: usize, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, &format!("app.{index}"));
        Host {
            app: population.make(index, &mut rng),
            rng,
            servers: 5,
            answer: Duration::from_millis(100),
            fail_every: 0,
            now: Instant::ZERO,
            wake: None,
            due: BTreeMap::new(),
            serial: 0,
            open: BTreeMap::new(),
            opened: 0,
            stopped: false,
            most_awaited: 0,
            opens: Vec::new(),
            requests: Vec::new(),
            asked: Vec::new(),
            pushes: Vec::new(),
            done: Vec::new(),
            sent: Vec::new(),
            network: None,
            marks: None,
            network_back: None,
            in_transit: BTreeMap::new(),
            replies: Vec::new(),
            closes: 0,
        }
    }

    /// Runs from `Start` at zero to `Stop` at `until`, and one minute further.
    pub(crate) fn run(&mut self, until: Duration) {
        self.notify(Event::Start);
        let end = Instant::ZERO + until;
        self.run_to(end);
        self.stopped = true;
        self.now = end;
        self.notify(Event::Stop);
        self.run_to(end + Duration::from_secs(60));
    }

    fn run_to(&mut self, end: Instant) {
        loop {
            let due = self.due.first_key_value().map(|(k, _)| *k);
            let wake = self.wake.filter(|&w| due.is_none_or(|(at, _)| w < at));
            let next = wake.or(due.map(|d| d.0));
            if let Some(flight) = self.in_transit.first_entry().filter(|f| f.key().0 <= next.unwrap_or(end).min(end)) {
                self.now = flight.key().0;
                let arrival = flight.remove();
                self.call(|app, cx| app.on_arrival(arrival, cx));
                continue;
            }
            let Some(at) = next.filter(|&at| at <= end) else { return };
            assert!(at >= self.now, "an application asked for the past");
            self.now = at;
            let event = if wake.is_some() {
                self.wake = None;
                Event::Wake
            } else {
                self.due.remove(&due.unwrap()).unwrap()
            };
            self.dispatch(event);
        }
    }

    /// Updates the host's own state, then passes the event to the application.
    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Response(conn) => {
                let open = self.open.get_mut(&conn).expect("a response needs a connection");
                open.unanswered.pop_front();
            }
            Event::Closed(conn) | Event::Failed(conn) => {
                self.open.remove(&conn);
            }
            _ => {}
        }
        self.notify(event);
    }

    fn notify(&mut self, event: Event) {
        self.call(|app, cx| app.on_event(event, cx));
    }

    fn call(&mut self, call: impl FnOnce(&mut dyn Application, &mut Cx<'_>)) {
        let mut actions = Vec::new();
        let mut cx = Cx { now: self.now, servers: self.servers, rng: &mut self.rng, actions: &mut actions };
        call(&mut *self.app, &mut cx);
        for action in actions {
            self.act(action);
        }
    }

    fn schedule(&mut self, after: Duration, event: Event) {
        self.serial += 1;
        self.due.insert((self.now + after, self.serial), event);
    }

    fn act(&mut self, action: Action) {
        assert!(!self.stopped || matches!(action, Action::WakeAt(_)), "after Stop it wanted {action:?}");
        match action {
            Action::Open { conn, server } => self.opens(conn, server),
            Action::Request { conn, request, response, think, close } => {
                self.request(conn, (request, response), think, close);
            }
            Action::Close { conn } => {
                let open = self.open.get_mut(&conn).expect("closed what is not open");
                // Requests without a response may still be in transit.
                assert!(!open.closing && open.unanswered.iter().all(|&response| response == 0));
                open.closing = true;
                self.closes += 1;
                self.schedule(self.answer, Event::Closed(conn));
            }
            Action::Push { conn, bytes } => {
                assert!(self.open.contains_key(&conn) && bytes > 0, "pushed on what is not open");
                self.pushes.push((self.now, bytes));
            }
            Action::Datagram { len, tag, ecn } => {
                let marked = ecn.is_capable() && self.marks.is_some_and(|marks| marks(self.sent.len()));
                let ecn_then = if marked { Ecn::Ce } else { ecn };
                let arrival = Arrival { to: Side::Client, tag, len, sent: self.now, ecn: ecn_then };
                self.transmit(self.network, self.sent.len(), arrival);
                self.sent.push(Sent { at: self.now, len, tag, ecn });
            }
            Action::Reply { len, tag, ecn } => {
                let arrival = Arrival { to: Side::Server, tag, len, sent: self.now, ecn };
                self.transmit(self.network_back, self.replies.len(), arrival);
                self.replies.push(Sent { at: self.now, len, tag, ecn });
            }
            Action::WakeAt(at) => self.wake = Some(at),
            Action::Done(exchange) => {
                assert!(usize::from(exchange.kind) < self.app.exchange_kinds().len());
                self.done.push((self.now, exchange));
            }
        }
    }

    fn transmit(&mut self, network: Option<fn(usize) -> Option<Duration>>, number: usize, arrival: Arrival) {
        if let Some(delay) = network.and_then(|network| network(number)) {
            self.serial += 1;
            self.in_transit.insert((self.now + delay, self.serial), arrival);
        }
    }

    fn opens(&mut self, conn: Conn, server: u32) {
        assert!(server < self.servers, "no server {server}");
        let before = self.open.insert(conn, Open { server, ..Open::default() });
        assert!(before.is_none(), "{conn:?} is still open");
        self.opens.push((self.now, server));
        self.opened += 1;
        if self.fail_every > 0 && self.opened.is_multiple_of(self.fail_every) {
            self.schedule(self.answer, Event::Failed(conn));
            self.open.get_mut(&conn).unwrap().unanswered.push_back(0);
        } else {
            self.schedule(Duration::ZERO, Event::Opened(conn));
        }
    }

    fn request(&mut self, conn: Conn, (request, response): (u64, u64), think: Duration, close: bool) {
        let failing = self.fail_every > 0 && self.opened.is_multiple_of(self.fail_every);
        let open = self.open.get_mut(&conn).expect("a request needs an open connection");
        assert!(!open.closing, "a request on a connection that is being closed");
        assert!(request > 0 || response > 0);
        open.closing = close;
        if failing && open.unanswered.front() == Some(&0) {
            return;
        }
        open.unanswered.push_back(response);
        self.requests.push((request, response));
        self.asked.push(self.now);
        let awaited = self.open.values().map(|o| o.unanswered.len()).sum();
        self.most_awaited = self.most_awaited.max(awaited);
        if response != ENDLESS {
            self.schedule(self.answer + think, Event::Response(conn));
            if close {
                self.schedule(self.answer * 2 + think, Event::Closed(conn));
            }
        }
    }

    /// Reads a counter by name.
    pub(crate) fn counter(&self, name: &str) -> f64 {
        let index = self.app.counters().iter().position(|n| *n == name);
        self.app.counter(index.unwrap_or_else(|| panic!("there is no counter {name}")))
    }

    /// Servers with open connections.
    pub(crate) fn servers_in_use(&self) -> Vec<u32> {
        self.open.values().map(|o| o.server).collect()
    }

    /// Payload bytes of the datagrams sent in `[from, to)` seconds.
    pub(crate) fn bytes_between(&self, from: f64, to: f64) -> f64 {
        let inside = self.sent.iter().filter(|s| (from..to).contains(&s.at.as_secs_f64()));
        inside.map(|s| f64::from(s.len)).sum()
    }
}
