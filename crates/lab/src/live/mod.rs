//! Live links as the laboratory sees them: experiments over the kernel's own TCP, with results in the form of
//! simulated runs.
//!
//! A run's scenario -> [`plan`]: the link that it asks for -> [`hosts`]: its applications over real sockets ->
//! [`run`]: its output -> [`agree`]: beside the simulated one.

pub mod agree;
#[cfg(live)]
pub mod hosts;
#[cfg(live)]
pub mod plan;
#[cfg(live)]
pub mod run;
