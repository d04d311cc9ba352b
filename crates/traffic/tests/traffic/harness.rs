//! A host without a network: it opens at once, answers after a fixed time, and checks that an application
//! keeps to the protocol of actions.

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
    /// No more requests: the server or the client closes it.
    closing: bool,
}

/// One application and its host.
pub(crate) struct Host {
    pub(crate) app: Box<dyn Application>,
    rng: Rng,
    pub(crate) servers: u32,
    /// From request to response, and from an end to the other side's.
    pub(crate) answer: Duration,
    /// Every so many-th connection fails; 0 for none.
    pub(crate) fail_every: u64,
    now: Instant,
    wake: Option<Instant>,
    /// By time and number.
    due: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    open: BTreeMap<Conn, Open>,
    opened: u64,
    stopped: bool,
    pub(crate) most_awaited: usize,
    pub(crate) opens: Vec<(Instant, u32)>,
    pub(crate) requests: Vec<(u64, u64)>,
    /// When each request was made.
    pub(crate) asked: Vec<Instant>,
    pub(crate) pushes: Vec<(Instant, u64)>,
    pub(crate) done: Vec<(Instant, Exchange)>,
    pub(crate) sent: Vec<Sent>,
    /// How long the datagram of this number is under way; nothing for one that is lost. Without this, none arrives.
    pub(crate) network: Option<fn(usize) -> Option<Duration>>,
    /// Whether the datagram of this number is marked, if it is ECN-capable.
    pub(crate) marks: Option<fn(usize) -> bool>,
    /// The network for the datagrams from the client.
    pub(crate) network_back: Option<fn(usize) -> Option<Duration>>,
    /// Datagrams under way, by the time of their arrival and a number.
    flights: BTreeMap<(Instant, u64), Arrival>,
    /// Datagrams from the client.
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
            flights: BTreeMap::new(),
            replies: Vec::new(),
            closes: 0,
        }
    }

    /// Runs from `Start` at zero to `Stop` at `until`, and a minute on.
    pub(crate) fn run(&mut self, until: Duration) {
        self.tell(Event::Start);
        let end = Instant::ZERO + until;
        self.run_to(end);
        self.stopped = true;
        self.now = end;
        self.tell(Event::Stop);
        self.run_to(end + Duration::from_secs(60));
    }

    fn run_to(&mut self, end: Instant) {
        loop {
            let due = self.due.first_key_value().map(|(k, _)| *k);
            let wake = self.wake.filter(|&w| due.is_none_or(|(at, _)| w < at));
            let next = wake.or(due.map(|d| d.0));
            if let Some(flight) = self.flights.first_entry().filter(|f| f.key().0 <= next.unwrap_or(end).min(end)) {
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
            self.happened(event);
        }
    }

    /// Settles the host's own books, then tells the application.
    fn happened(&mut self, event: Event) {
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
        self.tell(event);
    }

    fn tell(&mut self, event: Event) {
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

    fn later(&mut self, after: Duration, event: Event) {
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
                // What has no response may still be on its way.
                assert!(!open.closing && open.unanswered.iter().all(|&response| response == 0));
                open.closing = true;
                self.closes += 1;
                self.later(self.answer, Event::Closed(conn));
            }
            Action::Push { conn, bytes } => {
                assert!(self.open.contains_key(&conn) && bytes > 0, "pushed on what is not open");
                self.pushes.push((self.now, bytes));
            }
            Action::Datagram { len, tag, ecn } => {
                let marked = ecn.is_capable() && self.marks.is_some_and(|marks| marks(self.sent.len()));
                let ecn_then = if marked { Ecn::Ce } else { ecn };
                let arrival = Arrival { to: Side::Client, tag, len, sent: self.now, ecn: ecn_then };
                self.fly(self.network, self.sent.len(), arrival);
                self.sent.push(Sent { at: self.now, len, tag, ecn });
            }
            Action::Reply { len, tag, ecn } => {
                let arrival = Arrival { to: Side::Server, tag, len, sent: self.now, ecn };
                self.fly(self.network_back, self.replies.len(), arrival);
                self.replies.push(Sent { at: self.now, len, tag, ecn });
            }
            Action::WakeAt(at) => self.wake = Some(at),
            Action::Done(exchange) => {
                assert!(usize::from(exchange.kind) < self.app.exchange_kinds().len());
                self.done.push((self.now, exchange));
            }
        }
    }

    fn fly(&mut self, network: Option<fn(usize) -> Option<Duration>>, number: usize, arrival: Arrival) {
        if let Some(delay) = network.and_then(|network| network(number)) {
            self.serial += 1;
            self.flights.insert((self.now + delay, self.serial), arrival);
        }
    }

    fn opens(&mut self, conn: Conn, server: u32) {
        assert!(server < self.servers, "no server {server}");
        let before = self.open.insert(conn, Open { server, ..Open::default() });
        assert!(before.is_none(), "{conn:?} is still open");
        self.opens.push((self.now, server));
        self.opened += 1;
        if self.fail_every > 0 && self.opened.is_multiple_of(self.fail_every) {
            self.later(self.answer, Event::Failed(conn));
            self.open.get_mut(&conn).unwrap().unanswered.push_back(0);
        } else {
            self.later(Duration::ZERO, Event::Opened(conn));
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
            self.later(self.answer + think, Event::Response(conn));
            if close {
                self.later(self.answer * 2 + think, Event::Closed(conn));
            }
        }
    }

    /// The value of a counter by its name.
    pub(crate) fn counter(&self, name: &str) -> f64 {
        let index = self.app.counters().iter().position(|n| *n == name);
        self.app.counter(index.unwrap_or_else(|| panic!("there is no counter {name}")))
    }

    /// The servers that connections are open to now.
    pub(crate) fn servers_in_use(&self) -> Vec<u32> {
        self.open.values().map(|o| o.server).collect()
    }

    /// Bytes of payload in datagrams sent in `[from, to)` seconds.
    pub(crate) fn bytes_between(&self, from: f64, to: f64) -> f64 {
        let inside = self.sent.iter().filter(|s| (from..to).contains(&s.at.as_secs_f64()));
        inside.map(|s| f64::from(s.len)).sum()
    }
}
