//! One connection on one bottleneck, watched event by event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aqmkit_aqm::registry::Spec;
use aqmkit_base::{BitRate, Bytes, ClassId, Duration, Framing, Instant};
use aqmkit_sim::Simulation;
use aqmkit_sim::change::Change;
use aqmkit_sim::scenario::{Delays, Group, Link, Route, Scenario, WindowSpec, Wire};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};
use aqmkit_transport::congestion::ModelView;

use super::{Hosts, MODEL, Miss};

/// How often the application looks whether it has something to send.
const TICK: Duration = Duration::from_millis(1);
/// Bytes beyond the congestion window that a full feed keeps in the send buffer.
const AHEAD: u64 = 32 << 10;
/// The same beyond a window that is not shown: more than any path of the cases holds.
const HIDDEN_WINDOW: u64 = 4 << 20;
/// The end of every scene, which no case reaches.
const LONGEST: Duration = Duration::from_secs(600);

/// A bottleneck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// Its rate in bits per second.
    pub(super) rate: u64,
    /// The round trip without queueing, in milliseconds.
    pub(super) rtt_ms: u64,
    /// The limit of its drop-tail queue in packets.
    pub(super) queue: u64,
}

/// The rate at which the application writes from now on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Feed {
    /// More than the congestion window allows.
    Full,
    /// This many bits per second.
    Rate(u64),
    /// Nothing.
    Nothing,
}

/// The feed, shared with the application: `u64::MAX` is full; and how much may be written in total with a full feed.
#[derive(Debug, Default)]
struct Tap {
    rate: AtomicU64,
    up_to: AtomicU64,
}

/// Writes what the tap says.
struct Source {
    tap: Arc<Tap>,
    written: u64,
}

impl Application for Source {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => return cx.want(Action::Open { conn: Conn(0), server: 0 }),
            Event::Opened(_) => {}
            Event::Wake => {
                let rate = self.tap.rate.load(Ordering::Relaxed);
                let bytes = match rate {
                    u64::MAX => self.tap.up_to.load(Ordering::Relaxed).saturating_sub(self.written),
                    _ => (rate as f64 / 8.0 * TICK.as_secs_f64()) as u64,
                };
                if bytes > 0 {
                    self.written += bytes;
                    cx.want(Action::Push { conn: Conn(0), bytes });
                }
            }
            _ => return,
        }
        cx.want(Action::WakeAt(cx.now + TICK));
    }
}

/// The connection and its bottleneck at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) at: Instant,
    /// The variables of the model, where the control shows them.
    pub(super) model: Option<ModelView>,
    cwnd: Option<u64>,
    /// Bytes in the network, by the sender's estimate.
    in_flight: Option<u64>,
    /// Bytes that have arrived.
    pub(super) delivered: u64,
    /// Packets lost.
    pub(super) drops: u32,
    /// Packets in the queue of the bottleneck.
    pub(super) queue: u64,
    /// The phase of TCP: `recovery`, `timeout` and others.
    pub(super) tcp: &'static str,
}

impl Look {
    /// The variables of the model.
    pub(super) fn state(&self) -> Result<ModelView, Miss> {
        self.model.ok_or(MODEL)
    }

    /// The congestion window in bytes.
    pub(super) fn cwnd(&self) -> Result<u64, Miss> {
        self.cwnd.ok_or(Miss::Hidden("its congestion window"))
    }

    /// Bytes in the network, by the sender's estimate.
    pub(super) fn in_flight(&self) -> Result<u64, Miss> {
        self.in_flight.ok_or(Miss::Hidden("its bytes in flight"))
    }

    pub(super) fn seconds_since(&self, before: &Look) -> f64 {
        self.at.since(before.at).as_secs_f64()
    }

    /// The rate of delivery since another look, in bits of data per second.
    pub(super) fn goodput_since(&self, before: &Look) -> f64 {
        (self.delivered - before.delivered) as f64 * 8.0 / self.seconds_since(before)
    }
}

/// A run of one connection, driven by a case.
pub(super) struct Scene {
    simulation: Simulation<'static>,
    tap: Arc<Tap>,
    pub(super) path: Path,
    /// Data bytes and header bytes of a segment.
    segment: (u64, u64),
}

impl Scene {
    /// One connection between such hosts, whose application has more to send than the path carries.
    pub(super) fn on(path: Path, hosts: &Hosts) -> Result<Scene, Miss> {
        let tap = Arc::new(Tap::default());
        let source = Source { tap: Arc::clone(&tap), written: 0 };
        let scenario = scenario(path, hosts.clone(), Box::new(source))?;
        let simulation = Simulation::new(scenario).map_err(|e| Miss::Broken(e.to_string()))?;
        // The packets of a stack count as those of the profile: what they have more in headers is taken from their use of the link.
        let segment = (hosts.profile.mss.0, hosts.profile.header.0);
        let scene = Scene { simulation, tap, path, segment };
        scene.feed(Feed::Full);
        Ok(scene)
    }

    pub(super) fn mss(&self) -> u64 {
        self.segment.0
    }

