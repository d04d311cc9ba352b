//! A run on a live link: what the simulator would be told, done by the kernel in real time.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use aqmkit_base::Duration;
use aqmkit_live::bottleneck::{Look, Measured};
use aqmkit_live::link::{Link, LinkSetup};
use aqmkit_live::timing::be_punctual;
use aqmkit_packets::meter::Counters;
use aqmkit_sim::output::{Distribution, Engine, Series, Window};
use aqmkit_sim::{Control, Output, Progress, Scenario};

use super::agree::AXIS;
use super::hosts::{Hosts, Record};
use super::plan::{self, NotLive, on_the_clock};
use super::stats;
use crate::engine;
use crate::experiment::RunSpec;
use crate::run::{Stop, Work};

/// A run of an experiment, in the simulator or on a live link.
#[derive(Clone, Debug)]
pub struct Placed {
    spec: RunSpec,
    labels: BTreeMap<String, String>,
    hash: String,
    live: bool,
}

impl Placed {
    /// The run in the simulator, or on a live link. It has a label more than the run itself.
    #[must_use]
    pub fn new(spec: RunSpec, live: bool) -> Self {
        let mut labels = spec.labels.clone();
        labels.insert(AXIS.to_owned(), if live { "live" } else { "simulated" }.to_owned());
        let hash = if live { format!("{}-live-{}", spec.hash, engine::LIVE) } else { spec.hash.clone() };
        Placed { spec, labels, hash, live }
    }

    /// Whether it can be done here: what a live link and this machine do not do is told before anything is run.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(&self) -> Result<(), NotLive> {
        let scenario = self.spec.scenario().map_err(|e| NotLive::Unfit(e.to_string()))?;
        for group in &scenario.groups {
            plan::control(&group.profile)?;
        }
        plan::setup(&scenario).map(|_| ())
    }
}

impl Work for Placed {
    fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn hash(&self) -> &str {
        &self.hash
    }

    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
        if !self.live {
            return self.spec.run(on_progress);
        }
        let scenario = self.spec.scenario().map_err(|e| Stop::Failed(e.to_string()))?;
        run(scenario, on_progress)
    }
}

/// Runs a scenario on a live link.
fn run(mut scenario: Scenario, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
    let setup = plan::setup(&scenario).map_err(|e| match e {
        NotLive::Lacks(text) | NotLive::Unfit(text) => Stop::Failed(text),
    })?;
    let failed = |e: &dyn std::fmt::Display| Stop::Failed(e.to_string());
    let link = Link::open(&setup).map_err(|e| failed(&e))?;
    let hosts = Hosts::new(&mut scenario, &link).map_err(|e| failed(&e))?;
    let record = live(hosts, &link, on_progress);
    let closed = link.close();
    let record = record.map_err(|e| match e.kind() {
        io::ErrorKind::Interrupted => Stop::Cancelled,
        _ => failed(&e),
    })?;
    let (measured, dropped_before) = closed.map_err(|e| failed(&e))?;
    let doubts = measured.doubts(dropped_before);
    if !doubts.is_empty() {
        return Err(Stop::Failed(format!("the machine could not keep up: {}", doubts.join("; "))));
    }
    let mut windows = windows(&scenario, &setup, &measured);
    record.complete(&mut windows);
    let flows = record.flow_records();
    let mut distributions = waits(&scenario, &measured);
    distributions.extend(record.distributions());
    let responses = record.responses();
    let (exchanges, exchanges_dropped) = record.exchanges();
    let packets = measured.directions.first().and_then(|d| d.1.first()).map_or(0, |w| w.total.sent_packets);
    Ok(Output {
        series: series(&scenario, &setup, &measured.samples),
        windows,
        flows,
        exchanges,
        exchanges_dropped,
        distributions,
        responses,
        engine: Engine { packets, events: packets, ..Engine::default() },
    })
}

/// Lets the hosts live on a thread of their own, inside the clients' namespace; progress is told on this one.
fn live(hosts: Hosts, link: &Link, on_progress: &mut dyn FnMut(Progress) -> Control) -> io::Result<Record> {
    let (tell, told) = channel();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        let work = move || {
            link.client.namespace.enter()?;
            // Hosts that wait for other programs would be measured in place of the link.
            let _ = be_punctual();
            hosts.run(&mut |progress| {
                // Who listens does so until this thread ends.
                let _ = tell.send(progress);
                if stop.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
            })
        };
        let thread = scope.spawn(work);
        for progress in told {
            if let Control::Stop = on_progress(progress) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the hosts' thread panicked")))
    })
}

