//! Experiments on live links, over the kernel's own TCP, with results in the form of simulated runs.
//!
//! [`plan`] makes the runs of an experiment in each of several places ([`On`]): in the simulator, on a live link, on one with its queue inside
//! the kernel. A [`Placed`] run is a [`Work`](aqmkit_runs::run::Work) like a simulated one; what runs experiments need not know the difference.
//! `aqmkit_study::agree` compares the results.
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

/// The version of live runs: the link and the hosts. Raise it when the same traffic would be carried or measured otherwise: stored runs of
/// other versions are not used again.
pub const VERSION: u32 = 5;