    /// Bits of data per second that a link of this rate carries.
    pub(super) fn data_rate(&self, rate: u64) -> f64 {
        let (mss, header) = self.segment;
        rate as f64 * mss as f64 / (mss + header) as f64
    }

    /// The same of the present link.
    pub(super) fn capacity(&self) -> f64 {
        self.data_rate(self.path.rate)
    }

    pub(super) fn feed(&self, feed: Feed) {
        let rate = match feed {
            Feed::Full => u64::MAX,
            Feed::Rate(rate) => rate,
            Feed::Nothing => 0,
        };
        self.tap.rate.store(rate, Ordering::Relaxed);
    }

    /// The link is another from now on.
    pub(super) fn change(&mut self, make: impl FnOnce(&mut Link)) -> Result<(), Miss> {
        let mut link = self.simulation.links()[0].clone();
        make(&mut link);
        self.path.rate = link.rate.as_bps();
        let change = Change::Link { link: 0, to: Box::new(link) };
        self.simulation.change(change).map_err(|e| Miss::Broken(e.to_string()))
    }

    /// The link has another rate from now on.
    pub(super) fn set_rate(&mut self, rate: u64) -> Result<(), Miss> {
        self.change(|link| link.rate = BitRate::from_bps(rate))
    }

    pub(super) fn look(&self) -> Option<Look> {
        let flow = self.simulation.flows(1).pop().filter(|flow| flow.connections > 0)?;
        self.tap.up_to.store(flow.delivered + flow.window.unwrap_or(HIDDEN_WINDOW) + AHEAD, Ordering::Relaxed);
        Some(Look {
            at: self.simulation.now(),
            model: flow.model,
            cwnd: flow.window,
            in_flight: flow.pipe.or(flow.in_flight),
            delivered: flow.delivered,
            drops: flow.drops,
            queue: self.simulation.link(0).backlog.packets,
            tcp: flow.phase,
        })
    }

    /// Shows every moment to `see`, until it returns true or `seconds` have passed. Returns the last moment, and whether `see` ended it.
    pub(super) fn watch(
        &mut self,
        seconds: f64,
        mut see: impl FnMut(&Look) -> Result<bool, Miss>,
    ) -> Result<(Look, bool), Miss> {
        let until = self.simulation.now() + Duration::from_secs_f64(seconds);
        loop {
            let over = self.simulation.advance_by(until, 1).map_err(|e| Miss::Broken(e.to_string()))?;
            match self.look() {
                Some(look) if over => return Ok((look, false)),
                Some(look) if see(&look)? => return Ok((look, true)),
                None if over => return Err(Miss::Broken("the connection has ended".to_owned())),
                _ => {}
            }
        }
    }

    /// Waits for a moment; that it does not come within so many seconds is what breaks the case.
    pub(super) fn wait(
        &mut self,
        what: &str,
        seconds: f64,
        mut is: impl FnMut(&Look) -> Result<bool, Miss>,
    ) -> Result<Look, Miss> {
        match self.watch(seconds, &mut is)? {
            (look, true) => Ok(look),
            (look, false) => {
                let now = look.model.map_or(String::new(), |m| format!("; it is in {}", m.phase.name()));
                Err(Miss::Broken(format!("{what} did not come within {seconds} s{now}")))
            }
        }
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, seconds: f64) -> Result<Look, Miss> {
        self.watch(seconds, |_| Ok(false)).map(|(look, _)| look)
    }
}

fn scenario(path: Path, hosts: Hosts, app: Box<dyn Application>) -> Result<Scenario, Miss> {
    let end = Instant::ZERO + LONGEST;
    let limit = serde_json::json!({ "limit": path.queue });
    let aqm = Spec::read("fifo", limit).map_err(|e| Miss::Broken(e.to_string()))?;
    let one_way = Duration::from_micros(500 * path.rtt_ms);
    let link = Link {
        name: "bottleneck".into(),
        rate: BitRate::from_bps(path.rate),
        trace: None,
        delay: one_way,
        framing: Framing::default(),
        mean_packet: Bytes(1500),
        aqm,
        driver: None,
        wire: Wire::default(),
        report: true,
    };
    let route = Route { forward: vec![0], reverse_delay: one_way, ..Route::default() };
    let group = Group {
        name: "own".into(),
        class: ClassId(0),
        apps: vec![app],
        profile: hosts.profile,
        stack: hosts.stack,
        start: Instant::ZERO,
        stop: Instant::FAR_FUTURE,
        routes: vec![route],
        clients: 1,
        scattered: false,
        delays: Delays::None,
        datagram_overhead: 28,
        active: true,
    };
    Ok(Scenario {
        seed: 1,
        duration: LONGEST,
        origin: Instant::ZERO,
        classes: vec!["own".into()],
        links: vec![link],
        measured: 0,
        groups: vec![group],
        windows: vec![WindowSpec { name: "all".into(), from: Instant::ZERO, to: end }],
        interval: Duration::from_secs(1),
        max_exchanges: 0,
        changes: Vec::new(),
    })
}
