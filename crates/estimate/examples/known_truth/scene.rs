//! Links whose truth is known, and what a measurement on them sees: the simulator runs sparse packets and bulk flows.

use std::collections::BTreeMap;

use aqmkit_aqm::registry;
use aqmkit_base::{Duration, Ecn, Instant, Rng};
use aqmkit_experiment::{Catalogues, Experiment, Overrides, RunSpec};
use aqmkit_sim::Simulation;
use aqmkit_sim::observe::{Content, Observer, Sighting};
use aqmkit_traffic::{
    Action, Addition, Application, Arrival, Cx, Data, Event, Exchange, Model, ParamError, Population, Side,
};
use serde::{Deserialize, Serialize};

/// When the load begins, in seconds.
pub(crate) const BEGIN: f64 = 5.0;
/// Time between sparse packets, in seconds.
pub(crate) const EVERY: f64 = 0.02;
/// Time between two looks at the flows, in seconds.
pub(crate) const LOOK: f64 = 0.1;
/// The size of a sparse packet, in bytes: that of ping.
pub(crate) const SPARSE: u32 = 84;

/// A link and its load.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub discipline: &'static str,
    pub rate_bps: f64,
    pub rtt_s: f64,
    pub flows: u32,
    /// The limit of the queue, in packets.
    pub limit: u64,
    /// How long the load lasts, in seconds.
    pub load: f64,
    pub seed: u64,
}

/// The properties of a queue that the estimate is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    /// Whether a sparse flow has a queue of its own; `None` where that depends on the rates of the flows.
    pub fair: Option<bool>,
    /// Whether packets are dropped before the queue is full.
    pub managed: bool,
    /// Whether the limit is that of a single queue.
    pub has_one_limit: bool,
}

/// Disciplines with a queue for each flow.
const FAIR: [&str; 7] = ["drr", "sfq", "wfq", "fq", "fq-codel", "fq-pie", "cake"];
/// Disciplines that drop only when they are full.
const FULL: [&str; 8] = ["fifo", "pfifo-fast", "drr", "sfq", "wfq", "fq", "hhf", "cbq"];
/// Disciplines that hold others, which hold FIFOs by default.
const HOLDERS: [&str; 4] = ["tbf", "prio", "ets", "htb"];

impl Case {
    /// The truth about the queue.
    pub(crate) fn truth(&self) -> Truth {
        let name = self.discipline;
        Truth {
            // A heavy hitter is a flow above 26 Mbit/s; slower ones share a queue with sparse packets.
            fair: (name != "hhf").then(|| FAIR.contains(&name)),
            managed: !FULL.contains(&name),
            has_one_limit: ["fifo", "pfifo-fast"].contains(&name),
        }
    }
}

/// A case for each discipline and round, drawn from a seed: rates from 1 to `most` Mbit/s, round trips from 5 to 300 ms, one to eight flows, and for queues
/// that drop only when full a buffer of 20 to 400 ms. Other queues have room for 300 ms and at least a thousand packets, so that they are never full.
pub(crate) fn cases(seed: u64, rounds: usize, most: f64, load: f64) -> Vec<Case> {
    let names: Vec<&'static str> =
        registry::ALL.iter().map(|entry| entry.name).filter(|name| !HOLDERS.contains(name)).collect();
    let mut cases = Vec::new();
    for _ in 0..rounds {
        // Only a FIFO has a buffer with one truth.
        for name in names.iter().chain(&["fifo"; 4]) {
            // A new discipline does not change the links of others.
            let before = cases.iter().filter(|case: &&Case| case.discipline == *name).count();
            let mut rng = Rng::stream(seed, &format!("{name} {before}"));
            let mut between = |low: f64, high: f64| low * (high / low).powf(rng.uniform());
            let (rate, rtt, buffer) = (between(1e6, most * 1e6), between(0.005, 0.3), between(0.02, 0.4));
            let flows = 1 + rng.below(8) as u32;
            let packets = |seconds: f64| (rate * seconds / 12_000.0).round();
            let limit = if FULL.contains(name) { packets(buffer).max(8.0) } else { packets(0.3).max(1000.0) };
            cases.push(Case {
                discipline: name,
                rate_bps: rate.round(),
                rtt_s: rtt,
                flows,
                limit: limit as u64,
                load,
                seed: rng.bits() >> 1,
            });
        }
    }
    cases
}

