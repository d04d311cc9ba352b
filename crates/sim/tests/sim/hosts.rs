//! Hosts and their connections: what one of them leaves behind does not reach another, and their clocks are their own.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;

use crate::common::{Bulk, dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Bytes, Duration, Instant};
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_sim::scenario::{Delays, Group, Loss, WindowSpec};
use aqmkit_sim::{Control, Scenario, run_observed};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event, Exchange};
use aqmkit_transport::{Flags, Kind, Profile};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Opens a connection at once, asks for one response after the other, and reports each.
struct Asks(Instant);

impl Application for Asks {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => cx.want(Action::Open { conn: Conn(0), server: 0 }),
            Event::Opened(conn) | Event::Response(conn) => {
                if let Event::Response(_) = event {
                    cx.want(Action::Done(Exchange { kind: 0, started: self.0, bytes: 30_000 }));
                }
                self.0 = cx.now;
                cx.want(Action::Request { conn, request: 400, response: 30_000, think: Duration::ZERO, close: false });
            }
            _ => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["answer"]
    }
}

/// Connections over a fast link with half a second of delay, of which `first` end at 6 s, and others begin in their places.
fn successors(first: usize, profile: &Profile) -> Scenario {
    let far = Delays::Each(vec![Duration::from_millis(500)]);
    let bulk = (0..first).map(|_| -> Box<dyn Application> { Box::new(Bulk) });
    let asks = (0..20).map(|_| -> Box<dyn Application> { Box::new(Asks(Instant::ZERO)) });
    let old = Group { stop: at(6000), ..group("old", bulk.collect(), profile.clone(), far.clone()) };
    let new = Group { start: at(6000), ..group("new", asks.collect(), profile.clone(), far) };
    let mut scenario =
        dumbbell(BitRate::from_mbps(100_000), spec("fifo", r#"{"limit": 100000}"#), vec![old, new], 0, 30);
    scenario.links[0].delay = Duration::from_millis(500);
    scenario
}

/// Packets in flight to a connection that has ended are not delivered to the one that reuses its slot.
#[test]
fn a_new_connection_gets_nothing_of_the_one_before() {
    for (kind, least) in [(Kind::NewReno, 200), (Kind::Tfrc, 20)] {
        let profile = Profile { congestion: kind.clone(), ..Profile::rfc() };
        let took = |first| {
            let out = finish(successors(first, &profile));
            out.exchanges.iter().map(|e| e.duration_ms).collect::<Vec<_>>()
        };
        let (alone, after) = (took(0), took(20));
        assert!(alone.len() > least && alone.len() == after.len(), "{kind:?}: {} and {}", alone.len(), after.len());
        // The transmissions of what is left of the old ones may take microseconds.
        for (a, b) in alone.iter().zip(&after) {
            assert!((a - b).abs() < 0.1, "{kind:?}: {a} and {b} ms");
        }
    }
}

/// Asks once for an answer that takes so long to think of.
struct Waits(Duration, Instant);

impl Application for Waits {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => cx.want(Action::Open { conn: Conn(0), server: 0 }),
            Event::Opened(conn) => {
                self.1 = cx.now;
                cx.want(Action::Request { conn, request: 400, response: 1_000, think: self.0, close: false });
            }
            Event::Response(_) => cx.want(Action::Done(Exchange { kind: 0, started: self.1, bytes: 1_000 })),
            _ => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["answer"]
    }
}

/// A response that a server still prepares for a connection that has ended is not sent to the one that reuses its slot.
#[test]
fn thoughts_end_with_their_connection() {
    let of = |name: &str, seconds| {
        let apps = (0..5).map(|_| -> Box<dyn Application> { Box::new(Waits(Duration::from_secs(seconds), at(0))) });
        group(name, apps.collect(), Profile::rfc(), Delays::None)
    };
    let (old, new) = (Group { stop: at(6000), ..of("old", 10) }, Group { start: at(6000), ..of("new", 15) });
    let out = finish(dumbbell(BitRate::from_mbps(1000), spec("fifo", "{}"), vec![old, new], 0, 30));
    assert_eq!(out.exchanges.len(), 5);
    assert!(out.exchanges.iter().all(|e| (e.duration_ms - 15_000.0).abs() < 1.0), "{:?}", out.exchanges);
}

/// Counts what it is told.
#[derive(Default)]
struct Told {
    starts: f64,
    stops: f64,
}

impl Application for Told {
    fn on_event(&mut self, event: Event, _: &mut Cx<'_>) {
        match event {
            Event::Start => self.starts += 1.0,
            Event::Stop => self.stops += 1.0,
            _ => {}
        }
    }

    fn counters(&self) -> &'static [&'static str] {
        &["starts", "stops"]
    }

    fn counter(&self, index: usize) -> f64 {
        [self.starts, self.stops][index]
    }
}

