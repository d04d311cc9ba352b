//! The computing time of a run by kind of event.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::script::{random_sends, scripted};
use crate::common::{dumbbell, group, spec};
use aqmkit_base::{BitRate, Duration, Instant};
use aqmkit_sim::profile::{EventKind, Profile};
use aqmkit_sim::scenario::{Delays, Link, Route};
use aqmkit_sim::{Scenario, Simulation};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport as transport;

/// The profile of a run by a clock that moves on by one at every look.
fn profile(scenario: Scenario) -> impl Fn(EventKind) -> u64 {
    let mut simulation = Simulation::new(scenario).unwrap();
    let (mut profile, mut ticks) = (Profile::default(), 0);
    let mut clock = || {
        ticks += 1;
        ticks
    };
    simulation.advance_profiled(Instant::FAR_FUTURE, &mut profile, &mut clock).unwrap();
    let (of_kinds, ns) = profile.kinds.iter().fold((0, 0), |(n, ns), spent| (n + spent.events, ns + spent.ns));
    let events = simulation.events();
    assert_eq!((profile.finding.events, profile.finding.ns), (events, events), "each is looked for once, for one tick");
    assert_eq!((of_kinds, ns), (events, events), "each is one kind's, and takes one tick");
    let names: std::collections::BTreeSet<_> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
    assert!(names.len() == EventKind::ALL.len() && names.iter().all(|name| name.contains(' ')), "{names:?}");
    move |kind| profile.kinds[EventKind::ALL.iter().position(|k| *k == kind).unwrap()].events
}

#[test]
fn every_event_of_datagrams_has_its_kind() {
    let sends = random_sends(7, 200.0, 10.0);
    let (mut scenario, arrivals) = scripted(&sends);
    let second = Link { name: "second".into(), ..scenario.links[0].clone() };
    scenario.links.push(second);
    scenario.groups[0].routes = vec![Route { forward: vec![0, 1], ..Route::default() }];
    // One window, a row of the series each second, a start and a stop that never comes.
    let measurements = 2 + 21 + 1;
    let of = profile(scenario);
    let n = sends.len() as u64;
    assert_eq!(arrivals.lock().unwrap().len() as u64, n);
    // Sent into the first link at once; each transmission ends once.
    assert_eq!([of(EventKind::AtLink), of(EventKind::Datagram), of(EventKind::LinkFree)], [n, n, 2 * n]);
    assert_eq!([of(EventKind::Wake), of(EventKind::Measurement)], [n, measurements]);
    assert_eq!([of(EventKind::Data), of(EventKind::Acknowledgement), of(EventKind::Request)], [0; 3]);
}

/// Asks for one response of three segments, after which the server closes.
struct Asks;

impl Application for Asks {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => cx.want(Action::Open { conn: Conn(0), server: 0 }),
            Event::Opened(conn) => {
                let think = Duration::from_millis(30);
                cx.want(Action::Request { conn, request: 200, response: 4000, think, close: true });
            }
            _ => {}
        }
    }
}

#[test]
fn every_event_of_a_connection_has_its_kind() {
    let delays = Delays::Each(vec![Duration::from_millis(20)]);
    let all = group("asks", vec![Box::new(Asks)], transport::Profile::rfc(), delays);
    let of = profile(dumbbell(BitRate::from_mbps(100), spec("fifo", "{}"), vec![all], 0, 20));
    // The request and the response's three segments.
    assert_eq!(of(EventKind::Data), 4);
    assert_eq!([of(EventKind::Request), of(EventKind::Wake), of(EventKind::Datagram)], [1, 0, 0]);
    // Three of the handshake; the request is acknowledged, the response by a segment for two; two FINs, each acknowledged.
    assert!((7..=9).contains(&of(EventKind::Acknowledgement)), "{}", of(EventKind::Acknowledgement));
    assert!(of(EventKind::Timer) > 0);
}
