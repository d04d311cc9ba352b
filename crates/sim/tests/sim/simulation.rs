//! A run in the hands of its owner: where it stops makes no difference, a change by hand is the same as a timed one, and what is
//! seen adds up.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use crate::common::script::scripts;
use crate::common::{Bulk, Poisson, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, Duration, Ecn, Instant};
use aqmkit_sim::change::{Change, TimedChange, Transport};
use aqmkit_sim::log::{Log, PacketEvent};
use aqmkit_sim::scenario::{Delays, Group, Link, Wire};
use aqmkit_sim::{Error, Output, Scenario, Simulation};
use aqmkit_traffic::{Action, Application, Cx, Event};
use aqmkit_transport::{Kind, Profile};
use proptest::prelude::*;

const RED: &str = r#"{"limit": 100, "min": 5, "max": 30}"#;

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

fn bulk(flows: usize) -> Vec<Box<dyn Application>> {
    (0..flows).map(|_| Box::new(Bulk) as _).collect()
}

fn poisson(ms: u64) -> Vec<Box<dyn Application>> {
    vec![Box::new(Poisson { mean: Duration::from_millis(ms), len: 1000 })]
}

/// Eight downloads and a stream of datagrams for 20 s.
fn scenario() -> Scenario {
    let delays = Delays::Uniform(Duration::from_millis(10), Duration::from_millis(60));
    let tcp = group("bulk", bulk(8), linux_with(Kind::Cubic), delays);
    let udp = group("udp", poisson(2), Profile::rfc(), Delays::None);
    dumbbell(BitRate::from_mbps(10), spec("red", RED), vec![tcp, udp], 5, 15)
}

fn link() -> Link {
    scenario().links.remove(0)
}

/// Every kind of change, each at a time of its own.
fn changes() -> Vec<(f64, Change)> {
    let slow = Link { rate: BitRate::from_mbps(2), delay: Duration::from_millis(30), ..link() };
    let strict = Link { aqm: spec("red", r#"{"limit": 20, "min": 2, "max": 6}"#), ..slow.clone() };
    let lossy = Link { wire: Wire { jitter: Duration::from_millis(2), ..Wire::default() }, ..link() };
    let to = |link: Link| Change::Link { link: 0, to: Box::new(link) };
    let routes = vec![(Duration::ZERO, Duration::from_millis(5))];
    let delays = Delays::Each(vec![Duration::from_millis(20), Duration::from_millis(90)]);
    vec![
        (4.000_000_001, to(slow)),
        (6.5, to(strict)),
        (7.25, to(lossy)),
        (8.0, Change::Delays { group: 0, routes, delays }),
        (9.0, Change::Traffic { group: 0, keep: 3, begin: Vec::new(), transport: None }),
        (10.0, Change::Traffic { group: 0, keep: 3, begin: bulk(9), transport: None }),
        (11.0, Change::Traffic { group: 1, keep: 0, begin: poisson(5), transport: None }),
        (
            12.0,
            Change::Traffic {
                group: 0,
                keep: 0,
                begin: bulk(4),
                transport: Some(Box::new(Transport { profile: Profile::rfc(), stack: None })),
            },
        ),
    ]
}

fn timed(changes: Vec<(f64, Change)>) -> Output {
    let changes = changes.into_iter().map(|(t, change)| TimedChange { at: at(t), change }).collect();
    finish(Scenario { changes, ..scenario() })
}

/// The output to be compared: a value that is not there is NaN, which differs from itself.
fn text(output: &Output) -> String {
    serde_json::to_string(output).unwrap()
}

fn to_the_end(mut simulation: Simulation<'_>) -> Output {
    simulation.advance(Instant::FAR_FUTURE).unwrap();
    simulation.output()
}

#[test]
fn where_it_stops_makes_no_difference() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    let mut slices = 0;
    while !simulation.advance_by(at(3.0), 777).unwrap() {
        slices += 1;
    }
    assert!(slices > 5 && simulation.now() == at(3.0), "{slices}");
    for t in [3.1, 3.100_000_001, 9.0, 5.0, 19.999_999_999, 50.0] {
        simulation.advance(at(t)).unwrap();
    }
    assert_eq!(simulation.now(), simulation.end());
    assert_eq!(text(&simulation.output()), text(&finish(scenario())));
}

#[test]
fn looking_changes_nothing() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    simulation.set_log(Some(Log::new([0], 10)));
    for _ in 0..100 {
        assert!(simulation.step(Instant::FAR_FUTURE).unwrap());
        let mut seen = simulation.link(0).gauges().len() + simulation.flows(100).len();
        simulation.link(0).packets(&mut |_, _| seen += 1);
        assert!(seen > 0 && simulation.output_so_far().windows.is_empty());
    }
    assert_eq!(text(&to_the_end(simulation)), text(&finish(scenario())));
}

