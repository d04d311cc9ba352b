//! The axis of results that tells simulated runs from those with real packets.

/// Its name.
pub const AXIS: &str = "on";
/// The label of simulated runs on it. All other labels are of runs with real packets.
pub const SIMULATED: &str = "simulated";
