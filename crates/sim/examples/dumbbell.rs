//! The cost of a packet on the dumbbell on which simulators are compared, and a digest of the output that must not change with it.
//!
//! ```text
//! cargo run --release -p aqmkit-sim --example dumbbell -- long 200 newreno sack cubic
//! cargo run --release -p aqmkit-sim --example dumbbell -- short 200 newreno
//! ```
//!
//! Over 100 Mbit/s with RED, for a number of seconds with each congestion control: fifty connections that always send, or 940 short transfers
//! in a second with a connection each. Nearly the scenarios S1 and S3 of `aqmkit bench`; the crate has no experiment files.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "it is a command")]

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant, Rng};
use aqmkit_sim::scenario::{Delays, Group, Link, Route, WindowSpec, Wire};
use aqmkit_sim::{Control, Output, Scenario, run};
use aqmkit_traffic::{Action, Application, Conn, Cx, ENDLESS, Event, Model, short_flows};
use aqmkit_transport::Profile;

/// Connections that always send, and the seconds over which they begin.
const FLOWS: u64 = 50;
const STAGGER_S: f64 = 1.0;
/// Sources of short transfers.
const SOURCES: usize = 94;
const RTT: Duration = Duration::from_millis(100);

/// Data for ever on one connection.
struct Bulk;

impl Application for Bulk {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        let conn = Conn(0);
        match event {
            Event::Start => {
                let at = cx.now + Duration::from_secs_f64(STAGGER_S * cx.rng.uniform());
                cx.want(Action::WakeAt(at));
            }
            Event::Wake => {
                cx.want(Action::Open { conn, server: 0 });
                let think = Duration::ZERO;
                cx.want(Action::Request { conn, request: 0, response: ENDLESS, think, close: false });
            }
            _ => {}
        }
    }
}

/// The applications of one kind of traffic.
fn applications(kind: &str) -> Vec<Box<dyn Application>> {
    match kind {
        "long" => (0..FLOWS).map(|_| Box::new(Bulk) as _).collect(),
        "short" => {
            let size_max = Some(Bytes(1_000_000));
            let params = short_flows::Params { sources: SOURCES, size_max, ..short_flows::Params::default() };
            let population = params.prepare(&[]).unwrap();
            let mut rng = Rng::stream(1, "short");
            (0..SOURCES).map(|index| population.make(index, &mut rng)).collect()
        }
        _ => panic!("the kind of traffic is long or short, not {kind}"),
    }
}

fn scenario(kind: &str, control: &str, seconds: u64) -> Scenario {
    let duration = Duration::from_secs(seconds);
    let red = serde_json::json!({ "limit": 500, "min": 30, "max": 90, "weight": 0.001_953_125, "max_p": 0.1 });
    let link = Link {
        name: "bottleneck".into(),
        rate: BitRate::from_mbps(100),
        trace: None,
        delay: Duration::ZERO,
        framing: Framing::default(),
        mean_packet: Bytes(1500),
        aqm: Spec::read("red", red).unwrap(),
        driver: None,
        wire: Wire::default(),
        report: true,
    };
    let congestion = serde_json::from_value(control.into()).expect("the name of a congestion control");
    let group = Group {
        name: "bulk".into(),
        class: ClassId(0),
        apps: applications(kind),
        profile: Profile { mss: Bytes(1460), header: Bytes(40), congestion, ..Profile::ns2() },
        stack: None,
        start: Instant::ZERO,
        stop: Instant::FAR_FUTURE,
        routes: vec![Route { forward: vec![0], ..Route::default() }],
        clients: 1,
        scattered: false,
        delays: Delays::Each(vec![RTT]),
        datagram_overhead: 28,
        active: true,
    };
    let end = Instant::ZERO + duration;
    Scenario {
        seed: 1,
        duration,
        origin: Instant::ZERO,
        classes: vec!["data".into()],
        links: vec![link],
        measured: 0,
        groups: vec![group],
        windows: vec![WindowSpec { name: "all".into(), from: Instant::ZERO, to: end }],
        interval: Duration::from_secs(1),
        max_exchanges: 1000,
        changes: Vec::new(),
    }
}

/// Nanoseconds of CPU that this process has used.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// FNV-1a of everything that was measured.
fn digest(out: &Output) -> u64 {
    let text = serde_json::to_string(out).unwrap();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().expect("long or short");
    let seconds = arguments.next().and_then(|a| a.parse().ok()).expect("a number of seconds");
    println!("control         packets   ns per packet   packets per CPU second   digest");
    for control in arguments {
        let before = cpu_ns();
        let out = run(scenario(&kind, &control, seconds), &mut |_| Control::Continue).unwrap();
        let ns = (cpu_ns() - before) as f64;
        let packets = out.engine.packets as f64;
        let (each, rate) = (ns / packets, packets * 1e9 / ns);
        println!("{control:10} {packets:12} {each:15.0} {rate:24.0}   {:016x}", digest(&out));
    }
}