/// Each application of a group hears of the group's start and of its stop, once.
#[test]
fn a_group_is_told_when_it_starts_and_stops() {
    let apps = (0..3).map(|_| -> Box<dyn Application> { Box::new(Told::default()) });
    let all = group("told", apps.collect(), Profile::rfc(), Delays::None);
    let mut scenario = dumbbell(BitRate::from_mbps(1), spec("fifo", "{}"), vec![], 0, 10);
    scenario.groups = vec![Group { start: at(1000), stop: at(6000), ..all }];
    let window = |name: &str, from, to| WindowSpec { name: name.into(), from: at(from), to: at(to) };
    scenario.windows = vec![window("start", 0, 2000), window("between", 2000, 5000), window("stop", 5000, 10_000)];
    let out = finish(scenario);
    let told = |index: usize, seconds: f64| {
        let counters = &out.windows[index].apps["told"].counters;
        [counters["starts"] * seconds, counters["stops"] * seconds]
    };
    assert_eq!([told(0, 2.0), told(1, 3.0), told(2, 5.0)], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]);
}

/// The timeouts that are reported are those of senders of data: a client whose SYNs are lost has none.
#[test]
fn timeouts_of_clients_are_not_counted() {
    let mut all = group("deaf", vec![Box::new(Asks(Instant::ZERO))], Profile::rfc(), Delays::None);
    all.routes[0].reverse = vec![1];
    let mut scenario = dumbbell(BitRate::from_mbps(1000), spec("fifo", "{}"), vec![all], 0, 20);
    let mut back = scenario.links[0].clone();
    (back.name, back.wire.loss) = ("back".into(), Loss::Every { n: 1, burst: 1 });
    scenario.links.push(back);
    let mut syns = Syns::default();
    let out = run_observed(scenario, &mut syns, &mut |_| Control::Continue).unwrap();
    assert!(syns.0.values().all(|times| times.len() > 2), "each is sent again: {:?}", syns.0);
    assert_eq!((out.flows[0].timeouts, out.windows[0].apps["deaf"].timeouts_per_s), (0, 0.0));
}

/// When SYNs went, by conversation.
#[derive(Default)]
struct Syns(BTreeMap<u64, Vec<Instant>>);

impl Observer for Syns {
    fn packet(&mut self, now: Instant, seen: &Sighting) {
        let Content::Segment(segment) = &seen.content else { return };
        if segment.flags.has(Flags::SYN) && seen.parties.from_client {
            self.0.entry(seen.parties.conversation).or_default().push(now);
        }
    }
}