#[test]
fn a_change_by_hand_is_the_same_as_a_timed_one() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    for (t, change) in changes() {
        simulation.advance(at(t)).unwrap();
        simulation.change(change).unwrap();
    }
    let by_hand = to_the_end(simulation);
    assert_eq!(text(&by_hand), text(&timed(changes())));
    assert_ne!(text(&by_hand), text(&finish(scenario())));
}

/// In the middle of the events of an instant, the change waits for the others.
#[test]
fn a_change_between_events_is_the_same_as_a_timed_one() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    let mut made = Vec::new();
    for (_, change) in changes() {
        simulation.advance_by(Instant::FAR_FUTURE, 1234).unwrap();
        made.push(simulation.now().as_secs_f64());
        simulation.change(change).unwrap();
    }
    let again = made.into_iter().zip(changes()).map(|(t, (_, change))| (t, change)).collect();
    assert_eq!(text(&to_the_end(simulation)), text(&timed(again)));
}

#[test]
fn a_link_half_as_fast_carries_half() {
    let halved = |t| {
        let to = Link { rate: BitRate::from_mbps(5), ..link() };
        timed(vec![(t, Change::Link { link: 0, to: Box::new(to) })]).windows[0].links["bottleneck"].clone()
    };
    let (full, half, between) = (halved(30.0), halved(1.0), halved(12.5));
    assert!((full.throughput_bps / half.throughput_bps - 2.0).abs() < 0.1, "{full:?} {half:?}");
    assert!(between.throughput_bps < full.throughput_bps && between.throughput_bps > half.throughput_bps);
    for link in [&full, &half, &between] {
        assert!(link.utilization > 0.85 && link.utilization < 1.001, "{link:?}");
    }
    // Half of the 15 s at 10 Mbit/s, half at 5.
    assert!((between.throughput_bps / between.utilization / 7.5e6 - 1.0).abs() < 1e-9, "{between:?}");
}

#[test]
fn the_rest_of_a_packet_is_sent_at_the_new_rate() {
    let udp = |links: Link, changes| {
        let it = group(
            "udp",
            vec![Box::new(Poisson { mean: Duration::from_secs(3), len: 972 })],
            Profile::rfc(),
            Delays::None,
        );
        let mut scenario = dumbbell(links.rate, spec("fifo", "{}"), vec![it], 0, 60);
        scenario.links = vec![links];
        Scenario { changes, ..scenario }
    };
    // A packet of 1000 bytes takes 8 s.
    let slow = Link { rate: BitRate::from_bps(1000), aqm: spec("fifo", "{}"), ..link() };
    let mut simulation = Simulation::new(udp(slow.clone(), Vec::new())).unwrap();
    simulation.set_log(Some(Log::new([0], 1)));
    while simulation.log().unwrap().records().all(|r| r.what != PacketEvent::Departure) {
        simulation.step(Instant::FAR_FUTURE).unwrap();
    }
    let begun = simulation.now();
    simulation.advance(begun + Duration::from_secs(4)).unwrap();
    // The other half, 4000 bits, takes 4000 s at the lowest rate that there is.
    let slowest = Link { rate: BitRate::from_bps(1), ..slow.clone() };
    simulation.change(Change::Link { link: 0, to: Box::new(slowest) }).unwrap();
    assert_eq!(simulation.link(0).busy_until, Some(begun + Duration::from_secs(4004)));
    let fast = Link { rate: BitRate::from_mbps(1), ..slow };
    simulation.change(Change::Link { link: 0, to: Box::new(fast) }).unwrap();
    // And 4 ms at this one.
    assert_eq!(simulation.link(0).busy_until, Some(begun + Duration::from_millis(4004)));
    simulation.advance(begun + Duration::from_millis(4003)).unwrap();
    assert_eq!(simulation.flows(1)[0].delivered, 0);
    simulation.advance(begun + Duration::from_millis(4004)).unwrap();
    assert_eq!(simulation.flows(1)[0].delivered, 972);
}

