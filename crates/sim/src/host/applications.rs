//! The applications of a run: models, random streams, wake-ups and pending events.

use std::collections::VecDeque;
use std::ops::Index;

use aqmkit_base::{Instant, Rng};
use aqmkit_measure::{GroupInfo, Plan};
use aqmkit_traffic::{Action, Application, Conn, Cx, Event};

use super::open::OpenConnections;
use crate::fetch::fetch;
use crate::scenario::Scenario;

/// An application and its state at its host.
pub struct App {
    model: Box<dyn Application>,
    /// The group that it belongs to.
    pub group: u16,
    /// How many applications with this number preceded it: datagrams of those are not delivered to it.
    pub(crate) generation: u16,
    /// Its number in its group.
    pub index: u32,
    rng: Rng,
    /// Its next wake-up; far in the future for none.
    wake_at: Instant,
    /// Whether it has been stopped. Applications of an inactive group are stopped from the start.
    pub(crate) stopped: bool,
    connections: OpenConnections,
}

impl App {
    fn new(model: Box<dyn Application>, group: u16, index: u32, rng: Rng) -> Self {
        let (wake_at, connections) = (Instant::FAR_FUTURE, OpenConnections::default());
        App { model, group, generation: 0, index, rng, wake_at, stopped: false, connections }
    }

    /// The network's numbers of its open connections, in the order in which they were opened.
    pub(crate) fn connections(&self) -> impl Iterator<Item = u32> {
        self.connections.iter()
    }

    /// Fetches the model.
    #[inline(always)]
    pub(crate) fn fetch_model(&self) {
        fetch(&*self.model);
    }
}

/// All applications of a run, by number.
#[derive(Default)]
pub struct Applications {
    apps: Vec<App>,
    /// By group, the number of servers.
    servers: Vec<u32>,
    /// Events not yet delivered.
    events: VecDeque<(u32, Event)>,
    /// Reused between calls.
    actions: Vec<Action>,
    /// Counters of replaced applications, summed by group.
    retired: Vec<Vec<f64>>,
    seed: u64,
}

impl Applications {
    /// Takes the applications out of a scenario, in order. Those of an inactive group are stopped.
    #[must_use]
    pub fn take(scenario: &mut Scenario) -> Self {
        let seed = scenario.seed;
        let mut apps = Vec::new();
        for (g, group) in scenario.groups.iter_mut().enumerate() {
            for (index, model) in group.apps.drain(..).enumerate() {
                let rng = stream(seed, &group.name, index);
                apps.push(App { stopped: !group.active, ..App::new(model, g as u16, index as u32, rng) });
            }
        }
        let servers = scenario.groups.iter().map(|g| g.routes.len() as u32).collect();
        let retired = vec![Vec::new(); scenario.groups.len()];
        Applications { apps, servers, retired, seed, ..Applications::default() }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[App] {
        &self.apps
    }

    /// Adds an event, which is delivered with the next call of [`deliver_events`](super::Host::deliver_events).
    #[inline]
    pub fn notify(&mut self, app: u32, event: Event) {
        self.events.push_back((app, event));
    }

    /// Adds a connection of an application: its number there, and the network's.
    pub fn add_connection(&mut self, app: u32, conn: Conn, connection: u32) {
        self.apps[app as usize].connections.add(conn, connection);
    }

    /// Removes a connection, by the network's number, from those of an application.
    pub fn remove_connection(&mut self, app: u32, connection: u32) {
        self.apps[app as usize].connections.remove(connection);
    }

    /// The models' own counters, by group, summed over its applications.
    #[must_use]
    pub fn counters(&self, plan: &Plan) -> Vec<Vec<f64>> {
        let group = |(g, retired): (&GroupInfo, &Vec<f64>)| {
            let sum = |i: usize| {
                let now: f64 = g.members().map(|app| self.apps[app].model.counter(i)).sum();
                retired.get(i).map_or(now, |before| now + before)
            };
            (0..g.counters.len()).map(sum).collect()
        };
        plan.groups.iter().zip(&self.retired).map(group).collect()
    }

    /// Replaces a stopped application by another one, at the same hosts and with the same random stream.
    pub(crate) fn replace(&mut self, app: u32, model: Box<dyn Application>) {
        let it = &mut self.apps[app as usize];
        let retired = &mut self.retired[usize::from(it.group)];
        let counters = it.model.counters().len();
        retired.resize(counters, 0.0);
        for (i, sum) in retired.iter_mut().enumerate() {
            *sum += it.model.counter(i);
        }
        it.model = model;
        it.generation = it.generation.wrapping_add(1);
        it.wake_at = Instant::FAR_FUTURE;
    }

    /// Adds an application to a group, with this number in the group.
    pub(crate) fn join(&mut self, group: usize, name: &str, index: usize, model: Box<dyn Application>) {
        let rng = stream(self.seed, name, index);
        self.apps.push(App::new(model, group as u16, index as u32, rng));
    }

    /// Sets whether an application is stopped.
    pub(crate) fn set_stopped(&mut self, app: u32, stopped: bool) {
        self.apps[app as usize].stopped = stopped;
    }

    #[inline(always)]
    pub(super) fn next_event(&mut self) -> Option<(u32, Event)> {
        self.events.pop_front()
    }

    /// Calls the model of an application. Returns the actions that it requests, and whether to ignore them because it
    /// has been stopped.
    #[inline(always)]
    pub(super) fn call(
        &mut self,
        app: u32,
        now: Instant,
        call: impl FnOnce(&mut dyn Application, &mut Cx<'_>),
    ) -> (Vec<Action>, bool) {
        let mut actions = std::mem::take(&mut self.actions);
        let it = &mut self.apps[app as usize];
        let servers = self.servers[usize::from(it.group)];
        call(&mut *it.model, &mut Cx { now, servers, rng: &mut it.rng, actions: &mut actions });
        (actions, it.stopped)
    }

    /// Keeps the allocation of a list of actions for the next call.
    #[inline(always)]
    pub(super) fn reuse(&mut self, actions: Vec<Action>) {
        self.actions = actions;
    }

    /// The network's number of an open connection.
    #[inline]
    pub(super) fn connection(&self, app: u32, conn: Conn) -> Option<u32> {
        self.apps[app as usize].connections.find(conn)
    }

    /// Sets the next wake-up of an application.
    #[inline]
    pub(super) fn wake_at(&mut self, app: u32, at: Instant) {
        self.apps[app as usize].wake_at = at;
    }

    /// Returns whether an application is due to be woken; if so, clears its wake-up.
    #[inline]
    pub(super) fn is_due(&mut self, app: u32, now: Instant) -> bool {
        let it = &mut self.apps[app as usize];
        let due = it.wake_at <= now;
        if due {
            it.wake_at = Instant::FAR_FUTURE;
        }
        due
    }

    /// Stops an application. Returns its connections, which are removed from it.
    pub(super) fn stop(&mut self, app: u32) -> OpenConnections {
        let it = &mut self.apps[app as usize];
        it.stopped = true;
        std::mem::take(&mut it.connections)
    }
}

impl Index<u32> for Applications {
    type Output = App;

    #[inline(always)]
    fn index(&self, app: u32) -> &App {
        &self.apps[app as usize]
    }
}

/// The random stream of an application, named after its group and its number there.
fn stream(seed: u64, group: &str, index: usize) -> Rng {
    Rng::stream(seed, &format!("traffic.{group}.{index}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_million_have_in_memory_is_small() {
        assert_eq!(size_of::<App>(), 88);
    }
}
