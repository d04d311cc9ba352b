//! A deterministic packet-level simulator of congested links.
//!
//! [`run`] takes a [`Scenario`] (links, routes, applications, windows) and returns the measurements; a [`Simulation`] is the
//! same run under the control of the caller, who can advance, observe and change it. Time
//! is integer nanoseconds, a run uses one thread, and every random number comes from a stream named after
//! the object that draws it: the same scenario gives the same [`Output`], bit by bit, on every machine.

#![forbid(unsafe_code)]

pub mod alone;
pub mod change;
mod driver;
pub mod event_queue;
mod fetch;
pub mod follow;
pub mod host;
mod link;
pub mod log;
pub mod observe;
mod packet;
pub mod profile;
pub mod scenario;
mod simulation;
pub mod view;
mod world;

use aqmkit_aqm::ParamError;
use aqmkit_aqm::custom::Customs;
use aqmkit_base::{Duration, Instant};

pub use aqmkit_measure::output::{self, Output};
pub use follow::Follower;
pub use link::check_queue;
pub use observe::Observer;
pub use scenario::Scenario;
pub use simulation::Simulation;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// Its end.
    pub end: Instant,
}

/// Whether a run continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It does.
    Continue,
    /// Stop without results.
    Stop,
}

/// Why a scenario could not be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// `on_progress` returned [`Control::Stop`].
    #[error("the run was stopped")]
    Stopped,
    /// A discipline's parameters cannot be used on its link.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// The scenario contradicts itself.
    #[error("{0}")]
    Scenario(String),
}

/// Runs a scenario to its end. `on_progress` is called a few hundred times during the run.
///
/// # Errors
/// When the scenario contradicts itself, a discipline cannot be built, or `on_progress` stops the run.
pub fn run(scenario: Scenario, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Error> {
    go(Simulation::new(scenario)?, on_progress)
}

/// As [`run`], with an observer of the packets at the measured link. The output is the same.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    scenario: Scenario,
    observer: &mut dyn Observer,
    on_progress: &mut dyn FnMut(Progress) -> Control,
) -> Result<Output, Error> {
    go(Simulation::with(scenario, Some(observer), &Customs::default())?, on_progress)
}

/// As [`run`], with its senders followed. The output is the same.
///
/// # Errors
/// As [`run`].
pub fn run_followed(
    scenario: Scenario,
    follower: &mut dyn Follower,
    on_progress: &mut dyn FnMut(Progress) -> Control,
) -> Result<Output, Error> {
    go(Simulation::following(scenario, follower)?, on_progress)
}

/// As [`run`], with custom disciplines.
///
/// # Errors
/// As [`run`]; also when a link asks for a discipline that `customs` does not have.
pub fn run_custom(
    scenario: Scenario,
    customs: &Customs,
    on_progress: &mut dyn FnMut(Progress) -> Control,
) -> Result<Output, Error> {
    go(Simulation::with(scenario, None, customs)?, on_progress)
}

fn go(mut simulation: Simulation<'_>, on_progress: &mut dyn FnMut(Progress) -> Control) -> Result<Output, Error> {
    let end = simulation.end();
    let step = (end.since(Instant::ZERO) / 256).max(Duration::from_millis(1));
    while simulation.now() < end {
        let now = simulation.now();
        if on_progress(Progress { now, end }) == Control::Stop {
            return Err(Error::Stopped);
        }
        simulation.advance(now + step)?;
    }
    Ok(simulation.output())
}
