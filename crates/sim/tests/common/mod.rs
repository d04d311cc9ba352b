//! A dumbbell to test on.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

pub mod script;

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant, dist};
use aqmkit_sim::scenario::{Delays, Group, Link, Route, WindowSpec, Wire};
use aqmkit_sim::{Control, Output, Scenario, run};
use aqmkit_traffic::{Action, Application, Conn, Cx, ENDLESS, Event};
use aqmkit_transport::{Kind, Overrides, Profile};

/// Datagrams of one size at exponential intervals.
pub struct Poisson {
    pub mean: Duration,
    pub len: u32,
}

impl Application for Poisson {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Wake => cx.want(Action::Datagram { len: self.len, tag: 0, ecn: aqmkit_base::Ecn::NotEct }),
            Event::Start => {}
            _ => return,
        }
        let gap = dist::exponential(cx.rng, self.mean.as_secs_f64());
        cx.want(Action::WakeAt(cx.now + Duration::from_secs_f64(gap)));
    }
}

/// One connection with data for ever, begun at a random time of the first second.
pub struct Bulk;

impl Application for Bulk {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => {
                let at = cx.now + Duration::from_secs_f64(5.0 * cx.rng.uniform());
                cx.want(Action::WakeAt(at));
            }
            Event::Wake => {
                cx.want(Action::Open { conn: Conn(0), server: 0 });
                cx.want(Action::Request {
                    conn: Conn(0),
                    request: 100,
                    response: ENDLESS,
                    think: Duration::ZERO,
                    close: false,
                });
            }
            _ => {}
        }
    }
}

pub fn spec(name: &str, parameters: &str) -> Spec {
    let table = serde_json::from_str::<serde_json::Value>(parameters).unwrap();
    Spec::read(name, table).unwrap()
}

/// Linux 6 with this control, and what it needs of ECN.
pub fn linux_with(congestion: Kind) -> Profile {
    let changes = Overrides {
        congestion: Some(congestion),
        cwnd_limit: Some(Bytes(1 << 24)),
        receive_window: Some(Bytes(1 << 24)),
        ..Overrides::default()
    };
    changes.apply(Profile::named("linux-6").unwrap()).unwrap()
}

pub fn group(name: &str, apps: Vec<Box<dyn Application>>, profile: Profile, rtt: Delays) -> Group {
    Group {
        name: name.into(),
        class: ClassId(0),
        apps,
        profile,
        stack: None,
        start: Instant::ZERO,
        stop: Instant::FAR_FUTURE,
        routes: vec![Route { forward: vec![0], ..Route::default() }],
        clients: 1,
        scattered: false,
        delays: rtt,
        datagram_overhead: 28,
        active: true,
    }
}

/// One link, the last `seconds` of `warmup + seconds` measured as the window `all`.
pub fn dumbbell(rate: BitRate, aqm: Spec, groups: Vec<Group>, warmup: u64, seconds: u64) -> Scenario {
    let origin = Instant::ZERO + Duration::from_secs(warmup);
    let link = Link {
        name: "bottleneck".into(),
        rate,
        trace: None,
        delay: Duration::ZERO,
        framing: Framing::default(),
        mean_packet: Bytes(1000),
        aqm,
        driver: None,
        wire: Wire::default(),
        report: true,
    };
    Scenario {
        seed: 1,
        duration: Duration::from_secs(warmup + seconds),
        origin,
        classes: vec!["data".into()],
        links: vec![link],
        measured: 0,
        groups,
        windows: vec![WindowSpec { name: "all".into(), from: origin, to: origin + Duration::from_secs(seconds) }],
        interval: Duration::from_secs(1),
        max_exchanges: 1000,
        changes: Vec::new(),
    }
}

pub fn finish(scenario: Scenario) -> Output {
    run(scenario, &mut |_| Control::Continue).unwrap()
}
