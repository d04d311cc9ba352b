//! Links and traffic that change at random while packets are under way: what arithmetic says of every packet, and what comes.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::{Arc, Mutex};

use crate::common::script::{random_sends, scripted};
use crate::common::{dumbbell, finish, group, spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant, Rng};
use aqmkit_sim::change::{Change, TimedChange};
use aqmkit_sim::scenario::{Delays, Group, Link, Route};
use aqmkit_sim::{Scenario, Simulation};
use aqmkit_traffic::{Action, Application, Arrival, Conn, Cx, Event, Side};
use aqmkit_transport::Profile;

/// A link's rate and delay from a moment on.
#[derive(Clone, Copy, Debug)]
struct Settings {
    from: Instant,
    rate: BitRate,
    delay: Duration,
}

/// Twenty settings of a link during 18 s, the first from the beginning.
fn random_settings(draw: &mut Rng, rates_vary: bool) -> Vec<Settings> {
    let mut now = Settings { from: Instant::ZERO, rate: BitRate::from_mbps(3), delay: Duration::from_millis(20) };
    let mut all = vec![now];
    for _ in 0..20 {
        now.from += Duration::from_nanos(1 + draw.below(1_800_000_000));
        if rates_vary {
            now.rate = BitRate::from_bps(200_000 + draw.below(6_000_000));
            // A packet in transmission keeps its delay, and so could be overtaken by none.
            now.delay += Duration::from_nanos(draw.below(10_000_000));
        } else {
            now.delay = Duration::from_nanos(draw.below(60_000_000));
        }
        all.push(now);
    }
    all
}

/// The setting at a moment; one that begins at this moment comes after all else that happens then.
fn at(settings: &[Settings], ns: f64) -> usize {
    settings.iter().rposition(|s| (s.from.as_nanos() as f64) < ns).unwrap_or(0)
}

/// When a transmission of this many bits ends, given its start in nanoseconds: each setting sends its share.
fn end_of(settings: &[Settings], mut ns: f64, mut bits: f64) -> f64 {
    for i in at(settings, ns).. {
        let per_ns = settings[i].rate.as_bps() as f64 / 1e9;
        let until = settings.get(i + 1).map_or(f64::INFINITY, |next| next.from.as_nanos() as f64);
        if ns + bits / per_ns <= until {
            return ns + bits / per_ns;
        }
        (bits, ns) = (bits - (until - ns) * per_ns, until);
    }
    ns
}

/// Each packet is sent once, at the rates of its time, and comes once and in order, after the delay with which it set out.
#[test]
fn packets_take_the_rates_and_the_delays_of_their_time() {
    let mut draw = Rng::stream(11, "changing");
    for run in 0..40 {
        let settings = random_settings(&mut draw, run % 2 == 0);
        let sends = random_sends(draw.bits(), 60.0 + 400.0 * draw.uniform(), 18.0);
        let (mut scenario, arrivals) = scripted(&sends);
        scenario.duration = Duration::from_secs(600);
        let link = |s: &Settings| Link { rate: s.rate, delay: s.delay, ..scenario.links[0].clone() };
        let change = |s: &Settings| Change::Link { link: 0, to: Box::new(link(s)) };
        let changes = settings[1..].iter().map(|s| TimedChange { at: s.from, change: change(s) }).collect();
        (scenario.links, scenario.changes) = (vec![link(&settings[0])], changes);
        finish(scenario);

        let arrivals = arrivals.lock().unwrap();
        let numbers: Vec<u64> = arrivals.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (0..sends.len() as u64).collect::<Vec<_>>(), "each once and in order");
        let (mut free, mut latest) = (0.0_f64, 0.0_f64);
        for ((sent, len), (_, came)) in sends.iter().zip(arrivals.iter()) {
            let begins = free.max(sent.as_nanos() as f64);
            free = end_of(&settings, begins, f64::from(*len) * 8.0);
            latest = latest.max(free + settings[at(&settings, begins)].delay.as_nanos() as f64);
            // Every change rounds to a nanosecond.
            let off = came.as_nanos() as f64 - latest;
            assert!(off.abs() < 50.0, "run {run}: {off} ns from {latest}; {settings:?}");
        }
    }
}