/// CBQ holds a class without leave to borrow to its share: 8 kbit/s let 1000 bytes through in a second, on a link of 10 Mbit/s. Given
/// leave, its packet goes at once.
#[test]
fn a_packet_that_was_held_back_leaves_when_it_need_not_be() {
    let (mut scenario, arrivals) = crate::common::script::scripted(&[(at(1.0), 1000); 9]);
    let cbq = |borrow: bool| {
        let classes = format!(r#"{{"classes": [{{"class": "*", "rate": "8kbit", "borrow": {borrow}}}]}}"#);
        Link { aqm: spec("cbq", &classes), ..scenario.links[0].clone() }
    };
    let (held, free) = (cbq(false), cbq(true));
    scenario.links[0] = held;
    let mut simulation = Simulation::new(scenario).unwrap();
    simulation.advance(at(1.5)).unwrap();
    let waiting = simulation.link(0).backlog.packets;
    assert!(waiting > 5 && simulation.link(0).busy_until.is_none(), "{waiting} packets wait, and nothing is sent");
    simulation.change(Change::Link { link: 0, to: Box::new(free) }).unwrap();
    let sent = Duration::from_micros(800);
    assert_eq!(simulation.link(0).busy_until, Some(at(1.5) + sent));
    simulation.advance(at(1.6)).unwrap();
    assert_eq!(arrivals.lock().unwrap().last().unwrap().1, at(1.5) + sent * waiting);
}

#[test]
fn a_shorter_delay_lets_no_packet_overtake() {
    let long = Link { delay: Duration::from_millis(200), ..link() };
    let scenario = || Scenario { links: vec![long.clone()], ..scenario() };
    let mut simulation = Simulation::new(scenario()).unwrap();
    simulation.advance(at(10.0)).unwrap();
    let before = simulation.output_so_far().flows.iter().map(|f| f.retransmissions).sum::<u64>();
    simulation.change(Change::Link { link: 0, to: Box::new(link()) }).unwrap();
    simulation.advance(at(10.25)).unwrap();
    let after = simulation.output_so_far().flows.iter().map(|f| f.retransmissions).sum::<u64>();
    assert!(after - before <= 5, "{} packets were sent again for having been overtaken", after - before);
}

#[test]
fn who_leaves_stops_and_who_joins_is_counted() {
    let out = timed(vec![
        (7.0, Change::Traffic { group: 0, keep: 2, begin: Vec::new(), transport: None }),
        (10.0, Change::Traffic { group: 0, keep: 2, begin: bulk(8), transport: None }),
    ]);
    let rows: Vec<_> = out.flows.iter().filter(|f| f.traffic == "bulk").collect();
    assert_eq!(rows.iter().map(|f| f.index).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    assert_eq!(out.windows[0].apps["bulk"].population, 10);
    let connections: Vec<u64> = rows.iter().map(|f| f.connections).collect();
    assert_eq!(connections, [1, 1, 2, 2, 2, 2, 2, 2, 1, 1], "those from the third on left and came again");
    let gone = timed(vec![(7.0, Change::Traffic { group: 0, keep: 0, begin: Vec::new(), transport: None })]);
    let goodput = |of: &Output| of.series.columns["classes.data.goodput_bps"][4..].to_vec();
    let most = goodput(&gone).iter().copied().fold(0.0, f64::max);
    assert!(most < 5e6, "{most}: only the datagrams are left");
}

/// Sends a datagram with its own tag every 10 ms, and counts those that come with another one.
struct Tags(u64, f64);

impl Application for Tags {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if matches!(event, Event::Start | Event::Wake) {
            cx.want(Action::Datagram { len: 100, tag: self.0, ecn: Ecn::NotEct });
            cx.want(Action::WakeAt(cx.now + Duration::from_millis(10)));
        }
    }

    fn on_datagram(&mut self, tag: u64, _len: u32, _sent: Instant, _now: Instant) {
        self.1 += f64::from(u8::from(tag != self.0));
    }

    fn counters(&self) -> &'static [&'static str] {
        &["strangers"]
    }

    fn counter(&self, _index: usize) -> f64 {
        self.1
    }
}

/// Datagrams in flight to an application that leaves are not delivered to the one that takes its place.
#[test]
fn datagrams_are_for_who_was_there_when_they_went() {
    let apps = |tag| vec![Box::new(Tags(tag, 0.0)) as Box<dyn Application>];
    let mut all = group("tags", apps(1), Profile::rfc(), Delays::None);
    all.routes[0].forward_delay = Duration::from_millis(500);
    let change = Change::Traffic { group: 0, keep: 0, begin: apps(2), transport: None };
    let changes = vec![TimedChange { at: at(10.0), change }];
    let out = finish(Scenario { changes, ..dumbbell(BitRate::from_mbps(10), spec("fifo", "{}"), vec![all], 0, 20) });
    assert!(out.flows[0].packets > 1_900 && out.flows[0].delivered_bytes[0] > 180_000, "{:?}", out.flows);
    assert_eq!(out.windows[0].apps["tags"].counters["strangers"], 0.0);
}

