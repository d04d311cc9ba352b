//! Experiments on live links, over the kernel's own TCP, with results in the form of simulated runs.
//!
//! A run's scenario -> [`plan`]: the settings of the link -> [`hosts`]: its applications over real sockets ->
//! [`run`]: its output -> [`aqmkit_study::agree`]: beside the simulated one.

pub(crate) mod hosts;
pub(crate) mod plan;
pub(crate) mod run;

/// The version of live runs: the link and the hosts. Raise it when the same traffic would be carried or measured otherwise.
pub(crate) const VERSION: u32 = 4;