/// Changes by hand between events are made once: those that were to come can be replaced by others.
#[test]
fn changes_to_come_can_be_replaced() {
    let sends = random_sends(3, 300.0, 15.0);
    let (scenario, arrivals) = scripted(&sends);
    let with = |mbps: u64| {
        let to = Link { rate: BitRate::from_mbps(mbps), ..scenario.links[0].clone() };
        Change::Link { link: 0, to: Box::new(to) }
    };
    let second = |s: u64| Instant::ZERO + Duration::from_secs(s);
    let first = vec![TimedChange { at: second(2), change: with(5) }, TimedChange { at: second(4), change: with(1) }];
    let others = vec![TimedChange { at: second(6), change: with(7) }];
    let gone = TimedChange { at: second(6), change: Change::Delays { group: 9, routes: vec![], delays: Delays::None } };
    let (rates, same) = (|s: &Simulation<'_>| s.link(0).rate, BitRate::from_mbps);
    let (end, replaced) = (second(20), scripted(&sends));
    let mut simulation = Simulation::new(Scenario { changes: first, ..replaced.0 }).unwrap();
    simulation.advance(second(3)).unwrap();
    assert_eq!(rates(&simulation), same(5));
    simulation.set_changes(others).unwrap();
    assert!(simulation.set_changes(vec![gone]).is_err(), "there is no tenth group");
    simulation.advance(second(5)).unwrap();
    assert_eq!(rates(&simulation), same(5), "the second change is not made");
    simulation.advance(end).unwrap();
    assert_eq!(rates(&simulation), same(7));
    assert_eq!(replaced.1.lock().unwrap().len(), sends.len());
    assert!(arrivals.lock().unwrap().is_empty(), "the other scenario was not run");
}

/// The events that an application receives, with its name.
type Heard = Arc<Mutex<Vec<(&'static str, Event, Instant)>>>;

struct Listens {
    name: &'static str,
    heard: Heard,
}

impl Application for Listens {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        self.heard.lock().unwrap().push((self.name, event, cx.now));
    }
}

/// The events of an application that replaces another one this many seconds after the start, in a group active from second 2 to 8.
fn heard_of_one_that_joins(seconds: u64) -> Vec<(&'static str, Event, Instant)> {
    let heard = Heard::default();
    let one = |name| -> Box<dyn Application> { Box::new(Listens { name, heard: Arc::clone(&heard) }) };
    let second = |s: u64| Instant::ZERO + Duration::from_secs(s);
    let all = group("all", vec![one("first")], Profile::rfc(), Delays::None);
    let all = Group { start: second(2), stop: second(8), ..all };
    let mut scenario = dumbbell(BitRate::from_mbps(1), spec("fifo", "{}"), vec![all], 0, 10);
    let change = Change::Traffic { group: 0, keep: 0, begin: vec![one("second")], transport: None };
    scenario.changes = vec![TimedChange { at: second(seconds), change }];
    finish(scenario);
    heard.lock().unwrap().clone()
}

/// Whoever joins a group starts with it or at once, and not at all once it has stopped.
#[test]
fn who_joins_starts_within_the_time_of_the_group() {
    let second = |s: u64| Instant::ZERO + Duration::from_secs(s);
    let starts = |name, s| (name, Event::Start, second(s));
    let stops = |name, s| (name, Event::Stop, second(s));
    for joins in [1, 2, 3, 7, 8, 9] {
        // A change comes after everything else at its instant: the group has started, or stopped.
        let wanted = match joins {
            1 => vec![stops("first", 1), starts("second", 2), stops("second", 8)],
            2..=7 => vec![starts("first", 2), stops("first", joins), starts("second", joins), stops("second", 8)],
            _ => vec![starts("first", 2), stops("first", 8)],
        };
        assert_eq!(heard_of_one_that_joins(joins), wanted, "who joins after {joins} s");
    }
}

/// When each round trip began, and the milliseconds that it took.
type Trips = Arc<Mutex<Vec<(Instant, f64)>>>;

/// Four round trips a second: of a datagram and its reply, or of a request and its answer on one connection.
struct Trip {
    connected: bool,
    began: Instant,
    trips: Trips,
}

impl Trip {
    fn end(&self, now: Instant) {
        self.trips.lock().unwrap().push((self.began, now.since(self.began).as_millis_f64()));
    }
}

impl Application for Trip {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start if self.connected => cx.want(Action::Open { conn: Conn(0), server: 1 }),
            Event::Response(_) => self.end(cx.now),
            Event::Start | Event::Opened(_) | Event::Wake => {
                self.began = cx.now;
                let (conn, think) = (Conn(0), Duration::ZERO);
                cx.want(if self.connected {
                    Action::Request { conn, request: 100, response: 100, think, close: false }
                } else {
                    Action::Datagram { len: 100, tag: 0, ecn: Ecn::NotEct }
                });
                cx.want(Action::WakeAt(cx.now + Duration::from_millis(250)));
            }
            _ => {}
        }
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        match arrival.to {
            Side::Client => cx.want(Action::Reply { len: 100, tag: 0, ecn: Ecn::NotEct }),
            Side::Server => self.end(cx.now),
        }
    }
}

/// A round trip takes the delays of its time, on connections that are open as well.
#[test]
fn round_trips_take_the_delays_of_their_time() {
    let ms = Duration::from_millis;
    for connected in [true, false] {
        let trips = Trips::default();
        let trip = Trip { connected, began: Instant::ZERO, trips: Arc::clone(&trips) };
        let mut all = group("trips", vec![Box::new(trip)], Profile::rfc(), Delays::Each(vec![ms(20)]));
        let route = Route { forward: vec![0], forward_delay: ms(3), reverse_delay: ms(4), ..Route::default() };
        all.routes = vec![route; 2];
        let mut scenario = dumbbell(BitRate::from_mbps(100_000), spec("fifo", "{}"), vec![all], 0, 16);
        scenario.links[0].delay = ms(5);
        // The datagrams are of the first server, the connection is to the second.
        let of_server = if connected { 11 } else { 7 };
        // Seconds, the delays there and back of the routes, the rest, and all of them with the link's.
        let steps = [
            (4, (ms(6), ms(8)), Delays::Each(vec![ms(50)]), 69.0),
            (8, (ms(1), ms(2)), Delays::Each(vec![ms(50)]), 58.0),
            (12, (ms(1), ms(2)), Delays::Matrix(vec![vec![ms(7)], vec![ms(11)]]), 8.0 + f64::from(of_server)),
        ];
        let change = |(s, ways, delays, _): &(u64, (Duration, Duration), Delays, f64)| TimedChange {
            at: Instant::ZERO + Duration::from_secs(*s) + ms(200),
            change: Change::Delays { group: 0, routes: vec![*ways; 2], delays: delays.clone() },
        };
        scenario.changes = steps.iter().map(change).collect();
        finish(scenario);
        let trips = trips.lock().unwrap();
        assert!(trips.len() > 60, "{}", trips.len());
        for (began, took) in trips.iter() {
            let wanted =
                steps.iter().rfind(|(s, ..)| began.as_secs_f64() > *s as f64 + 0.2).map_or(32.0, |step| step.3);
            assert!((took - wanted).abs() < 0.01, "{took} ms at {} s, not {wanted}", began.as_secs_f64());
        }
    }
}