#[test]
fn what_is_seen_adds_up() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    simulation.set_log(Some(Log::new([0], 1_000_000)));
    simulation.advance(at(8.0)).unwrap();
    let records = simulation.log().unwrap().take();
    let count = |what| records.iter().filter(|r| r.what == what).count() as u64;
    let link = simulation.link(0);
    let (arrived, left, dropped) =
        (count(PacketEvent::Arrival), count(PacketEvent::Departure), count(PacketEvent::Drop));
    assert_eq!((link.stats.enqueued, link.stats.dequeued, link.stats.drops()), (arrived, left, dropped));
    assert_eq!(arrived, left + dropped + link.backlog.packets);
    let mut waiting = Vec::new();
    link.packets(&mut |_, packet| waiting.push(packet));
    assert_eq!(waiting.len() as u64, link.backlog.packets);
    assert!(waiting.is_sorted_by(|a, b| a.waited >= b.waited), "from the head of the queue");
    assert_eq!(waiting.iter().map(|p| u64::from(p.len)).sum::<u64>(), link.backlog.bytes);
    assert!(link.gauges().iter().any(|(name, _)| name == "avg"));
    // Within 8 s at 10 Mb/s; a packet in transmission counts whole.
    let sent: u64 = records.iter().filter(|r| r.what == PacketEvent::Departure).map(|r| u64::from(r.len)).sum();
    assert!((link.utilisation() - sent as f64 / 1e7).abs() < 2e-4, "{} of {sent} bytes", link.utilisation());
    assert_eq!(Simulation::new(scenario()).unwrap().link(0).utilisation(), 0.0, "nothing has been sent in no time");
    let flows = simulation.flows(100);
    assert_eq!(flows.len(), 9);
    assert!(flows[..8].iter().all(|f| f.window.is_some() && f.rtt.is_some() && f.delivered > 0), "{flows:?}");
    let delivered: u64 = flows.iter().map(|f| f.delivered).sum();
    assert!(delivered * 8 < 8 * 10_000_000 && delivered * 8 > 5 * 10_000_000);
}

