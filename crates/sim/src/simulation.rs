//! A run that the caller advances, observes and changes.

use std::collections::VecDeque;

use aqmkit_aqm::custom::Customs;
use aqmkit_base::Instant;
use aqmkit_measure::Output;

use crate::change::{Change, TimedChange};
use crate::follow::Follower;
use crate::host::Host;
use crate::log::Log;
use crate::observe::{Observer, Observing};
use crate::profile::{Probe, Profile, Stopwatch, Watching};
use crate::scenario::{Link, Scenario};
use crate::view::{FlowView, LinkView};
use crate::world::World;
use crate::{Error, change};

/// A run in progress. It is advanced to an instant or by a number of events, observed in between, and changed.
///
/// Where it stops in between makes no difference: the output after [`Simulation::advance`] to the end is that of
/// [`crate::run`]. A change made by [`Simulation::change`] gives the same output as the same change in
/// [`Scenario::changes`] at [`Simulation::now`]. To return to the start, create a new one from the same scenario.
pub struct Simulation<'o> {
    world: World<'o>,
    end: Instant,
    changes: VecDeque<TimedChange>,
    /// The current settings of the links, against which changes are checked.
    links: Vec<Link>,
    groups: usize,
}

impl Simulation<'_> {
    /// The run at time zero.
    ///
    /// # Errors
    /// When the scenario contradicts itself, or a discipline cannot be built.
    pub fn new(scenario: Scenario) -> Result<Self, Error> {
        Simulation::with(scenario, None, &Customs::default())
    }
}

impl<'o> Simulation<'o> {
    /// The run at time zero, with an observer of packets and with custom disciplines.
    ///
    /// # Errors
    /// As [`Simulation::new`]; also when a link asks for a discipline that `customs` does not have.
    pub fn with(scenario: Scenario, observer: Option<&'o mut dyn Observer>, customs: &Customs) -> Result<Self, Error> {
        Simulation::start(scenario, observer.map(Observing::Packets), customs)
    }

    /// The run at time zero, whose senders are followed.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn following(scenario: Scenario, follower: &'o mut dyn Follower) -> Result<Self, Error> {
        Simulation::start(scenario, Some(Observing::Senders(follower)), &Customs::default())
    }

    fn start(mut scenario: Scenario, observing: Option<Observing<'o>>, customs: &Customs) -> Result<Self, Error> {
        scenario.check().map_err(Error::Scenario)?;
        let changes = std::mem::take(&mut scenario.changes).into();
        let end = Instant::ZERO + scenario.duration;
        let (links, groups) = (scenario.links.clone(), scenario.groups.len());
        Ok(Simulation { world: World::new(scenario, observing, customs)?, end, changes, links, groups })
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// When the run ends.
    #[must_use]
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Events processed so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.world.events()
    }

    /// Processes everything up to an instant, that instant included; at most to the end of the run.
    ///
    /// # Errors
    /// When a timed change cannot be made.
    pub fn advance(&mut self, until: Instant) -> Result<(), Error> {
        self.advance_by(until, u64::MAX).map(|_| ())
    }

    /// As [`Simulation::advance`], but stops after a number of events. Returns whether it reached the instant.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn advance_by(&mut self, until: Instant, events: u64) -> Result<bool, Error> {
        match self.world.follows() {
            false => self.advance_watched(until, events, &mut ()),
            true => self.advance_watched(until, events, &mut Watching::Senders),
        }
    }

    /// As [`Simulation::advance`], and records in a profile where the time goes. `clock` returns nanoseconds since some
    /// moment; it is called twice for each event, and its own cost is part of the measurement.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn advance_profiled(
        &mut self,
        until: Instant,
        profile: &mut Profile,
        clock: &mut dyn FnMut() -> u64,
    ) -> Result<(), Error> {
        self.advance_watched(until, u64::MAX, &mut Watching::Time(Stopwatch::new(profile, clock))).map(|_| ())
    }

    fn advance_watched(&mut self, until: Instant, events: u64, probe: &mut impl Probe) -> Result<bool, Error> {
        let until = until.min(self.end);
        let stop = self.world.events().saturating_add(events);
        while let Some(at) = self.changes.front().map(|timed| timed.at).filter(|at| *at <= until) {
            if !self.world.run_until(at.max(self.now()), stop, probe) {
                return Ok(false);
            }
            if let Some(timed) = self.changes.pop_front() {
                self.apply(timed.change)?;
            }
        }
        Ok(until < self.now() || self.world.run_until(until, stop, probe))
    }

    /// Advances to the next event at a link that the log watches, or to `until`. Returns whether there was one.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn step(&mut self, until: Instant) -> Result<bool, Error> {
        let seen = |world: &World<'_>| world.log().map_or(0, Log::seen);
        let before = seen(&self.world);
        while seen(&self.world) == before {
            if self.advance_by(until, 1)? {
                return Ok(seen(&self.world) > before);
            }
        }
        Ok(true)
    }

    /// Applies a change now, after all other events of this instant.
    ///
    /// # Errors
    /// When the change is not possible; nothing has changed then.
    pub fn change(&mut self, change: Change) -> Result<(), Error> {
        self.advance(self.now())?;
        change.check(&self.links, self.groups).map_err(Error::Scenario)?;
        self.apply(change)
    }

    /// Replaces the timed changes that are still to come.
    ///
    /// # Errors
    /// When one refers to something that is not in the scenario.
    pub fn set_changes(&mut self, changes: Vec<TimedChange>) -> Result<(), Error> {
        let possible = changes.iter().try_for_each(|timed| timed.change.check(&self.links, self.groups));
        possible.map_err(Error::Scenario)?;
        self.changes = changes.into();
        Ok(())
    }

    fn apply(&mut self, change: Change) -> Result<(), Error> {
        if let Change::Link { link, to } = &change {
            let link = *link;
            self.world.check_link(&self.links[link], to)?;
            let to = (**to).clone();
            self.world.change(change)?;
            self.links[link] = to;
            return Ok(());
        }
        Ok(self.world.change(change)?)
    }

    /// Records packet events at the watched links from now on; stops if `log` is `None`.
    pub fn set_log(&mut self, log: Option<Log>) {
        self.world.set_log(log);
    }

    /// The recorded events.
    pub fn log(&mut self) -> Option<&mut Log> {
        self.world.log_mut()
    }

    /// The current settings of the links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// The current state of a link.
    ///
    /// # Panics
    /// When there is no such link.
    #[must_use]
    pub fn link(&self, link: usize) -> LinkView<'_, 'o> {
        self.world.link_view(link)
    }

    /// The applications with open connections, and those that send datagrams, in order: at most `limit`.
    #[must_use]
    pub fn flows(&self, limit: usize) -> Vec<FlowView> {
        self.world.flow_views(limit)
    }

    /// The measurements so far, without windows that have not begun.
    #[must_use]
    pub fn output_so_far(&self) -> Output {
        self.world.output_so_far()
    }

    /// The measurements.
    #[must_use]
    pub fn output(self) -> Output {
        self.world.output()
    }
}

impl Scenario {
    /// Checks the changes; [`Scenario::check`] includes it.
    pub(crate) fn check_changes(&self) -> Result<(), String> {
        change::check_all(self)
    }
}