/// What one flow had done at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Bytes received.
    pub delivered: u64,
    /// Segments sent again.
    pub again: u64,
    /// The sender's smoothed round trip, in seconds.
    pub rtt: Option<f64>,
}

/// What was measured.
pub(crate) struct Recording {
    pub case: Case,
    /// Sparse packets: when sent, and the round trip in seconds.
    pub sparse: Vec<(f64, Option<f64>)>,
    /// The flows at every [`LOOK`] from time zero on.
    pub flows: Vec<Vec<Look>>,
    /// The longest delay in the queue, in seconds.
    pub longest_s: f64,
    /// The share of the drops that were because the queue was full.
    pub full: f64,
    /// Packets dropped.
    pub drops: u64,
}

impl Recording {
    /// The end of the load, in seconds.
    pub(crate) fn end(&self) -> f64 {
        BEGIN + self.case.load
    }
}

/// Simulates a case.
pub(crate) fn record(case: &Case) -> Result<Recording, String> {
    let spec = spec(case)?;
    let mut again = Again::default();
    let mut flows = vec![Vec::new(); case.flows as usize];
    let scenario = spec.scenario().map_err(|e| e.to_string())?;
    let mut simulation =
        Simulation::with(scenario, Some(&mut again), &Default::default()).map_err(|e| e.to_string())?;
    let looks = (simulation.end().as_secs_f64() / LOOK) as usize;
    for n in 0..looks {
        simulation.advance(Instant::ZERO + Duration::from_secs_f64(n as f64 * LOOK)).map_err(|e| e.to_string())?;
        for view in simulation.flows(usize::MAX) {
            if let (0, Some(flow)) = (view.group, flows.get_mut(view.index as usize)) {
                // A flow without a connection is not among them.
                flow.resize(n, flow.last().copied().unwrap_or_default());
                flow.push(Look { delivered: view.delivered, again: 0, rtt: view.rtt.map(Duration::as_secs_f64) });
            }
        }
    }
    let end = simulation.end();
    simulation.advance(end).map_err(|e| e.to_string())?;
    let output = simulation.output();
    for (index, flow) in flows.iter_mut().enumerate() {
        flow.resize(looks, flow.last().copied().unwrap_or_default());
        let times = again.0.get(&(index as u32)).cloned().unwrap_or_default();
        for (n, look) in flow.iter_mut().enumerate() {
            look.again = times.partition_point(|at| *at <= n as f64 * LOOK) as u64;
        }
    }
    let answered: BTreeMap<u64, f64> = output
        .exchanges
        .iter()
        .filter(|exchange| exchange.traffic == "echo")
        .map(|exchange| ((exchange.started_s / EVERY).round() as u64, exchange.duration_ms / 1000.0))
        .collect();
    // Packets sent at the end have no time to come back.
    let sent = ((end.as_secs_f64() - 4.0) / EVERY) as u64;
    let sparse = (1..sent).map(|n| (n as f64 * EVERY, answered.get(&n).copied())).collect();
    let link =
        output.windows.first().and_then(|window| window.links.values().next()).ok_or("the link has no results")?;
    let drops: u64 = link.drops.values().sum();
    let because_full: u64 = ["overflow", "evicted"].iter().filter_map(|why| link.drops.get(*why)).sum();
    let full = because_full as f64 / drops.max(1) as f64;
    let longest_s = link.queue_delay_ms.as_ref().map_or(0.0, |delay| delay.max / 1000.0);
    Ok(Recording { case: case.clone(), sparse, flows, longest_s, full, drops })
}

