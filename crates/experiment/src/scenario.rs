//! Builds the simulator's scenario of a run.

use std::sync::Arc;

use aqmkit_base::{ClassId, Duration, Instant, Rng};
use aqmkit_sim::change::{Change, TimedChange, Transport};
use aqmkit_sim::scenario::{self, Scenario};
use aqmkit_stack::Factory;
use aqmkit_traffic::Application;
use aqmkit_traffic::model::UDP_HEADERS;

use super::calibration::uncongested;
use super::changes::Stage;
use super::delays::Delays;
use super::group::Group;
use super::link::Link;
use super::network::Route;
use super::plan::RunSpec;
use super::problem::Problem;
use super::resolve::{Resolved, Window};

/// If a run has more exchanges than this, only a histogram by size and duration is kept, because the results of all
/// runs of an experiment are in memory together.
const MAX_EXCHANGES: usize = 50_000;

impl RunSpec {
    /// The input for the simulator.
    ///
    /// # Errors
    /// When a population is not calibrated.
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
            changes: changes(run, self.seed)?,
        };
        scenario.check().map_err(Problem::new)?;
        Ok(scenario)
    }
}

fn link(link: &Link, free: bool) -> Result<scenario::Link, Problem> {
    Ok(if free { uncongested(link)?.simulated } else { link.simulated.clone() })
}

/// The simulator's changes for each change of the experiment.
fn changes(run: &Resolved, seed: u64) -> Result<Vec<TimedChange>, Problem> {
    let mut all = Vec::new();
    let (mut links, mut groups) = (&run.links, &run.groups);
    for stage in &run.changes {
        let at = stage.at.instant(run.warmup);
        let made = steps((links, groups), stage, run.uncongested, seed)?;
        all.extend(made.into_iter().map(|change| TimedChange { at, change }));
        (links, groups) = (&stage.links, &stage.groups);
    }
    Ok(all)
}

/// The simulator's changes from one stage to the next.
pub(super) fn steps(
    (links, groups): (&[Link], &[Group]),
    stage: &Stage,
    free: bool,
    seed: u64,
) -> Result<Vec<Change>, Problem> {
    let mut steps = Vec::new();
    for (i, (old, new)) in links.iter().zip(&stage.links).enumerate() {
        let (before, to) = (link(old, free)?, link(new, free)?);
        if before != to {
            steps.push(Change::Link { link: i, to: Box::new(to) });
        }
    }
    for (i, (old, new)) in groups.iter().zip(&stage.groups).enumerate() {
        let paths = |g: &Group| g.routes.iter().map(|r| (Duration::ZERO, r.reverse_delay)).collect::<Vec<_>>();
        if paths(old) != paths(new) || delays(&old.delays) != delays(&new.delays) {
            steps.push(Change::Delays { group: i, routes: paths(new), delays: delays(&new.delays) });
        }
        steps.extend(of_traffic(i, old, new, seed));
    }
    Ok(steps)
}

/// Which applications of a traffic continue, and which begin. If only their number changes, the remaining ones
/// continue; if another parameter or the transport changes, all are replaced.
fn of_traffic(group: usize, old: &Group, new: &Group, seed: u64) -> Option<Change> {
    let differs = old.profile != new.profile || old.stack != new.stack;
    let transport = differs.then(|| Box::new(Transport { profile: new.profile.clone(), stack: stack(new) }));
    let count = |g: &Group| if g.active { g.population.instances() } else { 0 };
    if old.spec == new.spec && old.active == new.active && transport.is_none() {
        return None;
    }
    let continues = old.active && transport.is_none() && is_same_but_for_number(old, new);
    let keep = if continues { count(old).min(count(new)) } else { 0 };
    let begin = (keep..count(new)).map(|i| application(new, i, seed)).collect();
    Some(Change::Traffic { group, keep, begin, transport })
}

fn is_same_but_for_number(old: &Group, new: &Group) -> bool {
    let (mut before, mut after) = (old.spec.clone(), new.spec.clone());
    if let (Some((_, of_before)), Some((_, of_after))) = (before.count(), after.count()) {
        *of_before = *of_after;
    }
    before == after
}

fn group(group: &Group, run: &Resolved, seed: u64) -> scenario::Group {
    let end = run.instant(run.duration);
    scenario::Group {
        name: group.name.clone(),
        class: ClassId(group.class),
        apps: (0..group.population.instances()).map(|i| application(group, i, seed)).collect(),
        profile: group.profile.clone(),
        stack: stack(group),
        start: group.start.map_or(Instant::ZERO, |t| run.instant(t)),
        stop: group.stop.map_or(end, |t| run.instant(t).min(end)),
        routes: group.routes.iter().map(route).collect(),
        clients: group.clients,
        scattered: group.scattered,
        delays: delays(&group.delays),
        active: group.active,
        datagram_overhead: UDP_HEADERS,
    }
}

/// Makes the ends of the connections of a traffic with a stack from outside.
fn stack(group: &Group) -> Option<Arc<dyn Factory>> {
    group.stack.as_ref().map(|stack| Arc::clone(stack.factory()))
}

/// An application is created with a random stream that differs from the one it uses while it runs.
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
