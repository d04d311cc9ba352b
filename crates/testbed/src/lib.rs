//! Experiments on live links, over the kernel's own TCP, with results in the form of simulated runs.
//!
//! [`plan`] derives the runs of an experiment in several places ([`On`]): in the simulator, on a live link, and on a
//! live link with its queue inside the kernel. A [`Placed`] run is a [`Work`](aqmkit_runs::run::Work) like a simulated
//! one. `aqmkit_study::agree` compares the results.
//!
//! Linux only.

#![forbid(unsafe_code)]

mod error;
mod hosts;
mod place;
mod plan;
mod run;
mod setup;

pub use error::TestbedError;
pub use place::On;
pub use plan::{axis, check_machine, plan, real_time};
pub use run::Placed;

/// The version of live runs. Increase it when link or hosts change in a way that affects traffic or measurements:
/// stored runs of other versions are not reused.
pub const VERSION: u32 = 5;
