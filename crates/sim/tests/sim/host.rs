//! The host of applications, which simulated and live runs share, over a network that a test controls.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::{Arc, Mutex};

use crate::common::{dumbbell, group, spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use aqmkit_measure::{HostRecorder, Plan, Recorder};
use aqmkit_sim::host::{Applications, Datagram, Host, Request};
use aqmkit_sim::scenario::{Delays, Group, Route};
use aqmkit_traffic::{Action, Application, Arrival, Conn, Cx, Event, Exchange, Side};
use aqmkit_transport::Profile;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A call of the network by its host.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Open(u32, Conn, u32),
    Request(u32, u64),
    Push(u32, u64),
    Close(u32),
    Abandon(u32),
    Send(u32, Side, u32),
    Wake(u32, Instant),
}

/// A network that writes down what it is asked. Connections that are closed end at once, as between sockets of one machine.
struct Network {
    now: Instant,
    apps: Applications,
    recorder: Recorder,
    asked: Vec<Asked>,
    /// By number: application, and its own number for the connection.
    opened: Vec<(u32, Conn)>,
}

impl Network {
    fn new(groups: Vec<Group>) -> Self {
        let mut scenario = dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), groups, 0, 10);
        let recorder = Recorder::new(scenario.plan());
        let apps = Applications::take(&mut scenario);
        let mut network = Network { now: at(0), apps, recorder, asked: Vec::new(), opened: Vec::new() };
        network.recorder.open(0, at(0), network.apps.counters(network.recorder.plan()));
        network
    }

    /// Delivers an event to the only application, and returns what was asked because of it.
    fn tell(&mut self, event: Event) -> Vec<Asked> {
        self.apps.notify(0, event);
        self.deliver_events();
        self.take()
    }

    fn take(&mut self) -> Vec<Asked> {
        std::mem::take(&mut self.asked)
    }
}

impl Host for Network {
    fn now(&self) -> Instant {
        self.now
    }

    fn applications(&mut self) -> &mut Applications {
        &mut self.apps
    }

    fn measurements(&mut self) -> (&Plan, &mut HostRecorder) {
        self.recorder.hosts()
    }

    fn open_connection(&mut self, app: u32, conn: Conn, server: u32) {
        self.asked.push(Asked::Open(app, conn, server));
        self.apps.add_connection(app, conn, self.opened.len() as u32);
        self.opened.push((app, conn));
    }

    fn send_request(&mut self, connection: u32, request: Request) {
        self.asked.push(Asked::Request(connection, request.response));
    }

    fn push(&mut self, connection: u32, bytes: u64) {
        self.asked.push(Asked::Push(connection, bytes));
    }

    fn close_connection(&mut self, connection: u32) {
        self.asked.push(Asked::Close(connection));
        let (app, conn) = self.opened[connection as usize];
        self.apps.remove_connection(app, connection);
        self.apps.notify(app, Event::Closed(conn));
    }

    fn abandon_connection(&mut self, connection: u32) {
        self.asked.push(Asked::Abandon(connection));
    }

    fn send_datagram(&mut self, app: u32, to: Side, datagram: Datagram) {
        self.asked.push(Asked::Send(app, to, datagram.len));
    }

    fn schedule_wake(&mut self, app: u32, at: Instant) {
        self.asked.push(Asked::Wake(app, at));
    }
}

/// The answer to an event: actions, by a function of the event.
type Answers = fn(Event) -> Vec<Action>;

/// Answers events, writes them down, and replies to each datagram.
struct Answering {
    answers: Answers,
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<Event>>>;

impl Application for Answering {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        self.heard.lock().unwrap().push(event);
        cx.actions.extend((self.answers)(event));
    }

    fn on_arrival(&mut self, _: Arrival, cx: &mut Cx<'_>) {
        cx.want(Action::Reply { len: 50, tag: 0, ecn: Ecn::NotEct });
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["page"]
    }

