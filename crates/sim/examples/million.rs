//! The cost of a packet and of a connection as connections grow in number, up to a million at once.
//!
//! ```text
//! cargo run --release -p aqmkit-sim --example million -- 10 1000 100000 1000000
//! ```
//!
//! Each user has one persistent connection, gets a page of 10 kB on it, reads for 10 s on average and asks for the next. The link
//! has 10 kbit/s for each user, so that it is loaded to about four fifths whatever their number. Peak memory is that of
//! the process so far: give the numbers in rising order.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "it is a command")]

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant, dist};
use aqmkit_sim::scenario::{Delays, Group, Link, Route, WindowSpec, Wire};
use aqmkit_sim::{Control, Progress, Scenario, run};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport::Profile;

/// Data packets to send at least; and how long to run at least: every user has begun within the first ten seconds.
const PACKETS: f64 = 4e6;
const AT_LEAST_S: f64 = 60.0;
/// Every user has a connection from here on, so that opening it, and making room for it, is not counted to the packets.
const OPEN: Instant = Instant::from_nanos(15_000_000_000);
/// Seconds between pages.
const READING_S: f64 = 10.0;
const PAGE: u64 = 10_000;

/// Reads pages on one connection.
#[derive(Default)]
struct Reader {
    open: bool,
}

impl Application for Reader {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        let conn = Conn(0);
        match event {
            Event::Start => {
                let at = cx.now + Duration::from_secs_f64(READING_S * cx.rng.uniform());
                cx.want(Action::WakeAt(at));
            }
            Event::Wake => {
                if !self.open {
                    self.open = true;
                    cx.want(Action::Open { conn, server: 0 });
                }
                let think = Duration::ZERO;
                cx.want(Action::Request { conn, request: 300, response: PAGE, think, close: false });
            }
            Event::Response(_) => {
                let reading = dist::exponential(cx.rng, READING_S);
                cx.want(Action::WakeAt(cx.now + Duration::from_secs_f64(reading)));
            }
            _ => {}
        }
    }
}

fn scenario(users: u64) -> Scenario {
    let seconds = (PACKETS * READING_S / (users as f64 * PAGE as f64 / 1448.0)).max(AT_LEAST_S);
    let duration = Duration::from_secs_f64(seconds);
    let red = serde_json::json!({ "limit": 20_000, "min": 1000, "max": 5000 });
    let link = Link {
        name: "bottleneck".into(),
        rate: BitRate::from_bps(users * 10_000),
        trace: None,
        delay: Duration::from_millis(5),
        framing: Framing::default(),
        mean_packet: Bytes(1500),
        aqm: Spec::read("red", red).unwrap(),
        driver: None,
        wire: Wire::default(),
        report: true,
    };
    let group = Group {
        name: "web".into(),
        class: ClassId(0),
        apps: (0..users).map(|_| Box::new(Reader::default()) as _).collect(),
        profile: Profile::rfc(),
        stack: None,
        start: Instant::ZERO,
        stop: Instant::FAR_FUTURE,
        routes: vec![Route { forward: vec![0], ..Route::default() }],
        clients: 1,
        scattered: false,
        delays: Delays::Uniform(Duration::from_millis(10), Duration::from_millis(290)),
        datagram_overhead: 28,
        active: true,
    };
    let end = Instant::ZERO + duration;
    Scenario {
        seed: 1,
        duration,
        origin: Instant::ZERO,
        classes: vec!["web".into()],
        links: vec![link],
        measured: 0,
        groups: vec![group],
        windows: vec![WindowSpec { name: "open".into(), from: OPEN, to: end }],
        interval: duration / 10,
        max_exchanges: 1000,
        changes: Vec::new(),
    }
}

/// A line of a file of `/proc/self`.
fn proc(file: &str, find: impl Fn(&str) -> Option<u64>) -> u64 {
    std::fs::read_to_string(format!("/proc/self/{file}")).unwrap().lines().find_map(find).unwrap()
}

fn cpu_ns() -> u64 {
    proc("schedstat", |line| line.split(' ').next()?.parse().ok())
}

fn peak_rss() -> u64 {
    proc("status", |line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok()) * 1024
}

/// Prints the cost of a run with this many users.
fn measure(users: u64) {
    let began = cpu_ns();
    let (mut opened, mut ended) = (None, (Instant::ZERO, began));
    let mut on_progress = |progress: Progress| {
        ended = (progress.now, cpu_ns());
        if progress.now >= OPEN {
            opened.get_or_insert(ended);
        }
        Control::Continue
    };
    let out = run(scenario(users), &mut on_progress).unwrap();
    let (ns, rss) = ((cpu_ns() - began) as f64, peak_rss());
    let opened = opened.unwrap();
    let served = out.flows.iter().filter(|f| f.connections == 1 && f.delivered_bytes[0] > 0).count() as u64;
    assert!(served * 100 >= users * 95, "only {served} users have received anything");
    let packets = out.engine.packets;
    let later = out.windows[0].links["bottleneck"].packets_per_s * ended.0.since(opened.0).as_secs_f64();
    let (ns, ns_later) = (ns / packets as f64, (ended.1 - opened.1) as f64 / later);
    println!("{users:11} {packets:10} {ns:15.0} {ns_later:17.0} {:10} {:22}", rss >> 20, rss / users);
}

fn main() {
    println!("connections    packets   ns per packet   once all is open   peak MiB   bytes per connection");
    for argument in std::env::args().skip(1) {
        measure(argument.parse().expect("a number of connections"));
    }
}