/// How long packets waited, by link and class, for plots.
fn waits(scenario: &Scenario, measured: &Measured) -> Vec<Distribution> {
    let mut found = Vec::new();
    for (i, spec) in scenario.windows.iter().enumerate() {
        // The first window of a link is the whole.
        let of = |side: usize| measured.directions.get(side).and_then(|d| Some((&d.0, d.1.get(i + 1)?)));
        for (name, window) in [0, 1].into_iter().filter_map(of).filter(|(name, _)| is_reported(scenario, name)) {
            found.extend(stats::distribution(&spec.name, format!("links.{name}.queue_delay_ms"), &window.delay, 100));
        }
        let shares = of(0).into_iter().flat_map(|(_, window)| &window.classes);
        for (name, share) in scenario.classes.iter().zip(shares) {
            found.extend(stats::distribution(&spec.name, format!("classes.{name}.queue_delay_ms"), &share.delay, 100));
        }
    }
    found
}

fn is_reported(scenario: &Scenario, link: &str) -> bool {
    scenario.links.iter().any(|l| l.report && l.name == link)
}

/// The windows as far as the link knows.
fn windows(scenario: &Scenario, setup: &LinkSetup, measured: &Measured) -> Vec<Window> {
    let origin = on_the_clock(scenario.origin).as_secs_f64();
    let one = |(i, spec): (usize, &aqmkit_sim::scenario::WindowSpec)| {
        // The first window of a link is the whole.
        let sides = measured.directions.iter().zip([setup.down.rate, setup.up.rate]);
        let of = sides.filter_map(|((name, windows), rate)| Some((name, windows.get(i + 1)?, rate)));
        let links = of
            .filter(|(name, ..)| is_reported(scenario, name))
            .map(|(name, w, rate)| (name.clone(), stats::link(w, rate)));
        let down = measured.directions.first().and_then(|d| d.1.get(i + 1));
        let classes = scenario.classes.iter().enumerate();
        Window {
            name: spec.name.clone(),
            from_s: on_the_clock(spec.from).as_secs_f64() - origin,
            to_s: on_the_clock(spec.to).as_secs_f64() - origin,
            links: links.collect(),
            classes: classes.filter_map(|(c, name)| Some((name.clone(), stats::class(down?, c)))).collect(),
            ..Window::default()
        }
    };
    scenario.windows.iter().enumerate().map(one).collect()
}

/// The link's series: each sample less the one before.
fn series(scenario: &Scenario, setup: &LinkSetup, samples: &[Look]) -> Series {
    let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut put = |name: String, value: f64| columns.entry(name).or_default().push(value);
    for pair in samples.windows(2) {
        let [last, this] = pair else { continue };
        let seconds = this.at.since(last.at).as_secs_f64();
        for (side, name) in [&setup.down.name, &setup.up.name].into_iter().enumerate() {
            if let (Some(a), Some(b)) = (last.directions.get(side), this.directions.get(side)) {
                rates(&format!("links.{name}"), &a.0, &b.0, seconds, &mut put);
            }
        }
        for (class, name) in scenario.classes.iter().enumerate() {
            let of = |look: &Look| look.classes.first().and_then(|c| c.get(class)).copied().unwrap_or_default();
            rates(&format!("classes.{name}"), &of(last), &of(this), seconds, &mut put);
        }
        for (name, value) in this.gauges.first().into_iter().flatten() {
            put(format!("links.{}.aqm.{name}", setup.down.name), *value);
        }
    }
    let rows = samples.len().saturating_sub(1);
    columns.values_mut().for_each(|c| c.resize(rows, f64::NAN));
    Series { interval_s: scenario.interval.as_secs_f64(), columns }
}

fn rates(path: &str, a: &Counters, b: &Counters, seconds: f64, put: &mut impl FnMut(String, f64)) {
    let offered = (b.offered_packets - a.offered_packets) as f64;
    put(format!("{path}.throughput_bps"), (b.sent_bytes - a.sent_bytes) as f64 * 8.0 / seconds);
    put(format!("{path}.offered_bps"), (b.offered_bytes - a.offered_bytes) as f64 * 8.0 / seconds);
    put(format!("{path}.drop_rate"), (b.drops() - a.drops()) as f64 / offered);
    put(format!("{path}.mark_rate"), (b.marks() - a.marks()) as f64 / offered);
}

/// How long a plan takes: real time cannot be hurried.
#[must_use]
pub fn real_time(plan: &[Placed]) -> Duration {
    let live = plan.iter().filter(|p| p.live).filter_map(|p| p.spec.scenario().ok());
    live.map(|s| s.duration + plan::START).sum()
}