/// The run of a case.
pub(crate) fn spec(case: &Case) -> Result<RunSpec, String> {
    let Case { discipline, rate_bps, rtt_s, flows, limit, load, seed } = case;
    let limit = if *discipline == "cbq" { String::new() } else { format!("limit = {limit}") };
    // Queues empty after the load, and sparse packets are sent without it once more.
    let duration = BEGIN + load + 12.0;
    let text = format!(
        r#"
title = "Known truth"
duration = "{duration}s"
warmup = "0s"
seed = {seed}
[windows]
load = ["{BEGIN}s", "{stop}s"]
[topology]
rate = "{rate_bps}bit"
delays = "{delay}us"
[topology.aqm]
name = "{discipline}"
{limit}
[[traffic]]
kind = "bulk"
class = "all"
flows = {flows}
stagger = "100ms"
start = "{BEGIN}s"
stop = "{stop}s"
[[traffic]]
kind = "echo"
name = "echo"
class = "all"
every = "{EVERY}s"
[transport]
congestion = "cubic"
profile = "linux-6"
"#,
        delay = (rtt_s * 1e6).round(),
        stop = BEGIN + load,
    );
    let mut catalogues = Catalogues::default();
    catalogues.traffic.add(Addition::of::<Params>(1)).map_err(|e| e.to_string())?;
    let experiment = Experiment::parse_with("truth", &text, &Overrides::default(), &catalogues);
    let experiment = experiment.map_err(|e| format!("{discipline}: {}", e.in_one_line()))?;
    experiment.plan().into_iter().next().ok_or_else(|| "the experiment has no run".to_owned())
}

/// Counts segments that are sent again, by flow.
#[derive(Default)]
struct Again(BTreeMap<u32, Vec<f64>>);

impl Observer for Again {
    fn packet(&mut self, now: Instant, packet: &Sighting) {
        if let Content::Segment(segment) = &packet.content
            && segment.retransmission
            && packet.parties.group == 0
            && !packet.parties.from_client
        {
            self.0.entry(packet.parties.client).or_default().push(now.as_secs_f64());
        }
    }
}

/// Sparse packets that a server answers across the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    every: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Params { every: Duration::from_millis(20) }
    }
}

impl Model for Params {
    const NAME: &'static str = "echo";

    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    fn prepare(&self, _data: &[Data]) -> Result<Box<dyn Population>, ParamError> {
        Ok(Box::new(self.clone()))
    }
}

impl Population for Params {
    fn instances(&self) -> usize {
        1
    }

    fn make(&self, _index: usize, _rng: &mut Rng) -> Box<dyn Application> {
        Box::new(Pings { every: self.every, sent: Vec::new() })
    }
}

struct Pings {
    every: Duration,
    sent: Vec<Instant>,
}

/// Bytes of payload.
const LEN: u32 = SPARSE - 28;

impl Application for Pings {
    fn on_event(&mut self, event: Event, cx: &mut Cx<'_>) {
        match event {
            Event::Start => {}
            Event::Wake => {
                cx.want(Action::Reply { len: LEN, tag: self.sent.len() as u64, ecn: Ecn::NotEct });
                self.sent.push(cx.now);
            }
            _ => return,
        }
        cx.want(Action::WakeAt(cx.now + self.every));
    }

    fn on_arrival(&mut self, arrival: Arrival, cx: &mut Cx<'_>) {
        match arrival.to {
            Side::Server => cx.want(Action::Datagram { len: LEN, tag: arrival.tag, ecn: Ecn::NotEct }),
            Side::Client => {
                if let Some(&started) = self.sent.get(arrival.tag as usize) {
                    cx.want(Action::Done(Exchange { kind: 0, started, bytes: LEN.into() }));
                }
            }
        }
    }

    fn exchange_kinds(&self) -> &'static [&'static str] {
        &["echo"]
    }
}
