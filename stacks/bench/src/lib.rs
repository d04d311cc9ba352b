//! A link with one transfer over a stack, and what every adapter must pass, for the tests of adapters.

use std::sync::{Arc, Mutex};

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant};
use aqmkit_sim::scenario::{Delays, Group, Link, Loss, Reorder, Route, WindowSpec, Wire};
use aqmkit_sim::{Control, Output, Scenario, run};
use aqmkit_stack::{Factory, Kind, Settings};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport::Profile;

pub use aqmkit_sim;
pub use aqmkit_traffic::ENDLESS;
pub use aqmkit_transport;

/// The name of the link.
pub const LINK: &str = "bottleneck";

/// A stack with its default parameters.
#[must_use]
pub fn stack<K: Kind>(congestion: &'static str, ecn: bool) -> Arc<dyn Factory> {
    K::factory(&K::Params::default(), &Settings { congestion, ecn })
}

/// A link with a round trip of 40 ms, and one transfer from the server over it.
#[derive(Clone, Debug)]
pub struct Case {
    /// In Mbit/s.
    pub rate: u64,
    /// The name of the discipline, and its parameters as JSON.
    pub aqm: (&'static str, &'static str),
    /// Impairments in the direction of the data.
    pub wire: Wire,
    /// Makes the ends; without, they are this project's TCP with `profile`.
    pub stack: Option<Arc<dyn Factory>>,
    /// The profile of TCP.
    pub profile: Profile,
    /// Bytes of the transfer, or [`ENDLESS`].
    pub response: u64,
    /// How long the simulation is.
    pub seconds: u64,
    /// The seed.
    pub seed: u64,
}

impl Case {
    /// An endless transfer at 20 Mbit/s for 30 s.
    #[must_use]
    pub fn endless(stack: Arc<dyn Factory>, aqm: (&'static str, &'static str)) -> Case {
        Case { stack: Some(stack), ..Case::own(Profile::rfc(), aqm) }
    }

    /// The same over this project's TCP.
    #[must_use]
    pub fn own(profile: Profile, aqm: (&'static str, &'static str)) -> Case {
        Case { rate: 20, aqm, wire: Wire::default(), stack: None, profile, response: ENDLESS, seconds: 30, seed: 1 }
    }

    /// Runs it.
    ///
    /// # Panics
    /// When the discipline or its parameters are not there.
    #[must_use]
    pub fn run(self) -> Run {
        let seen = Seen::default();
        let app = Box::new(Transfer { response: self.response, seen: Arc::clone(&seen) });
        let scenario = self.scenario(app).unwrap_or_else(|e| panic!("{e}"));
        let output = run(scenario, &mut |_| Control::Continue).unwrap_or_else(|e| panic!("{e}"));
        let events = seen.lock().map(|events| events.clone()).unwrap_or_default();
        Run { output, events }
    }

    fn scenario(self, app: Box<dyn Application>) -> Result<Scenario, String> {
        let table: serde_json::Value = serde_json::from_str(self.aqm.1).map_err(|e| e.to_string())?;
        let link = Link {
            name: LINK.into(),
            rate: BitRate::from_mbps(self.rate),
            trace: None,
            delay: Duration::ZERO,
            framing: Framing::default(),
            mean_packet: Bytes(1500),
            aqm: Spec::read(self.aqm.0, table).map_err(|e| e.to_string())?,
            driver: None,
            wire: self.wire,
            report: true,
        };
        let group = Group {
            scattered: false,
            name: "transfer".into(),
            class: ClassId(0),
            apps: vec![app],
            profile: self.profile,
            stack: self.stack,
            start: Instant::ZERO,
            stop: Instant::FAR_FUTURE,
            routes: vec![Route { forward: vec![0], ..Route::default() }],
            clients: 1,
            delays: Delays::Each(vec![Duration::from_millis(40)]),
            datagram_overhead: 28,
            active: true,
        };
        let duration = Duration::from_secs(self.seconds);
        Ok(Scenario {
            seed: self.seed,
            duration,
            origin: Instant::ZERO,
            classes: vec!["data".into()],
            links: vec![link],
            measured: 0,
            groups: vec![group],
            windows: vec![WindowSpec { name: "all".into(), from: Instant::ZERO, to: Instant::ZERO + duration }],
            interval: Duration::from_secs(1),
            max_exchanges: 10,
            changes: Vec::new(),
        })
    }
}

