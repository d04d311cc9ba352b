//! The same scenario gives the same output; other seeds give others; nothing is lost or made.

use crate::common::{Bulk, Poisson, dumbbell, finish, group, linux_with, spec};
use aqmkit_base::{BitRate, ClassId, Duration, Instant};
use aqmkit_sim::scenario::Delays;
use aqmkit_sim::{Control, Error, Output, Scenario, run};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport::{Kind, Profile};

fn mixed(seed: u64) -> Scenario {
    let bulk = (0..20).map(|_| Box::new(Bulk) as _).collect();
    let delays = Delays::Uniform(Duration::from_millis(10), Duration::from_millis(150));
    let tcp = group("bulk", bulk, Profile::bsd44(), delays);
    let udp = group(
        "udp",
        vec![Box::new(Poisson { mean: Duration::from_millis(2), len: 1000 })],
        Profile::rfc(),
        Delays::None,
    );
    let red = spec("red", r#"{"limit": 100, "min": 5, "max": 30}"#);
    Scenario { seed, ..dumbbell(BitRate::from_mbps(10), red, vec![tcp, udp], 5, 30) }
}

#[test]
fn a_seed_means_a_run() {
    let one: Output = finish(mixed(7));
    assert_eq!(one, finish(mixed(7)));
    assert_ne!(one, finish(mixed(8)));
}

#[test]
fn how_often_progress_is_asked_for_changes_nothing_and_stop_stops() {
    let mut calls = 0;
    let stopped = run(mixed(7), &mut |p| {
        calls += 1;
        if p.now.as_secs_f64() < 3.0 { Control::Continue } else { Control::Stop }
    });
    assert_eq!(stopped, Err(Error::Stopped));
    assert!(calls > 10, "{calls}");
}

#[test]
fn what_arrives_leaves_is_dropped_or_waits() {
    let out = finish(mixed(3));
    let link = &out.windows[0].links["bottleneck"];
    let arrived = link.packets_per_s * 30.0 / (1.0 - link.drop_rate);
    let dropped: u64 = link.drops.values().sum();
    let balance = arrived - link.packets_per_s * 30.0 - dropped as f64;
    assert!(balance.abs() <= 2.0 * 100.0, "{balance} packets are unaccounted for; the queue holds at most 100");
    assert!(link.utilization > 0.8 && link.utilization <= 1.0001, "{}", link.utilization);
    assert!(dropped > 0);
    let classes = &out.windows[0].classes["data"];
    assert!((classes.throughput_bps - link.throughput_bps).abs() < 1.0);
    assert!(classes.goodput_bps < classes.throughput_bps);
}

#[test]
fn series_and_windows_agree() {
    let out = finish(mixed(5));
    let column = &out.series.columns["links.bottleneck.throughput_bps"];
    assert_eq!(column.len(), 30);
    let mean = column.iter().sum::<f64>() / 30.0;
    assert!((mean / out.windows[0].links["bottleneck"].throughput_bps - 1.0).abs() < 1e-9);
    assert!(out.series.columns.values().all(|c| c.len() == 30));
    let delivered: u64 = out.flows.iter().map(|f| f.delivered_bytes[0]).sum();
    assert!((delivered as f64 * 8.0 / 30.0 / out.windows[0].classes["data"].goodput_bps - 1.0).abs() < 1e-9);
}

#[test]
fn a_scenario_that_contradicts_itself_is_refused() {
    let refused = |change: fn(&mut Scenario)| {
        let mut scenario = mixed(1);
        change(&mut scenario);
        matches!(run(scenario, &mut |_| Control::Continue), Err(Error::Scenario(_)))
    };
    assert!(refused(|s| s.measured = 3));
    assert!(refused(|s| s.measured = s.links.len()));
    assert!(refused(|s| s.windows[0].to = s.windows[0].from));
    assert!(refused(|s| s.groups[0].routes[0].forward.push(9)));
    assert!(refused(|s| s.groups[0].delays = Delays::Matrix(vec![])));
    assert!(refused(|s| s.links[0].rate = BitRate::default()));
    assert!(refused(|s| s.groups[0].routes.clear()));
    assert!(refused(|s| s.groups[0].clients = 0));
    assert!(refused(|s| s.groups[0].class = ClassId(s.classes.len() as u8)));
    assert!(refused(|s| s.groups[0].delays = Delays::Each(vec![])));
    assert!(refused(|s| s.groups[0].delays = Delays::Uniform(Duration::from_millis(2), Duration::from_millis(1))));
    assert!(refused(|s| s.windows[0].to = Instant::ZERO + s.duration + Duration::from_nanos(1)));
    assert!(refused(|s| s.duration = Duration::ZERO));
    assert!(refused(|s| s.interval = Duration::ZERO));
    assert!(!refused(|s| s.groups[0].delays = Delays::Uniform(Duration::from_millis(2), Duration::from_millis(2))));
}

/// It is said 256 times how far a run is, but not more often than every millisecond, and at the beginning.
#[test]
fn progress_is_told_in_even_steps() {
    for (ms, times) in [(25_600, 256), (256, 256), (100, 100), (1, 1)] {
        let mut scenario = mixed(1);
        scenario.duration = Duration::from_millis(ms);
        scenario.origin = Instant::ZERO;
        scenario.windows.clear();
        let mut told = Vec::new();
        let out = run(scenario, &mut |progress| {
            told.push(progress.now.as_secs_f64() * 1e3);
            Control::Continue
        });
        assert!(out.is_ok());
        let wanted: Vec<f64> = (0..times).map(|i| f64::from(i) * ms as f64 / f64::from(times)).collect();
        assert_eq!(told.len(), wanted.len(), "{ms} ms");
        assert!(told.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{ms} ms: {told:?}");
    }
}

/// Gets one page after the other, each on a connection of its own.
struct Visitor;

const PAGE: u64 = 5_000;

impl Application for Visitor {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        let pause = Duration::from_secs_f64(cx.rng.uniform());
        match event {
            Event::Start | Event::Closed(_) => cx.want(Action::WakeAt(cx.now + pause)),
            Event::Wake => {
                cx.want(Action::Open { conn: Conn(0), server: 0 });
                let think = Duration::from_millis(5);
                cx.want(Action::Request { conn: Conn(0), request: 300, response: PAGE, think, close: true });
            }
            _ => {}
        }
    }
}

/// With this many connections their state is prefetched, and slots of closed connections are reused.
#[test]
fn thousands_of_connections_get_each_page_once() {
    const VISITORS: u64 = 6_000;
    let crowd = || {
        let visitors = (0..VISITORS).map(|_| Box::new(Visitor) as _).collect();
        let delays = Delays::Uniform(Duration::from_millis(10), Duration::from_millis(50));
        let web = group("web", visitors, Profile::rfc(), delays.clone());
        let rate_based = group("rate-based", vec![Box::new(Bulk) as _], linux_with(Kind::Tfrc), delays);
        let udp = Poisson { mean: Duration::from_millis(2), len: 1000 };
        let udp = group("udp", vec![Box::new(udp) as _], Profile::rfc(), Delays::None);
        dumbbell(BitRate::from_mbps(1000), spec("fifo", r#"{"limit": 500}"#), vec![web, rate_based, udp], 0, 3)
    };
    let out = finish(crowd());
    assert_eq!(out, finish(crowd()));
    let web = out.flows.iter().filter(|f| f.connections > 0 && f.traffic == "web");
    let (pages, bytes) = web.fold((0, 0), |(n, b), f| (n + f.connections, b + f.delivered_bytes[0]));
    assert!(pages > 3 * VISITORS, "{pages}");
    let all_but_the_last = (pages - VISITORS) * PAGE..=pages * PAGE;
    assert!(all_but_the_last.contains(&bytes), "{bytes} of {pages} pages");
}