    fn counters(&self) -> &'static [&'static str] {
        &["events"]
    }

    fn counter(&self, _: usize) -> f64 {
        self.heard.lock().unwrap().len() as f64
    }
}

/// Applications that answer with these actions, and the events they receive.
fn answering(count: usize, answers: Answers) -> (Group, Heard) {
    let heard = Heard::default();
    let apps =
        (0..count).map(|_| -> Box<dyn Application> { Box::new(Answering { answers, heard: Arc::clone(&heard) }) });
    (group("answering", apps.collect(), Profile::rfc(), Delays::None), heard)
}

/// One application that gives these answers, on its network.
fn alone(answers: Answers) -> (Network, Heard) {
    let (group, heard) = answering(1, answers);
    (Network::new(vec![group]), heard)
}

fn open(conn: u16) -> Action {
    Action::Open { conn: Conn(conn), server: 0 }
}

fn request(conn: u16, response: u64) -> Action {
    Action::Request { conn: Conn(conn), request: 100, response, think: Duration::ZERO, close: false }
}

/// An application closes its connections when it is stopped, and opens another when one has closed. It must not begin again because connections close
/// while its group is being stopped.
#[test]
fn events_that_a_stop_causes_are_not_delivered() {
    let (group, heard) = answering(2, |event| match event {
        Event::Start => vec![open(0), open(1)],
        Event::Stop => vec![Action::Close { conn: Conn(0) }],
        Event::Closed(_) => vec![open(2)],
        _ => Vec::new(),
    });
    let mut network = Network::new(vec![group]);
    network.deliver_to_group(0, Event::Start);
    assert_eq!(network.take().len(), 4);
    network.stop_group(0);
    network.deliver_events();
    assert_eq!(network.take(), [Asked::Close(0), Asked::Close(2), Asked::Abandon(1), Asked::Abandon(3)]);
    assert_eq!(*heard.lock().unwrap(), [Event::Start, Event::Start, Event::Stop, Event::Stop]);
}

#[test]
fn inactive_applications_never_start() {
    let (group, heard) = answering(1, |_| vec![open(0)]);
    let mut network = Network::new(vec![Group { active: false, ..group }]);
    network.deliver_to_group(0, Event::Start);
    assert_eq!((network.take(), heard.lock().unwrap().len()), (Vec::new(), 0));
}

#[test]
fn a_wake_up_is_superseded_by_a_later_request() {
    let (mut network, heard) = alone(|event| match event {
        Event::Start => vec![Action::WakeAt(at(10)), Action::WakeAt(at(20))],
        _ => Vec::new(),
    });
    assert_eq!(network.tell(Event::Start), [Asked::Wake(0, at(10)), Asked::Wake(0, at(20))]);
    let mut woken = |ms| {
        network.now = at(ms);
        network.wake(0);
        heard.lock().unwrap().iter().filter(|event| **event == Event::Wake).count()
    };
    assert_eq!([woken(10), woken(20), woken(30)], [0, 1, 1]);
}

#[test]
fn a_wake_up_in_the_past_happens_now() {
    let (mut network, _) = alone(|_| vec![Action::WakeAt(at(10))]);
    network.now = at(15);
    assert_eq!(network.tell(Event::Start), [Asked::Wake(0, at(15))]);
}

/// An action may come when its connection has ended and the application has not heard of it. Then its number is free again.
#[test]
fn actions_use_the_open_connection_of_their_number() {
    let (mut network, _) = alone(|event| match event {
        Event::Start => vec![open(0), open(1), open(2), request(1, 7), Action::Push { conn: Conn(2), bytes: 9 }],
        Event::Opened(_) => {
            vec![Action::Close { conn: Conn(1) }, request(1, 8), Action::Push { conn: Conn(1), bytes: 9 }]
        }
        Event::Closed(_) => vec![open(1), request(1, 10)],
        _ => Vec::new(),
    });
    let opened = |conn| Asked::Open(0, Conn(conn), 0);
    let first = [opened(0), opened(1), opened(2), Asked::Request(1, 7), Asked::Push(2, 9)];
    assert_eq!(network.tell(Event::Start), first);
    assert_eq!(network.tell(Event::Opened(Conn(1))), [Asked::Close(1), opened(1), Asked::Request(3, 10)]);
    assert_eq!(network.recorder.app(0).connections, 4);
    network.stop_group(0);
    assert_eq!(network.take(), [Asked::Abandon(0), Asked::Abandon(2), Asked::Abandon(3)]);
}