/// A run that has ended.
#[derive(Debug)]
pub struct Run {
    /// The results.
    pub output: Output,
    /// The events of the application.
    pub events: Vec<String>,
}

impl Run {
    /// Goodput in Mbit/s.
    #[must_use]
    pub fn mbps(&self) -> f64 {
        self.output.windows[0].classes["data"].goodput_bps / 1e6
    }

    /// Packets that the queue dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.output.windows[0].links[LINK].drops.values().sum()
    }

    /// Share of the packets that the queue marked.
    #[must_use]
    pub fn mark_rate(&self) -> f64 {
        self.output.windows[0].links[LINK].mark_rate
    }

    /// Packets that the stack declared lost or sent again.
    #[must_use]
    pub fn declared_lost(&self) -> u64 {
        self.output.flows[0].retransmissions
    }

    /// All that was measured, as text: seconds without a packet have NaN, which differs from itself.
    #[must_use]
    pub fn digest(&self) -> String {
        format!("{:?}{:?}", self.output, self.events)
    }
}

/// A transfer of a megabyte arrives whole within this time and both ends close, despite losses and reordering. Some packets are declared
/// lost or sent again.
///
/// # Panics
/// When it does not.
pub fn assert_arrives_whole(stack: Arc<dyn Factory>, seconds: u64) {
    let run = assert_arrives(stack, seconds);
    assert!(run.declared_lost() > 10, "{}", run.declared_lost());
}

/// The same for a stack that does not show its losses.
///
/// # Panics
/// When it does not arrive.
#[must_use]
pub fn assert_arrives(stack: Arc<dyn Factory>, seconds: u64) -> Run {
    let reorder = Some(Reorder { chance: 0.05, delay: Duration::from_millis(30) });
    let wire = Wire { loss: Loss::Random(0.02), reorder, ..Wire::default() };
    let name = stack.name();
    let case = Case { wire, response: 1_000_000, seconds, ..Case::endless(stack, ("fifo", "{}")) };
    let run = case.run();
    assert_eq!(run.output.flows[0].delivered_bytes, [1_000_000], "{name}: {:?}", run.events);
    assert_eq!(run.events, ["Start", "Opened(Conn(0))", "Response(Conn(0))", "Closed(Conn(0))"]);
    run
}

/// Two runs with the same seed have the same results.
///
/// # Panics
/// When they differ.
pub fn assert_repeats(stack: &Arc<dyn Factory>) {
    let once = || Case::endless(Arc::clone(stack), ("codel", r#"{"ecn": true}"#)).run().digest();
    assert!(once() == once(), "{}: two runs with the same seed differ", stack.name());
}

/// Without a link that lets packets through, the connection fails.
///
/// # Panics
/// When it does not.
pub fn assert_fails_without_a_way_through(stack: Arc<dyn Factory>) {
    let wire = Wire { loss: Loss::Random(1.0), ..Wire::default() };
    let run = Case { wire, seconds: 120, ..Case::endless(stack, ("fifo", "{}")) }.run();
    assert_eq!(run.events, ["Start", "Failed(Conn(0))"]);
}

/// The events of an application.
type Seen = Arc<Mutex<Vec<String>>>;

/// One connection on which a response of this size is asked for.
struct Transfer {
    response: u64,
    seen: Seen,
}

impl Application for Transfer {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.push(format!("{event:?}"));
        }
        if event == Event::Start {
            let (conn, think) = (Conn(0), Duration::ZERO);
            cx.want(Action::Open { conn, server: 0 });
            let close = self.response != ENDLESS;
            cx.want(Action::Request { conn, request: 100, response: self.response, think, close });
        }
    }
}
