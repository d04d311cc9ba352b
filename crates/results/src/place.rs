//! The axis of results that tells simulated runs from those with real packets.

/// The name of the axis along which simulated runs and those with real packets differ.
pub const AXIS: &str = "on";
/// The label of simulated runs on it. All other labels are of runs with real packets.
pub const SIMULATED: &str = "simulated";
