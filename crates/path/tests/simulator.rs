//! The same arrivals at a link of the simulator and at a path: the same packets are dropped, marked and sent at the same
//! nanoseconds.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::{Arc, Mutex};
use std::time;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::read::Value;
use aqmkit_base::wire::{Loss, Reorder, Wire};
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Ecn, Framing, Instant, dist};
use aqmkit_path::{Datagram, End, Link, Path};
use aqmkit_sim::scenario::{self, Delays, Group, Route, WindowSpec};
use aqmkit_sim::{Control, Scenario, run};
use aqmkit_traffic::{Action, Application, Arrival, Cx, Event};
use aqmkit_transport::Profile;

const SEED: u64 = 42;
const HEADERS: u32 = 28;

/// A datagram of the simulator: its number or its length, and when it was sent or arrived.
type Seen = (u32, Instant, Ecn);

/// The datagrams that were sent, and those that arrived.
type Notes = Arc<Mutex<(Vec<Seen>, Vec<Seen>)>>;

/// Sends datagrams of random lengths at exponential intervals, and writes down their fates.
struct Sender(Notes);

impl Application for Sender {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if event == Event::Wake {
            let (len, ecn) = (100 + cx.rng.below(1300) as u32, [Ecn::NotEct, Ecn::Ect0][cx.rng.below(2) as usize]);
            let mut notes = self.0.lock().unwrap();
            notes.0.push((len, cx.now, ecn));
            let tag = notes.0.len() as u64 - 1;
            cx.want(Action::Datagram { len, tag, ecn });
        }
        let gap = Duration::from_secs_f64(dist::exponential(cx.rng, 0.7e-3));
        cx.want(Action::WakeAt(cx.now + gap));
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        self.0.lock().unwrap().1.push((arrival.tag as u32, cx.now, arrival.ecn));
    }
}

fn simulated(queue: &str, parameters: Value, wire: Wire, rate: BitRate) -> (Vec<Seen>, Vec<Seen>, aqmkit_sim::Output) {
    let notes = Notes::default();
    let link = scenario::Link {
        name: "bottleneck".into(),
        rate,
        trace: None,
        delay: Duration::from_millis(10),
        framing: Framing::bytes(18),
        mean_packet: Bytes(1000),
        aqm: Spec::named(queue).unwrap().with(parameters).unwrap(),
        driver: None,
        wire,
        report: true,
    };
    let group = Group {
        scattered: false,
        name: "udp".into(),
        class: ClassId(0),
        apps: vec![Box::new(Sender(Arc::clone(&notes)))],
        profile: Profile::rfc(),
        stack: None,
        start: Instant::ZERO,
        stop: Instant::FAR_FUTURE,
        routes: vec![Route { forward: vec![0], ..Route::default() }],
        clients: 1,
        delays: Delays::None,
        datagram_overhead: HEADERS,
        active: true,
    };
    let duration = Duration::from_secs(10);
    let scenario = Scenario {
        seed: SEED,
        duration,
        origin: Instant::ZERO,
        classes: vec!["data".into()],
        links: vec![link],
        measured: 0,
        groups: vec![group],
        windows: vec![WindowSpec { name: "all".into(), from: Instant::ZERO, to: Instant::ZERO + duration }],
        interval: Duration::from_secs(1),
        max_exchanges: 0,
        changes: Vec::new(),
    };
    let output = run(scenario, &mut |_| Control::Continue);
    let (sent, arrived) = std::mem::take(&mut *notes.lock().unwrap());
    (sent, arrived, output.unwrap())
}

fn std_time(at: Instant) -> time::Duration {
    time::Duration::from_nanos(at.as_nanos())
}

/// Sends what the simulator sent over a path with the same link, and compares all arrivals and the numbers of the link.
fn compare(queue: &str, parameters: &[(&str, Value)], wild: bool, least: usize) {
    let reorder = Some(Reorder { chance: 0.05, delay: Duration::from_millis(3) });
    let wire = match wild {
        true => Wire { loss: Loss::Random(0.02), jitter: Duration::from_millis(1), reorder, ..Wire::default() },
        false => Wire::default(),
    };
    let table = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let (sent, arrived, output) = simulated(queue, Value::Table(table), wire, BitRate::from_mbps(8));
    let mut link = Link::new("8mbit", "10ms").name("bottleneck").overhead(18).queue(queue);
    for (name, value) in parameters {
        link = link.set(name, value.clone());
    }
    if wild {
        link = link.loss("2%").jitter("1ms").reorder("5%,3ms");
    }
    let mut path = Path::new(&link, SEED).unwrap();
    for (tag, (len, at, ecn)) in (0_u32..).zip(&sent) {
        path.send(End::A, Datagram::new(tag, len + HEADERS).ecn(*ecn), std_time(*at));
    }
    let end = time::Duration::from_secs(10);
    let same: Vec<_> = std::iter::from_fn(|| path.poll(end))
        .map(|arrival| (arrival.datagram.content, arrival.at, arrival.datagram.ecn))
        .collect();
    let wanted: Vec<_> = arrived.iter().map(|(tag, at, ecn)| (*tag, std_time(*at), *ecn)).collect();
    assert!(sent.len() > 10_000 && sent.len() - arrived.len() > least, "{} {}", sent.len(), arrived.len());
    assert_eq!(same, wanted, "{queue}");

    let (numbers, simulated) = (path.window(End::A, time::Duration::ZERO..end), &output.windows[0].links["bottleneck"]);
    assert_eq!((numbers.throughput_bps, numbers.utilization), (simulated.throughput_bps, simulated.utilization));
    let dropped: Vec<(String, u64)> = numbers.dropped.iter().map(|(why, n)| (why.name().to_owned(), *n)).collect();
    let in_simulator: Vec<(String, u64)> = simulated.drops.clone().into_iter().filter(|(_, n)| *n > 0).collect();
    let sorted = |mut all: Vec<(String, u64)>| {
        all.sort();
        all
    };
    assert_eq!(sorted(dropped), sorted(in_simulator));
    let mean = simulated.queue_delay_ms.unwrap().mean;
    assert!((numbers.queue_delay.mean.as_secs_f64() * 1e3 - mean).abs() < 1e-5, "{numbers} {mean}");
}

#[test]
fn a_path_and_the_simulator_agree_to_the_nanosecond() {
    let ecn = || [("ecn", Value::Bool(true))];
    compare("fifo", &[("limit", Value::Integer(20))], false, 500);
    compare("fifo", &[("limit", Value::Integer(20))], true, 700);
    compare(
        "red",
        &[("limit", Value::Integer(100)), ("min", Value::Integer(5)), ("max", Value::Integer(30))],
        true,
        500,
    );
    compare("codel", &ecn(), true, 200);
    compare("pie", &ecn(), false, 500);
    compare("dualpi2", &[], true, 500);
    compare("fq-codel", &ecn(), false, 100);
}