/// Datagrams count as sent in both directions, and as data received and delayed at the client alone. A stopped application still receives, but does not
/// answer.
#[test]
fn datagrams_are_counted_by_their_direction() {
    let (mut network, _) = alone(|_| vec![Action::Datagram { len: 1000, tag: 0, ecn: Ecn::NotEct }]);
    assert_eq!(network.tell(Event::Start), [Asked::Send(0, Side::Client, 1000)]);
    let arrive = |host: &mut Network, to, len| {
        host.now += Duration::from_millis(30);
        let sent = host.now - Duration::from_millis(20);
        host.deliver_datagram(0, Arrival { to, tag: 0, len, sent, ecn: Ecn::NotEct });
        host.take()
    };
    assert_eq!(arrive(&mut network, Side::Client, 1000), [Asked::Send(0, Side::Server, 50)]);
    assert_eq!(arrive(&mut network, Side::Server, 50).len(), 1);
    network.stop_group(0);
    network.take();
    assert!(arrive(&mut network, Side::Client, 500).is_empty());
    let sent = *network.recorder.app(0);
    assert_eq!((sent.packets, sent.delivered), (4, 1500));
    let output = network.recorder.output_so_far(at(1000), &network.apps.counters(network.recorder.plan()));
    let class = &output.windows[0].classes["data"];
    assert_eq!((class.goodput_bps, class.latency_ms.map(|l| l.mean.round())), (12_000.0, Some(20.0)));
}

#[test]
fn exchanges_and_counters_are_those_of_the_group() {
    let (first, _) = answering(1, |_| Vec::new());
    let (second, _) = answering(2, |_| vec![Action::Done(Exchange { kind: 0, started: at(5), bytes: 70 })]);
    let mut network = Network::new(vec![first, Group { name: "second".into(), ..second }]);
    network.now = at(25);
    network.deliver_to_group(1, Event::Start);
    assert_eq!(network.apps.counters(network.recorder.plan()), [[0.0], [4.0]], "two, who share a list of two");
    let output = network.recorder.output_so_far(at(1000), &network.apps.counters(network.recorder.plan()));
    let found: Vec<_> = output.exchanges.iter().map(|e| (e.traffic.as_str(), e.duration_ms, e.bytes)).collect();
    assert_eq!(found, [("second", 20.0, 70), ("second", 20.0, 70)]);
}

/// Every run gives an application the same random numbers, and tells it of all servers.
#[test]
fn an_application_has_its_own_stream_and_sees_all_servers() {
    struct Draws(Arc<Mutex<Vec<(u32, f64)>>>);
    impl Application for Draws {
        fn on_event(&mut self, _: Event, cx: &mut Cx<'_>) {
            let drawn = cx.rng.uniform();
            self.0.lock().unwrap().push((cx.servers, drawn));
        }
    }
    let drawn = Arc::default();
    let apps = (0..2).map(|_| -> Box<dyn Application> { Box::new(Draws(Arc::clone(&drawn))) }).collect();
    let draws = group("draws", apps, Profile::rfc(), Delays::None);
    let mut network = Network::new(vec![Group { routes: vec![Route::default(); 3], ..draws }]);
    network.deliver_to_group(0, Event::Start);
    let own = |index: usize| aqmkit_base::Rng::stream(1, &format!("traffic.draws.{index}")).uniform();
    assert_eq!(*drawn.lock().unwrap(), [(3, own(0)), (3, own(1))]);
}
