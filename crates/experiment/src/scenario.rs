//! The simulator's scenario of a run.

use std::sync::Arc;

use aqmkit_base::{ClassId, Instant, Rng};
use aqmkit_sim::scenario::{self, Scenario};
use aqmkit_traffic::Application;
use aqmkit_traffic::model::UDP_HEADERS;

use super::calibration::uncongested;
use super::delays::Delays;
use super::group::Group;
use super::link::Link;
use super::network::Route;
use super::plan::RunSpec;
use super::problem::Problem;
use super::resolve::{Resolved, Window};

/// Of more exchanges, only the counts by size and duration are kept: all runs of an experiment are in memory together.
const MAX_EXCHANGES: usize = 50_000;

impl RunSpec {
    /// What the simulator is to run.
    ///
    /// # Errors
    /// When the parts contradict each other; an experiment that could be read does not let that happen.
    pub fn scenario(&self) -> Result<Scenario, Problem> {
        let run = &*self.resolved;
        if let Some(open) = run.groups.iter().find(|g| g.load.is_some()) {
            let problem = Problem::new(format!("the population of traffic {} is not calibrated", open.name));
            return Err(problem.right("an experiment with a load must be calibrated before it is run"));
        }
        let window = |w: &Window| scenario::WindowSpec {
            name: w.name.clone(),
            from: run.instant(w.from),
            to: run.instant(w.to),
        };
        let scenario = Scenario {
            seed: self.seed,
            duration: run.warmup + run.duration,
            origin: Instant::ZERO + run.warmup,
            classes: run.classes.clone(),
            links: run.links.iter().map(|l| link(l, run.uncongested)).collect::<Result<_, _>>()?,
            measured: run.measured,
            groups: run.groups.iter().map(|g| group(g, run, self.seed)).collect(),
            windows: run.windows.iter().map(window).collect(),
            interval: run.interval,
            max_exchanges: MAX_EXCHANGES,
            changes: Vec::new(),
        };
        scenario.check().map_err(Problem::new)?;
        Ok(scenario)
    }
}

fn link(link: &Link, free: bool) -> Result<scenario::Link, Problem> {
    let link = if free { uncongested(link)? } else { link.clone() };
    Ok(scenario::Link {
        name: link.name,
        rate: link.rate.mean,
        trace: link.rate.trace.as_ref().map(|t| Arc::clone(&t.trace)),
        delay: link.delay,
        framing: link.framing,
        mean_packet: link.mean_packet,
        aqm: link.aqm,
        wire: link.wire,
        report: link.report,
    })
}

fn group(group: &Group, run: &Resolved, seed: u64) -> scenario::Group {
    let end = run.instant(run.duration);
    scenario::Group {
        name: group.name.clone(),
        class: ClassId(group.class),
        apps: (0..group.population.instances()).map(|i| application(group, i, seed)).collect(),
        profile: group.profile.clone(),
        start: group.start.map_or(Instant::ZERO, |t| run.instant(t)),
        stop: group.stop.map_or(end, |t| run.instant(t).min(end)),
        routes: group.routes.iter().map(route).collect(),
        clients: group.clients,
        delays: delays(&group.delays),
        datagram_overhead: UDP_HEADERS,
    }
}

/// An application is made with a stream apart from the one it later draws from.
fn application(group: &Group, index: usize, seed: u64) -> Box<dyn Application> {
    let mut rng = Rng::stream(seed, &format!("traffic.{}.{index}.make", group.name));
    group.population.make(index, &mut rng)
}

fn route(route: &Route) -> scenario::Route {
    scenario::Route {
        forward: route.forward.clone(),
        reverse: route.reverse.clone(),
        reverse_delay: route.reverse_delay,
        ..scenario::Route::default()
    }
}

fn delays(delays: &Delays) -> scenario::Delays {
    match delays {
        Delays::None => scenario::Delays::None,
        Delays::Uniform((low, high)) => scenario::Delays::Uniform(*low, *high),
        Delays::Each(list) => scenario::Delays::Each(list.clone()),
        Delays::Matrix(rows) => scenario::Delays::Matrix(rows.clone()),
    }
}