/// A flow is shown from its first packet on, or as long as it has a connection, until it stops.
#[test]
fn flows_are_shown_from_their_first_packet_until_they_stop() {
    let (datagrams, _) = scripts("datagrams", Ecn::NotEct, &[vec![(at(6.0), 1000), (at(7.0), 1000)]]);
    let slow = Delays::Each(vec![Duration::from_secs(1)]);
    let groups = vec![
        Group { stop: at(8.0), ..datagrams },
        Group { stop: at(9.0), ..group("bulk", bulk(1), Profile::rfc(), slow) },
    ];
    let mut simulation =
        Simulation::new(dumbbell(BitRate::from_mbps(10), spec("fifo", r#"{"limit": 60}"#), groups, 0, 20)).unwrap();
    assert!(simulation.flows(9).is_empty());
    while simulation.flows(9).is_empty() {
        assert!(!simulation.advance_by(Instant::FAR_FUTURE, 1).unwrap(), "something is shown before the end");
    }
    let opened = &simulation.flows(9)[0];
    assert_eq!((opened.app, opened.connections, opened.packets), (1, 1, 0), "a connection that has sent nothing yet");
    for (t, apps) in [(5.9, &[1][..]), (6.5, &[0, 1]), (7.9, &[0, 1]), (8.1, &[1]), (9.1, &[])] {
        simulation.advance(at(t)).unwrap();
        let shown: Vec<u32> = simulation.flows(9).iter().map(|flow| flow.app).collect();
        assert_eq!(shown, apps, "at {t} s");
    }
}

/// The rate that a rate-based sender shows is the one at which it sends, in bits of data per second.
#[test]
fn the_rate_of_a_sender_is_what_it_sends() {
    let alone = group("alone", bulk(1), linux_with(Kind::Tfrc), Delays::Each(vec![Duration::from_millis(40)]));
    let mut simulation =
        Simulation::new(dumbbell(BitRate::from_mbps(5), spec("fifo", r#"{"limit": 60}"#), vec![alone], 0, 60)).unwrap();
    simulation.advance(at(20.0)).unwrap();
    let packets = |of: &Simulation<'_>| of.flows(1)[0].packets;
    let (before, mut shown) = (packets(&simulation), 0.0);
    for i in 1..=4_000 {
        simulation.advance(at(20.0 + 0.01 * f64::from(i))).unwrap();
        let flow = &simulation.flows(1)[0];
        assert_eq!((flow.window, flow.phase), (None, "rate-based"));
        shown += flow.rate.unwrap() / 4_000.0;
    }
    let sent = (packets(&simulation) - before) as f64 * 1448.0 * 8.0 / 40.0;
    assert!((shown / sent - 1.0).abs() < 0.05, "{shown} bit/s, sent {sent}");
}

/// A log counts every event and keeps the latest that it has room for, of the links that it watches.
#[test]
fn a_log_keeps_the_latest_records() {
    let logged = |links: Vec<usize>, room: usize| {
        let mut simulation = Simulation::new(scenario()).unwrap();
        simulation.set_log(Some(Log::new(links, room)));
        simulation.advance(at(6.0)).unwrap();
        let log = simulation.log().unwrap();
        (log.seen(), log.records().copied().collect::<Vec<_>>())
    };
    let (seen, all) = logged(vec![0], 1_000_000);
    assert!(seen > 1_000 && seen == all.len() as u64);
    for room in [0, 1, 7, 1_000] {
        assert_eq!(logged(vec![0], room), (seen, all[all.len() - room..].to_vec()), "room for {room}");
    }
    assert_eq!(logged(vec![], 7), (0, vec![]));
    assert_eq!(logged(vec![3], 7), (0, vec![]), "a link that is not there");
}

#[test]
fn the_output_so_far_leaves_out_what_has_not_begun() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    simulation.advance(at(2.0)).unwrap();
    assert_eq!(simulation.output_so_far().windows.len(), 0);
    // When a window begins, nothing has happened in it.
    simulation.advance(at(5.0)).unwrap();
    let begun = simulation.output_so_far().windows.remove(0).links.remove("bottleneck").unwrap();
    assert_eq!((begun.queue_packets.mean, begun.queue_packets.p99, begun.utilization), (0.0, 0.0, 0.0), "{begun:?}");
    simulation.advance(at(10.0)).unwrap();
    let so_far = simulation.output_so_far();
    let link = &so_far.windows[0].links["bottleneck"];
    assert!(link.throughput_bps > 8e6 && link.utilization <= 1.001, "{link:?}");
    assert_eq!(text(&to_the_end(simulation)), text(&finish(scenario())));
}

#[test]
fn changes_that_cannot_be_made_are_refused_and_change_nothing() {
    let mut simulation = Simulation::new(scenario()).unwrap();
    simulation.advance(at(3.0)).unwrap();
    let to = |link: Link| Change::Link { link: 0, to: Box::new(link) };
    let refused = [
        to(Link { aqm: spec("codel", "{}"), ..link() }),
        to(Link { rate: BitRate::default(), ..link() }),
        to(Link { name: "other".into(), ..link() }),
        Change::Link { link: 7, to: Box::new(link()) },
        Change::Traffic { group: 9, keep: 0, begin: Vec::new(), transport: None },
        Change::Traffic {
            group: 0,
            keep: 1,
            begin: Vec::new(),
            transport: Some(Box::new(Transport { profile: Profile::rfc(), stack: None })),
        },
        Change::Delays { group: 0, routes: Vec::new(), delays: Delays::Each(Vec::new()) },
    ];
    for change in refused {
        assert!(matches!(simulation.change(change), Err(Error::Scenario(_))));
    }
    let bad = to(Link { aqm: spec("red", r#"{"limit": 100, "min": 50, "max": 30}"#), ..link() });
    assert!(matches!(simulation.change(bad), Err(Error::Param(_))));
    assert_eq!(text(&to_the_end(simulation)), text(&finish(scenario())));
    let late = TimedChange { at: at(9.0), change: to(link()) };
    let early = TimedChange { at: at(8.0), change: to(link()) };
    assert!(Simulation::new(Scenario { changes: vec![late, early], ..scenario() }).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Any order of any changes, at times between events: by hand and timed are the same.
    #[test]
    fn random_changes_by_hand_and_timed_are_the_same(
        order in prop::collection::vec((0_usize..8, 1_u64..3000, 64_u64..40_000), 1..6),
    ) {
        let pick = |which: usize, kbit: u64| match changes().swap_remove(which).1 {
            Change::Link { link, to } => Change::Link { link, to: Box::new(Link { rate: BitRate::from_bps(1000 * kbit), ..*to }) },
            other => other,
        };
        let mut simulation = Simulation::new(scenario()).unwrap();
        let mut made = Vec::new();
        for (which, events, kbit) in &order {
            simulation.advance_by(Instant::FAR_FUTURE, *events).unwrap();
            made.push(TimedChange { at: simulation.now(), change: pick(*which, *kbit) });
            simulation.change(pick(*which, *kbit)).unwrap();
        }
        prop_assert_eq!(text(&to_the_end(simulation)), text(&finish(Scenario { changes: made, ..scenario() })));
    }
}
