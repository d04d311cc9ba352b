//! Runs a scenario on a live link, in real time and with the kernel's TCP.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use aqmkit_base::Duration;
use aqmkit_experiment::RunSpec;
use aqmkit_live::link::Link;
use aqmkit_live::timing::request_realtime;
use aqmkit_measure::join;
use aqmkit_measure::output::Engine;
use aqmkit_results::place::AXIS;
use aqmkit_runs::run::{Stop, Work};
use aqmkit_sim::{Control, Output, Progress, Scenario};

use crate::error::TestbedError;
use crate::hosts::{Hosts, Recorded, could_not_fill};
use crate::place::On;
use crate::setup;

/// A run of an experiment, in the simulator or on a live link.
#[derive(Clone, Debug)]
pub struct Placed {
    spec: RunSpec,
    labels: BTreeMap<String, String>,
    hash: String,
    on: On,
}

impl Placed {
    /// Places a run in the simulator or on a live link, and adds the label of the place.
    pub(crate) fn new(spec: RunSpec, on: On) -> Self {
        let mut labels = spec.labels.clone();
        labels.insert(AXIS.to_owned(), on.label().to_owned());
        let hash = match on {
            On::Simulated => spec.hash.clone(),
            _ => format!("{}-{}-{}", spec.hash, on.label(), crate::VERSION),
        };
        Placed { spec, labels, hash, on }
    }

    /// Where it takes place.
    #[must_use]
    pub fn on(&self) -> On {
        self.on
    }

    /// Checks that live links and this machine support everything that the run needs.
    pub(crate) fn check(&self) -> Result<(), TestbedError> {
        if self.on == On::Simulated {
            return Ok(());
        }
        let scenario = self.spec.scenario().map_err(|e| TestbedError::Unfit { on: self.on, why: e.to_string() })?;
        for group in &scenario.groups {
            if let Some(stack) = &group.stack {
                let why = format!(
                    "{} uses the stack {}, and live links carry the kernel's TCP: run it in the simulator",
                    group.name,
                    stack.name()
                );
                return Err(TestbedError::Unfit { on: self.on, why });
            }
            setup::control(&group.profile)?;
        }
        setup::setup(&scenario, self.on).map(|_| ())
    }

    /// The minimum duration; zero in the simulator, which has its own clock.
    pub(crate) fn real_time(&self) -> Duration {
        let scenario = (self.on != On::Simulated).then(|| self.spec.scenario().ok()).flatten();
        scenario.map_or(Duration::ZERO, |scenario| scenario.duration + setup::START)
    }
}

impl Work for Placed {
    fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    fn hash(&self) -> &str {
        &self.hash
    }

    fn weight(&self) -> f64 {
        if self.on == On::Simulated { 0.0 } else { 1.0 }
    }

    fn run(&self, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
        if self.on == On::Simulated {
            return self.spec.run(on_progress);
        }
        let scenario = self.spec.scenario().map_err(|e| Stop::Failed(e.to_string()))?;
        run(scenario, self.on, on_progress)
    }
}

/// Runs a scenario on a live link.
fn run(mut scenario: Scenario, on: On, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Stop> {
    let failed = |e: &dyn std::fmt::Display| Stop::Failed(e.to_string());
    let wanted = setup::setup(&scenario, on).map_err(|e| failed(&e))?;
    let link = Link::open(&wanted).map_err(|e| failed(&e))?;
    // `Hosts::new` takes the applications out of the scenario.
    let plan = setup::measures(&scenario, &wanted.up.name);
    let hosts = Hosts::new(&mut scenario, &link).map_err(|e| failed(&e))?;
    let hosts = live(hosts, &link, on_progress);
    let closed = link.close();
    let hosts = hosts.map_err(|e| match e.kind() {
        io::ErrorKind::Interrupted => Stop::Cancelled,
        _ => failed(&e),
    })?;
    let (measured, dropped_elsewhere) = closed.map_err(|e| failed(&e))?;
    let mut doubts = measured.doubts(dropped_elsewhere);
    let mut output = join(&plan, measured.recorders, hosts.recorder, measured.end);
    doubts.extend(could_not_fill(&wanted.down.name, &output.windows, &hosts.efforts));
    if !doubts.is_empty() {
        return Err(Stop::Failed(format!("the machine could not keep up: {}", doubts.join("; "))));
    }
    let drops = hosts.owners.drops(output.flows.len(), &measured.drops);
    for (flow, lost) in output.flows.iter_mut().zip(drops) {
        flow.drops = lost;
    }
    Ok(Output { engine: Engine { events: output.engine.packets, ..output.engine }, ..output })
}

/// Runs the hosts on a separate thread in the clients' namespace, while this thread reports progress.
fn live(hosts: Hosts, link: &Link, on_progress: &mut dyn FnMut(Progress) -> Control) -> io::Result<Recorded> {
    let (sender, reports) = channel();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stop = &stop;
        let work = move || {
            link.client.namespace.enter()?;
            // Without real-time priority, hosts may wait for other programs, and the measurements would reflect that
            // rather than the link.
            let _ = request_realtime();
            hosts.run(&mut |progress| {
                // The receiver outlives this thread.
                let _ = sender.send(progress);
                if stop.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
            })
        };
        let thread = scope.spawn(work);
        for progress in reports {
            if let Control::Stop = on_progress(progress) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the hosts' thread panicked")))
    })
}