/// 4.4BSD's timers run on ticks of half a second since the host began. Those of one host tick together, those of different hosts at
/// different times.
#[test]
fn each_host_has_a_clock_of_its_own() {
    for (clients, most) in [(1, 1), (30, 30)] {
        let apps = (0..30).map(|_| -> Box<dyn Application> { Box::new(Asks(Instant::ZERO)) });
        let all = Group { clients, ..group("deaf", apps.collect(), Profile::bsd44(), Delays::None) };
        let mut scenario = dumbbell(BitRate::from_mbps(1000), spec("fifo", r#"{"limit": 1000}"#), vec![all], 0, 20);
        // No SYN-ACK comes through.
        scenario.links[0].wire.loss = Loss::Every { n: 1, burst: 1 };
        let mut syns = Syns::default();
        run_observed(scenario, &mut syns, &mut |_| Control::Continue).unwrap();
        assert_eq!(syns.0.len(), 30);
        let mut phases: Vec<u64> = Vec::new();
        for times in syns.0.values() {
            assert!(times.len() >= 2, "it was sent again");
            let phase = times[1].as_nanos() % 500_000_000;
            assert!(times[1..].iter().all(|t| t.as_nanos() % 500_000_000 == phase), "always on the tick: {times:?}");
            phases.push(phase);
        }
        phases.sort_unstable();
        phases.dedup();
        assert_eq!(phases.len(), most, "{clients} hosts");
    }
}

/// Opens a connection to the server of its number.
struct Opens(u32);

impl Application for Opens {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if event == Event::Start {
            cx.want(Action::Open { conn: Conn(0), server: self.0 });
        }
    }
}

/// When SYN-ACKs went that answered no SYN of that time, by conversation; and the SYNs.
#[derive(Default)]
struct SynAcks(BTreeMap<u64, Vec<Instant>>, Syns);

impl Observer for SynAcks {
    fn packet(&mut self, now: Instant, seen: &Sighting) {
        self.1.packet(now, seen);
        let Content::Segment(segment) = &seen.content else { return };
        let conversation = seen.parties.conversation;
        let answers = self
            .1
            .0
            .get(&conversation)
            .is_some_and(|syns| syns.iter().any(|at| now.since(*at) < Duration::from_micros(10)));
        if segment.flags.has(Flags::SYN) && !seen.parties.from_client && !answers {
            self.0.entry(conversation).or_default().push(now);
        }
    }
}

/// Servers have clocks of their own as well: SYN-ACKs that are not answered go again at their ticks.
#[test]
fn each_server_has_a_clock_of_its_own() {
    for servers in [1, 20] {
        let apps = (0..20).map(|i| -> Box<dyn Application> { Box::new(Opens(i % servers)) });
        let mut all = group("deaf", apps.collect(), Profile::bsd44(), Delays::None);
        all.routes = vec![all.routes[0].clone(); servers as usize];
        let mut scenario = dumbbell(BitRate::from_mbps(100_000), spec("fifo", r#"{"limit": 1000}"#), vec![all], 0, 20);
        scenario.links[0].wire.loss = Loss::Every { n: 1, burst: 1 };
        let mut seen = SynAcks::default();
        run_observed(scenario, &mut seen, &mut |_| Control::Continue).unwrap();
        assert_eq!(seen.0.len(), 20);
        // The time of transmission is below a microsecond.
        let phase = |times: &Vec<Instant>| times[0].as_nanos() % 500_000_000 / 10_000;
        let phases: std::collections::BTreeSet<u64> = seen.0.values().map(phase).collect();
        assert_eq!(phases.len(), servers as usize, "{phases:?}");
    }
}

/// Opens two connections, closes one of them, and asks on the other: first for nothing, then for something.
struct Pair {
    close: Conn,
    opened: usize,
    from: Instant,
}

impl Pair {
    fn ask(&mut self, response: u64, cx: &mut Cx<'_>) {
        self.from = cx.now;
        let conn = Conn(1 - self.close.0);
        cx.want(Action::Request { conn, request: 500, response, think: Duration::ZERO, close: false });
    }
}

impl Application for Pair {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => (0..2).for_each(|n| cx.want(Action::Open { conn: Conn(n), server: 0 })),
            Event::Opened(_) => {
                self.opened += 1;
                if self.opened == 2 {
                    cx.want(Action::Close { conn: self.close });
                }
            }
            Event::Closed(conn) => {
                assert_eq!(conn, self.close);
                self.ask(0, cx);
            }
            Event::Response(_) => {
                let kind = u8::from(self.opened == 3);
                cx.want(Action::Done(Exchange { kind, started: self.from, bytes: 0 }));
                self.opened += 1;
                if kind == 0 && self.opened == 3 {
                    self.ask(1000, cx);
                }
            }
            _ => {}
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["nothing", "something"]
    }
}

/// The end of one connection of an application is not the end of another. A request for zero bytes is answered on arrival.
#[test]
fn connections_of_one_application_are_apart() {
    for close in [Conn(0), Conn(1)] {
        let pair = Pair { close, opened: 0, from: Instant::ZERO };
        let far = Delays::Each(vec![Duration::from_millis(40)]);
        let mut all = group("pair", vec![Box::new(pair)], Profile::rfc(), far);
        all.routes[0].forward_delay = Duration::from_millis(30);
        let out = finish(dumbbell(BitRate::from_mbps(100_000), spec("fifo", "{}"), vec![all], 0, 20));
        let [nothing, something] = &out.exchanges[..] else { panic!("{:?}", out.exchanges) };
        // All of the delay of 40 ms is on the way to the server; an answer takes the way back as well, once what was sent before is acknowledged.
        assert_eq!(
            (nothing.kind.as_str(), nothing.duration_ms.round()),
            ("nothing", 40.0),
            "after the end of {close:?}"
        );
        assert!(something.kind == "something" && (70.0..200.0).contains(&something.duration_ms), "{something:?}");
        assert_eq!(out.flows[0].connections, 2);
    }
}

/// Fetches one file after the other, each over a connection of its own.
struct Fetches;

impl Application for Fetches {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start | Event::Closed(_) => {
                let conn = Conn(0);
                cx.want(Action::Open { conn, server: 0 });
                cx.want(Action::Request { conn, request: 300, response: 100_000, think: Duration::ZERO, close: true });
            }
            _ => {}
        }
    }
}

/// A short queue ends every slow start with losses, unless the host's route to the client has kept a threshold from the
/// connection before: from the second file on, hosts that keep one lose less.
#[test]
fn routes_of_bsd_hosts_end_slow_start_for_the_next_connection() {
    let lost = |pipe| {
        let profile = Profile { route_pipe: Bytes(pipe), ..Profile::freebsd22() };
        let apps = vec![Box::new(Fetches) as Box<dyn Application>];
        let fetches = group("web", apps, profile, Delays::Each(vec![Duration::from_millis(60)]));
        let out = finish(dumbbell(BitRate::from_mbps(1), spec("fifo", r#"{"limit": 4}"#), vec![fetches], 0, 60));
        let window = &out.windows[0];
        let drops = window.links["bottleneck"].drops.values().sum::<u64>();
        drops as f64 / window.apps["web"].connections as f64
    };
    let (kept, forgotten) = (lost(16_384), lost(0));
    assert!(forgotten > 1.0 && kept < forgotten / 2.0, "{kept} and {forgotten} packets lost per connection");
}
