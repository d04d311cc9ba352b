//! The axis that distinguishes simulated runs from those with real packets.

/// Name of the axis.
pub const AXIS: &str = "on";
/// Label of simulated runs. All other labels are for runs with real packets.
pub const SIMULATED: &str = "simulated";
